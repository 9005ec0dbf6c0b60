"""Kernels of the ops in `dataflow.ops.counting`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import as_intp
from dataflow.kernels.registry import kernel


@kernel("Bincount")
def bincount_kernel(xp: Module, arr: Array, size: Array, weights: Array) -> Any:
    count = int(size)
    if count < 0:
        raise ValueError(f"size ({count}) must be non-negative")
    flat = xp.asarray(arr).reshape(-1)
    if flat.size and int(flat.min()) < 0:
        raise ValueError("Input arr must be non-negative!")
    kept = flat < count
    if weights.size:
        if weights.size != flat.size:
            raise ValueError(f"weights has shape {weights.shape}, arr {arr.shape}")
        weighted = xp.bincount(as_intp(flat[kept]), weights.reshape(-1)[kept], minlength=count)
        return weighted.astype(weights.dtype)
    return xp.bincount(as_intp(flat[kept]), minlength=count).astype(weights.dtype)


@kernel("DenseBincount")
def dense_bincount_kernel(
    xp: Module, x: Array, size: Array, weights: Array, *, binary_output: bool
) -> Any:
    if x.ndim < 2:
        counts = bincount_kernel(xp, x, size, weights[:0] if binary_output else weights)
    else:
        count, rows = int(size), x.shape[0]
        # One count for all rows: row i has the numbers from i * size on.
        kept = x < count
        moved = xp.where(kept, x + xp.arange(rows)[:, None] * count, rows * count)
        if x.size and int(x.min()) < 0:
            raise ValueError("Input arr must be non-negative!")
        plain = weights[:0] if binary_output else weights
        counts = bincount_kernel(xp, moved, rows * count, plain).reshape(rows, count)
    return (counts > 0).astype(weights.dtype) if binary_output else counts


@kernel("HistogramFixedWidth")
def histogram_fixed_width_kernel(
    xp: Module, values: Array, value_range: Array, nbins: Array, *, dtype: DType
) -> Any:
    count = int(nbins)
    if count <= 0:
        raise ValueError(f"nbins should be > 0, got {count}")
    low, high = (float(v) for v in value_range.tolist())
    if not low < high:
        raise ValueError(
            f"value_range should satisfy value_range[0] < value_range[1], got {low}, {high}"
        )
    step = (high - low) / count
    flat = xp.asarray(values, np.float64).reshape(-1)
    bins = xp.clip((flat - low) / step, 0, count - 1).astype(np.intp)
    return xp.bincount(bins, minlength=count).astype(dtype.numpy)


@kernel("Bucketize")
def bucketize_kernel(xp: Module, x: Array, *, boundaries: Any) -> Any:
    if list(boundaries) != sorted(boundaries):
        raise ValueError(f"Expected sorted boundaries, got {list(boundaries)}")
    edges = xp.asarray(np.asarray(boundaries, np.float32))
    return xp.searchsorted(edges, x, side="right").astype(np.int32)
