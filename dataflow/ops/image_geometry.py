"""Flipping, cutting, padding and resizing images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import image as image_ops
from dataflow.ops.arithmetic import floormod, maximum
from dataflow.ops.array_basics import ensure_shape, expand_dims, identity, reshape, shape, squeeze
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import stack, unstack
from dataflow.ops.elementary import floor
from dataflow.ops.permute import reverse, transpose as transpose_axes
from dataflow.ops.slicing import pad, slice_
from dataflow.ops.static_value import static_value


def as_image(value: TensorLike, ranks: tuple[int, ...] = (3, 4)) -> Tensor:
    """``value`` as a tensor; raises `ValueError` for a rank that is no image's."""
    image = convert_to_tensor(value, name="image")
    if image.dims is not None and len(image.dims) not in ranks:
        text = " or ".join(str(r) for r in ranks)
        raise ValueError(
            f"'image' (shape {shapes.format_dims(image.dims)}) must have rank {text}: "
            "[height, width, channels], with the batch in front for rank 4."
        )
    return image


def _one_image(value: TensorLike) -> Tensor:
    """As `as_image`; what has an unknown rank is one image, and a run refuses a batch in its place."""
    image = as_image(value)
    return ensure_shape(image, [None, None, None]) if image.dims is None else image


def sizes_of(image: Tensor) -> tuple[Any, Any]:
    """Height and width: numbers where they are known, else tensors."""
    dims = image.dims
    if dims is not None and dims[-3] is not None and dims[-2] is not None:
        return dims[-3], dims[-2]
    whole = shape(image)
    height = dims[-3] if dims is not None and dims[-3] is not None else whole[-3]
    width = dims[-2] if dims is not None and dims[-2] is not None else whole[-2]
    return height, width


# ---- flips and turns ---------------------------------------------------------------------


def _flip(image: TensorLike, axis_3d: int, name: str) -> Tensor:
    with op_scope(None, name, [image]):
        image = as_image(image)
        if image.dims is None:
            return reverse(image, [axis_3d - 3])
        return reverse(image, [axis_3d + len(image.dims) - 3])


def flip_left_right(image: TensorLike) -> Tensor:
    """An image (or each of a batch) mirrored left to right."""
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: TensorLike) -> Tensor:
    """An image (or each of a batch) turned upside down by mirroring."""
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: Any, name: str) -> Tensor:
    from dataflow.ops.conditionals import cond
    from dataflow.ops.math import less, round_
    from dataflow.ops.random import random_uniform

    with op_scope(None, name, [image]) as scope:
        image = identity(as_image(image), name="control_dependency")
        if image.dims is None or len(image.dims) == 3:
            chance = random_uniform([], 0, 1.0, seed=seed)
            result = cond(
                less(chance, 0.5), lambda: reverse(image, [axis]), lambda: image, name=scope
            )
            if image.dims is not None:
                result.set_shape(image.dims)
            return result  # type: ignore[no-any-return]
        batch = shape(image)[0]
        chance = random_uniform(stack([batch]), 0, 1.0, seed=seed)
        flips = cast(round_(reshape(chance, stack([batch, 1, 1, 1]))), image.dtype)
        flipped = reverse(image, [axis + 1])
        return flips * flipped + (1 - flips) * image  # type: ignore[no-any-return]


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """An image mirrored left to right with a chance of one half (each of a batch by itself)."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """An image mirrored top to bottom with a chance of one half (each of a batch by itself)."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Height and width exchanged."""
    with op_scope(name, "transpose", [image]):
        image = as_image(image)
        order = [0, 2, 1, 3] if image.dims is not None and len(image.dims) == 4 else [1, 0, 2]
        return transpose_axes(image, order)  # of unknown rank: one image, as in TensorFlow


transpose_image = transpose


def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """An image turned counter-clockwise by 90 degrees, ``k`` times (a number or an int scalar)."""
    from dataflow.ops.conditionals import switch_case

    with op_scope(name, "rot90", [image]):
        image = as_image(image)
        turns = [
            lambda: identity(image),
            lambda: transpose(flip_left_right(image)),
            lambda: flip_up_down(flip_left_right(image)),
            lambda: flip_left_right(transpose(image)),
        ]
        known = static_value(k) if isinstance(k, Tensor) else k
        if known is not None:
            return turns[int(known) % 4]()
        turned: Tensor = switch_case(floormod(cast(k, dtypes.int32), 4), turns)
        return turned


