"""`SparseCross`: combinations of sparse features, hashed as TensorFlow hashes them."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import Dims

#: Where a hash starts unless another key is given; TensorFlow's.
DEFAULT_HASH_KEY = 0xDECAFCAFFE


@define_op(
    "SparseCross",
    "indices: N * int64, values: list(sparse_types), shapes: N * int64, "
    "dense_inputs: list(dense_types) -> "
    "output_indices: int64, output_values: out_type, output_shape: int64",
)
def sparse_cross_op(
    indices: list[Tensor],
    values: list[Tensor],
    shapes: list[Tensor],
    dense_inputs: list[Tensor],
    *,
    hashed_output: bool = True,
    num_buckets: int = 0,
    hash_key: int = DEFAULT_HASH_KEY,
    out_type: DType = dtypes.int64,
    internal_type: DType = dtypes.int64,
) -> list[Dims]:
    """All combinations of one value of each input in a row, hashed: a sparse matrix of buckets.

    The last input varies fastest. Not differentiable.
    """
    if not hashed_output:
        raise ValueError("only hashed crosses are computed\nUse hashed_output=True.")
    return [(None, 2), (None,), (2,)]


not_differentiable(sparse_cross_op)


def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The crosses of SparseTensors [batch, n] of strings or integers, as buckets (int64)."""
    indices, values, shape = sparse_cross_op(
        [t.indices for t in inputs],
        [t.values for t in inputs],
        [t.dense_shape for t in inputs],
        [],
        num_buckets=num_buckets,
        hash_key=DEFAULT_HASH_KEY if hash_key is None else hash_key,
        name=name,
    )
    return SparseTensor(indices, values, shape)
