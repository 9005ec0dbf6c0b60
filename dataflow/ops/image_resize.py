"""Resizing images: the ops, and the functions of `tf.image`.

Images are [height, width, channels] or batches [batch, height, width, channels].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.arithmetic import maximum
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import stack, unstack
from dataflow.ops.elementary import floor
from dataflow.ops.image_geometry import (
    as_image,
    known_number,
    one_image,
    pad_to_bounding_box,
    sizes_of,
)
from dataflow.ops.reshape import expand_dims, squeeze
from dataflow.ops.seeds import counted_as
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

# ---- ops ----------------------------------------------------------------------------------


def _resized(images: Tensor, size: Tensor) -> Dims:
    need_rank(images, 4, "images")
    need_rank(size, 1, "size")
    if size.dims is not None and size.dims[0] not in (None, 2):
        raise ValueError(f"size must hold height and width, got {size.dims[0]} numbers")
    known = static_value(size)
    if known is not None and (np.asarray(known) <= 0).any():
        raise ValueError(f"output dimensions must be positive, got {np.asarray(known).tolist()}")
    height, width = static_dims(size) or (None, None)
    batch, _, _, channels = images.dims or (None,) * 4
    return (batch, height, width, channels)


@define_op(
    "ResizeBilinear",
    "images: T, size: int32 -> resized_images: float32",
    T=dtypes.REAL_NUMBERS,
    cost=0.02,
)
def resize_bilinear_op(
    images: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """Images resized by bilinear interpolation of the four nearest pixels.

    Shape: [batch, *size, channels]; dtype float32. Gradient: spread over the same four pixels.
    """
    return _resized(images, size)


@define_op(
    "ResizeBicubic",
    "images: T, size: int32 -> resized_images: float32",
    T=dtypes.REAL_NUMBERS,
    cost=0.05,
)
def resize_bicubic_op(
    images: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """Images resized by cubic convolution (Keys, 1981) of 16 pixels. Gradient: spread over them.

    Shape: [batch, *size, channels]; dtype float32.
    """
    return _resized(images, size)


@define_op("ResizeArea", "images: T, size: int32 -> resized_images: float32", T=dtypes.REAL_NUMBERS)
def resize_area_op(images: Tensor, size: Tensor, *, align_corners: bool = False) -> Dims:
    """Images resized, as float32, by the mean of the area under each new pixel. Not differentiable."""
    return _resized(images, size)


@define_op(
    "ResizeNearestNeighbor", "images: T, size: int32 -> resized_images: T", T=dtypes.REAL_NUMBERS
)
def resize_nearest_neighbor_op(
    images: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """Images resized by taking the nearest pixel. Gradient: summed at the pixel taken."""
    return _resized(images, size)


def _same_image(grads: Tensor, original_image: Tensor) -> Dims:
    need_rank(grads, 4, "grads")
    return original_image.dims


@define_op(
    "ResizeBilinearGrad",
    "grads: float32, original_image: T -> output: T",
    T=dtypes.FLOATING,
)
def resize_bilinear_grad_op(
    grads: Tensor,
    original_image: Tensor,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Dims:
    """The gradient of ResizeBilinear. Gradient: ResizeBilinear."""
    return _same_image(grads, original_image)


@define_op(
    "ResizeBicubicGrad",
    "grads: float32, original_image: T -> output: T",
    T=dtypes.FLOATING,
)
def resize_bicubic_grad_op(
    grads: Tensor,
    original_image: Tensor,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Dims:
    """The gradient of ResizeBicubic. Gradient: ResizeBicubic."""
    return _same_image(grads, original_image)


@define_op("ResizeNearestNeighborGrad", "grads: T, size: int32 -> output: T", T=dtypes.REAL_NUMBERS)
def resize_nearest_neighbor_grad_op(
    grads: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Dims:
    """The gradient of ResizeNearestNeighbor, for images of ``size``. Gradient: the same resizing."""
    return _resized(grads, size)


def _resize_attrs(op: Operation) -> dict[str, bool]:
    return {k: op.attrs[k] for k in ("align_corners", "half_pixel_centers")}


def _size_of(image: Tensor) -> Tensor:
    return shape(image)[1:3]  # type: ignore[no-any-return]


@resize_bilinear_op.gradient
def resize_bilinear_gradient(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    if not image.dtype.base_dtype.is_floating:
        return [None, None]
    return [resize_bilinear_grad_op(grad, image, **_resize_attrs(op)), None]


@resize_bilinear_grad_op.gradient
def resize_bilinear_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [resize_bilinear_op(grad, _size_of(op.inputs[0]), **_resize_attrs(op)), None]


@resize_bicubic_op.gradient
def resize_bicubic_gradient(op: Operation, grad: Tensor) -> list[Any]:
    image = op.inputs[0]
    if not image.dtype.base_dtype.is_floating:
        return [None, None]
    return [resize_bicubic_grad_op(grad, image, **_resize_attrs(op)), None]


@resize_bicubic_grad_op.gradient
def resize_bicubic_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [resize_bicubic_op(grad, _size_of(op.inputs[0]), **_resize_attrs(op)), None]


@resize_nearest_neighbor_op.gradient
def resize_nearest_neighbor_gradient(op: Operation, grad: Tensor) -> list[Any]:
    dims = op.inputs[0].dims
    with counted_as(6 if dims is None or None in dims[1:3] else 2):
        size = _size_of(op.inputs[0])
        return [resize_nearest_neighbor_grad_op(grad, size, **_resize_attrs(op)), None]


@resize_nearest_neighbor_grad_op.gradient
def resize_nearest_neighbor_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    size = _size_of(op.inputs[0])
    return [resize_nearest_neighbor_op(grad, size, **_resize_attrs(op)), None]


refuse_gradient(resize_area_op)


# ---- functions ----------------------------------------------------------------------------


class ResizeMethod:
    """How `resize_images` makes new pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch resized by bilinear interpolation, as float32."""
    return resize_bilinear_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch resized by taking the nearest pixel; keeps the dtype."""
    return resize_nearest_neighbor_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch resized by bicubic interpolation, as float32."""
    return resize_bicubic_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


resize_area = resize_area_op

_METHODS: dict[Any, Any] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    "bilinear": resize_bilinear,
    "nearest": resize_nearest_neighbor,
    "bicubic": resize_bicubic,
    "area": resize_area,
}


def resize_images(
    images: Any,
    size: TensorLike,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
    *old: Any,
) -> Tensor:
    """An image or a batch resized to ``size`` = [height, width].

    Bilinear, bicubic and area give float32 (an image that has the size already keeps its dtype).
    The order of TensorFlow before 1.0, ``resize_images(images, height, width)``, works too.
    """
    if isinstance(size, (int, np.integer)) and isinstance(method, (int, np.integer)):
        size, method = [size, method], ResizeMethod.BILINEAR
        if not isinstance(align_corners, bool):
            method, align_corners = align_corners, False
    with op_scope(name, "resize", [images, size]):
        images = as_image(images)
        if images.dims is None:
            raise ValueError("'images' contains no shape.")
        single = len(images.dims) == 3
        if single:
            images = expand_dims(images, 0)
        try:
            size = convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if size.dims is not None and size.dims != (2,):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            size = _keep_ratio(images, size)
        known = static_value(size)
        height, width = (None, None) if known is None else (int(known[0]), int(known[1]))
        if height is not None and images.dims[1:3] == (height, width):
            return squeeze(images, axis=[0]) if single else images
        function = _METHODS.get(method)
        if function is None:
            raise ValueError(f"Resize method is not implemented: {method!r}")
        images = function(images, size, align_corners=align_corners)
        images.set_shape([None, height, width, None])
        return squeeze(images, axis=[0]) if single else images


def _keep_ratio(images: Tensor, size: Tensor) -> Tensor:
    """The largest size inside ``size`` with the proportions of the images."""
    from dataflow.ops.math import minimum, round_

    height, width = sizes_of(images)
    wanted = static_value(size)
    if wanted is not None and isinstance(height, int) and isinstance(width, int):
        scale = min(
            np.float32(wanted[0]) / np.float32(height), np.float32(wanted[1]) / np.float32(width)
        )
        rows = max(1, round(float(scale * height)))
        columns = max(1, round(float(scale * width)))
        return convert_to_tensor(np.array([rows, columns], np.int32))
    h, w = cast(height, dtypes.float32), cast(width, dtypes.float32)
    limit = cast(size, dtypes.float32)
    ratio = minimum(limit[0] / h, limit[1] / w)
    return cast(stack([round_(ratio * h), round_(ratio * w)]), dtypes.int32)  # type: ignore[no-any-return]


resize = resize_images


def _as_double(size: TensorLike) -> Tensor:
    return cast(convert_to_tensor(size), dtypes.float64)  # type: ignore[no-any-return]


def resize_image_with_pad(
    image: TensorLike,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """The image resized to fit into the target size, with zeros at the sides."""
    with op_scope(None, "resize_image_with_pad", [image]):
        image = one_image(image)
        rows, columns = known_number(target_height), known_number(target_width)
        height, width = (_as_double(size) for size in sizes_of(image))
        # One ratio for both axes, sizes rounded down; the margins are halves of the unrounded rest.
        ratio = maximum(height / _as_double(rows), width / _as_double(columns))
        size = stack([height / ratio, width / ratio])
        wanted = cast(stack([rows, columns]), dtypes.float64)
        top, left = unstack(cast(floor((wanted - size) / 2), dtypes.int32))
        resized = resize_images(image, cast(floor(size), dtypes.int32), method, align_corners)
        return pad_to_bounding_box(resized, top, left, rows, columns)
