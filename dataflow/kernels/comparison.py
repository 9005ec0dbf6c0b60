"""Kernels of the ops in `dataflow.ops.comparison`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel, ufunc_kernel

ufunc_kernel("Less", "less")
ufunc_kernel("LessEqual", "less_equal")
ufunc_kernel("Greater", "greater")
ufunc_kernel("GreaterEqual", "greater_equal")
ufunc_kernel("LogicalAnd", "logical_and")
ufunc_kernel("LogicalOr", "logical_or")
ufunc_kernel("LogicalNot", "logical_not")
ufunc_kernel("IsNan", "isnan")
ufunc_kernel("IsInf", "isinf")
ufunc_kernel("IsFinite", "isfinite")
ufunc_kernel("BitwiseAnd", "bitwise_and")
ufunc_kernel("BitwiseOr", "bitwise_or")
ufunc_kernel("BitwiseXor", "bitwise_xor")
ufunc_kernel("Invert", "invert")


def _equality(xp: Module, dtype: DType, strict: bool, ufunc: str) -> Any:
    compare = getattr(xp, ufunc)
    if dtype.kind == "S":

        def compare_strings(x: Array, y: Array) -> Any:
            return getattr(np, ufunc)(np.asarray(x, object), np.asarray(y, object)).astype(bool)

        compare = compare_strings
    if strict:
        return compare

    def lenient(x: Array, y: Array) -> Any:
        try:
            return compare(x, y)
        except ValueError:
            return np.bool_(ufunc == "not_equal")

    return lenient


@kernel("Equal", factory=True)
def equal_kernel(xp: Module, *, T: DType, incompatible_shape_error: bool) -> Any:
    return _equality(xp, T, incompatible_shape_error, "equal")


@kernel("NotEqual", factory=True)
def not_equal_kernel(xp: Module, *, T: DType, incompatible_shape_error: bool) -> Any:
    return _equality(xp, T, incompatible_shape_error, "not_equal")


@kernel("ApproximateEqual")
def approximate_equal_kernel(xp: Module, x: Array, y: Array, *, tolerance: float) -> Any:
    return xp.abs(x - y) < tolerance


@kernel("CompareAndBitpack")
def compare_and_bitpack_kernel(xp: Module, input: Array, threshold: Array) -> Any:
    if not input.ndim or input.shape[-1] % 8:
        raise ValueError(f"the last size must be a multiple of 8, got {list(input.shape)}")
    bits = xp.greater(input, threshold).reshape(-1)
    return xp.packbits(bits).reshape(*input.shape[:-1], input.shape[-1] // 8)


def _shift_amount(xp: Module, x: Array, y: Array) -> Any:
    return xp.clip(y, 0, x.dtype.itemsize * 8 - 1)


@kernel("LeftShift")
def left_shift_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.left_shift(x, _shift_amount(xp, x, y))


@kernel("RightShift")
def right_shift_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.right_shift(x, _shift_amount(xp, x, y))


@kernel("PopulationCount")
def population_count_kernel(xp: Module, x: Array) -> Any:
    unsigned = xp.asarray(x).view(f"u{x.dtype.itemsize}")
    return xp.bitwise_count(unsigned)[()]
