"""Kernels that show the same elements, or the same bytes, in another shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import scalar_int
from dataflow.kernels.registry import kernel


@kernel("Reshape", any_dtype=True)
def reshape_kernel(xp: Module, x: Array, shape: Array) -> Any:
    x = x if hasattr(x, "reshape") else np.asarray(x, object)
    sizes = shape.tolist()
    if 0 in sizes and -1 in sizes:  # NumPy will not infer a size next to a zero
        if sum(s == -1 for s in sizes) == 1 and x.size == 0:
            return x.reshape(_inferred(x.shape, sizes))
    try:
        return x.reshape(sizes)
    except ValueError:
        raise ValueError(
            f"cannot reshape {x.size} elements of shape {list(x.shape)} to {sizes}"
        ) from None


def _inferred(shape: tuple[int, ...], sizes: list[int]) -> list[int]:
    """``sizes`` with the one that is -1: what is left when the zeros on both sides are left out."""
    elements = math.prod(s for s in shape if s)
    return [elements // math.prod(s for s in sizes if s > 0) if s == -1 else s for s in sizes]


@kernel("ExpandDims", any_dtype=True)
def expand_dims_kernel(xp: Module, x: Array, axis: Array) -> Any:
    x = x if hasattr(x, "shape") else np.asarray(x, object)
    at = scalar_int(axis)
    if not -x.ndim - 1 <= at <= x.ndim:
        return xp.expand_dims(x, at)  # which refuses, and says why
    at += x.ndim + 1 if at < 0 else 0
    return x.reshape(*x.shape[:at], 1, *x.shape[at:])  # a third of the time of `expand_dims`


@kernel("Squeeze", any_dtype=True)
def squeeze_kernel(xp: Module, x: Array, *, squeeze_dims: Any) -> Any:
    return x.squeeze(tuple(squeeze_dims)) if squeeze_dims else x.squeeze()


@kernel("Bitcast", any_dtype=True)
def bitcast_kernel(xp: Module, x: Array, *, type: DType) -> Any:
    target = type.numpy
    x = xp.ascontiguousarray(x).reshape(x.shape)
    old, new = x.dtype.itemsize, target.itemsize
    if old == new:
        return x.view(target)
    if old > new:
        return x.reshape(x.shape + (1,)).view(target)
    if not x.shape or x.shape[-1] != new // old:
        raise ValueError(f"the last axis of {list(x.shape)} must have size {new // old}")
    return x.view(target).reshape(x.shape[:-1])
