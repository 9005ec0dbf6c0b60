"""Sparse tensors as strings: three serialized tensors each."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.shape import need_rank
from dataflow.ops.sparse_dense import check_triple
from dataflow.ops.sparse_tensor import SparseTensor, to_sparse
from dataflow.shapes import Dims


@define_op(
    "SerializeSparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
)
def serialize_sparse_op(
    sparse_indices: Tensor,
    sparse_values: Tensor,
    sparse_shape: Tensor,
    *,
    out_type: DType = dtypes.string,
) -> Dims:
    """A sparse tensor as three strings, each a serialized tensor. Not differentiable."""
    check_triple(sparse_indices, sparse_values, sparse_shape)
    return (3,)


@define_op(
    "SerializeManySparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
)
def serialize_many_sparse_op(
    sparse_indices: Tensor,
    sparse_values: Tensor,
    sparse_shape: Tensor,
    *,
    out_type: DType = dtypes.string,
) -> Dims:
    """Each row of a sparse tensor as three strings. Not differentiable."""
    check_triple(sparse_indices, sparse_values, sparse_shape)
    return (None, 3)


@define_op(
    "DeserializeManySparse",
    "serialized_sparse: string -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
)
def deserialize_many_sparse_op(serialized_sparse: Tensor, *, dtype: DType) -> list[Dims]:
    """Rows of three strings each as one sparse tensor with a batch axis. Not differentiable."""
    need_rank(serialized_sparse, 2, "serialized_sparse")
    return [(None, None), (None,), (None,)]


@define_op(
    "DeserializeSparse",
    "serialized_sparse: Tserialized -> sparse_indices: int64, sparse_values: dtype, "
    "sparse_shape: int64",
)
def deserialize_sparse_op(serialized_sparse: Tensor, *, dtype: DType) -> list[Dims]:
    """What `SerializeSparse` wrote as a sparse tensor; axes before the last one are batch axes.

    ``serialized_sparse`` has the shape [..., 3], strings or variants. Not differentiable.
    """
    return [(None, None), (None,), (None,)]


not_differentiable(
    serialize_sparse_op,
    serialize_many_sparse_op,
    deserialize_many_sparse_op,
    deserialize_sparse_op,
)


def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """A SparseTensor as a vector of three strings."""
    sp = to_sparse(sp_input)
    return serialize_sparse_op(  # type: ignore[no-any-return]
        sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name
    )


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """Each row of a SparseTensor as three strings."""
    sp = to_sparse(sp_input)
    return serialize_many_sparse_op(  # type: ignore[no-any-return]
        sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name
    )


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose rows `serialize_sparse` wrote, with a batch axis in front."""
    indices, values, sizes = deserialize_many_sparse_op(serialized_sparse, dtype=dtype, name=name)
    if rank is not None:
        indices.set_shape([None, rank])
        sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)


def deserialize_sparse(
    serialized_sparse: Any, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor that `serialize_sparse` wrote, [..., 3], with its batch axes in front.

    ``rank`` is that of the result, where it is known.
    """
    indices, values, sizes = deserialize_sparse_op(serialized_sparse, dtype=dtype, name=name)
    if rank is not None:
        indices.set_shape([None, rank])
        sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)
