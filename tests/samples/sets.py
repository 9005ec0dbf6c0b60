"""Samples of the ops in `dataflow.ops.sets`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.base import Sample

A = np.array([[1, 2, 2], [9, 4, 5]], np.int32)
B = np.array([[2, 7], [4, 9]], np.int32)


def _sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([7, 2, 5]), [2, 2])


def _parts(sparse: Any) -> list[Any]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


def _expected(*rows: list[int]) -> list[Any]:
    at = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = [value for row in rows for value in row]
    shape = [len(rows), max(map(len, rows))]
    return [np.array(at, np.int64), np.array(values, np.int32), np.array(shape, np.int64)]


SAMPLES = [
    Sample(
        "DenseToDenseSetOperation",
        lambda tf, a, b: _parts(tf.sets.set_difference(a, b)),
        (A, B),
        _expected([1], [5]),
    ),
    Sample(
        "DenseToDenseSetOperation",
        lambda tf, a, b: _parts(tf.sets.set_union(a, b)),
        (A, B),
        _expected([1, 2, 7], [4, 5, 9]),
        note="union",
    ),
    Sample(
        "DenseToDenseSetOperation",
        lambda tf, a, b: tf.sets.set_intersection(a, b).values,
        (np.array([[b"x", b"y"]], object), np.array([[b"y", b"z"]], object)),
        np.array([b"y"], object),
        note="strings",
    ),
    Sample(
        "DenseToSparseSetOperation",
        lambda tf, a: _parts(tf.sets.set_intersection(a, _sparse(tf))),
        (A,),
        _expected([2], [5]),
    ),
    Sample(
        "DenseToSparseSetOperation",
        lambda tf, a: _parts(tf.sets.set_difference(_sparse(tf), a)),
        (A,),
        [np.array([[0, 0]]), np.array([7], np.int32), np.array([2, 1])],
        note="sparse first",
    ),
    Sample(
        "SparseToSparseSetOperation",
        lambda tf: _parts(tf.sets.set_union(_sparse(tf), _sparse(tf))),
        (),
        _expected([2, 7], [5]),
    ),
    Sample("SetSize", lambda tf: tf.sets.set_size(_sparse(tf)), (), np.array([2, 1], np.int32)),
]
