"""Kernels that resize images, as two small linear maps: out = rows · image · columnsᵀ."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.large_arrays import empty
from dataflow.kernels.registry import kernel
from dataflow.kernels.resize_phases import Piece, pieces_of, resize
from dataflow.kernels.window_sums import has_loops, spread, window_sums
from dataflow.windows import Window, window

_REASON = "written for the host"


def _scale(size: int, out: int, align_corners: bool) -> float:
    if align_corners and out > 1:
        return (size - 1) / (out - 1)
    return size / out


def _positions(size: int, out: int, align_corners: bool, half_pixel: bool) -> Any:
    scale = np.float32(_scale(size, out, align_corners))
    places = np.arange(out, dtype=np.float32)
    if half_pixel:
        return (places + np.float32(0.5)) * scale - np.float32(0.5)
    return places * scale


@functools.lru_cache(maxsize=256)
def bilinear_matrix(size: int, out: int, align_corners: bool, half_pixel: bool) -> Any:
    """[out, size]: the weights of the two pixels on each side."""
    at = _positions(size, out, align_corners, half_pixel)
    lower = np.floor(at)
    share = at - lower
    first = np.maximum(lower, 0).astype(int)
    second = np.minimum(lower + 1, size - 1).astype(int)
    matrix = np.zeros((out, size), np.float32)
    rows = np.arange(out)
    np.add.at(matrix, (rows, first), 1 - share)
    np.add.at(matrix, (rows, second), share)
    return matrix


_TABLE = 1024


@functools.lru_cache(maxsize=256)
def bicubic_matrix(size: int, out: int, align_corners: bool, half_pixel: bool) -> Any:
    """[out, size]: Keys' cubic kernel on four pixels; its weights come from a table of 1024 steps,
    a = -0.75, or -0.5 with half-pixel centers (Keys' own)."""
    a = -0.5 if half_pixel else -0.75
    at = _positions(size, out, align_corners, half_pixel)
    lower = np.floor(at).astype(int)
    step = np.rint((at - lower) * _TABLE) / _TABLE

    def near(x: Array) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Array) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = np.stack([far(step + 1), near(step), near(1 - step), far(2 - step)], 1)
    pixels = lower[:, None] + np.arange(-1, 3)
    if half_pixel:  # pixels outside do not count; the others share their weight
        weights = np.where((pixels >= 0) & (pixels < size), weights, 0)
        total = weights.sum(1, keepdims=True)
        weights = np.where(np.abs(total) >= 1000 * np.finfo(np.float32).tiny, weights / total, 0)
    matrix = np.zeros((out, size), np.float32)
    np.add.at(matrix, (np.arange(out)[:, None], np.clip(pixels, 0, size - 1)), weights)
    return matrix


@functools.lru_cache(maxsize=256)
def area_matrix(size: int, out: int, align_corners: bool) -> Any:
    """[out, size]: how much of each new pixel's area lies on each old one."""
    scale = _scale(size, out, align_corners)
    starts = np.arange(out)[:, None] * scale
    ends = starts + scale
    pixels = np.arange(int(np.ceil(ends.max())))
    overlap = np.clip(np.minimum(ends, pixels + 1) - np.maximum(starts, pixels), 0, None) / scale
    matrix = np.zeros((out, size), np.float32)
    np.add.at(matrix, (np.arange(out)[:, None], np.minimum(pixels, size - 1)[None, :]), overlap)
    return matrix


@functools.lru_cache(maxsize=256)
def nearest_matrix(size: int, out: int, align_corners: bool, half_pixel: bool) -> Any:
    """[out, size]: one where a new pixel takes an old one."""
    matrix = np.zeros((out, size), np.float32)
    matrix[np.arange(out), _nearest(size, out, align_corners, half_pixel)] = 1
    return matrix


class LinearMap(NamedTuple):
    """A map of an axis by its matrix [results, places].

    ``taps`` are the same as pairs of vectors [results]: the places that each result is made of, and
    their weights. It is empty where so many are needed that the product with the matrix is quicker.
    """

    matrix: Any
    taps: tuple[tuple[Any, Any], ...]
    #: Those of `resize_phases`, if they are few.
    pieces: tuple[Piece, ...] = ()


#: With more places for a result than this the product with the matrix is quicker than gathers.
_MOST_TAPS = 8


