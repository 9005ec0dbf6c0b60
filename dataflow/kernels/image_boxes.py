"""Kernels of boxes in images: cut out, drawn, chosen, drawn at random; and of glimpses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import OutOfRangeError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "written for the host"


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
