"""`tf.image`: what is done to images before a network sees them, built from other ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.ops import image as image_ops
from dataflow.ops.arithmetic import maximum
from dataflow.ops.array_basics import expand_dims, identity, reshape, shape, squeeze
from dataflow.ops.casts import cast, saturate_cast
from dataflow.ops.elementary import floor
from dataflow.ops.joining import concat, stack, tile, unstack
from dataflow.ops.rearranging import reverse, transpose as transpose_axes
from dataflow.ops.seeds import seed_attrs
from dataflow.ops.slicing import pad, slice_
from dataflow.ops.static_value import static_value


def _image(value: Any, ranks: tuple[int, ...] = (3, 4)) -> Tensor:
    """``value`` as a tensor; raises `ValueError` for a rank that is no image's."""
    image = convert_to_tensor(value, name="image")
    if image.dims is not None and len(image.dims) not in ranks:
        text = " or ".join(str(r) for r in ranks)
        raise ValueError(
            f"'image' (shape {shapes.format_dims(image.dims)}) must have rank {text}: "
            "[height, width, channels], with the batch in front for rank 4."
        )
    return image


def _sizes(image: Tensor) -> tuple[Any, Any]:
    """Height and width: numbers where they are known, else tensors."""
    dims = image.dims
    if dims is not None and dims[-3] is not None and dims[-2] is not None:
        return dims[-3], dims[-2]
    whole = shape(image)
    height = dims[-3] if dims is not None and dims[-3] is not None else whole[-3]
    width = dims[-2] if dims is not None and dims[-2] is not None else whole[-2]
    return height, width


# ---- flips and turns ----------------------------------------------------------------------


def _flip(image: Any, axis_3d: int, name: str) -> Tensor:
    with op_scope(None, name, [image]):
        image = _image(image)
        if image.dims is None:
            return reverse(image, [axis_3d - 3])
        return reverse(image, [axis_3d + len(image.dims) - 3])


def flip_left_right(image: Any) -> Tensor:
    """An image (or each of a batch) mirrored left to right."""
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """An image (or each of a batch) turned upside down by mirroring."""
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: Any, name: str) -> Tensor:
    from dataflow.ops.conditionals import cond
    from dataflow.ops.math import less, round_
    from dataflow.ops.random import random_uniform

    with op_scope(None, name, [image]) as scope:
        image = identity(_image(image), name="control_dependency")
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


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Height and width exchanged."""
    with op_scope(name, "transpose", [image]):
        image = _image(image)
        if image.dims is None:
            raise ValueError("'image' must have a known rank")
        order = [1, 0, 2] if len(image.dims) == 3 else [0, 2, 1, 3]
        return transpose_axes(image, order)


transpose_image = transpose


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """An image turned counter-clockwise by 90 degrees, ``k`` times (a Python number)."""
    with op_scope(name, "rot90", [image]):
        image = _image(image)
        if isinstance(k, Tensor):
            known = static_value(k)
            if known is None:
                raise ValueError("rot90 needs k as a Python number")
            k = int(known)
        turns = k % 4
        if turns == 0:
            return identity(image)
        if turns == 1:
            return transpose(flip_left_right(image))
        if turns == 2:
            return flip_up_down(flip_left_right(image))
        return flip_left_right(transpose(image))


# ---- cutting and padding ------------------------------------------------------------------


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle ``central_fraction`` (0 to 1] of height and width.

    Raises `ValueError` for a fraction outside of (0, 1].
    """
    with op_scope(None, "central_crop", [image]):
        image = _image(image)
        fraction = float(central_fraction)
        if not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return image
        height, width = _sizes(image)

        def start(size: Any) -> Any:
            if isinstance(size, int):
                return int((size - size * fraction) / 2)
            double = cast(size, dtypes.float64)
            return cast((double - double * fraction) / 2, dtypes.int32)

        top, left = start(height), start(width)
        rows, columns = height - top * 2, width - left * 2
        return _cut(image, top, left, rows, columns)