# ---- cutting and padding -----------------------------------------------------------------


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle ``central_fraction`` (0 to 1] of height and width.

    Raises `ValueError` for a fraction outside of (0, 1], and for an unknown rank.
    """
    with op_scope(None, "central_crop", [image]):
        image = as_image(image)
        if image.dims is None:
            raise ValueError(
                "'image' must have rank 3 or 4, got a tensor of unknown rank; say its shape with "
                "image.set_shape([None, None, channels])."
            )
        fraction = float(central_fraction)
        if not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return image  # type: ignore[no-any-return]
        height, width = sizes_of(image)

        def start(size: TensorLike) -> Any:
            if isinstance(size, int):
                return int((size - size * fraction) / 2)
            double = cast(size, dtypes.float64)
            return cast((double - double * fraction) / 2, dtypes.int32)

        top, left = start(height), start(width)
        rows, columns = height - top * 2, width - left * 2
        return cut(image, top, left, rows, columns)


def cut(image: Tensor, top: Any, left: Any, rows: Any, columns: Any) -> Tensor:
    assert image.dims is not None
    whole = len(image.dims) == 4
    begin, size = [top, left, 0], [rows, columns, -1]
    if whole:
        begin, size = [0, *begin], [-1, *size]
    dynamic = any(isinstance(v, Tensor) for v in (*begin, *size))
    result = slice_(image, stack(begin) if dynamic else begin, stack(size) if dynamic else size)
    static = [v if isinstance(v, int) else None for v in (rows, columns)]
    outer = image.dims[:1] if whole else ()
    result.set_shape((*outer, *static, image.dims[-1]))
    return result


def _number(value: Any) -> Any:
    """A Python number where the value is known."""
    if isinstance(value, Tensor):
        known = static_value(value)
        return value if known is None else int(known)
    return int(value)


def _floating(size: TensorLike) -> Tensor:
    return cast(convert_to_tensor(size), dtypes.float64)  # type: ignore[no-any-return]


def crop_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The window of target size whose top left corner is at the offset.

    Raises `ValueError` when it is known not to lie inside.
    """
    with op_scope(None, "crop_to_bounding_box", [image]):
        image = _one_image(image)
        top, left = _number(offset_height), _number(offset_width)
        rows, columns = _number(target_height), _number(target_width)
        for what, value in (("offset_width", left), ("offset_height", top)):
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{what} must be >= 0, got {value}")
        for what, value in (("target_width", columns), ("target_height", rows)):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"{what} must be > 0, got {value}")
        height, width = sizes_of(image)
        for what, size, start, length in (
            ("width", width, left, columns),
            ("height", height, top, rows),
        ):
            if all(isinstance(v, int) for v in (size, start, length)) and start + length > size:
                raise ValueError(f"{what} must be >= target + offset: {size} < {length} + {start}")
        return cut(image, top, left, rows, columns)


def pad_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The image put at the offset into zeros of the target size.

    Raises `ValueError` when it is known not to fit.
    """
    with op_scope(None, "pad_to_bounding_box", [image]):
        image = _one_image(image)
        height, width = sizes_of(image)
        top, left = _number(offset_height), _number(offset_width)
        rows, columns = _number(target_height), _number(target_width)
        below, right = rows - top - height, columns - left - width
        for what, value in (
            ("offset_height must be >= 0", top),
            ("offset_width must be >= 0", left),
            ("height must be <= target - offset", below),
            ("width must be <= target - offset", right),
        ):
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{what}, which fails by {-value}")
        pairs = [[top, below], [left, right], [0, 0]]
        assert image.dims is not None
        batched = len(image.dims) == 4
        if batched:
            pairs = [[0, 0], *pairs]
        if all(isinstance(v, int) for pair in pairs for v in pair):
            paddings: Any = pairs
        else:
            paddings = reshape(stack([v for pair in pairs for v in pair]), [len(pairs), 2])
        result = pad(image, paddings)
        static = [v if isinstance(v, int) else None for v in (rows, columns)]
        outer = image.dims[:1] if batched else ()
        result.set_shape((*outer, *static, image.dims[-1]))
        return result


def resize_image_with_crop_or_pad(
    image: TensorLike, target_height: Any, target_width: Any
) -> Tensor:
    """The middle of the image cut out, or zeros put around it, to the target size."""
    from dataflow.ops.math import minimum

    with op_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = _one_image(image)
        target_height, target_width = _number(target_height), _number(target_width)
        for what, value in (("target_width", target_width), ("target_height", target_height)):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"{what} must be > 0, got {value}")

        def low(a: TensorLike, b: TensorLike) -> Any:
            return min(a, b) if isinstance(a, int) and isinstance(b, int) else minimum(a, b)

        def high(a: TensorLike, b: TensorLike) -> Any:
            return max(a, b) if isinstance(a, int) and isinstance(b, int) else maximum(a, b)

        height, width = sizes_of(image)
        wide, tall = target_width - width, target_height - height
        cut_left, pad_left = high(-wide // 2, 0), high(wide // 2, 0)
        cut_top, pad_top = high(-tall // 2, 0), high(tall // 2, 0)
        cropped = crop_to_bounding_box(
            image, cut_top, cut_left, low(target_height, height), low(target_width, width)
        )
        return pad_to_bounding_box(cropped, pad_top, pad_left, target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


# ---- resizing ----------------------------------------------------------------------------


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
    return image_ops.resize_bilinear_op(  # type: ignore[no-any-return]
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
    return image_ops.resize_nearest_neighbor_op(  # type: ignore[no-any-return]
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
    return image_ops.resize_bicubic_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


resize_area = image_ops.resize_area_op

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


def resize_image_with_pad(
    image: TensorLike,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """The image resized to fit into the target size, with zeros at the sides."""
    with op_scope(None, "resize_image_with_pad", [image]):
        image = _one_image(image)
        rows, columns = _number(target_height), _number(target_width)
        height, width = (_floating(size) for size in sizes_of(image))
        # One ratio for both axes, sizes rounded down; the margins are halves of the unrounded rest.
        ratio = maximum(height / _floating(rows), width / _floating(columns))
        size = stack([height / ratio, width / ratio])
        wanted = cast(stack([rows, columns]), dtypes.float64)
        top, left = unstack(cast(floor((wanted - size) / 2), dtypes.int32))
        resized = resize_images(image, cast(floor(size), dtypes.int32), method, align_corners)
        return pad_to_bounding_box(resized, top, left, rows, columns)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes [y1, x1, y2, x2] cut out of images and resized to ``crop_size``."""
    return image_ops.crop_and_resize_op(  # type: ignore[no-any-return]
        image,
        boxes,
        box_ind if box_ind is not None else box_indices,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )
