"""Kernels of the ops in `dataflow.ops.arithmetic`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit import op_table
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.registry import kernel, ufunc_kernel

ufunc_kernel("AddV2", "add")
ufunc_kernel("Sub", "subtract")
ufunc_kernel("Mul", "multiply")
ufunc_kernel("Maximum", "maximum")
ufunc_kernel("Minimum", "minimum")
ufunc_kernel("Atan2", "arctan2")


@kernel("Add", factory=True)
def add_kernel(xp: Module, *, T: DType) -> Any:
    if T.kind != "S":
        return xp.add

    def join(x: Array, y: Array) -> Any:
        return np.add(np.asarray(x, object), np.asarray(y, object))

    return join


def _no_zero(x: Array, y: Array) -> None:
    # Nothing is divided where x is empty: the gradient of a sum to a scalar relies on it.
    if x.size and not y.all():
        raise ValueError("Integer division by zero")


@kernel("RealDiv", "Div", factory=True)
def div_kernel(xp: Module, *, T: DType) -> Any:
    if T.kind in "fc":
        return xp.true_divide
    return _truncating(xp, T)


@kernel("TruncateDiv", factory=True)
def truncate_div_kernel(xp: Module, *, T: DType) -> Any:
    if T.kind == "f":
        return lambda x, y: xp.trunc(xp.true_divide(x, y))
    return div_kernel(xp, T=T)


def _truncating(xp: Module, dtype: DType) -> Any:
    def divide(x: Array, y: Array) -> Any:
        _no_zero(x, y)
        if dtype.kind == "u":
            return x // y
        # Rounded down, then up again where that left a remainder of the other sign.
        quotient = xp.floor_divide(x, y)
        return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)

    return divide


@kernel("FloorDiv", factory=True)
def floor_div_kernel(xp: Module, *, T: DType) -> Any:
    if T.kind in "fc":
        return lambda x, y: xp.floor(xp.true_divide(x, y))

    def divide(x: Array, y: Array) -> Any:
        _no_zero(x, y)
        return xp.floor_divide(x, y)

    return divide


@kernel("FloorMod", factory=True)
def floor_mod_kernel(xp: Module, *, T: DType) -> Any:
    if T.kind == "f":
        return xp.remainder

    def modulo(x: Array, y: Array) -> Any:
        _no_zero(x, y)
        return xp.remainder(x, y)

    return modulo


@kernel("TruncateMod", "Mod", factory=True)
def truncate_mod_kernel(xp: Module, *, T: DType) -> Any:
    if T.kind == "f":
        return xp.fmod

    def modulo(x: Array, y: Array) -> Any:
        _no_zero(x, y)
        return xp.fmod(x, y)

    return modulo


@kernel("DivNoNan")
def div_no_nan_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.where(y == 0, x.dtype.type(0), xp.true_divide(x, y))[()]


@kernel("MulNoNan")
def mul_no_nan_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.where(y == 0, x.dtype.type(0), xp.multiply(x, y))[()]


@kernel("Pow")
def pow_kernel(xp: Module, x: Array, y: Array) -> Any:
    if xp is np and not y.shape and x.dtype.kind in "fc":
        # The general power of a negative base takes some fifty times as long, and its last places
        # are not those of the rewrites, `rewrites.algebra`.
        if y == 1 and x.dtype.kind == "f":
            return x.copy()
        if y == 2:
            return np.square(x)
        if y == 3:
            return x * x * x
        if y == 4:
            return np.square(np.square(x))
    return xp.power(x, y)


_squared_difference = NativeUfunc(op_table.squared_difference)


@kernel("SquaredDifference")
def squared_difference_kernel(xp: Module, x: Array, y: Array) -> Any:
    if x.dtype.kind == "c":
        difference = x - y
        return (difference * difference.conj()).astype(difference.dtype, copy=False)
    return _squared_difference(xp, x, y)
