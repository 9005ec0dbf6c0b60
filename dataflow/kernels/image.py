"""Kernels of images: resizing as two small linear maps, boxes. (Colors are in `image_color`.)"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.errors import OutOfRangeError
from dataflow.kernels import image_color as _image_color  # noqa: F401 (ops of the same file)
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.resources import KernelContext

_REASON = "written for the host"


# ---- resizing: out = rows · image · columnsᵀ ----------------------------------------------


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
    return LinearMap(matrix, _taps(matrix))


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
    out = np.empty((n, rows.matrix.shape[0], columns.matrix.shape[0], c), images.dtype)
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


@kernel("ResizeNearestNeighbor")
def resize_nearest_neighbor_kernel(
    xp: Module, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    height, width = size.tolist()
    flags = align_corners, half_pixel_centers
    rows = _nearest(images.shape[1], height, *flags)
    columns = _nearest(images.shape[2], width, *flags)
    return images[:, rows][:, :, columns]


@kernel("ResizeNearestNeighborGrad", cpu_only=_REASON)
def resize_nearest_neighbor_grad_kernel(
    xp: Module, grads: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    sizes, flags = (size.tolist(), grads.shape[1:3]), (align_corners, half_pixel_centers)
    maps = _maps(nearest_matrix, *sizes, *flags, is_back=True)
    return _apply(maps, grads).astype(grads.dtype, copy=False)


@kernel("CropAndResize", cpu_only=_REASON)
def crop_and_resize_kernel(
    xp: Module,
    image: Array,
    boxes: Array,
    box_ind: Array,
    crop_size: Array,
    *,
    method: str,
    extrapolation_value: float,
) -> Any:
    if box_ind.size and (int(box_ind.min()) < 0 or int(box_ind.max()) >= image.shape[0]):
        raise OutOfRangeError(None, None, f"box_index has values outside [0, {image.shape[0]})")
    crops = _Crops(boxes, image.shape[1:3], crop_size.tolist())
    n = box_ind[:, None, None]
    out = 0
    for rows, columns, weight in crops.corners(method):
        out = out + image[n, rows, columns] * weight[..., None]
    return np.where(crops.inside[..., None], out, extrapolation_value).astype(np.float32)


class _Crops:
    """Where the pixels of crops lie in an image of ``size``: ``y`` [boxes, height], ``x`` [boxes, width]."""

    def __init__(self, boxes: Any, size: Any, crop_size: Any) -> None:
        (self.h, self.w), (height, width) = size, crop_size
        self.y = self._positions(boxes[:, 0], boxes[:, 2], self.h, height)
        self.x = self._positions(boxes[:, 1], boxes[:, 3], self.w, width)
        in_rows = (self.y >= 0) & (self.y <= self.h - 1)
        in_columns = (self.x >= 0) & (self.x <= self.w - 1)
        self.inside = in_rows[:, :, None] & in_columns[:, None, :]

    @staticmethod
    def _positions(low: Any, high: Any, size: int, out: int) -> Any:
        low, high = low[:, None] * (size - 1), high[:, None] * (size - 1)
        if out == 1:
            return (low + high) / 2
        return low + np.arange(out, dtype=np.float32) * (high - low) / np.float32(out - 1)

    def corners(self, method: str) -> list[tuple[Any, Any, Any]]:
        """(rows, columns, weights) of the pixels that each pixel of a crop is made of."""
        y, x, h, w = self.y, self.x, self.h, self.w
        if method == "nearest":
            rows = np.clip(np.floor(y + 0.5), 0, h - 1).astype(int)[:, :, None]
            columns = np.clip(np.floor(x + 0.5), 0, w - 1).astype(int)[:, None, :]
            return [(rows, columns, np.ones((1, 1, 1), np.float32))]
        top, left = np.floor(y), np.floor(x)
        dy, dx = (y - top)[:, :, None], (x - left)[:, None, :]
        y0 = np.clip(top, 0, h - 1).astype(int)[:, :, None]
        y1 = np.clip(np.ceil(y), 0, h - 1).astype(int)[:, :, None]
        x0 = np.clip(left, 0, w - 1).astype(int)[:, None, :]
        x1 = np.clip(np.ceil(x), 0, w - 1).astype(int)[:, None, :]
        return [
            (y0, x0, (1 - dy) * (1 - dx)),
            (y0, x1, (1 - dy) * dx),
            (y1, x0, dy * (1 - dx)),
            (y1, x1, dy * dx),
        ]


@kernel("CropAndResizeGradImage", cpu_only=_REASON)
def crop_and_resize_grad_image_kernel(
    xp: Any, grads: Any, boxes: Any, box_ind: Any, image_size: Any, *, T: Any, method: str
) -> Any:
    size = image_size.tolist()
    crops = _Crops(boxes, size[1:3], grads.shape[1:3])
    grads = np.where(crops.inside[..., None], grads, 0)
    out = np.zeros(size, np.float32)
    for rows, columns, weight in crops.corners(method):
        places = np.broadcast_arrays(box_ind[:, None, None], rows, columns)
        np.add.at(out, tuple(places), grads * weight[..., None])
    return out.astype(T.numpy)


@kernel("CropAndResizeGradBoxes", cpu_only=_REASON)
def crop_and_resize_grad_boxes_kernel(
    xp: Module, grads: Array, image: Array, boxes: Array, box_ind: Array, *, method: str
) -> Any:
    h, w = image.shape[1:3]
    height, width = grads.shape[1:3]
    crops = _Crops(boxes, (h, w), (height, width))
    n = box_ind[:, None, None]
    upper_left, upper_right, lower_left, lower_right = (
        image[n, rows, columns].astype(np.float32) for rows, columns, _ in crops.corners("bilinear")
    )
    dy = (crops.y - np.floor(crops.y))[:, :, None, None]
    dx = (crops.x - np.floor(crops.x))[:, None, :, None]
    by_y = (1 - dx) * (lower_left - upper_left) + dx * (lower_right - upper_right)
    by_x = (1 - dy) * (upper_right - upper_left) + dy * (lower_right - lower_left)
    grads = np.where(crops.inside[..., None], grads, 0)
    rows, columns = (grads * by_y).sum((2, 3)), (grads * by_x).sum((1, 3))

    def shares(size: int, count: int) -> tuple[Any, Any]:
        """How far the low and the high edge of a box move each of ``count`` positions."""
        if count == 1:
            return np.full(1, (size - 1) / 2), np.full(1, (size - 1) / 2)
        high = np.arange(count) * ((size - 1) / (count - 1))
        return size - 1 - high, high

    (low_y, high_y), (low_x, high_x) = shares(h, height), shares(w, width)
    parts = [rows @ low_y, columns @ low_x, rows @ high_y, columns @ high_x]
    return np.stack(parts, 1).astype(np.float32)


# ---- boxes --------------------------------------------------------------------------------

#: The colors that frames get in turn, as RGBA; TensorFlow's cycle.
_COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


@kernel("DrawBoundingBoxesV2", cpu_only=_REASON)
def draw_bounding_boxes_kernel(xp: Module, images: Array, boxes: Array, colors: Array) -> Any:
    out = images.copy()
    height, width, depth = images.shape[1:]
    palette = colors if colors.size else _COLORS
    for image, frames in zip(out, boxes, strict=True):
        for i, (y1, x1, y2, x2) in enumerate(frames.tolist()):
            color = palette[i % len(palette)][:depth] if depth > 1 else 1.0
            top, bottom = int(y1 * (height - 1)), int(y2 * (height - 1))
            left, right = int(x1 * (width - 1)), int(x2 * (width - 1))
            if top > bottom or left > right or bottom < 0 or right < 0:
                continue
            if top >= height or left >= width:
                continue
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            if top >= 0:
                image[top, columns] = color
            if bottom < height:
                image[bottom, columns] = color
            if left >= 0:
                image[rows, left] = color
            if right < width:
                image[rows, right] = color
    return out


@kernel("DrawBoundingBoxes", cpu_only=_REASON)
def draw_bounding_boxes_v1_kernel(xp: Module, images: Array, boxes: Array) -> Any:
    return draw_bounding_boxes_kernel(xp, images, boxes, _COLORS)


@kernel("NonMaxSuppressionV3", cpu_only=_REASON)
def non_max_suppression_kernel(
    xp: Any, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any, score_threshold: Any
) -> Any:
    if not 0 <= iou_threshold <= 1:
        raise ValueError(f"iou_threshold must be in [0, 1], got {iou_threshold}")
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > score_threshold]
    sides = boxes[order].T
    low, high = np.minimum(sides[:2], sides[2:]), np.maximum(sides[:2], sides[2:])
    corners = np.concatenate([low, high, (high - low).prod(0, keepdims=True)])
    most = int(max_output_size)
    chosen = np.empty(0, np.int64)  # places in `order`
    for start in range(0, len(order), _BOXES_AT_ONCE):
        if len(chosen) >= most:
            break
        block = corners[:, start : start + _BOXES_AT_ONCE]
        free = ~(_overlaps(corners[:, chosen], block) > iou_threshold).any(0)
        found = []
        hides = _overlaps(block, block) > iou_threshold
        for i in np.flatnonzero(free).tolist():
            if free[i]:
                found.append(start + i)
                free &= ~hides[i]
        chosen = np.concatenate([chosen, np.array(found, np.int64)])
    return order[chosen[:most]].astype(np.int32)


#: How many boxes, the best of those left, are compared with each other in one go.
_BOXES_AT_ONCE = 128


def _overlaps(first: Any, second: Any) -> Any:
    """Intersection over union of each of ``first`` with each of ``second``.

    Both are [5, n]: the lower corners' y and x, the upper corners' y and x, areas.
    """
    a, b = first[:, :, None], second[:, None, :]
    shared = np.clip(np.minimum(a[2], b[2]) - np.maximum(a[0], b[0]), 0, None)
    shared *= np.clip(np.minimum(a[3], b[3]) - np.maximum(a[1], b[1]), 0, None)
    union = a[4] + b[4] - shared
    return np.where(union > 0, shared / np.where(union > 0, union, 1), 0)


def _generator(context: Any, seed: int, seed2: int) -> np.random.Generator:
    """This op's stream, kept in the session; the same seeds give the same windows."""
    found = context.state.get("generator")
    if found is None:
        key = None if seed == 0 and seed2 == 0 else [seed & 0xFFFFFFFF, seed2 & 0xFFFFFFFF]
        found = context.state["generator"] = np.random.Generator(np.random.Philox(key))
    return found  # type: ignore[no-any-return]


