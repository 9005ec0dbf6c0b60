"""`SparseCross`: combinations of sparse features, hashed as TensorFlow hashes them."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.casts import cast
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
    """All combinations of one value of each input in a row: hashed, a sparse matrix of buckets, or as
    texts with ``_X_`` between them. The last input varies fastest. Not differentiable.
    """
    return [(None, 2), (None,), (2,)]


@define_op(
    "SparseFeatureCross",
    "indices: N * int64, values: list(sparse_types), shapes: N * int64, "
    "dense: list(dense_types) -> "
    "output_indices: int64, output_values: out_type, output_shape: int64",
)
def sparse_feature_cross_op(
    indices: list[Tensor],
    values: list[Tensor],
    shapes: list[Tensor],
    dense: list[Tensor],
    *,
    hashed_output: bool = True,
    num_buckets: int = 0,
    out_type: DType = dtypes.int64,
    internal_type: DType = dtypes.string,
) -> list[Dims]:
    """All combinations of one value of each input in a row: hashed as in TensorFlow's first crosses,
    or as texts with ``_X_`` between them. The last input varies fastest. Not differentiable.
    """
    return [(None, 2), (None,), (2,)]


not_differentiable(sparse_cross_op, sparse_feature_cross_op)


def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """The crosses of the rows of SparseTensors and matrices [batch, n], as texts ``a_X_b``.

    Raises `TypeError` unless ``inputs`` is a list.
    """
    return SparseTensor(
        *sparse_cross_op(
            *_parts(inputs),
            hashed_output=False,
            out_type=dtypes.string,
            internal_type=dtypes.string,
            name=name,
        )
    )


def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The crosses of the rows of SparseTensors and matrices [batch, n], as buckets (int64).

    Raises `TypeError` unless ``inputs`` is a list.
    """
    return SparseTensor(
        *sparse_cross_op(
            *_parts(inputs),
            num_buckets=num_buckets,
            hash_key=DEFAULT_HASH_KEY if hash_key is None else hash_key,
            name=name,
        )
    )


def _parts(inputs: Any) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """Indices, values and shapes of the sparse inputs, and the dense ones: strings or int64."""
    if not isinstance(inputs, list):
        raise TypeError(f"Inputs must be a list, got {type(inputs).__name__}.")

    def whole(values: Any) -> Any:
        return values if values.dtype.base_dtype is dtypes.string else cast(values, dtypes.int64)

    sparse = [t for t in inputs if isinstance(t, SparseTensor)]
    return (
        [t.indices for t in sparse],
        [whole(t.values) for t in sparse],
        [t.dense_shape for t in sparse],
        [whole(convert_to_tensor(t)) for t in inputs if not isinstance(t, SparseTensor)],
    )


def sparse_feature_cross(
    inputs: Any,
    hashed_output: bool = False,
    num_buckets: int = 0,
    name: str | None = None,
    hash_key: int | None = None,
) -> SparseTensor:
    """The crosses of SparseTensors and matrices of `tf.contrib.layers`: texts ``a_X_b``, or buckets.

    Without ``hash_key`` buckets are those of TensorFlow's first hash, with one those of
    `sparse_cross_hashed`. Raises `TypeError` unless ``inputs`` is a list.
    """
    if hash_key and hashed_output:
        return sparse_cross_hashed(inputs, num_buckets, hash_key, name)
    return SparseTensor(
        *sparse_feature_cross_op(
            *_parts(inputs),
            hashed_output=hashed_output,
            num_buckets=num_buckets,
            out_type=dtypes.int64 if hashed_output else dtypes.string,
            name=name,
        )
    )
