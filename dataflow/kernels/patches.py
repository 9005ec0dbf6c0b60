"""Kernels that flatten windows of images and volumes into channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("ExtractImagePatches")
def extract_image_patches_kernel(
    xp: Module, x: Array, *, ksizes: Any, strides: Any, rates: Any, padding: str
) -> Any:
    return _patches(xp, x, ksizes[1:-1], strides[1:-1], rates[1:-1], padding)


@kernel("ExtractVolumePatches")
def extract_volume_patches_kernel(
    xp: Module, x: Array, *, ksizes: Any, strides: Any, padding: str
) -> Any:
    return _patches(xp, x, ksizes[1:-1], strides[1:-1], [1, 1, 1], padding)


def _patches(xp: Module, x: Array, windows: Any, steps: Any, gaps: Any, padding: str) -> Any:
    """Windows over the axes between the first and the last, each flattened into the last."""
    rank = len(windows)
    pads, places = [(0, 0)], []
    for axis, (k, s, r) in enumerate(zip(windows, steps, gaps, strict=True)):
        size, span = x.shape[axis + 1], (k - 1) * r + 1
        if padding == "SAME":
            count = -(-size // s)
            total = max(0, (count - 1) * s + span - size)
        else:
            count, total = max(0, (size - span + s) // s), 0
        pads.append((total // 2, total - total // 2))
        inner = [1] * (2 * rank)
        inner[axis], inner[rank + axis] = count, k
        places.append((xp.arange(count)[:, None] * s + xp.arange(k) * r).reshape(inner))
    counts = [place.shape[axis] for axis, place in enumerate(places)]
    sizes = (x.shape[0], *counts, int(np.prod(windows)) * x.shape[-1])
    # [batch, a place for each axis, a tap for each axis, depth]
    out = xp.pad(x, [*pads, (0, 0)])[(slice(None), *places)]
    return out.reshape(sizes) if out.size else xp.zeros(sizes, x.dtype)
