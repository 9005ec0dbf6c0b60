"""`CsvDataset`: records and fields as TensorFlow reads them, in blocks of any size, with their errors."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.dataset import blocks


def drained(dataset: Any) -> tuple[list[Any], list[str]]:
    """The elements, and the messages of the errors between them (an `int` in the elements for each)."""
    following = dataset.make_one_shot_iterator().get_next()
    found: list[Any] = []
    errors: list[str] = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found, errors
            except tf.errors.InvalidArgumentError as error:
                found.append(len(errors))
                errors.append(str(error))


def rows(path: Path, content: bytes, defaults: list[Any], **options: Any) -> Any:
    path.write_bytes(content)
    with tf.Graph().as_default():
        return drained(tf.data.experimental.CsvDataset(str(path), defaults, **options))


I, F, S = tf.int32, tf.float32, tf.string

#: What the file holds, the defaults, the options, the rows: TensorFlow 2.15's.
READ: dict[str, tuple[bytes, list[Any], dict[str, Any], list[Any]]] = {
    "nothing": (b"", [I], {}, []),
    "only a header": (b"a,b", [I, I], {"header": True}, []),
    "no end of the last line": (b"1,2\n3,4", [I, F], {}, [(1, 2.0), (3, 4.0)]),
    "carriage returns": (b"1,2\r\n3,4\r\n", [I, S], {}, [(1, b"2"), (3, b"4")]),
    "lines in quotes": (
        *(b'"a\nb",2\n"c""d",3\n"\r\n\n",4\n', [S, I], {}),
        [(b"a\nb", 2), (b'c"d', 3), (b"\r\n\n", 4)],
    ),
    "a header in quotes": (b'"h\nx",b\n1,2\n', [I, I], {"header": True}, [(1, 2)]),
    "an empty line of one column": (b"1\n\n3\n", [[7]], {}, [(1,), (7,), (3,)]),
    "na_value": (b"1,NA\nNA,2\n", [[5], 6], {"na_value": "NA"}, [(1, 6), (5, 2)]),
    "na_value in quotes": (b'a,"b"\n', [S, S], {"na_value": '"b"'}, [(b"a", b"b")]),
    "empty in quotes": (b'1,""\n', [I, [9]], {}, [(1, 9)]),
    "selected": (b"1,x,2\n3,y,4\n", [I, I], {"select_cols": [0, 2]}, [(1, 2), (3, 4)]),
    "of records that differ": (b"1,x\n3\n", [I], {"select_cols": [0]}, [(1,), (3,)]),
    "quotes as they are": (b'"a",2\n', [S, I], {"use_quote_delim": False}, [(b'"a"', 2)]),
    "tabs": (b"1\t2,5\n", [I, S], {"field_delim": "\t"}, [(1, b"2,5")]),
    "spaces": (b" 1, 2\n", [I, F], {}, [(1, 2.0)]),
    "wide numbers": (
        *(b"9000000000,1e-300\n", [tf.int64, tf.float64], {}),
        [(9_000_000_000, 1e-300)],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_rows(name: str, tmp_path: Path) -> None:
    content, defaults, options, wanted = READ[name]
    found, errors = rows(tmp_path / "a.csv", content, defaults, **options)
    assert errors == [] and found == wanted


#: What the file holds, the columns, the rows with errors by number, and what the errors say.
BAD: dict[str, tuple[bytes, list[Any], list[Any], list[str]]] = {
    "an empty line": (b"1,2\n\n3,4\n", [I, I], [(1, 2), 0, (3, 4)], ["have 1 in record 1: ''"]),
    "too few": (b"1\n3,4\n", [I, I], [0, (3, 4)], [r"have 1 in record 0: '1' \(line 1 of"]),
    "two": (
        *(b"1,2\nx,4\n,6\n7,8\n", [I, I], [(1, 2), 0, 1, (7, 8)]),
        [
            r"Field 0 in record 1 is not a valid int32: x",
            "Field 0 is required but missing in record 2",
        ],
    ),
    "too large": (b"99999999999\n1\n", [I], [0, (1,)], ["is not a valid int32: 99999999999"]),
    "a quote inside": (b'a"b,2\n3,4\n', [S, I], [0, (b"3", 4)], ["cannot have quotes"]),
    "after a quote": (b'"a"b,2\n3,4\n', [S, I], [0, (b"3", 4)], ["Quoted field has to end"]),
    "an open quote": (b'1,2\n"ab,2\n3,4\n', [S, I], [(b"1", 2), 0], [r"record 1: .*\(line 2 of"]),
    "after lines in quotes": (
        *(b'"a\nb\nc",1\nd,x\n', [S, I], [(b"a\nb\nc", 1), 0]),
        [r"Field 1 in record 1 .* 'd,x' \(line 4 of"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_stand_in_the_place_of_their_record(name: str, tmp_path: Path) -> None:
    content, defaults, wanted, messages = BAD[name]
    found, errors = rows(tmp_path / "a.csv", content, defaults)
    assert found == wanted
    for error, message in zip(errors, messages, strict=True):
        with pytest.raises(ValueError, match=message):
            raise ValueError(error)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (16, 1024)], ids=str)
def test_batches_do_not_depend_on_blocks(
    sizes: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows skipped, taken, repeated and batched; a batch with a record at fault is lost."""
    monkeypatch.setattr(blocks, "_FEWEST", sizes[0])
    monkeypatch.setattr(blocks, "_MOST", sizes[1])
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for i, path in enumerate(paths):
        lines = [f'{10 * i + j},"w\n{j}"' for j in range(5 * (i != 1))]
        path.write_text("\n".join(["n,w", *lines]))
    with tf.Graph().as_default():
        names = [str(p) for p in paths]
        data = tf.data.experimental.CsvDataset(names, [I, S], header=True)
        found, errors = drained(data.skip(2).take(6).repeat(2).batch(5))
        dropped, _ = drained(data.batch(4, drop_remainder=True))
        none, _ = drained(data.take(0).repeat().batch(2))
        beyond, _ = drained(data.skip(11))
        paths[0].write_text("n,w\n0,a\nx,b\n2,c\n3,d\n4,e\n")
        with_a_bad_one, messages = drained(data.batch(2))
        left, _ = drained(data.apply(tf.data.experimental.ignore_errors()))
    assert [n.tolist() for n, _ in found] == [[2, 3, 4, 20, 21], [22, 2, 3, 4, 20], [21, 22]]
    assert found[0][1].tolist() == [b"w\n2", b"w\n3", b"w\n4", b"w\n0", b"w\n1"]
    assert found[0][0].dtype == np.int32 and not errors
    assert [n.tolist() for n, _ in dropped] == [[0, 1, 2, 3], [4, 20, 21, 22]]
    assert none == [] and beyond == []
    assert [x if isinstance(x, int) else x[0].tolist() for x in with_a_bad_one] == [
        *(0, [2, 3], [4, 20], [21, 22], [23, 24])
    ]
    assert "Field 0 in record 1" in messages[0] and f"(line 3 of {paths[0]})" in messages[0]
    assert [n for n, _ in left] == [0, 2, 3, 4, 20, 21, 22, 23, 24]


