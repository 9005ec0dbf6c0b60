"""Images turned, moved, stretched, tinted and lit: one by one, or at random."""

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


def moved(x: Array, how: dict[str, Any], fill_mode: str, cval: float) -> Array:
    """x [rows, columns, channels] turned by ``theta``, moved, sheared and zoomed, as ``how`` says."""
    theta, shear = (np.deg2rad(how.get(name, 0)) for name in ("theta", "shear"))
    shifts = np.array([how.get("tx", 0), how.get("ty", 0)], float)
    zoom = np.array([how.get("zx", 1), how.get("zy", 1)], float)
    if not (theta or shifts.any() or shear or (zoom != 1).any()):
        return x
    turned = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    sheared = np.array([[1, -np.sin(shear)], [0, np.cos(shear)]])
    matrix = np.eye(3)
    matrix[:2, :2] = turned @ sheared @ np.diag(zoom)
    matrix[:2, 2] = turned @ shifts
    return resampled(x, matrix, fill_mode, cval)


def shifted(x: Array, intensity: float) -> Array:
    """Values plus ``intensity``, no smaller and no larger than those that there were."""
    result: Array = (x + intensity).clip(x.min(), x.max())
    return result


def brightened(x: Array, factor: float) -> Array:
    """Values times ``factor``, cut to [0, 255], or to [0, 1] where no value is larger than 1."""
    top = max(255.0, float(x.max())) if x.max() > 1 else 1.0
    result: Array = (x * factor).clip(0, top)
    return result


def _last(x: Array, channel_axis: int) -> Array:
    if x.ndim != 3:
        raise ValueError(f"An image has three axes, got an array of shape {x.shape}.")
    return np.moveaxis(x, channel_axis, -1)


def apply_affine_transform(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Array:
    """An image turned by ``theta`` degrees, moved, sheared by ``shear`` degrees, and zoomed.

    Between pixels values are linear (``order`` 1; others raise `ValueError`).
    """
    if order != 1:
        raise ValueError(f"apply_affine_transform: order must be 1, got {order}.")
    how = {"theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy}
    result = moved(_last(np.asarray(x), channel_axis), how, fill_mode, cval)
    return np.moveaxis(result, -1, channel_axis)


def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> Array:
    """Values plus ``intensity``, within the range that there was."""
    return shifted(np.asarray(x), intensity)


def apply_brightness_shift(x: Any, brightness: float) -> Array:
    """Values times ``brightness``, cut to [0, 255] (or [0, 1])."""
    return brightened(np.asarray(x), brightness)


def random_rotation(
    x: Any,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """An image turned by up to ``rg`` degrees either way."""
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(
        x, theta=theta, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval
    )


def random_shift(
    x: Any,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """An image moved by up to the parts ``wrg`` of its width and ``hrg`` of its height."""
    x = np.asarray(x)
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x, tx=tx, ty=ty, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval
    )


def random_shear(
    x: Any,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """An image sheared by up to ``intensity`` degrees either way."""
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x, shear=shear, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval
    )


def random_zoom(
    x: Any,
    zoom_range: Any,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """An image zoomed, on each axis by a factor between the two of ``zoom_range``."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a pair of two floats. Received: {zoom_range}")
    low, high = zoom_range
    zx, zy = (1, 1) if low == high == 1 else np.random.uniform(low, high, 2)
    return apply_affine_transform(
        x, zx=zx, zy=zy, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval
    )


def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> Array:
    """Values plus a number between ``-intensity_range`` and ``intensity_range``."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range))


def random_brightness(x: Any, brightness_range: Any) -> Array:
    """Values times a number between the two of ``brightness_range``."""
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range` is a pair of numbers. Received: {brightness_range}")
    return apply_brightness_shift(x, np.random.uniform(*brightness_range))