def _cut(image: Tensor, top: Any, left: Any, rows: Any, columns: Any) -> Tensor:
    whole = image.dims is None or len(image.dims) == 4
    begin, size = [top, left, 0], [rows, columns, -1]
    if whole:
        begin, size = [0, *begin], [-1, *size]
    dynamic = any(isinstance(v, Tensor) for v in (*begin, *size))
    result = slice_(image, stack(begin) if dynamic else begin, stack(size) if dynamic else size)
    if image.dims is not None:
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


def _floating(size: Any) -> Tensor:
    return cast(convert_to_tensor(size), dtypes.float64)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The window of target size whose top left corner is at the offset.

    Raises `ValueError` when it is known not to lie inside.
    """
    with op_scope(None, "crop_to_bounding_box", [image]):
        image = _image(image)
        top, left = _number(offset_height), _number(offset_width)
        rows, columns = _number(target_height), _number(target_width)
        for what, value in (("offset_width", left), ("offset_height", top)):
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{what} must be >= 0, got {value}")
        for what, value in (("target_width", columns), ("target_height", rows)):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"{what} must be > 0, got {value}")
        height, width = _sizes(image)
        for what, size, start, length in (
            ("width", width, left, columns),
            ("height", height, top, rows),
        ):
            if all(isinstance(v, int) for v in (size, start, length)) and start + length > size:
                raise ValueError(f"{what} must be >= target + offset: {size} < {length} + {start}")
        return _cut(image, top, left, rows, columns)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The image put at the offset into zeros of the target size.

    Raises `ValueError` when it is known not to fit.
    """
    with op_scope(None, "pad_to_bounding_box", [image]):
        image = _image(image)
        height, width = _sizes(image)
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
        batched = image.dims is None or len(image.dims) == 4
        if batched:
            pairs = [[0, 0], *pairs]
        if all(isinstance(v, int) for pair in pairs for v in pair):
            paddings: Any = pairs
        else:
            paddings = reshape(stack([v for pair in pairs for v in pair]), [len(pairs), 2])
        result = pad(image, paddings)
        if image.dims is not None:
            static = [v if isinstance(v, int) else None for v in (rows, columns)]
            outer = image.dims[:1] if batched else ()
            result.set_shape((*outer, *static, image.dims[-1]))
        return result


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """The middle of the image cut out, or zeros put around it, to the target size."""
    from dataflow.ops.math import minimum

    with op_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = _image(image)
        target_height, target_width = _number(target_height), _number(target_width)
        for what, value in (("target_width", target_width), ("target_height", target_height)):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"{what} must be > 0, got {value}")

        def low(a: Any, b: Any) -> Any:
            return min(a, b) if isinstance(a, int) and isinstance(b, int) else minimum(a, b)

        def high(a: Any, b: Any) -> Any:
            return max(a, b) if isinstance(a, int) and isinstance(b, int) else maximum(a, b)

        height, width = _sizes(image)
        wide, tall = target_width - width, target_height - height
        cut_left, pad_left = high(-wide // 2, 0), high(wide // 2, 0)
        cut_top, pad_top = high(-tall // 2, 0), high(tall // 2, 0)
        cropped = crop_to_bounding_box(
            image, cut_top, cut_left, low(target_height, height), low(target_width, width)
        )
        return pad_to_bounding_box(cropped, pad_top, pad_left, target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


# ---- resizing -----------------------------------------------------------------------------


class ResizeMethod:
    """How `resize_images` makes new pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch resized by bilinear interpolation, as float32."""
    return image_ops.resize_bilinear_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch resized by taking the nearest pixel; keeps the dtype."""
    return image_ops.resize_nearest_neighbor_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch resized by bicubic interpolation, as float32."""
    return image_ops.resize_bicubic_op(  # type: ignore[no-any-return]
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """A batch resized by averaging areas, as float32."""
    return image_ops.resize_area_op(images, size, align_corners=align_corners, name=name)  # type: ignore[no-any-return]


_METHODS = {
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
    size: Any,
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
        images = _image(images)
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

    height, width = _sizes(images)
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
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """The image resized to fit into the target size, with zeros at the sides."""
    with op_scope(None, "resize_image_with_pad", [image]):
        image = _image(image)
        rows, columns = _number(target_height), _number(target_width)
        height, width = (_floating(size) for size in _sizes(image))
        # One ratio for both axes, sizes rounded down; the margins are halves of the unrounded rest.
        ratio = maximum(height / _floating(rows), width / _floating(columns))
        size = stack([height / ratio, width / ratio])
        wanted = cast(stack([rows, columns]), dtypes.float64)
        top, left = unstack(cast(floor((wanted - size) / 2), dtypes.int32))
        resized = resize_images(image, cast(floor(size), dtypes.int32), method, align_corners)
        return pad_to_bounding_box(resized, top, left, rows, columns)


def crop_and_resize(
    image: Any,
    boxes: Any,
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


# ---- dtypes and colours -------------------------------------------------------------------


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """An image in another dtype, its values rescaled: floats run from 0 to 1, integers over all."""
    image = convert_to_tensor(image, name="image")
    dtype = as_dtype(dtype)
    old = image.dtype.base_dtype
    if dtype is old:
        return identity(image, name=name)
    with op_scope(name, "convert_image", [image]) as scope:
        if old.is_integer and dtype.is_integer:
            before, after = int(old.max), int(dtype.max)
            if before > after:
                scaled = image // ((before + 1) // (after + 1))
                return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype, name=scope)
            wide = saturate_cast(image, dtype) if saturate else cast(image, dtype)
            scale = (after + 1) // (before + 1)
            return _named(wide * scale, scope)
        if old.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)  # type: ignore[no-any-return]
        if old.is_integer:
            return _times(cast(image, dtype), 1.0 / int(old.max), scope)
        scaled = image * (int(dtype.max) + 0.5)
        if saturate:
            return saturate_cast(scaled, dtype, name=scope)  # type: ignore[no-any-return]
        return cast(scaled, dtype, name=scope)  # type: ignore[no-any-return]


def _times(image: Tensor, factor: float, scope: str) -> Tensor:
    from dataflow.ops.arithmetic import multiply

    return multiply(image, factor, name=scope)  # type: ignore[no-any-return]


def _named(tensor: Tensor, scope: str) -> Tensor:
    return identity(tensor, name=scope)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Colours as brightness: 0.2989 red + 0.587 green + 0.114 blue, one channel."""
    from dataflow.ops.tensor_products import tensordot

    with op_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        old = images.dtype.base_dtype
        floating = convert_image_dtype(images, dtypes.float32)
        gray = tensordot(floating, np.array([0.2989, 0.587, 0.114], np.float32), [-1, -1])
        return convert_image_dtype(expand_dims(gray, -1), old, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """One channel repeated three times."""
    with op_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        if images.dims is None:
            raise ValueError("'images' must have a known rank")
        if images.dims[-1] not in (1, None):
            raise ValueError(f"the last axis must have 1 channel, got {images.dims[-1]}")
        result = tile(images, [1] * (len(images.dims) - 1) + [3], name=scope)
        result.set_shape((*images.dims[:-1], 3))
        return result


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Red, green, blue in [0, 1] as hue, saturation, value in [0, 1]."""
    return image_ops.rgb_to_hsv_op(images, name=name)  # type: ignore[no-any-return]


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation, value in [0, 1] as red, green, blue in [0, 1]."""
    return image_ops.hsv_to_rgb_op(images, name=name)  # type: ignore[no-any-return]


_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YIQ = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _recolor(images: Any, matrix: Any) -> Tensor:
    from dataflow.ops.tensor_products import tensordot

    images = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(np.array(matrix), images.dtype, name="kernel")
    return tensordot(images, kernel, axes=[[-1], [0]])  # type: ignore[no-any-return]


def rgb_to_yiq(images: Any) -> Tensor:
    """Red, green, blue as brightness and two colour axes of NTSC."""
    return _recolor(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`."""
    return _recolor(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Red, green, blue as brightness and two colour axes of PAL."""
    return _recolor(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`."""
    return _recolor(images, _FROM_YUV)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """``delta`` added to all pixels, on the scale where white is 1."""
    with op_scope(None, "adjust_brightness", [image, delta]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        floating = (
            image
            if old in (dtypes.float16, dtypes.float32)
            else (convert_image_dtype(image, dtypes.float32))
        )
        brighter = floating + cast(delta, floating.dtype)
        return convert_image_dtype(brighter, old, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Distances from each channel's mean times ``contrast_factor``."""
    with op_scope(None, "adjust_contrast", [images, contrast_factor]):
        images = convert_to_tensor(images, name="images")
        old = images.dtype.base_dtype
        floating = (
            images
            if old in (dtypes.float16, dtypes.float32)
            else (convert_image_dtype(images, dtypes.float32))
        )
        adjusted = image_ops.adjust_contrast_op(floating, contrast_factor)
        return convert_image_dtype(adjusted, old, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, on the scale where white is 1."""
    from dataflow.ops.arithmetic import pow_

    with op_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        if not isinstance(gamma, Tensor) and gamma < 0:
            raise ValueError("Gamma should be a non-negative real number.")
        floating = (
            image
            if old in (dtypes.float16, dtypes.float32)
            else (convert_image_dtype(image, dtypes.float32))
        )
        return convert_image_dtype(gain * pow_(floating, gamma), old, saturate=True)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """All hues turned by ``delta``, from -1 to 1, where 1 is a full turn."""
    with op_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        floating = (
            image
            if old in (dtypes.float16, dtypes.float32)
            else (convert_image_dtype(image, dtypes.float32))
        )
        return convert_image_dtype(image_ops.adjust_hue_op(floating, delta), old)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """All saturations times ``saturation_factor``, at most 1."""
    with op_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        floating = (
            image
            if old in (dtypes.float16, dtypes.float32)
            else (convert_image_dtype(image, dtypes.float32))
        )
        adjusted = image_ops.adjust_saturation_op(floating, saturation_factor)
        return convert_image_dtype(adjusted, old)


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a random amount in [-max_delta, max_delta)."""
    from dataflow.ops.random import random_uniform

    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a random factor in [lower, upper)."""
    from dataflow.ops.random import random_uniform

    _check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a random amount in [-max_delta, max_delta), at most half a turn."""
    from dataflow.ops.random import random_uniform

    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a random factor in [lower, upper)."""
    from dataflow.ops.random import random_uniform

    _check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image: Any) -> Tensor:
    """Each image with mean 0 and deviation 1 (at least 1 / sqrt(pixels), for flat ones)."""
    from dataflow.ops.math import divide, reduce_mean, reduce_prod, rsqrt, sqrt, square

    with op_scope(None, "per_image_standardization", [image]) as scope:
        image = _image(image)
        old = image.dtype.base_dtype
        if old not in (dtypes.float16, dtypes.float32):
            image = convert_image_dtype(image, dtypes.float32)
        count = reduce_prod(shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        variance = reduce_mean(square(image - mean), axis=[-1, -2, -3], keepdims=True)
        smallest = rsqrt(cast(count, image.dtype))
        return divide(image - mean, maximum(sqrt(variance), smallest), name=scope)  # type: ignore[no-any-return]


per_image_whitening = per_image_standardization


# ---- boxes --------------------------------------------------------------------------------


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Indices of boxes by falling score, without those that overlap a chosen one too much."""
    with op_scope(name, "non_max_suppression"):
        boxes = convert_to_tensor(boxes, name="boxes")
        return image_ops.non_max_suppression_op(  # type: ignore[no-any-return]
            boxes,
            scores,
            max_output_size,
            convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold"),
            convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold"),
        )


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Frames of ``boxes`` [batch, boxes, (y1, x1, y2, x2)] drawn into images."""
    if colors is None:
        return image_ops.draw_bounding_boxes_v1_op(images, boxes, name=name)  # type: ignore[no-any-return]
    return image_ops.draw_bounding_boxes_op(images, boxes, colors, name=name)  # type: ignore[no-any-return]


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """``(begin, size, bboxes)`` of a random window that covers enough of some box.

    ``tf.slice(image, begin, size)`` cuts it out. When no try succeeds it is the whole image.
    """
    with op_scope(name, "sample_distorted_bounding_box"):
        seeds = {"seed": seed or 0, "seed2": seed2} if seed2 else seed_attrs(seed)
        return image_ops.sample_distorted_bounding_box_op(
            image_size,
            bounding_boxes,
            min_object_covered,
            aspect_ratio_range=list(aspect_ratio_range or (0.75, 1.33)),
            area_range=list(area_range or (0.05, 1.0)),
            max_attempts=max_attempts or 100,
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
            **seeds,
        )


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of ``size`` around ``offsets`` of each image; noise where it reaches outside."""
    return image_ops.extract_glimpse_op(  # type: ignore[no-any-return]
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


# ---- measures -----------------------------------------------------------------------------


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of absolute differences of neighbouring pixels, for each image."""
    from dataflow.ops.math import abs_, reduce_sum

    with op_scope(name, "total_variation"):
        images = _image(images)
        if images.dims is None:
            raise ValueError("'images' must have a known rank")
        if len(images.dims) == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            across = images[:, 1:, :] - images[:, :-1, :]
            axes: Any = None
        else:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            across = images[:, :, 1:, :] - images[:, :, :-1, :]
            axes = [1, 2, 3]
        return reduce_sum(abs_(down), axis=axes) + reduce_sum(abs_(across), axis=axes)  # type: ignore[no-any-return]


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of two images in decibel: 10 log10(max² / mse)."""
    from dataflow.ops.math import log, reduce_mean, squared_difference, subtract

    with op_scope(name, "PSNR", [a, b]) as scope:
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        peak = cast(max_val, a.dtype)
        peak = convert_image_dtype(peak, dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        mse = reduce_mean(squared_difference(a, b), [-3, -2, -1])
        ten = np.float32(10)
        return subtract(  # type: ignore[no-any-return]
            np.float32(20) * log(peak) / np.float32(np.log(ten)),
            np.float32(10 / np.log(10)) * log(mse),
            name=scope,
        )


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """``(dy, dx)``: differences to the next pixel, zero in the last row and column."""
    image = _image(image, (4,))
    dy = pad(image[:, 1:, :, :] - image[:, :-1, :, :], [[0, 0], [0, 1], [0, 0], [0, 0]])
    dx = pad(image[:, :, 1:, :] - image[:, :, :-1, :], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return dy, dx


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images (Wang et al., 2004), averaged over positions, channels."""
    from dataflow.ops.depthwise import depthwise_op
    from dataflow.ops.math import reduce_mean, square

    with op_scope(None, "SSIM", [img1, img2]):
        a, b = convert_to_tensor(img1), convert_to_tensor(img2)
        peak = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        if a.dims is None or len(a.dims) < 3 or a.dims[-1] is None:
            raise ValueError(f"ssim needs images with a known number of channels, got {a.shape}")
        for t in (a, b):
            if t.dims is not None and any(d is not None and d < filter_size for d in t.dims[-3:-1]):
                raise ValueError(f"images must be at least {filter_size} pixels high and wide")
        outer = shape(a)[:-3]
        channels = a.dims[-1]
        at = np.arange(filter_size) - (filter_size - 1) / 2
        line = np.exp(-0.5 * (at / filter_sigma) ** 2)
        window = np.outer(line, line)
        window = (window / window.sum()).astype(np.float32)[:, :, None, None]
        window = np.tile(window, [1, 1, channels, 1])

        def blur(x: Tensor) -> Tensor:
            flat = reshape(x, concat([[-1], shape(x)[-3:]], 0))
            flat.set_shape((None, *x.dims[-3:]))  # type: ignore[index]
            y = depthwise_op(flat, window, strides=[1, 1, 1, 1], padding="VALID")
            return reshape(y, concat([outer, shape(y)[1:]], 0))

        c1, c2 = (k1 * peak) ** 2, (k2 * peak) ** 2
        mean_a, mean_b = blur(a), blur(b)
        both = mean_a * mean_b * 2.0
        squares = square(mean_a) + square(mean_b)
        luminance = (both + c1) / (squares + c1)
        joint = blur(a * b) * 2.0
        power = blur(square(a) + square(b))
        contrast = (joint - both + c2) / (power - squares + c2)
        return reduce_mean(reduce_mean(luminance * contrast, [-3, -2]), [-1])  # type: ignore[no-any-return]


def sobel_edges(image: Any) -> Tensor:
    """Sobel's edge filters: the image's axes with a last one for (dy, dx)."""
    from dataflow.ops.depthwise import depthwise_op

    image = _image(image, (4,))
    if image.dims is None or image.dims[-1] is None:
        raise ValueError("sobel_edges needs a known number of channels")
    kernel = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    both = np.stack([kernel, kernel.T], -1)[:, :, None, :]
    filters = np.tile(both, [1, 1, image.dims[-1], 1]).astype(image.dtype.as_numpy_dtype)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    out = depthwise_op(padded, filters, strides=[1, 1, 1, 1], padding="VALID")
    result = reshape(out, concat([shape(image), [2]], 0))
    result.set_shape((*image.dims, 2))
    return result


# ---- files --------------------------------------------------------------------------------


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file as uint8 [height, width, channels]; ``channels`` 0 keeps the file's."""
    return image_ops.decode_jpeg_op(  # type: ignore[no-any-return]
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Tensor:
    """A PNG file as [height, width, channels]; ``channels`` 0 keeps the file's."""
    return image_ops.decode_png_op(contents, channels=channels, dtype=as_dtype(dtype), name=name)  # type: ignore[no-any-return]


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """A BMP file as uint8 [height, width, channels]."""
    return image_ops.decode_bmp_op(contents, channels=channels, name=name)  # type: ignore[no-any-return]


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """A GIF file as uint8 [frames, height, width, 3]."""
    return image_ops.decode_gif_op(contents, name=name)  # type: ignore[no-any-return]


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """A JPEG, PNG, GIF or BMP file as pixels; a GIF as frames."""
    return image_ops.decode_image_op(  # type: ignore[no-any-return]
        contents,
        channels=channels or 0,
        dtype=as_dtype(dtype),
        expand_animations=expand_animations,
        name=name,
    )


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """uint8 pixels as a JPEG file, a scalar string."""
    return image_ops.encode_jpeg_op(  # type: ignore[no-any-return]
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """uint8 pixels as a PNG file, a scalar string."""
    return image_ops.encode_png_op(image, compression=compression, name=name)  # type: ignore[no-any-return]


def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """[height, width, channels] of a JPEG file, without decoding it."""
    return image_ops.extract_jpeg_shape_op(contents, output_type=as_dtype(output_type), name=name)  # type: ignore[no-any-return]


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The window [top, left, height, width] of a JPEG file."""
    with op_scope(name, "decode_and_crop_jpeg"):
        image = decode_jpeg(contents, channels, ratio)
        top, left, height, width = unstack(convert_to_tensor(crop_window, dtypes.int32), 4)
        return _cut(image, top, left, height, width)


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Windows of images flattened into channels; see `tf.extract_image_patches`."""
    from dataflow.ops.rearranging import extract_image_patches

    return extract_image_patches(images, sizes, strides, rates, padding, name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a file begins like a JPEG."""
    from dataflow.ops.math import equal
    from dataflow.ops.string import substr

    with op_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff")  # type: ignore[no-any-return]


def adjust_jpeg_quality(image: Any, jpeg_quality: int, name: str | None = None) -> Tensor:
    """The image as it looks after being saved as a JPEG of that quality."""
    with op_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        pixels = convert_image_dtype(image, dtypes.uint8)
        again = decode_jpeg(encode_jpeg(pixels, quality=jpeg_quality))
        return convert_image_dtype(again, old)
