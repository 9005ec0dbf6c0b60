"""Ragged tensors from nested lists, and placeholders for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.ragged_value import RaggedTensorValue
from dataflow.ops.sources import placeholder as dense_placeholder


def _depth(pylist: Any) -> int:
    """The nesting of lists; an array counts its axes."""
    if isinstance(pylist, np.ndarray):
        return pylist.ndim
    if not isinstance(pylist, (list, tuple)):
        return 0
    return 1 + max((_depth(item) for item in pylist), default=0)


def _check_depths(pylist: Any, depth: int) -> None:
    is_list = isinstance(pylist, (list, tuple)) or np.ndim(pylist) > 0
    if not is_list:
        if depth:
            raise ValueError(
                f"all scalar values must have the same nesting depth: {pylist!r} has less"
            )
        return
    for item in pylist:
        if isinstance(item, (list, tuple)) and depth == 1:
            raise ValueError(
                f"all scalar values must have the same nesting depth: {item!r} has more"
            )
        if depth > 1:
            _check_depths(item, depth - 1)


def constant_value(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """The `RaggedTensorValue` of nested lists; an array where no axis is ragged.

    ``ragged_rank`` is the number of ragged axes, by default all but the first (less the axes of
    ``inner_shape``). Raises `ValueError` for numbers that stand at different depths.
    """
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        return np.array(pylist, None if dtype is None else as_dtype(dtype).as_numpy_dtype)
    depth = _depth(pylist)
    inner = 0 if inner_shape is None else len(inner_shape)
    if ragged_rank is None:
        ragged_rank = max(depth - 1 - inner, 0)
    if (
        ragged_rank >= max(depth, 1)
        and ragged_rank > 0
        and depth <= ragged_rank
        and _has_values(pylist)
    ):
        raise ValueError(f"pylist has scalar values depth {depth}, but ragged_rank={ragged_rank}")
    if inner_shape is None:
        _check_depths(pylist, max(depth, ragged_rank + 1))
    splits = []
    flat = list(pylist)
    index = np.dtype(as_dtype(row_splits_dtype).as_numpy_dtype)
    for _ in range(ragged_rank):
        splits.append(np.cumsum([0, *(len(row) for row in flat)]).astype(index))
        flat = [item for row in flat for item in row]
    kind = None if dtype is None else as_dtype(dtype)
    values = _flat_array(flat, kind)
    if inner_shape is not None:
        values = values.reshape([-1, *inner_shape])
    result: Any = values
    for split in reversed(splits):
        result = RaggedTensorValue(result, split)
    return result


def _has_values(pylist: Any) -> bool:
    if isinstance(pylist, (list, tuple)):
        return any(_has_values(item) for item in pylist)
    return True


def _flat_array(flat: list[Any], kind: Any) -> Any:
    from dataflow.graph.conversion import array_of

    if not flat:
        return np.zeros(0, (kind or dtypes.float32).as_numpy_dtype)
    return array_of(flat, kind)[0]


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """A constant `RaggedTensor` of nested lists; a tensor where no axis is ragged. See `constant_value`."""
    with op_scope(name, "RaggedConstant", []):
        value = constant_value(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype)
        return convert_to_ragged(value, dtype)


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """A ragged tensor that is fed with a `RaggedTensorValue`; ``value_shape`` is of one inner value."""
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with op_scope(name, "RaggedPlaceholder", []):
        inner = [] if value_shape is None else list(value_shape)
        result: Any = dense_placeholder(
            dtype, None if value_shape is None else [None, *inner], "flat_values"
        )
        for i in reversed(range(ragged_rank)):
            splits = dense_placeholder(dtypes.int64, [None], f"row_splits_{i}")
            result = RaggedTensor(result, splits)
        return result
