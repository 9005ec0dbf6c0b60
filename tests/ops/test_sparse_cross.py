"""`tf.sparse.cross` and `cross_hashed`: rows' combinations as texts and as TensorFlow's buckets."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf


def _ragged(rows: list[list[Any]]) -> Any:
    at = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = [value for row in rows for value in row]
    return tf.SparseTensor(at, values, [len(rows), max(len(row) for row in rows)])


def test_texts_of_sparse_and_dense_rows() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = _ragged([["a"], ["b", "c"]])
        value = session.run(tf.sparse.cross([sparse, tf.constant([[1, 2], [3, 4]])]))
        assert value.values.tolist() == [b"a_X_1", b"a_X_2", b"b_X_3", b"b_X_4", b"c_X_3", b"c_X_4"]
        assert value.indices.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [1, 3]]
        assert value.dense_shape.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("options", "bucket"),
    [({}, 1971693436396284976), ({"num_buckets": 100}, 83)],
    ids=["all", "100"],
)
def test_buckets_are_those_of_tensorflow(options: Any, bucket: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs: list[Any] = [_ragged([[f"batch1-FC{i}-F1"]]) for i in (1, 2)]
        inputs.append(tf.constant([["batch1-FC3-F1"]]))
        value = session.run(tf.sparse.cross_hashed(inputs, **options))
        # The order of hashing is sparse inputs, then dense ones, each in the order given.
        assert value.values.tolist() == [bucket]


def test_inputs_are_a_list() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Inputs must be a list"):
        tf.sparse.cross(_ragged([["a"]]))
