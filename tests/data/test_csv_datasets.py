"""`make_csv_dataset`: dtypes read off the files, columns by name, mistakes named when it is made."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf

make = tf.data.experimental.make_csv_dataset


def _elements(dataset: Any) -> list[Any]:
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def test_dtypes_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,x,s,y\n1,,"p, q",0\n3000000000,2.5,,1\n')
    with tf.Graph().as_default():
        dataset = make(str(path), 2, label_name="y", num_epochs=1, shuffle=False)
        ((features, label),) = _elements(dataset)
    assert list(features) == ["id", "x", "s"]
    assert [v.dtype.name for v in features.values()] == ["int64", "float32", "object"]
    assert features["x"].tolist() == [0, 2.5] and features["s"].tolist() == [b"p, q", b""]
    assert label.tolist() == [0, 1]


def test_packed_files_and_columns_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    with tf.Graph().as_default():
        dataset = make(
            [str(path)], 1, select_columns=[1], num_epochs=1, shuffle=False, compression_type="GZIP"
        )
        assert [e["b"].tolist() for e in _elements(dataset)] == [[2], [4]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label_name": "z"}, "one of the columns: 'z'"),
        ({"select_columns": ["z"]}, "'z' of select_columns"),
        ({"select_columns": [2]}, "there are 2 columns"),
        ({"select_columns": [0, "a"]}, "twice"),
        ({"column_names": ["a", "a"]}, "duplicate"),
        ({"column_names": ["a"]}, "2 fields, expected 1"),
        ({"column_defaults": [0]}, "each of 2 columns, got 1"),
        ({"header": False}, "give column_names"),
    ],
)
def test_mistakes(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        make(str(path), 1, **options)


def test_files_that_do_not_match(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,c\n1,2\n")
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="different column names"):
            make(str(tmp_path / "*.csv"), 1)
        with pytest.raises(ValueError, match="No files match"):
            make(str(tmp_path / "*.txt"), 1)
