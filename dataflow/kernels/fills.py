"""Kernels of arrays of one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import int_tuple
from dataflow.kernels.indexed_list import zeros_like_list
from dataflow.kernels.item_list import is_list
from dataflow.kernels.registry import kernel


@kernel("Fill", any_dtype=True)
def fill_kernel(xp: Module, dims: Array, value: Array) -> Any:
    shape = int_tuple(dims)
    for size in shape:
        if size < 0:
            raise ValueError(f"sizes must not be negative, got {list(shape)}")
    dtype = getattr(value, "dtype", np.dtype(object))
    out = xp.empty(shape, dtype)
    out[...] = value
    return out


@kernel("ZerosLike", any_dtype=True)
def zeros_like_kernel(xp: Module, x: Any) -> Any:
    if isinstance(x, bytes):
        return b""
    if is_list(x):
        return zeros_like_list(x)
    if x.dtype.kind == "O":
        return np.full(x.shape, b"", object)
    return xp.zeros(x.shape, x.dtype)


@kernel("OnesLike")
def ones_like_kernel(xp: Module, x: Array) -> Any:
    return xp.ones(x.shape, x.dtype)


@kernel("Empty")
def empty_kernel(xp: Module, shape: Array, *, dtype: DType) -> Any:
    if dtype.numpy.kind == "O":
        return np.full(int_tuple(shape), b"", object)
    return xp.zeros(int_tuple(shape), dtype.numpy)
