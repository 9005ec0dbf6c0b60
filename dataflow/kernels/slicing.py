"""Kernels that cut and pad."""

from __future__ import annotations

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


@kernel("StridedSliceAssign")
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
    out[index] = dy
    return out


def _inner(paddings: Any, shape: Any) -> tuple[list[int], tuple[slice, ...]]:
    """The padded sizes, and where the input stands in them."""
    pairs = paddings.tolist()
    if len(pairs) != len(shape):
        raise ValueError(f"{len(pairs)} pairs of paddings for an input of rank {len(shape)}")
    if any(min(p) < 0 for p in pairs):
        raise ValueError(f"paddings must not be negative, got {pairs}")
    sizes = [b + d + a for d, (b, a) in zip(shape, pairs, strict=True)]
    return sizes, tuple(slice(b, b + d) for d, (b, _) in zip(shape, pairs, strict=True))


@kernel("Pad", any_dtype=True)
def pad_kernel(xp: Module, x: Array, paddings: Array) -> Any:
    sizes, inner = _inner(paddings, x.shape)
    out = np.full(sizes, b"", object) if x.dtype.kind == "O" else xp.zeros(sizes, x.dtype)
    out[inner] = x
    return out


@kernel("PadV2", any_dtype=True)
def pad_v2_kernel(xp: Module, x: Array, paddings: Array, constant_values: Array) -> Any:
    sizes, inner = _inner(paddings, x.shape)
    out = xp.empty(sizes, x.dtype)
    out[...] = constant_values
    out[inner] = x
    return out


_NUMPY_MODE = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}


@kernel("MirrorPad")
def mirror_pad_kernel(xp: Module, x: Array, paddings: Array, *, mode: str) -> Any:
    spare = 1 if mode == "REFLECT" else 0
    for size, pair in zip(x.shape, paddings.tolist(), strict=True):
        if max(pair) > size - spare:
            raise ValueError(f"{mode} padding {pair} is too much for an axis of size {size}")
    return xp.pad(x, paddings.tolist(), mode=_NUMPY_MODE[mode])


@kernel("MirrorPadGrad")
def mirror_pad_grad_kernel(xp: Module, grad: Array, paddings: Array, *, mode: str) -> Any:
    spare = 1 if mode == "REFLECT" else 0
    out = grad
    for axis, (before, after) in enumerate(paddings.tolist()):
        rows = xp.moveaxis(out, axis, 0)
        size = rows.shape[0] - before - after
        inner = rows[before : before + size].copy()
        if before:
            inner[spare : spare + before] += rows[:before][::-1]
        if after:
            inner[size - spare - after : size - spare] += rows[before + size :][::-1]
        out = xp.moveaxis(inner, 0, axis)
    return out
