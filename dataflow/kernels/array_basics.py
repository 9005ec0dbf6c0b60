"""Kernels of shapes and views."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


def int_tuple(vector: Any) -> tuple[int, ...]:
    """A shape or index vector as Python integers."""
    return tuple(vector.tolist())


def scalar_int(value: Any) -> int:
    """A scalar (or one-element) index as a Python integer."""
    return int(value) if not getattr(value, "shape", ()) else int(value.reshape(-1)[0])


@kernel("Shape")
def shape_kernel(xp: Module, x: Array, *, out_type: DType) -> Any:
    return np.array(x.shape if hasattr(x, "shape") else (), out_type.numpy)


@kernel("ShapeN")
def shape_n_kernel(xp: Module, values: list[Array], *, out_type: DType) -> Any:
    return tuple(np.array(v.shape if hasattr(v, "shape") else (), out_type.numpy) for v in values)


@kernel("Size")
def size_kernel(xp: Module, x: Array, *, out_type: DType) -> Any:
    return out_type.numpy.type(getattr(x, "size", 1))


@kernel("Rank")
def rank_kernel(xp: Module, x: Array) -> Any:
    return np.int32(getattr(x, "ndim", 0))


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


@kernel("EnsureShape", any_dtype=True)
def ensure_shape_kernel(xp: Module, x: Array, *, shape: Any) -> Any:
    from dataflow.shapes import compatible, list_dims

    if not compatible(shape, x.shape):
        raise ValueError(
            f"Shape of tensor {list(x.shape)} is not compatible with expected shape "
            f"{list_dims(shape)}."
        )
    return x


@kernel("GuaranteeConst", any_dtype=True)
def guarantee_const_kernel(xp: Module, x: Array) -> Any:
    return x


@kernel("BroadcastTo", any_dtype=True)
def broadcast_to_kernel(xp: Module, x: Any, shape: Array) -> Any:
    source = np.asarray(x, object) if isinstance(x, bytes) else x
    sizes = int_tuple(shape)
    if source.ndim > len(sizes):
        return xp.broadcast_to(source, sizes)  # which refuses, and says why
    out = xp.empty(sizes, source.dtype)
    out[...] = source  # a third of the time that `broadcast_to` and a copy take
    return out


@kernel("BroadcastArgs")
def broadcast_args_kernel(xp: Module, a: Array, b: Array) -> Any:
    return np.array(np.broadcast_shapes(int_tuple(a), int_tuple(b)), a.dtype)


@kernel("BroadcastGradientArgs")
def broadcast_gradient_args_kernel(xp: Module, a: Array, b: Array) -> Any:
    first, second = a.tolist(), b.tolist()
    rank = max(len(first), len(second))
    first = [1] * (rank - len(first)) + first
    second = [1] * (rank - len(second)) + second
    pad_a, pad_b = rank - len(a), rank - len(b)
    left = [i for i in range(rank) if i < pad_a or (first[i] == 1 and second[i] != 1)]
    right = [i for i in range(rank) if i < pad_b or (second[i] == 1 and first[i] != 1)]
    return np.array(left, a.dtype), np.array(right, a.dtype)


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
