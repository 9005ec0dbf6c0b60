"""The ops by which Examples are parsed: TensorFlow 1's, and 2.x's `ParseExampleV2` for its graphs."""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.dtypes import DType
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims, Shape


@define_op(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
    "ragged_keys: string, dense_defaults: list(Tdense) -> sparse_indices: num_sparse * int64, "
    "sparse_values: list(sparse_types), sparse_shapes: num_sparse * int64, "
    "dense_values: list(Tdense), ragged_values: list(ragged_value_types), "
    "ragged_row_splits: list(ragged_split_types)",
)
def parse_example_op(
    serialized: Tensor,
    names: Tensor,
    sparse_keys: Tensor,
    dense_keys: Tensor,
    ragged_keys: Tensor,
    dense_defaults: list[Tensor],
    *,
    num_sparse: int,
    sparse_types: list[DType],
    ragged_value_types: list[DType],
    ragged_split_types: list[DType],
    dense_shapes: list[Shape],
) -> list[Dims]:
    """Serialized ``Example`` messages (a scalar or a vector) as dense and sparse features.

    Shape: dense ones get the batch in front; one whose first size is unknown is padded. Not
    differentiable. Ragged features are not read.
    """
    if ragged_value_types:
        raise ValueError("ragged features are not read here: use VarLenFeature")
    batch = serialized.dims
    if batch is not None and len(batch) > 1:
        raise ValueError(f"serialized must be a scalar or a vector, got {shapes.list_dims(batch)}")
    rank = None if batch is None else len(batch) + 1
    result: list[Dims] = [(None, rank)] * num_sparse
    result += [(None,)] * num_sparse
    result += [(rank,)] * num_sparse
    for dims in dense_shapes:
        result.append(None if batch is None or dims is None else (*batch, *dims))
    return result


def _dims(serialized: Tensor, num_sparse: int, dense_shapes: list[Shape]) -> list[Dims]:
    return parse_example_op.shape_rule(  # type: ignore[no-any-return]
        serialized,
        *[None] * 5,
        num_sparse=num_sparse,
        sparse_types=[],
        ragged_value_types=[],
        ragged_split_types=[],
        dense_shapes=dense_shapes,
    )


@define_op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string, "
    "dense_defaults: list(Tdense) -> sparse_indices: Nsparse * int64, "
    "sparse_values: list(sparse_types), sparse_shapes: Nsparse * int64, dense_values: list(Tdense)",
)
def parse_example_v1_op(
    serialized: Tensor,
    names: Tensor,
    sparse_keys: list[Tensor],
    dense_keys: list[Tensor],
    dense_defaults: list[Tensor],
    *,
    sparse_types: list[DType],
    dense_shapes: list[Shape],
) -> list[Dims]:
    """A vector of serialized ``Example`` messages as dense and sparse features.

    Shape: dense ones get the batch in front. Not differentiable.
    """
    if serialized.dims is not None and len(serialized.dims) != 1:
        raise ValueError(f"serialized must be a vector, got {shapes.list_dims(serialized.dims)}")
    return _dims(serialized, len(sparse_keys), dense_shapes)


@define_op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: list(Tdense) -> sparse_indices: num_sparse * int64, "
    "sparse_values: list(sparse_types), sparse_shapes: num_sparse * int64, dense_values: list(Tdense)",
    attrs="num_sparse: int, sparse_keys: list[str], dense_keys: list[str], "
    "sparse_types: list[DType], dense_shapes: list[Shape]",
)
def parse_single_example_op(
    serialized: Tensor, dense_defaults: list[Tensor], **attrs: Any
) -> list[Dims]:
    """One serialized ``Example``, a scalar, as dense and sparse features. Not differentiable.

    Shape: dense ones ``dense_shapes``; a sparse one is a vector.
    """
    if serialized.dims not in (None, ()):
        raise ValueError(f"serialized must be a scalar, got {shapes.list_dims(serialized.dims)}")
    if len(attrs["sparse_keys"]) != attrs["num_sparse"]:
        raise ValueError(
            f"there must be a key for each of the {attrs['num_sparse']} sparse features, got "
            f"{len(attrs['sparse_keys'])}"
        )
    return _dims(serialized, attrs["num_sparse"], attrs["dense_shapes"])


not_differentiable(parse_example_op, parse_example_v1_op, parse_single_example_op)