def test_an_empty_file_has_no_header(tmp_path: Path) -> None:
    found, errors = rows(tmp_path / "a.csv", b"", [I], header=True)
    assert found == [0] and "Can't read header of file" in errors[0]


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_files_and_files_that_are_not_there(kind: str, tmp_path: Path) -> None:
    import zlib

    pack = gzip.compress if kind == "GZIP" else zlib.compress
    found, errors = rows(tmp_path / "a", pack(b"1\n2\n"), [I], compression_type=kind)
    assert found == [(1,), (2,)] and not errors
    with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError, match=r"no\.csv"):
        drained(tf.data.experimental.CsvDataset(str(tmp_path / "no.csv"), [I]))


@pytest.mark.parametrize(
    ("defaults", "options", "words"),
    [
        ([I, I], {"select_cols": [1]}, "1 select_cols for 2"),
        ([I, I], {"select_cols": [1, 0]}, "grow strictly"),
        ([tf.uint8], {}, "columns may be float32"),
        ([[1, 2]], {}, "one or none fits"),
        ([I], {"field_delim": "::"}, "only 1 char"),
    ],
)
def test_mistakes(defaults: list[Any], options: dict[str, Any], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        tf.data.experimental.CsvDataset("a.csv", defaults, **options)


def test_a_batch_is_its_own(tmp_path: Path) -> None:
    """What is done to a batch does not reach the next one, which was read with it."""
    (tmp_path / "a.csv").write_text("1\n2\n3\n4\n")
    with tf.Graph().as_default():
        data = tf.data.experimental.CsvDataset(str(tmp_path / "a.csv"), [I]).batch(2)
        following = data.make_one_shot_iterator().get_next()
        with tf.Session() as session:
            (first,) = session.run(following)
            assert first.flags.owndata
            first[:] = 9
            assert session.run(following)[0].tolist() == [3, 4]
