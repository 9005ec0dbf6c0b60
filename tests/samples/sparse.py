"""Samples of sparse tensors. Values are the inputs, so that gradients reach them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(22)

AT = np.array([[0, 1], [0, 3], [2, 0], [2, 2]], np.int64)
SHAPE = np.array([3, 4], np.int64)
V = _rng.standard_normal(4).astype(np.float32)
W = _rng.standard_normal(3).astype(np.float32)
AT2 = np.array([[0, 1], [1, 0], [2, 2]], np.int64)
DENSE = (_rng.random((3, 4)) + 0.5).astype(np.float32)
MATRIX = _rng.standard_normal((4, 2)).astype(np.float32)


def _dense(values: Any, at: Any = AT, shape: Any = (3, 4)) -> Any:
    out = np.zeros(shape, np.asarray(values).dtype)
    out[tuple(at.T)] = values
    return out


def _sparse(tf: Any, values: Any, at: Any = AT, shape: Any = SHAPE) -> Any:
    return tf.SparseTensor(at, values, shape)


def _parts(sp: Any) -> list[Any]:
    return [sp.indices, sp.values, sp.dense_shape]


def _values(function: Any) -> Any:
    """The values of the sparse result, squared so that second derivatives are not zero."""

    def build(tf: Any, *inputs: Any) -> Any:
        return function(tf, *inputs).values ** 2

    return build


def _softmax(values: Any) -> Any:
    powers = np.exp(values)
    sums = np.array([powers[:2].sum(), powers[:2].sum(), powers[2:].sum(), powers[2:].sum()])
    return (powers / sums) ** 2


CONCAT_ORDER = [0, 1, 4, 5, 2, 3, 6, 7]

SAMPLES = [
    Sample(
        "SparseToDense",
        lambda tf, v: tf.sparse_tensor_to_dense(_sparse(tf, v)) ** 2,
        (V,),
        lambda v: _dense(v) ** 2,
    ),
    Sample(
        "SparseToDense",
        lambda tf, v, d: tf.sparse_to_dense([1, 3], [5], v, d),
        (V[:2], np.float32(9)),
        lambda v, d: np.array([9, v[0], 9, v[1], 9]),
        note="vector",
    ),
    Sample(
        "SparseTensorDenseMatMul",
        lambda tf, v, b: tf.sparse_tensor_dense_matmul(_sparse(tf, v), b) ** 2,
        (V, MATRIX),
        lambda v, b: (_dense(v) @ b) ** 2,
    ),
    Sample(
        "SparseTensorDenseMatMul",
        lambda tf, v, b: tf.sparse_tensor_dense_matmul(
            _sparse(tf, v), b, adjoint_a=True, adjoint_b=True
        ),
        (V, _rng.standard_normal((2, 3)).astype(np.float32)),
        lambda v, b: _dense(v).T @ b.T,
        note="adjoint",
    ),
    Sample(
        "SparseDenseCwiseAdd",
        lambda tf, v, d: raw(
            tf, "SparseDenseCwiseAdd", sp_indices=AT, sp_values=v, sp_shape=SHAPE, dense=d
        ),
        (V, DENSE),
        lambda v, d: v + d[tuple(AT.T)],
    ),
    Sample(
        "SparseDenseCwiseMul",
        lambda tf, v, d: (_sparse(tf, v) * d).values,
        (V, DENSE[:1]),
        lambda v, d: v * d[0, AT[:, 1]],
        note="row",
    ),
    Sample(
        "SparseDenseCwiseDiv",
        lambda tf, v, d: (_sparse(tf, v) / d).values,
        (V, DENSE),
        lambda v, d: v / d[tuple(AT.T)],
    ),
    Sample(
        "SparseAdd",
        _values(lambda tf, v, w: tf.sparse_add(_sparse(tf, v), _sparse(tf, w, AT2))),
        (V, W),
        lambda v, w: np.array([v[0] + w[0], v[1], w[1], v[2], v[3] + w[2]]) ** 2,
    ),
    Sample(
        "SparseAddGrad",
        lambda tf, g: list(
            raw(
                tf,
                "SparseAddGrad",
                backprop_val_grad=g,
                a_indices=AT,
                b_indices=AT2,
                sum_indices=np.array([[0, 1], [0, 3], [1, 0], [2, 0], [2, 2]], np.int64),
            )
        ),
        (np.arange(1, 6, dtype=np.float32),),
        [[1, 2, 4, 5], [1, 3, 5]],
    ),
    Sample(
        "SparseTensorDenseAdd",
        lambda tf, v, d: tf.sparse_add(_sparse(tf, v), d) ** 2,
        (V, DENSE),
        lambda v, d: (_dense(v) + d) ** 2,
    ),
    Sample(
        "SparseSparseMaximum",
        lambda tf, v, w: _parts(tf.sparse_maximum(_sparse(tf, v), _sparse(tf, w, AT2)))[:2],
        (V, W),
        gradient=(),
    ),
    Sample(
        "SparseSparseMinimum",
        lambda tf, v, w: _parts(tf.sparse_minimum(_sparse(tf, v), _sparse(tf, w, AT2)))[:2],
        (V, W),
        gradient=(),
    ),
    Sample(
        "SparseReduceSum",
        lambda tf, v: tf.sparse_reduce_sum(_sparse(tf, v), 1) ** 2,
        (V,),
        lambda v: _dense(v).sum(1) ** 2,
    ),
    Sample(
        "SparseReduceSum",
        lambda tf, v: tf.sparse_reduce_sum(_sparse(tf, v), keepdims=True),
        (V,),
        lambda v: v.sum().reshape(1, 1),
        note="all",
    ),
    Sample(
        "SparseReduceMax",
        lambda tf, v: tf.sparse_reduce_max(_sparse(tf, v), 0),
        (np.abs(V),),
        lambda v: _dense(v).max(0),
        gradient=(),
    ),
    Sample(
        "SparseReduceSumSparse",
        lambda tf, v: _parts(tf.sparse_reduce_sum_sparse(_sparse(tf, v), 1)),
        (V,),
        lambda v: [[[0], [2]], [v[0] + v[1], v[2] + v[3]], [3]],
        gradient=(),
    ),
    Sample(
        "SparseReduceMaxSparse",
        lambda tf, v: _parts(tf.sparse_reduce_max_sparse(_sparse(tf, v), 1)),
        (V,),
        lambda v: [[[0], [2]], [v[:2].max(), v[2:].max()], [3]],
        gradient=(),
    ),
    Sample(
        "SparseSoftmax", _values(lambda tf, v: tf.sparse_softmax(_sparse(tf, v))), (V,), _softmax
    ),
    Sample(
        "SparseReorder",
        _values(lambda tf, v: tf.sparse_reorder(tf.SparseTensor(AT[[2, 0, 3, 1]], v, SHAPE))),
        (V,),
        lambda v: v[[1, 3, 0, 2]] ** 2,
    ),
    Sample(
        "SparseReshape",
        lambda tf, v: _parts(tf.sparse_reshape(_sparse(tf, v), [2, -1])),
        (V,),
        lambda v: [[[0, 1], [0, 3], [1, 2], [1, 4]], v, [2, 6]],
        second=False,
    ),
    Sample(
        "SparseConcat",
        _values(lambda tf, v, w: tf.sparse_concat(1, [_sparse(tf, v), _sparse(tf, w)])),
        (V, V[::-1].copy()),
        lambda v, w: np.array([v[0], v[1], w[0], w[1], v[2], v[3], w[2], w[3]]) ** 2,
    ),
    Sample(
        "SparseSlice",
        _values(lambda tf, v: tf.sparse_slice(_sparse(tf, v), [0, 1], [3, 2])),
        (V,),
        lambda v: v[[0, 3]] ** 2,
    ),
    Sample(
        "SparseSplit",
        lambda tf, v: [
            p
            for sp in tf.sparse_split(sp_input=_sparse(tf, v), num_split=2, axis=0)
            for p in _parts(sp)
        ],
        (V,),
        lambda v: [
            [[0, 1], [0, 3]],
            v[:2],
            [2, 4],
            [[0, 0], [0, 2]],
            v[2:],
            [1, 4],
        ],
        gradient=(),
    ),
    Sample(
        "SparseFillEmptyRows",
        lambda tf, v, d: (
            raw(
                tf,
                "SparseFillEmptyRows",
                indices=AT,
                values=v,
                dense_shape=SHAPE,
                default_value=d,
            )[1]
            ** 2
        ),
        (V, np.float32(3)),
        lambda v, d: np.array([v[0], v[1], d, v[2], v[3]]) ** 2,
    ),
    Sample(
        "SerializeSparse",
        lambda tf, v: tf.shape(tf.serialize_sparse(_sparse(tf, v))),
        (V,),
        [[3]],
        gradient=(),
    ),
    Sample(
        "SerializeManySparse",
        lambda tf, v: tf.shape(tf.serialize_many_sparse(_sparse(tf, v))),
        (V,),
        [[3, 3]],
        gradient=(),
    ),
    Sample(
        "DeserializeSparse",
        lambda tf, v: raw(
            tf,
            "DeserializeSparse",
            serialized_sparse=tf.serialize_sparse(_sparse(tf, v)),
            dtype=tf.float32,
        ),
        (V,),
        lambda v: [AT, v, SHAPE],
        gradient=(),
    ),
    Sample(
        "DeserializeManySparse",
        lambda tf, v: _parts(
            tf.deserialize_many_sparse(tf.serialize_many_sparse(_sparse(tf, v)), tf.float32)
        ),
        (V,),
        lambda v: [AT, v, SHAPE],
        gradient=(),
    ),
]
