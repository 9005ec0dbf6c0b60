"""Kernels of the ops in `dataflow.ops.spectral`.

By SciPy where it is installed: its `pocketfft` transforms several lines of a batch in one vector,
NumPy's one after the other, which takes two to four times as long.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.batched_linalg import by_batch
from dataflow.kernels.registry import kernel


@functools.cache
def _of_numpy() -> Any:
    """The library of transforms for NumPy's arrays."""
    try:
        import scipy.fft
    except ImportError:
        return np.fft
    return scipy.fft


def _library(xp: Module) -> Any:
    return _of_numpy() if xp is np else xp.fft


def _register(num_axes: int) -> None:
    suffix = "" if num_axes == 1 else f"{num_axes}D"
    axes = tuple(range(-num_axes, 0))

    @kernel(f"FFT{suffix}")
    def forward_kernel(xp: Module, x: Array) -> Any:
        if not x.size:
            return xp.zeros_like(x)

        def transform(part: Array) -> Any:
            return _library(xp).fftn(part, axes=axes).astype(x.dtype, copy=False)

        return by_batch(xp, transform, num_axes, x)

    @kernel(f"IFFT{suffix}")
    def inverse_kernel(xp: Module, x: Array) -> Any:
        if not x.size:
            return xp.zeros_like(x)

        def transform(part: Array) -> Any:
            return _library(xp).ifftn(part, axes=axes).astype(x.dtype, copy=False)

        return by_batch(xp, transform, num_axes, x)

    @kernel(f"RFFT{suffix}")
    def real_kernel(xp: Module, x: Array, fft_length: Array, *, Tcomplex: DType) -> Any:
        sizes = tuple(fft_length.tolist())
        if not x.size or 0 in sizes:
            half = sizes[-1] // 2 + 1 if sizes[-1] else 0
            return xp.zeros((*x.shape[:-num_axes], *sizes[:-1], half), Tcomplex.numpy)

        def transform(part: Any) -> Any:
            return _library(xp).rfftn(part, s=sizes, axes=axes).astype(Tcomplex.numpy, copy=False)

        return by_batch(xp, transform, num_axes, x)

    @kernel(f"IRFFT{suffix}")
    def to_real_kernel(xp: Module, x: Array, fft_length: Array, *, Treal: DType) -> Any:
        sizes = tuple(fft_length.tolist())
        if not x.size or 0 in sizes:
            return xp.zeros((*x.shape[:-num_axes], *sizes), Treal.numpy)

        def transform(part: Any) -> Any:
            return _library(xp).irfftn(part, s=sizes, axes=axes).astype(Treal.numpy, copy=False)

        return by_batch(xp, transform, num_axes, x)


for _n in (1, 2, 3):
    _register(_n)
