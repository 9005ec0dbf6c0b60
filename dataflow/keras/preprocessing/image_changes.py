"""Images turned, moved and stretched: pixels between pixels, and what is outside."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _inside(coordinates: Array, size: int, fill_mode: str) -> Array:
    """Coordinates outside 0 .. size - 1, as ``fill_mode`` continues the image."""
    if fill_mode in ("nearest", "constant") or size == 1:
        return coordinates.clip(0, size - 1)
    if fill_mode == "wrap":
        return coordinates % size
    period = 2 * size  # reflect: d c b a | a b c d | d c b a
    folded = (coordinates + 0.5) % period
    return (np.where(folded > size, period - folded, folded) - 0.5).clip(0, size - 1)


def resampled(x: Array, matrix: Array, fill_mode: str, cval: float) -> Array:
    """x [rows, columns, channels] at ``matrix`` times each pixel's place, between its neighbors."""
    rows, columns = x.shape[:2]
    center = np.array([rows / 2 - 0.5, columns / 2 - 0.5])
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1)
    places = (grid - center) @ matrix[:2, :2].T + matrix[:2, 2] + center
    outside = (
        (places[..., 0] < 0)
        | (places[..., 0] > rows - 1)
        | (places[..., 1] < 0)
        | (places[..., 1] > columns - 1)
    )
    r, c = (_inside(places[..., i], n, fill_mode) for i, n in ((0, rows), (1, columns)))
    r0, c0 = np.floor(r).astype(int), np.floor(c).astype(int)
    r1, c1 = (r0 + 1) % rows, (c0 + 1) % columns
    if fill_mode != "wrap":
        r1, c1 = np.minimum(r0 + 1, rows - 1), np.minimum(c0 + 1, columns - 1)
    fr, fc = (r - r0)[..., None], (c - c0)[..., None]
    result = (x[r0, c0] * (1 - fc) + x[r0, c1] * fc) * (1 - fr)
    result = result + (x[r1, c0] * (1 - fc) + x[r1, c1] * fc) * fr
    if fill_mode == "constant":
        result[outside] = cval
    moved: Array = result.astype(x.dtype)
    return moved
