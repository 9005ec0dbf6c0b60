"""Kernels of the ops in `dataflow.ops.spectral`."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.kernels.batched_linalg import by_batch
from dataflow.kernels.registry import kernel


def _register(num_axes: int) -> None:
    suffix = "" if num_axes == 1 else f"{num_axes}D"
    axes = tuple(range(-num_axes, 0))

    @kernel(f"FFT{suffix}")
    def forward_kernel(xp: Any, x: Any) -> Any:
        def transform(part: Any) -> Any:
            return xp.fft.fftn(part, axes=axes).astype(x.dtype, copy=False)

        return by_batch(xp, transform, num_axes, x)

    @kernel(f"IFFT{suffix}")
    def inverse_kernel(xp: Any, x: Any) -> Any:
        def transform(part: Any) -> Any:
            return xp.fft.ifftn(part, axes=axes).astype(x.dtype, copy=False)

        return by_batch(xp, transform, num_axes, x)

    @kernel(f"RFFT{suffix}")
    def real_kernel(xp: Any, x: Any, fft_length: Any, *, Tcomplex: DType) -> Any:
        sizes = tuple(fft_length.tolist())

        def transform(part: Any) -> Any:
            return xp.fft.rfftn(part, s=sizes, axes=axes).astype(Tcomplex.numpy, copy=False)

        return by_batch(xp, transform, num_axes, x)

    @kernel(f"IRFFT{suffix}")
    def to_real_kernel(xp: Any, x: Any, fft_length: Any, *, Treal: DType) -> Any:
        sizes = tuple(fft_length.tolist())

        def transform(part: Any) -> Any:
            return xp.fft.irfftn(part, s=sizes, axes=axes).astype(Treal.numpy, copy=False)

        return by_batch(xp, transform, num_axes, x)


for _n in (1, 2, 3):
    _register(_n)
