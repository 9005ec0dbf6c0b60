"""Reading bytes: what does not fit is named with its record, key and index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from dataflow.formats.example_wire import (
    packed_column,
    packed_lists,
    read_example,
    scan_example,
    unpacked,
)
from dataflow.formats.protobuf_wire import packed_int64
from dataflow.kernels import csv_records
from dataflow.kernels.tensor_messages import tensor_bytes, tensor_from_bytes
from tests.samples.parsing import FULL, LONG, PART, _varint, example


def evaluate(tensor: Any) -> Any:
    with tf.Session(graph=tf.get_default_graph()) as session:
        return session.run(tensor)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"f": ("fixed", [2], tf.float32)}, "Feature: f .*is required but could not be found"),
        (
            {"i": ("fixed", [2], tf.int64)},
            r"Key: i, Index: 0.*values size: 3 but output shape: \[2\]",
        ),
        (
            {"i": ("fixed", [3], tf.float32)},
            "Data types don't match.*int64 but expected type: float32",
        ),
        ({"s": ("var", None, tf.float32)}, "Data types don't match"),
    ],
)
def test_examples_that_do_not_fit(features: Any, message: str) -> None:
    with tf.Graph().as_default():
        spec = {
            key: tf.FixedLenFeature(shape, dtype) if kind == "fixed" else tf.VarLenFeature(dtype)
            for key, (kind, shape, dtype) in features.items()
        }
        parsed = tf.parse_example([FULL, PART], spec)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            evaluate(parsed)


def test_bytes_that_are_no_example_are_refused() -> None:
    with tf.Graph().as_default():
        parsed = tf.parse_single_example(FULL[:-3], {"i": tf.FixedLenFeature([3], tf.int64)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example"):
            evaluate(parsed)


_ONE = example(i=[3, -1, 300], f=[1.5], s=[b"a\0", b""])


@pytest.mark.parametrize(
    "data",
    [
        _ONE,
        example(s=[b"x" * 300, b"y"], f=[-0.0], i=[1, 2, 3], more=[b"z"]),
        example(i=[1, 2, 3], f=[2.0]),  # "s" is missing: its default
        example(i=[1, 2, 3], f=[1], s=[b"a", b"b"]),  # of another dtype
        example(i=[1, 2], f=[2.0], s=[b"a", b"b"]),  # too few
        example(i=[1, 2, 3], f=[2.0], s=[b"a"]),
        example(i=[1, 2, 3], f=[2.0, 1.0], s=[b"a", b"b"]),
        example(i=[9, 9, 9], f=[2.0], s=[b"a", b"b"]) + _ONE,  # the last counts
        _ONE[:-1],
        b"",
    ],
)
def test_an_example_alone_is_read_as_in_a_batch(data: bytes) -> None:
    """By `parse_single_example`, which has a quick way for what writers of today leave."""
    spec = {
        "i": tf.FixedLenFeature([3], tf.int64),
        "f": tf.FixedLenFeature([], tf.float32),
        "s": tf.FixedLenFeature([2, 1], tf.string, [[b"p"], [b"q"]]),
    }

    def result_of(parsed: Any) -> Any:
        try:
            return {key: np.asarray(value) for key, value in evaluate(parsed).items()}
        except tf.errors.InvalidArgumentError as e:
            return str(e).splitlines()[0]

    with tf.Graph().as_default():
        one, batch = tf.parse_single_example(data, spec), tf.parse_example([data], spec)
        alone, first = result_of(one), result_of(batch)
    if isinstance(first, str):
        assert isinstance(alone, str) and alone.partition("Name:")[2] == first.partition("Name:")[2]
        return
    for key, value in first.items():
        assert (alone[key].dtype, alone[key].shape) == (value.dtype, value.shape[1:])
        assert alone[key].tolist() == value[0].tolist()


def test_a_sequence_from_a_queue_of_unknown_shapes_is_read() -> None:
    queue = tf.FIFOQueue(4, tf.string)
    steps = {"t": tf.FixedLenSequenceFeature([2], tf.float32)}
    context, sequences = tf.parse_single_sequence_example(
        queue.dequeue(), {"a": tf.FixedLenFeature([], tf.int64)}, steps
    )
    assert context["a"].shape.as_list() == [] and sequences["t"].shape.as_list() == [None, 2]
    with tf.Session() as session:
        session.run([queue.enqueue(LONG), queue.enqueue([[LONG, LONG]])])
        number, rows = session.run([context["a"], sequences["t"]])
        assert number == 7
        np.testing.assert_array_equal(rows, [[1, 2], [3, 4]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            session.run(sequences["t"])


def test_specifications_are_checked_when_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="fully known shape"):
            tf.parse_example([FULL], {"i": tf.FixedLenFeature([None], tf.int64)})
        with pytest.raises(TypeError, match="int32"):
            tf.parse_example([FULL], {"i": tf.VarLenFeature(tf.int32)})
        with pytest.raises(ValueError, match="allow_missing"):
            tf.parse_example([FULL], {"i": tf.FixedLenSequenceFeature([], tf.int64)})
        with pytest.raises(ValueError, match="nothing to parse"):
            tf.parse_example([FULL], {})


def test_a_sparse_feature_joins_indices_and_values() -> None:
    data = example(at=[3, 1], value=[0.5, 1.5])
    with tf.Graph().as_default():
        spec = {"w": tf.SparseFeature("at", "value", tf.float32, 5)}
        batch = tf.sparse_tensor_to_dense(tf.parse_example([data, data], spec)["w"])
        one = tf.sparse_tensor_to_dense(tf.parse_single_example(data, spec)["w"])
        values = evaluate([batch, one])
    np.testing.assert_array_equal(values[0], [[0, 1.5, 0, 0.5, 0]] * 2)
    np.testing.assert_array_equal(values[1], [0, 1.5, 0, 0.5, 0])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_varints_are_read_without_a_loop(numbers: list[int]) -> None:
    data = b"".join(_varint(n & (2**64 - 1)) for n in numbers)
    np.testing.assert_array_equal(packed_int64(data), np.array(numbers, np.int64))


@settings(max_examples=200)
@given(st.binary(max_size=60), st.integers(0, len(FULL)))
def test_any_bytes_are_read_or_refused_with_a_value_error(junk: bytes, cut: int) -> None:
    for data in (junk, FULL[:cut] + junk):
        for read in (lambda d: read_example(d, {b"i", b"f", b"s"}), tensor_from_bytes):
            try:
                read(data)
            except ValueError:
                pass


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, list) or isinstance(second, list) or first is None:
        return bool(first == second)
    return bool(first.dtype == second.dtype and first.tobytes() == second.tobytes())


@settings(max_examples=300)
@given(st.integers(0, len(FULL) - 1), st.integers(0, 255), st.integers(0, len(FULL)))
def test_the_scan_reads_what_the_reader_reads_or_leaves_it_alone(
    place: int, byte: int, cut: int
) -> None:
    wanted = {b"i", b"f", b"s"}
    changed = FULL[:place] + bytes([byte]) + FULL[place + 1 :]
    for data in (FULL, changed, FULL[:cut]):
        scanned = scan_example(data, wanted)
        if scanned is None:
            continue
        try:
            read = read_example(data, wanted)
        except ValueError:
            with pytest.raises(ValueError, match="."):
                for name, values in scanned.values():
                    unpacked(name, values)
            continue
        assert scanned.keys() == read.keys()
        for key, (name, values) in scanned.items():
            assert name == read[key][0]
            assert _same(unpacked(name, values), read[key][1])
    assert scan_example(FULL, wanted) is not None  # what TensorFlow's writers leave


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_columns_are_read_in_one_go_where_all_rows_have_the_size(rows: int) -> None:
    numbers = [[300 * i, -1] for i in range(rows)]
    packed = [b"".join(_varint(n & (2**64 - 1)) for n in row) for row in numbers]
    assert packed_column("int64", packed, 2).tolist() == numbers
    assert packed_column("int64", packed, 1) is None
    assert packed_column("int64", [b"", *packed], 2) is None
    assert packed_column("int64", [b"\1\2\3", b"\4"] * rows, 2) is None  # right only in all
    floats = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    column = packed_column("float32", [row.tobytes() for row in floats], 2)
    assert column.tolist() == floats.tolist()
    assert column.flags.writeable
    assert packed_column("float32", [floats[0].tobytes(), b""], 2) is None


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), min_size=1, max_size=6))
def test_packed_lists_are_taken_apart_by_their_lengths(lists: list[list[int]]) -> None:
    packed = [b"".join(_varint(n & (2**64 - 1)) for n in row) for row in lists]
    values, counts = packed_lists("int64", packed)
    assert values.tolist() == [n for row in lists for n in row]
    assert counts.tolist() == [len(row) for row in lists]
    assert packed_lists("int64", [*packed, b"\x80", b"\1"]) is None  # cut short, right only in all
    values, counts = packed_lists("float32", [bytes(4 * len(row)) for row in lists])
    assert (len(values), counts.tolist()) == (sum(map(len, lists)), [len(row) for row in lists])
    assert packed_lists("float32", [b"\0\0", b"\0\0"]) is None


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.zeros((0, 3), np.int32),
        np.array(True),
        np.array([b"a", b""], object),
        np.array([1 + 2j], np.complex64),
        np.array([1.5], np.float16),
    ],
)
def test_tensors_survive_being_serialized(array: Any) -> None:
    again = tensor_from_bytes(tensor_bytes(array))
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


def test_tensor_protos_of_tensorboard_are_read() -> None:
    from tensorboard.util.tensor_util import make_tensor_proto

    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, -2]), np.array(["x"])):
        again = tensor_from_bytes(make_tensor_proto(array).SerializeToString())
        expected = array.astype("S").astype(object) if array.dtype.kind == "U" else array
        np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("1", "Expect 2 fields but have 1 in record 0"),
        ("1,2,3", "Expect 2 fields but have 3"),
        ("1,x", "Field 1 in record 0 is not a valid float32: x"),
        (",2", "Field 0 is required but missing in record 0"),
        ('1,"2', "Quoted field"),
        ('1,2"3', "Unquoted fields"),
    ],
)
def test_records_that_do_not_fit(record: str, message: str) -> None:
    with tf.Graph().as_default():
        columns = tf.decode_csv([record], [tf.constant([], tf.int32), [1.0]])
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            evaluate(columns)


def test_csv_options() -> None:
    with tf.Graph().as_default():
        missing = tf.decode_csv("1 2 NA", [[0], [0.5], [7]], field_delim=" ", na_value="NA")
        chosen = tf.decode_csv(["1,2,3", "4,5,6"], [[0]], select_cols=[2])
        plain = tf.decode_csv('1,"a"', [[0], [""]], use_quote_delim=False)
        values = evaluate([missing, chosen, plain])
        assert values[0] == [1, 2.0, 7]
        assert values[1][0].tolist() == [3, 6]
        assert values[2][1] == b'"a"'
        with pytest.raises(ValueError, match="1 char"):
            tf.decode_csv("1", [[0]], field_delim="::")


@pytest.mark.parametrize(
    ("records", "select", "is_plain"),
    [
        ([b"1,2", b"3,4", b",6"], [], True),
        ([b"1,2"], [], True),
        ([b"1,2,3", b"4,5,6"], [2, 0], True),
        ([b"1,2,3", b"4"], [], False),  # as many fields in all
        ([b"1", b"2,3,4"], [], False),
        ([b"1,\0,2", b"3,4"], [], False),
        ([b"1,2\n", b"3,4"], [], False),
        ([b'"1",2', b"3,4"], [], False),
        ([b"1,2,3", b"4,5,6"], [0, 3], False),
        ([], [], False),
    ],
)
def test_records_without_quotes_are_split_at_once(
    records: list[bytes], select: list[int], is_plain: bool
) -> None:
    arguments = (records, b",", True, 2, select)
    plain = csv_records._plain_columns(*arguments)
    assert (plain is not None) == is_plain
    if plain is not None:
        assert [tuple(x) for x in plain] == list(csv_records._columns(*arguments, 0))


def test_raw_bytes_of_different_lengths_are_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="element 1 has size 3 != 2"):
            evaluate(tf.decode_raw(["ab", "abc"], tf.uint8))
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a multiple of 2"):
            evaluate(tf.decode_raw(["abc"], tf.int16))
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot unpack"):
            evaluate(tf.decode_compressed(["abc"], "GZIP"))


def test_a_tensor_of_few_bytes_that_claims_to_be_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = tf.make_tensor_proto(np.zeros(2, np.float32))
    proto.tensor_content = b""
    proto.float_val.append(7.0)
    text = tf.placeholder(tf.string, [])
    parsed = tf.parse_tensor(text, tf.float32)
    with tf.Session() as session:
        assert session.run(parsed, {text: proto.SerializeToString()}).tolist() == [7.0, 7.0]
        for size in (1 << 33, 1 << 62):
            proto.tensor_shape.dim[0].size = size
            with pytest.raises(tf.errors.InvalidArgumentError, match="MAX_UNPACKED_BYTES"):
                session.run(parsed, {text: proto.SerializeToString()})
        proto.tensor_shape.dim[0].size = 2
        proto.scomplex_val.extend([1.0, 2.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="complex"):
            session.run(parsed, {text: proto.SerializeToString()})
