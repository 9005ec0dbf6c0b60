"""Kernels of the ops in `dataflow.ops.complex_numbers`."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel, ufunc_kernel

ufunc_kernel("Conj", "conj")


@kernel("Complex")
def complex_kernel(xp: Module, real: Array, imag: Array, *, Tout: DType) -> Any:
    result = xp.empty(xp.broadcast(real, imag).shape, dtype=Tout.numpy)
    result.real = real
    result.imag = imag
    return result


@kernel("Real")
def real_kernel(xp: Module, x: Array) -> Any:
    return x.real.copy()


@kernel("Imag")
def imag_kernel(xp: Module, x: Array) -> Any:
    return x.imag.copy()


@kernel("Angle")
def angle_kernel(xp: Module, x: Array) -> Any:
    return xp.arctan2(x.imag, x.real)
