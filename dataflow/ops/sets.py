"""Sets in the last axis of tensors, dense or sparse: `tf.sets`."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.sparse_tensor import SparseTensor, is_sparse
from dataflow.shapes import Dims, format_dims, merge

MEMBERS = frozenset(
    {
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.string),
    }
)
OPERATIONS = ("a-b", "b-a", "intersection", "union")


def _result(rank: int | None) -> list[Dims]:
    return [(None, rank), (None,), (rank,)]


def _need_rows(rank: int | None, argument: str) -> None:
    """A set is a row: ``rank``, where known, must be 2 or more."""
    if rank is not None and rank < 2:
        raise ValueError(
            f"`{argument}` must have rank 2 or more, got rank {rank}: the sets are the rows of its last axis;"
            " for one set add an axis, `tf.expand_dims(x, 0)`"
        )


def _sparse_rank(indices: Tensor) -> int | None:
    """The rank of a sparse tensor with these ``indices`` [values, rank]; None where it is unknown."""
    return None if indices.dims is None else indices.dims[1]


def _need_operation(set_operation: str) -> None:
    if set_operation not in OPERATIONS:
        raise ValueError(f"set_operation must be one of {OPERATIONS}, got {set_operation!r}")


@define_op(
    "DenseToDenseSetOperation",
    "set1: T, set2: T -> result_indices: int64, result_values: T, result_shape: int64",
    T=MEMBERS,
)
def dense_to_dense_set_operation_op(
    set1: Tensor, set2: Tensor, *, set_operation: str, validate_indices: bool = True
) -> list[Dims]:
    """For each row of the last axis of two dense tensors, a set operation, sorted, as sparse rows.

    ``set_operation`` is "a-b", "b-a", "intersection" or "union". Not differentiable.
    """
    _need_operation(set_operation)
    for set_, argument in ((set1, "set1"), (set2, "set2")):
        _need_rows(None if set_.dims is None else len(set_.dims), argument)
    if set1.dims is not None and set2.dims is not None and len(set1.dims) != len(set2.dims):
        raise ValueError(f"sets of rank {len(set1.dims)} and {len(set2.dims)}: ranks must be equal")
    rows = [None if d is None else d[:-1] for d in (set1.dims, set2.dims)]
    try:
        known = merge(*rows)
    except ValueError:
        raise ValueError(
            f"every row of one has a row of the other: `set1` has rows {format_dims(rows[0])}, `set2` rows"
            f" {format_dims(rows[1])}"
        ) from None
    return _result(None if known is None else len(known) + 1)


@define_op(
    "DenseToSparseSetOperation",
    "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 "
    "-> result_indices: int64, result_values: T, result_shape: int64",
    T=MEMBERS,
)
def dense_to_sparse_set_operation_op(
    set1: Tensor,
    set2_indices: Tensor,
    set2_values: Tensor,
    set2_shape: Tensor,
    *,
    set_operation: str,
    validate_indices: bool = True,
) -> list[Dims]:
    """As DenseToDenseSetOperation, the second tensor sparse. Not differentiable."""
    _need_operation(set_operation)
    rank1 = None if set1.dims is None else len(set1.dims)
    rank2 = _sparse_rank(set2_indices)
    _need_rows(rank1, "set1")
    _need_rows(rank2, "set2")
    if rank1 is not None and rank2 is not None and rank1 != rank2:
        raise ValueError(f"sets of rank {rank1} and {rank2}: ranks must be equal")
    return _result(rank2 if rank1 is None else rank1)


@define_op(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, "
    "set2_shape: int64 -> result_indices: int64, result_values: T, result_shape: int64",
    T=MEMBERS,
)
def sparse_to_sparse_set_operation_op(
    set1_indices: Tensor,
    set1_values: Tensor,
    set1_shape: Tensor,
    set2_indices: Tensor,
    set2_values: Tensor,
    set2_shape: Tensor,
    *,
    set_operation: str,
    validate_indices: bool = True,
) -> list[Dims]:
    """As DenseToDenseSetOperation, both tensors sparse. Not differentiable."""
    _need_operation(set_operation)
    rank1, rank2 = _sparse_rank(set1_indices), _sparse_rank(set2_indices)
    _need_rows(rank1, "set1")
    _need_rows(rank2, "set2")
    if rank1 is not None and rank2 is not None and rank1 != rank2:
        raise ValueError(f"sets of rank {rank1} and {rank2}: ranks must be equal")
    return _result(rank2 if rank1 is None else rank1)


@define_op(
    "SetSize", "set_indices: int64, set_values: T, set_shape: int64 -> size: int32", T=MEMBERS
)
def set_size_op(
    set_indices: Tensor, set_values: Tensor, set_shape: Tensor, *, validate_indices: bool = True
) -> Dims:
    """The number of different elements in each row of the last axis. Not differentiable."""
    return None


not_differentiable(
    dense_to_dense_set_operation_op,
    dense_to_sparse_set_operation_op,
    sparse_to_sparse_set_operation_op,
    set_size_op,
)


def _set_operation(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    options = {"set_operation": operation, "validate_indices": validate_indices}
    if is_sparse(a) and is_sparse(b):
        parts = sparse_to_sparse_set_operation_op(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, **options
        )
    elif is_sparse(b):
        parts = dense_to_sparse_set_operation_op(
            convert_to_tensor(a), b.indices, b.values, b.dense_shape, **options
        )
    elif is_sparse(a):
        # There is no op for this order: the operands and their difference change sides.
        options["set_operation"] = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
        parts = dense_to_sparse_set_operation_op(
            convert_to_tensor(b), a.indices, a.values, a.dense_shape, **options
        )
    else:
        parts = dense_to_dense_set_operation_op(
            convert_to_tensor(a), convert_to_tensor(b), **options
        )
    return SparseTensor(*parts)


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """The number of different elements in each row of the last axis of a SparseTensor, int32.

    Raises `TypeError` for anything else.
    """
    if not is_sparse(a):
        raise TypeError(f"Expected `SparseTensor`, got {a!r}.")
    return set_size_op(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)  # type: ignore[no-any-return]


def set_intersection(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """What is in both, for each row of the last axis."""
    return _set_operation(a, b, "intersection", validate_indices)


def set_difference(
    a: TensorLike, b: TensorLike, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """What is in ``a`` and not in ``b`` (the other way round with ``aminusb=False``)."""
    return _set_operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """What is in either, for each row of the last axis."""
    return _set_operation(a, b, "union", validate_indices)