def _taps(matrix: Array) -> tuple[tuple[Any, Any], ...]:
    num_taps = max(1, int((matrix != 0).sum(1).max()))
    if num_taps > min(_MOST_TAPS, matrix.shape[1] // 4):
        return ()
    # The places of each result's taps in order; those that it does not need have no weight.
    places = np.argsort(matrix == 0, axis=1, kind="stable")[:, :num_taps]
    weights = np.take_along_axis(matrix, places, 1)
    return tuple(zip(places.T.copy(), weights.T.copy(), strict=True))


@functools.lru_cache(maxsize=256)
def _linear_map(make: Any, size: int, out: int, is_back: bool, *flags: bool) -> LinearMap:
    """The map of an axis that a matrix has, or that of its gradient."""
    matrix = make(size, out, *flags)
    matrix = matrix.T if is_back else matrix
    return LinearMap(matrix, _taps(matrix), pieces_of(matrix))


def _gathered(taps: tuple[tuple[Any, Any], ...], image: Array, axis: int) -> Any:
    """The sum of the taps along an axis of an image [height, width, channels]."""
    shape = (-1, 1, 1) if axis == 0 else (-1, 1)
    total = None
    for places, weights in taps:
        part = image.take(places, axis)
        part *= weights.reshape(shape)
        total = part if total is None else np.add(total, part, out=total)
    return total


def _apply(maps: tuple[LinearMap, LinearMap], images: Array) -> Any:
    """Both maps, of images [batch, height, width, channels]; one image after the other, as what is
    between them then stays in the cache."""
    rows, columns = maps
    n, h, w, c = images.shape
    out = empty((n, rows.matrix.shape[0], columns.matrix.shape[0], c), images.dtype)
    if resize(images, rows.pieces, columns.pieces, out):
        return out
    for image, result in zip(images, out, strict=True):
        if rows.taps:
            between = _gathered(rows.taps, image, 0)
        else:
            between = (rows.matrix @ image.reshape(h, w * c)).reshape(-1, w, c)
        if columns.taps:
            result[...] = _gathered(columns.taps, between, 1)
        else:
            np.matmul(columns.matrix, between, out=result)
    return out


def _maps(
    make: Any, image_size: Any, size: Any, *flags: bool, is_back: bool = False
) -> tuple[LinearMap, LinearMap]:
    """Those of height and width; with ``is_back``, of the gradient."""
    (h, w), (height, width) = image_size, size
    if height <= 0 or width <= 0:
        raise ValueError(f"output dimensions must be positive, got {[height, width]}")
    if h <= 0 or w <= 0:
        raise ValueError(f"the image must not be empty, got {h} x {w}")
    rows, columns = _linear_map(make, h, height, is_back, *flags), (w, width, is_back, *flags)
    return rows, _linear_map(make, *columns)


@kernel("ResizeBilinear", cpu_only=_REASON)
def resize_bilinear_kernel(
    xp: Module, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    maps = _maps(
        bilinear_matrix, images.shape[1:3], size.tolist(), align_corners, half_pixel_centers
    )
    return _apply(maps, images.astype(np.float32, copy=False))


@kernel("ResizeBicubic", cpu_only=_REASON)
def resize_bicubic_kernel(
    xp: Module, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    maps = _maps(
        bicubic_matrix, images.shape[1:3], size.tolist(), align_corners, half_pixel_centers
    )
    return _apply(maps, images.astype(np.float32, copy=False))


@kernel("ResizeArea", cpu_only=_REASON)
def resize_area_kernel(xp: Module, images: Array, size: Array, *, align_corners: bool) -> Any:
    maps = _maps(area_matrix, images.shape[1:3], size.tolist(), align_corners)
    return _apply(maps, images.astype(np.float32, copy=False))


def _resize_back(
    make: Any, grads: Any, image: Array, align_corners: bool, half_pixel_centers: bool
) -> Any:
    sizes, flags = (image.shape[1:3], grads.shape[1:3]), (align_corners, half_pixel_centers)
    return _apply(_maps(make, *sizes, *flags, is_back=True), grads).astype(image.dtype, copy=False)


@kernel("ResizeBilinearGrad", cpu_only=_REASON)
def resize_bilinear_grad_kernel(
    xp: Module, grads: Array, image: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    return _resize_back(bilinear_matrix, grads, image, align_corners, half_pixel_centers)


@kernel("ResizeBicubicGrad", cpu_only=_REASON)
def resize_bicubic_grad_kernel(
    xp: Module, grads: Array, image: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    return _resize_back(bicubic_matrix, grads, image, align_corners, half_pixel_centers)


def _nearest(size: int, out: int, align_corners: bool, half_pixel: bool) -> Any:
    scale = np.float32(_scale(size, out, align_corners))
    places = np.arange(out, dtype=np.float32)
    if half_pixel:
        at = np.floor((places + np.float32(0.5)) * scale)
    elif align_corners:
        at = np.floor(places * scale + np.float32(0.5))  # C's roundf
    else:
        at = np.floor(places * scale)
    return np.clip(at, 0, size - 1).astype(int)


def _whole_scale(rows: Array, columns: Array, shape: tuple[int, ...]) -> dict[int, Window]:
    """The windows of new pixels that take the same old one, where all of these have as many; else none."""
    windows = {}
    for axis, places in enumerate((rows, columns), 1):
        size, out = shape[axis], len(places)
        if not out or out % size or not (places == np.arange(out) // (out // size)).all():
            return {}
        windows[axis] = window(out, out // size, out // size)
    return windows


@kernel("ResizeNearestNeighbor")
def resize_nearest_neighbor_kernel(
    xp: Module, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    height, width = size.tolist()
    flags = align_corners, half_pixel_centers
    rows = _nearest(images.shape[1], height, *flags)
    columns = _nearest(images.shape[2], width, *flags)
    windows = _whole_scale(rows, columns, images.shape)
    if windows and has_loops(xp, images, images.size * len(rows), windows):
        out = empty((images.shape[0], height, width, images.shape[3]), images.dtype)
        if spread(images, windows, out):
            return out
    return images[:, rows][:, :, columns]


@kernel("ResizeNearestNeighborGrad", cpu_only=_REASON)
def resize_nearest_neighbor_grad_kernel(
    xp: Module, grads: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    sizes, flags = (size.tolist(), grads.shape[1:3]), (align_corners, half_pixel_centers)
    shape = (grads.shape[0], *sizes[0], grads.shape[3])
    if min(sizes[0]) > 0:
        rows, columns = (_nearest(a, b, *flags) for a, b in zip(*sizes, strict=True))
        windows = _whole_scale(rows, columns, shape)
        if windows and has_loops(xp, grads, grads.size, windows):
            out = empty(shape, grads.dtype)
            window_sums(grads, windows, out)
            return out
    maps = _maps(nearest_matrix, *sizes, *flags, is_back=True)
    return _apply(maps, grads).astype(grads.dtype, copy=False)
