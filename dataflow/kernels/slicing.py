"""Kernels that cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("Slice", any_dtype=True)
def slice_kernel(xp: Module, x: Array, begin: Array, size: Array) -> Any:
    index = []
    for axis, (start, length) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        total = x.shape[axis]
        stop = total if length == -1 else start + length
        if not 0 <= start <= stop <= total:
            raise ValueError(
                f"axis {axis} has size {total}: begin {start} with size {length} does not fit"
            )
        index.append(slice(start, stop))
    return x[tuple(index)]


def index_of(
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> tuple[Any, ...]:
    """NumPy's index for TensorFlow's bounds and masks."""
    index: list[Any] = []
    bit = 1
    for first, last, step in zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True):
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(first)
        else:
            index.append(
                slice(None if begin_mask & bit else first, None if end_mask & bit else last, step)
            )
        bit <<= 1
    return tuple(index)


@kernel("StridedSliceAssign", "ResourceStridedSliceAssign")
def strided_slice_assign_kernel(
    xp: Module,
    ref: Any,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> None:
    index = index_of(
        begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )
    with ref.lock:
        shape = ref.read()[index].shape
        if 0 in shape and 0 in np.shape(value):
            return  # nothing is assigned, whatever the other sizes, as in TensorFlow
        if shape != np.shape(value):
            raise ValueError(
                f"a slice of shape {list(shape)} is assigned a value of shape "
                f"{list(np.shape(value))}"
            )
        ref.exclusive()[index] = value


@kernel("StridedSlice", any_dtype=True)
def strided_slice_kernel(
    xp: Module,
    x: Array,
    begin: Array,
    end: Array,
    strides: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    index = index_of(
        begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )
    try:
        return x[index]
    except IndexError as e:
        raise ValueError(f"slice index out of bounds: {e}") from None


@kernel("StridedSliceGrad", any_dtype=True)
def strided_slice_grad_kernel(
    xp: Module,
    shape: Array,
    begin: Array,
    end: Array,
    strides: Array,
    dy: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    out = xp.zeros(tuple(shape.tolist()), dy.dtype)
    index = index_of(
        begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )
    if out[index].shape != dy.shape:
        raise ValueError(
            f"the slice has shape {list(out[index].shape)}, and its gradient {list(dy.shape)}"
        )
    out[index] = dy
    return out


@kernel("_SumOfSlices", factory=True)
def sum_of_slices_kernel(
    xp: Module, *, indices: Sequence[tuple[Any, ...]], apart: bool
) -> Callable[..., Any]:
    places = views_of(indices)

    def run(shape: Array, dy: list[Array]) -> Any:
        dims, dtype = tuple(shape.tolist()), dy[0].dtype
        covers = apart and sum(x.size for x in dy) == math.prod(dims)
        out = (xp.empty if covers else xp.zeros)(dims, dtype)
        for x, place in zip(dy, places, strict=True):
            part = out[place]
            if part.shape != x.shape:
                raise ValueError(
                    f"the slice has shape {list(part.shape)}, and its gradient {list(x.shape)}"
                )
            xp.add(dtype.type(0) if covers else part, x, out=part)
        return out

    return run


def views_of(indices: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """NumPy's indices for those of a ``_SumOfSlices``: what they pick is a view, also of a single element."""
    found = [
        index_of(np.asarray(begin), np.asarray(end), np.asarray(strides), *masks)
        for begin, end, strides, masks in indices
    ]
    return [index if Ellipsis in index else (*index, Ellipsis) for index in found]
