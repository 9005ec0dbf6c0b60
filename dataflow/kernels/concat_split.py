"""Kernels that put tensors together and take them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.concat import concatenate, stack
from dataflow.kernels.index_arrays import scalar_int
from dataflow.kernels.registry import kernel


@kernel("ConcatV2", any_dtype=True)
def concat_kernel(xp: Module, values: list[Array], axis: Array) -> Any:
    return concatenate(xp, values, scalar_int(axis))


@kernel("Concat", any_dtype=True)
def concat_v1_kernel(xp: Module, axis: Array, values: list[Array]) -> Any:
    return concatenate(xp, values, scalar_int(axis))


@kernel("ConcatOffset")
def concat_offset_kernel(xp: Module, axis: Array, shapes: list[Array]) -> Any:
    at, position, out = scalar_int(axis), 0, []
    for shape in shapes:
        offset = np.zeros_like(shape)
        offset[at] = position
        position += int(shape[at])
        out.append(offset)
    return tuple(out)


@kernel("Pack", any_dtype=True)
def stack_kernel(xp: Module, values: list[Array], *, axis: int) -> Any:
    # Strings, and handles such as queues, which are no arrays.
    if getattr(values[0], "dtype", np.dtype(object)).kind == "O":
        return np.stack([_boxed(v) for v in values], axis)
    first = values[0].shape
    for v in values:
        if v.shape != first:
            raise ValueError(f"shapes differ: {list(first)} and {list(v.shape)}")
    if not first:
        return xp.array(values, dtype=values[0].dtype) if xp is np else stack(xp, values)
    if axis == 0 and xp is np:  # without a view of each
        return np.concatenate(values).reshape(len(values), *first)
    return stack(xp, values, axis)


def _boxed(value: Any) -> Any:
    """An array of text, or an array whose one element is a handle or a list of tensors."""
    if hasattr(value, "dtype"):
        return np.asarray(value, object)
    box = np.empty((), object)
    box[()] = value
    return box


@kernel("Unpack", any_dtype=True)
def unstack_kernel(xp: Module, value: Array, *, num: int, axis: int) -> Any:
    if value.shape[axis] != num:
        raise ValueError(f"axis {axis} has size {value.shape[axis]}, not {num}")
    if axis % value.ndim == 0:
        return tuple(value)
    return tuple(xp.moveaxis(value, axis, 0))


@kernel("ParallelConcat")
def parallel_concat_kernel(xp: Module, values: list[Array]) -> Any:
    return concatenate(xp, values, 0)


@kernel("Split", any_dtype=True)
def split_kernel(xp: Module, axis: Array, value: Array, *, num_split: int) -> Any:
    at = scalar_int(axis)
    size = value.shape[at]
    if size % num_split:
        raise ValueError(f"axis {at} has size {size}, not divisible into {num_split} parts")
    return _cut(value, at, [size // num_split] * num_split)


def _cut(value: Any, axis: int, sizes: list[int]) -> Any:
    """Views of consecutive parts along an axis."""
    before = (slice(None),) * (axis % value.ndim)
    out, position = [], 0
    for size in sizes:
        out.append(value[(*before, slice(position, position + size))])
        position += size
    return tuple(out)


@kernel("SplitV", any_dtype=True)
def split_v_kernel(xp: Module, value: Array, sizes: Array, axis: Array) -> Any:
    at = scalar_int(axis)
    total = value.shape[at]
    parts = sizes.tolist()
    if -1 in parts:
        parts[parts.index(-1)] = total - sum(parts) - 1
    if sum(parts) != total or min(parts, default=0) < 0:
        raise ValueError(f"sizes {sizes.tolist()} do not add up to {total}, the size of axis {at}")
    return _cut(value, at, parts)
