"""`scan_table`, which reads many Examples at once, against `read_example`, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from dataflow.formats import example_table
from dataflow.formats.example_table import scan_table
from dataflow.formats.example_wire import read_example

WANTED = {b"f": "float32", b"i": "int64", b"s": "string"}
_KINDS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}


def message(**features: tuple[str, list[Any]]) -> bytes:
    """An Example of features given as (dtype name, values)."""
    example = tf.train.Example()
    for name, (dtype, values) in features.items():
        getattr(example.features.feature[name], _KINDS[dtype]).value.extend(values)
    return bytes(example.SerializeToString())


_FEATURES = st.fixed_dictionaries(
    {},
    optional={
        "f": st.lists(st.floats(width=32, allow_nan=False), max_size=3),
        "i": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
        "s": st.lists(st.binary(max_size=200), max_size=4),
        "not wanted": st.lists(st.binary(max_size=3), max_size=2),
    },
)
_DTYPES = {"f": "float32", "i": "int64", "s": "string", "not wanted": "string"}


def texts_of(values: Any) -> list[str]:
    """The values as texts: a damaged float may be NaN, which equals nothing."""
    return [repr(value.item() if isinstance(value, np.generic) else value) for value in values]


def agrees(texts: list[bytes], columns: dict[bytes, example_table.Column]) -> None:
    """Asserts that the columns hold what `read_example` finds."""
    read = [read_example(text, WANTED) for text in texts]
    for key, dtype in WANTED.items():
        column = columns[key]
        for row, found in zip(column.rows(), read, strict=True):
            if key in found and found[key][0]:
                assert found[key][0] == dtype
                assert texts_of(row) == texts_of(found[key][1])
            else:
                assert row is None
        values, counts = column.lists() or pytest.fail("a list is cut short")
        wanted = [list(found[key][1]) if key in found else [] for found in read]
        assert counts.tolist() == [len(row) for row in wanted]
        assert texts_of(values) == texts_of([value for row in wanted for value in row])


@settings(max_examples=150, deadline=None)
@given(st.lists(_FEATURES, min_size=1, max_size=6), st.integers(12, 20))
def test_columns_are_those_of_the_messages(features: list[dict[str, Any]], count: int) -> None:
    made = [
        message(**{k: (_DTYPES[k], v) for k, v in each.items()}) or message(f=("float32", []))
        for each in features
    ]
    texts = [made[i % len(made)] for i in range(count)]
    columns = scan_table(texts, WANTED)
    assert columns is not None  # what TensorFlow's writers leave is read at once
    agrees(texts, columns)


def test_nans_are_read_alike() -> None:
    texts = [message(f=("float32", [np.nan, 1.0]), i=("int64", [1]), s=("string", [b"a"]))] * 12
    columns = scan_table(texts, WANTED)
    assert columns is not None
    agrees(texts, columns)


FULL = message(f=("float32", [1.5, 2.0]), i=("int64", [3, -1]), s=("string", [b"a", b"", b"cd"]))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(FULL) - 1), st.integers(0, 255), st.integers(0, len(FULL)))
def test_damaged_messages_are_read_alike_or_left_alone(place: int, byte: int, cut: int) -> None:
    changed = FULL[:place] + bytes([byte]) + FULL[place + 1 :]
    for data in (changed, FULL[:cut], FULL + FULL[:cut]):
        texts = [FULL] * 12 + [data]
        columns = scan_table(texts, WANTED)
        if columns is None:
            continue
        try:
            read_example(data, WANTED)
        except ValueError:
            with pytest.raises(ValueError, match="."):
                for column in columns.values():
                    column.rows()
            continue
        if any(column.lists() is None for column in columns.values()):
            continue
        agrees(texts, columns)


def test_what_is_left_to_the_reader() -> None:
    other = message(f=("int64", [1]))
    few = [FULL] * (example_table.LEAST_MESSAGES - 1)
    assert scan_table(few, WANTED) is None
    for text in (other, b"", FULL + b"\x12\x00"):
        assert scan_table([*few, FULL, text], WANTED) is None
    assert scan_table([*few, FULL], {b"absent": "int64"})[b"absent"].rows() == [None] * 12  # type: ignore[index]


def test_long_strings_and_features_in_any_order() -> None:
    """Lengths of one to four bytes, and names that follow each other differently."""
    texts = []
    for i, size in enumerate([0, 1, 127, 128, 16_383, 16_384, 2_097_152, 5, 5, 5, 5, 5]):
        parts = {"s": ("string", [b"x" * size, b"y"]), "i": ("int64", [i]), "zz": ("int64", [1])}
        texts.append(message(**dict(sorted(parts.items(), reverse=bool(i % 2)))))
    columns = scan_table(texts, WANTED)
    assert columns is not None
    agrees(texts, columns)
    assert columns[b"i"].dense(1).tolist() == [[i] for i in range(12)]
    assert columns[b"s"].dense(2)[:, 1].tolist() == [b"y"] * 12
    assert columns[b"s"].dense(1) is None and columns[b"f"].dense(1) is None


def test_many_strings_of_few_sizes_keep_their_zeros() -> None:
    words = [b"ab\0", b"\0", b"", b"xyz", b"\0\0\0"]
    texts = [message(s=("string", [words[i % 5], words[(i + 2) % 5]])) for i in range(60)]
    columns = scan_table(texts, WANTED)
    assert columns is not None
    agrees(texts, columns)


def test_parsing_many_is_parsing_each() -> None:
    """Defaults, lists of any length and errors with the number of the example."""
    rng = np.random.default_rng(0)
    texts = []
    for i in range(40):
        features: dict[str, tuple[str, list[Any]]] = {"i": ("int64", [i, -i])}
        if i % 3:
            features["f"] = ("float32", [i / 2])
        features["s"] = ("string", [b"w%d" % j for j in range(rng.integers(0, 4))])
        texts.append(message(**features))
    spec = {
        "i": tf.FixedLenFeature([2], tf.int64),
        "f": tf.FixedLenFeature([], tf.float32, default_value=-1.0),
        "s": tf.VarLenFeature(tf.string),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        given_texts = tf.placeholder(tf.string, [None])
        parsed = tf.parse_example(given_texts, spec)
        together = session.run(parsed, {given_texts: texts})
        for i, text in enumerate(texts):
            alone = session.run(parsed, {given_texts: [text]})
            assert alone["i"][0].tolist() == together["i"][i].tolist() == [i, -i]
            assert alone["f"][0] == together["f"][i] == (i / 2 if i % 3 else -1)
            mine = together["s"].indices[:, 0] == i
            assert together["s"].values[mine].tolist() == alone["s"].values.tolist()
            assert together["s"].indices[mine, 1].tolist() == alone["s"].indices[:, 1].tolist()
        assert together["s"].dense_shape.tolist() == [40, 3]
        texts[17] = message(i=("int64", [1]), s=("string", []))
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Key: i, Index: 17.*values size: 1"
        ):
            session.run(parsed, {given_texts: texts})
        texts[17] = message(i=("float32", [1, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index: 17.  Data types don't"):
            session.run(parsed, {given_texts: texts})
        texts[17] = b"\x0a\x05junk"
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
            session.run(parsed, {given_texts: texts})
