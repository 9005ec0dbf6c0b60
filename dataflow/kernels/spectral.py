"""Kernels of the ops in `dataflow.ops.spectral`."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.kernels.registry import kernel


def _register(num_axes: int) -> None:
    suffix = "" if num_axes == 1 else f"{num_axes}D"
    axes = tuple(range(-num_axes, 0))

    @kernel(f"FFT{suffix}")
    def forward_kernel(xp: Any, x: Any) -> Any:
        return xp.fft.fftn(x, axes=axes).astype(x.dtype, copy=False)

    @kernel(f"IFFT{suffix}")
    def inverse_kernel(xp: Any, x: Any) -> Any:
        return xp.fft.ifftn(x, axes=axes).astype(x.dtype, copy=False)

    @kernel(f"RFFT{suffix}")
    def real_kernel(xp: Any, x: Any, fft_length: Any, *, Tcomplex: DType) -> Any:
        sizes = tuple(fft_length.tolist())
        return xp.fft.rfftn(x, s=sizes, axes=axes).astype(Tcomplex.numpy, copy=False)

    @kernel(f"IRFFT{suffix}")
    def to_real_kernel(xp: Any, x: Any, fft_length: Any, *, Treal: DType) -> Any:
        sizes = tuple(fft_length.tolist())
        return xp.fft.irfftn(x, s=sizes, axes=axes).astype(Treal.numpy, copy=False)


for _n in (1, 2, 3):
    _register(_n)