@kernel("SampleDistortedBoundingBoxV2", stateful=True, cpu_only=_REASON)
def sample_distorted_bounding_box_kernel(
    context: KernelContext,
    image_size: Array,
    boxes: Array,
    min_object_covered: Array,
    *,
    seed: int,
    seed2: int,
    aspect_ratio_range: Any,
    area_range: Any,
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> Any:
    random = _generator(context, seed, seed2)
    height, width = int(image_size[0]), int(image_size[1])
    frames = boxes.reshape(-1, 4)
    if not len(frames):
        if not use_image_if_no_bounding_boxes:
            raise ValueError(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        frames = np.array([[0, 0, 1, 1]], np.float32)
    if (frames < 0).any() or (frames > 1).any():
        raise ValueError("bounding boxes must lie in [0, 1]")
    scale = np.array([height, width, height, width])
    pixels = frames * scale
    areas = (pixels[:, 2] - pixels[:, 0]) * (pixels[:, 3] - pixels[:, 1])
    window = (0, 0, height, width)
    for _ in range(max_attempts):
        ratio = random.uniform(*aspect_ratio_range)
        area = random.uniform(*area_range) * height * width
        rows = round(float(np.sqrt(area / ratio)))
        columns = round(rows * ratio)
        if rows < 1 or columns < 1 or rows > height or columns > width:
            continue
        top = int(random.integers(0, height - rows + 1))
        left = int(random.integers(0, width - columns + 1))
        high = np.minimum(pixels[:, 2], top + rows) - np.maximum(pixels[:, 0], top)
        wide = np.minimum(pixels[:, 3], left + columns) - np.maximum(pixels[:, 1], left)
        covered = np.clip(high, 0, None) * np.clip(wide, 0, None)
        if (covered >= float(min_object_covered) * areas).any():
            window = (top, left, rows, columns)
            break
    top, left, rows, columns = window
    dtype = image_size.dtype
    box = np.array([top, left, top + rows, left + columns], np.float32) / scale.astype(np.float32)
    return (
        np.array([top, left, 0], dtype),
        np.array([rows, columns, -1], dtype),
        box.reshape(1, 1, 4).astype(np.float32),
    )


@kernel("ExtractGlimpse", stateful=True, cpu_only=_REASON)
def extract_glimpse_kernel(
    context: KernelContext,
    images: Array,
    size: Array,
    offsets: Array,
    *,
    centered: bool,
    normalized: bool,
    uniform_noise: bool,
) -> Any:
    rows, columns = size.tolist()
    n, height, width, depth = images.shape
    y, x = offsets[:, 0].astype(np.float64), offsets[:, 1].astype(np.float64)
    if normalized:
        y, x = y * height, x * width
    if centered:
        y, x = y / 2 + height / 2, x / 2 + width / 2
    y, x = y - rows / 2, x - columns / 2
    top, left = np.trunc(y).astype(int), np.trunc(x).astype(int)
    random = _generator(context, 0, 0)
    if uniform_noise:
        out = random.uniform(
            images.min(initial=0), images.max(initial=1), (n, rows, columns, depth)
        )
    else:
        out = random.normal(images.mean(), max(images.std(), 1e-12), (n, rows, columns, depth))
    out = out.astype(images.dtype)
    for i in range(n):
        y0, x0 = max(top[i], 0), max(left[i], 0)
        y1, x1 = min(top[i] + rows, height), min(left[i] + columns, width)
        if y0 < y1 and x0 < x1:
            out[i, y0 - top[i] : y1 - top[i], x0 - left[i] : x1 - left[i]] = images[i, y0:y1, x0:x1]
    return out
