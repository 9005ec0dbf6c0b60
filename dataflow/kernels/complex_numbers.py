"""Kernels of the ops in `dataflow.ops.complex_numbers`."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.kernels.registry import kernel, ufunc_kernel

ufunc_kernel("Conj", "conj")


@kernel("Complex")
def complex_kernel(xp: Any, real: Any, imag: Any, *, Tout: DType) -> Any:
    result = xp.empty(xp.broadcast(real, imag).shape, dtype=Tout.numpy)
    result.real = real
    result.imag = imag
    return result


@kernel("Real")
def real_kernel(xp: Any, x: Any) -> Any:
    return x.real.copy()


@kernel("Imag")
def imag_kernel(xp: Any, x: Any) -> Any:
    return x.imag.copy()


@kernel("Angle")
def angle_kernel(xp: Any, x: Any) -> Any:
    return xp.arctan2(x.imag, x.real)
