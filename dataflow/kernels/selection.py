"""Kernels that choose between two arrays by a condition, and that list what is true."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import true_places
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.registry import kernel

#: Up to so many elements the call of machine code takes longer than the work.
_FEW_ELEMENTS = 1 << 13


@kernel("Select", any_dtype=True)
def select_kernel(xp: Module, condition: Array, x: Array, y: Array) -> Any:
    if condition.shape == ():
        if np.shape(x) != np.shape(y):
            raise ValueError(f"x and y differ in shape: {np.shape(x)} and {np.shape(y)}")
        if xp is not np:  # to look at the condition would make the host wait
            return xp.where(condition, x, y)
        return x if condition else y
    if x.shape != y.shape:
        raise ValueError(
            f"x and y must have the same shape, got {list(x.shape)} and {list(y.shape)}"
        )
    if condition.ndim < x.ndim:
        if condition.ndim != 1 or condition.shape[0] != x.shape[0]:
            raise ValueError(
                f"the condition has shape {list(condition.shape)}, x and y {list(x.shape)}"
            )
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
        if xp is np and x.size <= _FEW_ELEMENTS:  # whole rows, so where() seldom jumps
            return np.where(condition, x, y)
    elif condition.shape != x.shape:
        raise ValueError(
            f"the condition has shape {list(condition.shape)}, x and y {list(x.shape)}"
        )
    return _choose(xp, condition, x, y)


@kernel("SelectV2", any_dtype=True)
def select_v2_kernel(xp: Module, condition: Array, x: Array, y: Array) -> Any:
    return _choose(xp, condition, x, y)


@NativeUfunc
def _select(xp: Module, condition: Any, x: Array, y: Array) -> Any:
    return xp.where(condition, x, y)


def _choose(xp: Module, condition: Any, x: Array, y: Array) -> Any:
    # NumPy's where() jumps at every element, which costs most where it cannot be foreseen.
    return _select(xp, condition, x, y, dtype=x.dtype)


@kernel("Where")
def where_kernel(xp: Module, x: Array) -> Any:
    if not x.shape:
        return xp.zeros((int(bool(x)), 0), np.int64)
    if x.ndim == 1:
        return x.nonzero()[0].reshape(-1, 1).astype(np.int64, copy=False)
    if xp is np:
        return true_places(x)
    return xp.argwhere(x).astype(np.int64, copy=False)
