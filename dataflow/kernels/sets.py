"""Kernels of the ops in `dataflow.ops.sets`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

_REASON = "sets are matched on the host"
_Rows = dict[tuple[int, ...], set[Any]]


def _dense_rows(array: Array) -> tuple[_Rows, tuple[int, ...]]:
    if array.ndim < 2:
        raise ValueError(f"sets need rank 2 or more, got shape {list(array.shape)}")
    rows = {at: set(array[at].tolist()) for at in np.ndindex(*array.shape[:-1])}
    return rows, array.shape[:-1]


def _sparse_rows(indices: Array, values: Any, shape: Any) -> tuple[_Rows, tuple[int, ...]]:
    if len(shape) < 2:
        raise ValueError(f"sets need rank 2 or more, got shape {shape.tolist()}")
    rows: _Rows = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        rows.setdefault(tuple(index[:-1]), set()).add(value)
    return rows, tuple(shape.tolist()[:-1])


def _combine(
    first: tuple[_Rows, tuple[int, ...]],
    second: tuple[_Rows, tuple[int, ...]],
    operation: str,
    dtype: Any,
) -> tuple[Any, Any, Any]:
    (a, groups), (b, other_groups) = first, second
    if groups != other_groups:
        raise ValueError(f"sets of groups {list(groups)} and {list(other_groups)}")
    operations: dict[str, Any] = {
        "a-b": set.difference,
        "b-a": lambda x, y: y - x,
        "intersection": set.intersection,
        "union": set.union,
    }
    function = operations[operation]
    indices: list[Any] = []
    values: list[Any] = []
    width = 0
    for at in sorted({*a, *b}):
        found = sorted(function(a.get(at, set()), b.get(at, set())))
        width = max(width, len(found))
        indices.extend((*at, i) for i in range(len(found)))
        values.extend(found)
    rank = len(groups) + 1
    result = np.empty(len(values), dtype)
    result[:] = values
    return (
        np.array(indices, np.int64).reshape(-1, rank),
        result,
        np.array([*groups, width], np.int64),
    )


@kernel("DenseToDenseSetOperation", cpu_only=_REASON)
def dense_to_dense_set_operation_kernel(
    xp: Module, a: Array, b: Array, *, set_operation: str
) -> Any:
    return _combine(_dense_rows(a), _dense_rows(b), set_operation, a.dtype)


@kernel("DenseToSparseSetOperation", cpu_only=_REASON)
def dense_to_sparse_set_operation_kernel(
    xp: Module, a: Array, indices: Array, values: Array, shape: Array, *, set_operation: str
) -> Any:
    return _combine(_dense_rows(a), _sparse_rows(indices, values, shape), set_operation, a.dtype)


@kernel("SparseToSparseSetOperation", cpu_only=_REASON)
def sparse_to_sparse_set_operation_kernel(
    xp: Any, ia: Any, a: Any, sa: Any, ib: Any, b: Any, sb: Any, *, set_operation: str
) -> Any:
    first, second = _sparse_rows(ia, a, sa), _sparse_rows(ib, b, sb)
    return _combine(first, second, set_operation, a.dtype)


@kernel("SetSize", cpu_only=_REASON)
def set_size_kernel(xp: Module, indices: Array, values: Array, shape: Array) -> Any:
    rows, groups = _sparse_rows(indices, values, shape)
    sizes = np.zeros(groups, np.int32)
    for at, members in rows.items():
        sizes[at] = len(members)
    return sizes
