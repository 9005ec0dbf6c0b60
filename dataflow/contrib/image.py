"""``tf.contrib.image``: rotation, translation and other projective maps of images, and warps.

A map is eight numbers [a0, a1, a2, b0, b1, b2, c0, c1], and says where the pixel of the **output** comes from:
(x, y) is read at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), with k = c0 x + c1 y + 1.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.contrib.image_warps import (
    adjust_hsv_in_yiq,
    connected_components,
    interpolate_spline,
    random_hsv_in_yiq,
    sparse_image_warp,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.math import (
    abs_,
    cast,
    cos,
    floor,
    greater_equal,
    less_equal,
    logical_and,
    matmul,
    maximum,
    minimum,
    sign,
    sin,
)

__all__ = [
    "adjust_hsv_in_yiq",
    "angles_to_projective_transforms",
    "compose_transforms",
    "connected_components",
    "dense_image_warp",
    "flat_transforms_to_matrices",
    "interpolate_spline",
    "matrices_to_flat_transforms",
    "random_hsv_in_yiq",
    "rotate",
    "sparse_image_warp",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]


def _batched(images: Any) -> Any:
    """[batch, height, width, channels] of images with 2, 3 or 4 axes."""
    rank = images.get_shape().ndims
    if rank is None:
        raise TypeError("image rank must be statically known")
    if rank == 2:
        return images[None, :, :, None]
    if rank == 3:
        return images[None]
    if rank == 4:
        return images
    raise TypeError(f"Images should have rank between 2 and 4, got shape {images.get_shape()}.")


def _like(result: Any, images: Any) -> Any:
    """The result with as many axes as the images had."""
    rank = images.get_shape().ndims
    return result[0, :, :, 0] if rank == 2 else result[0] if rank == 3 else result


def _read(images: TensorLike, rows: Any, columns: Any) -> Any:
    """Pixels [batch, h, w, channels] at int32 places [batch, h, w]; zeros outside of the image."""
    size = array.shape(images)
    last_row, last_column = size[1] - 1, size[2] - 1
    batch = array.zeros_like(rows) + array.range_(size[0])[:, None, None]
    inside = logical_and(
        logical_and(greater_equal(rows, 0), less_equal(rows, last_row)),
        logical_and(greater_equal(columns, 0), less_equal(columns, last_column)),
    )
    rows = minimum(maximum(rows, 0), last_row)
    columns = minimum(maximum(columns, 0), last_column)
    pixels = array.gather_nd(images, array.stack([batch, rows, columns], -1))
    return pixels * cast(inside, pixels.dtype)[..., None]


def _sampled(images: Any, y: Any, x: Any, interpolation: str) -> Any:
    """The image at real places [batch, h, w]."""
    if interpolation == "NEAREST":
        # Halves go away from zero.
        rows, columns = (cast(sign(c) * floor(abs_(c) + 0.5), dtypes.int32) for c in (y, x))
        return _read(images, rows, columns)
    top, left = floor(y), floor(x)
    down, right = (y - top)[..., None], (x - left)[..., None]
    rows, columns = cast(top, dtypes.int32), cast(left, dtypes.int32)
    values = {
        (i, j): cast(_read(images, rows + i, columns + j), dtypes.float32)
        for i in (0, 1)
        for j in (0, 1)
    }
    upper = (1.0 - right) * values[0, 0] + right * values[0, 1]
    lower = (1.0 - right) * values[1, 0] + right * values[1, 1]
    return cast((1.0 - down) * upper + down * lower, images.dtype)


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Any:
    """The images under projective maps, with zeros where they show nothing.

    ``images`` [batch, height, width, channels], [height, width, channels] or [height, width];
    ``transforms`` [8] for all, or [batch, 8]; ``output_shape`` is the result's (height, width). Gradients
    reach the images. Raises `ValueError` for an ``interpolation`` other than "NEAREST" and "BILINEAR",
    `TypeError` for shapes that do not fit.
    """
    if str(interpolation).upper() not in ("NEAREST", "BILINEAR"):
        raise ValueError(f"interpolation must be 'NEAREST' or 'BILINEAR', got {interpolation!r}.")
    with op_scope(name, "transform", [images]):
        image_or_images = convert_to_tensor(images, name="images")
        images = _batched(image_or_images)
        maps = convert_to_tensor(transforms, dtypes.float32, name="transforms")
        if maps.get_shape().ndims not in (1, 2):
            raise TypeError(f"Transforms should have rank 1 or 2, got {maps.get_shape()}.")
        if maps.get_shape().ndims == 1:
            maps = maps[None]
        size = array.shape(images)[1:3] if output_shape is None else convert_to_tensor(output_shape)
        y = cast(array.range_(size[0]), dtypes.float32)[None, :, None]
        x = cast(array.range_(size[1]), dtypes.float32)[None, None, :]
        a0, a1, a2, b0, b1, b2, c0, c1 = (maps[:, i, None, None] for i in range(8))
        k = c0 * x + c1 * y + 1.0
        every = array.zeros([array.shape(images)[0], 1, 1])
        from_x = (a0 * x + a1 * y + a2) / k + every
        from_y = (b0 * x + b1 * y + b2) / k + every
        result = _sampled(images, from_y, from_x, str(interpolation).upper())
        if output_shape is None:
            result.set_shape(images.get_shape())
        return _like(result, image_or_images)


def rotate(
    images: TensorLike, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """The images turned counterclockwise by ``angles`` (radians), one for all or one for each."""
    with op_scope(name, "rotate", [images]):
        images = convert_to_tensor(images, name="images")
        size = cast(array.shape(_batched(images)), dtypes.float32)
        return transform(
            images, angles_to_projective_transforms(angles, size[1], size[2]), interpolation
        )


def translate(
    images: TensorLike, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """The images moved by ``translations`` (dx, dy) in pixels, one for all or one for each."""
    with op_scope(name, "translate", [images]):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Tensor:
    """Maps [batch, 8] that turn images about their center by ``angles`` (radians)."""
    with op_scope(name, "angles_to_projective_transforms", [angles]):
        angles = convert_to_tensor(angles, dtypes.float32, name="angles")
        if angles.get_shape().ndims not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        angles = array.reshape(angles, [-1])
        height, width = cast(image_height, dtypes.float32), cast(image_width, dtypes.float32)
        c, s = cos(angles), sin(angles)
        right, down = width - 1.0, height - 1.0
        x = (right - (c * right - s * down)) / 2.0
        y = (down - (s * right + c * down)) / 2.0
        zeros = array.zeros_like(c)
        return array.stack([c, -s, x, s, c, y, zeros, zeros], 1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Tensor:
    """Maps [batch, 8] that move images by (dx, dy)."""
    with op_scope(name, "translations_to_projective_transforms", [translations]):
        moves = convert_to_tensor(translations, dtypes.float32, name="translations")
        if moves.get_shape().ndims not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        moves = array.reshape(moves, [-1, 2])
        ones, zeros = array.ones_like(moves[:, 0]), array.zeros_like(moves[:, 0])
        return array.stack([ones, zeros, -moves[:, 0], zeros, ones, -moves[:, 1], zeros, zeros], 1)


def flat_transforms_to_matrices(transforms: Any) -> Tensor:
    """Maps [batch, 8] or [8] as matrices [batch, 3, 3]."""
    flat = array.reshape(convert_to_tensor(transforms, dtypes.float32), [-1, 8])
    return array.reshape(array.concat([flat, array.ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """Matrices [batch, 3, 3] or [3, 3] as maps [batch, 8], scaled so that the last number is 1."""
    flat = array.reshape(convert_to_tensor(transform_matrices, dtypes.float32), [-1, 9])
    return (flat / flat[:, 8:])[:, :8]


def compose_transforms(*transforms: Any) -> Any:
    """One map that is all of them, the first first."""
    if not transforms:
        raise ValueError("transforms cannot be empty")
    composed = flat_transforms_to_matrices(transforms[0])
    for other in transforms[1:]:
        composed = matmul(composed, flat_transforms_to_matrices(other))
    return matrices_to_flat_transforms(composed)


def dense_image_warp(image: TensorLike, flow: Any, name: str = "dense_image_warp") -> Tensor:
    """``output[b, i, j] = image[b, i - flow[b, i, j, 0], j - flow[b, i, j, 1]]``, between pixels bilinear.

    ``image`` [batch, height, width, channels], ``flow`` [batch, height, width, 2]. Places outside are taken
    at the border. Gradients reach both.
    """
    with op_scope(name, "dense_image_warp", [image, flow]):
        image = convert_to_tensor(image)
        flow = convert_to_tensor(flow)
        size = array.shape(image)
        height, width = size[1], size[2]
        y = cast(array.range_(height), flow.dtype)[None, :, None] - flow[..., 0]
        x = cast(array.range_(width), flow.dtype)[None, None, :] - flow[..., 1]
        corners, shares = [], []
        for place, count in ((y, height), (x, width)):
            # The last corner that has a neighbor; the share beyond it is cut to 0 and 1.
            last = maximum(cast(count, flow.dtype) - 2.0, 0.0)
            corner = minimum(maximum(array.stop_gradient(floor(place)), 0.0), last)
            corners.append(cast(corner, dtypes.int32))
            share = minimum(maximum(place - corner, 0.0), 1.0)[..., None]
            shares.append(cast(share, image.dtype))
        (rows, columns), (down, right) = corners, shares
        upper = (1.0 - right) * _read(image, rows, columns) + right * _read(
            image, rows, columns + 1
        )
        lower = (1.0 - right) * _read(image, rows + 1, columns) + right * _read(
            image, rows + 1, columns + 1
        )
        result: Tensor = (1.0 - down) * upper + down * lower
        result.set_shape(image.get_shape())
        return result


__getattr__ = explain_absent(__name__)
