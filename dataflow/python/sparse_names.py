"""Names of ``tensorflow.python.ops.sparse_ops`` for what `tf.sparse` has under others."""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.ops.sparse import (
    sparse_concat as sparse_concat_v2,
    sparse_expand_dims as sparse_expand_dims,
    sparse_eye as sparse_eye,
)
from dataflow.ops.sparse_cross import (
    DEFAULT_HASH_KEY as _DEFAULT_HASH_KEY,
    sparse_cross as sparse_cross,
    sparse_cross_hashed as sparse_cross_hashed,
)
from dataflow.ops.sparse_dense import sparse_dense_cwise_add as sparse_dense_cwise_add
from dataflow.ops.sparse_serialization import deserialize_sparse_op
from dataflow.ops.sparse_tensor import SparseTensor

__all__ = [
    "_DEFAULT_HASH_KEY",
    "_sparse_cross",
    "_sparse_cross_hashed",
    "deserialize_sparse",
    "sparse_concat_v2",
    "sparse_cross",
    "sparse_cross_hashed",
    "sparse_dense_cwise_add",
    "sparse_expand_dims",
    "sparse_eye",
]

_sparse_cross, _sparse_cross_hashed = sparse_cross, sparse_cross_hashed


def deserialize_sparse(
    serialized_sparse: Tensor, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensor that `tf.serialize_sparse` wrote; axes before the last one are batch axes.

    ``rank``: the number of dimensions of the result, where it is known.
    """
    indices, values, shape = deserialize_sparse_op(serialized_sparse, dtype=dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
