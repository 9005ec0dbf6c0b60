"""Dtypes, colors and brightness of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import FLOAT
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.arithmetic import maximum
from dataflow.ops.assertions import assert_equal
from dataflow.ops.casts import cast, saturate_cast
from dataflow.ops.comparison import greater_equal
from dataflow.ops.concat_split import concat
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.fills import ones_like
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.identity import identity
from dataflow.ops.image_geometry import as_image, count_checks
from dataflow.ops.logging_ops import Assert
from dataflow.ops.reshape import expand_dims
from dataflow.ops.seeds import count_left_out
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.tile import tile
from dataflow.shapes import Dims


def _three_channels(images: Tensor) -> Dims:
    if images.dims is not None and (not images.dims or images.dims[-1] not in (3, None)):
        raise ValueError(
            f"the last axis must have 3 channels, got shape {shapes.list_dims(images.dims)}"
        )
    return None if images.dims is None else (*images.dims[:-1], 3)


@define_op("RGBToHSV", "images: T -> output: T", T=FLOAT)
def rgb_to_hsv_op(images: Tensor) -> Dims:
    """Red, green, blue in [0, 1] as hue, saturation, value in [0, 1].

    Gradient: that of the six formulas, one for each order of the channels; 0 for the hue and
    saturation of grays.
    """
    return _three_channels(images)


@rgb_to_hsv_op.gradient
def rgb_to_hsv_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.autodiff.gradients import gradients
    from dataflow.ops.arithmetic import maximum, minimum
    from dataflow.ops.array import stack, unstack, where, zeros_like
    from dataflow.ops.comparison import equal, greater

    (images,) = op.inputs
    red, green, blue = unstack(images, axis=-1)
    largest = maximum(maximum(red, green), blue)
    span = largest - minimum(minimum(red, green), blue)
    colored = greater(span, 0.0)
    ones, none = where(colored, span, span + 1.0), zeros_like(span)
    of_green, of_blue = 2.0 + (blue - red) / ones, 4.0 + (red - green) / ones
    hue = where(equal(largest, green), of_green, of_blue)
    hue = where(equal(largest, red), (green - blue) / ones, hue) / 6.0
    bright = greater(largest, 0.0)
    share = span / where(bright, largest, largest + 1.0)
    formulas = [where(colored, hue, none), where(colored, share, none), largest]
    return gradients(stack(formulas, axis=-1), [images], [grad])


@define_op("HSVToRGB", "images: T -> output: T", T=FLOAT)
def hsv_to_rgb_op(images: Tensor) -> Dims:
    """Hue, saturation, value in [0, 1] as red, green, blue in [0, 1]. Not differentiable."""
    return _three_channels(images)


@define_op("AdjustHue", "images: T, delta: float32 -> output: T", T=FLOAT)
def adjust_hue_op(images: Tensor, delta: Tensor) -> Dims:
    """Hues turned by ``delta`` (1 is a full turn). Not differentiable."""
    return _three_channels(images)


@define_op("AdjustSaturation", "images: T, scale: float32 -> output: T", T=FLOAT)
def adjust_saturation_op(images: Tensor, scale: Tensor) -> Dims:
    """Saturations times ``scale``. Not differentiable."""
    return _three_channels(images)


@define_op("AdjustContrastv2", "images: T, contrast_factor: float32 -> output: T", T=FLOAT)
def adjust_contrast_op(images: Tensor, contrast_factor: Tensor) -> Dims:
    """Distances from each channel's mean times the factor. Not differentiable."""
    need_rank(contrast_factor, 0, "contrast_factor")
    if images.dims is not None and len(images.dims) < 3:
        raise ValueError(f"images must have rank 3 at least, got {shapes.list_dims(images.dims)}")
    return images.dims


not_differentiable(hsv_to_rgb_op)

refuse_gradient(adjust_hue_op, adjust_saturation_op, adjust_contrast_op)


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
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
            return saturate_cast(scaled, dtype, name=scope)
        return cast(scaled, dtype, name=scope)  # type: ignore[no-any-return]


def _times(image: Tensor, factor: float, scope: str) -> Tensor:
    from dataflow.ops.arithmetic import multiply

    return multiply(image, factor, name=scope)  # type: ignore[no-any-return]


def _named(tensor: Tensor, scope: str) -> Tensor:
    return identity(tensor, name=scope)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Colors as brightness: 0.2989 red + 0.587 green + 0.114 blue, one channel."""
    from dataflow.ops.tensor_products import tensordot

    with op_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        old = images.dtype.base_dtype
        floating = convert_image_dtype(images, dtypes.float32)
        gray = tensordot(floating, np.array([0.2989, 0.587, 0.114], np.float32), [-1, -1])
        return convert_image_dtype(expand_dims(gray, -1), old, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """One channel repeated three times."""
    with op_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        channels = None if images.dims is None else images.dims[-1]
        if channels is None:
            one_channel = assert_equal(
                shape(images)[-1],
                1,
                message="Last dimension of a grayscale image should be size 1.",
            )
            with control_dependencies([one_channel]):
                images = identity(images)
        elif channels != 1:
            raise ValueError(f"the last axis must have 1 channel, got {channels}")
        if images.dims is None:
            ones = ones_like(shape(images)[:-1])
            return tile(images, concat([ones, [3]], 0), name=scope)
        count_left_out(12 if channels == 1 else 0)  # the rank, ones for it, and both joined
        result = tile(images, [1] * (len(images.dims) - 1) + [3], name=scope)
        result.set_shape((*images.dims[:-1], 3))
        return result


rgb_to_hsv = rgb_to_hsv_op
hsv_to_rgb = hsv_to_rgb_op

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
    return tensordot(images, kernel, axes=[[-1], [0]])


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Red, green, blue as brightness and two color axes of NTSC."""
    return _recolor(images, _YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yiq`."""
    return _recolor(images, _FROM_YIQ)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Red, green, blue as brightness and two color axes of PAL."""
    return _recolor(images, _YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yuv`."""
    return _recolor(images, _FROM_YUV)


def _floating(image: Tensor) -> Tensor:
    """The image as float32, where it is not float16 or float32 already."""
    if image.dtype.base_dtype in (dtypes.float16, dtypes.float32):
        return image
    return convert_image_dtype(image, dtypes.float32)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """``delta`` added to all pixels, on the scale where white is 1."""
    with op_scope(None, "adjust_brightness", [image, delta]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        floating = _floating(image)
        brighter = floating + cast(delta, floating.dtype)
        return convert_image_dtype(brighter, old, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Distances from each channel's mean times ``contrast_factor``."""
    with op_scope(None, "adjust_contrast", [images, contrast_factor]):
        images = convert_to_tensor(images, name="images")
        old = images.dtype.base_dtype
        floating = _floating(images)
        adjusted = adjust_contrast_op(floating, contrast_factor)
        return convert_image_dtype(adjusted, old, saturate=True)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, on the scale where white is 1."""
    from dataflow.ops.arithmetic import pow_

    with op_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        refusal = "Gamma should be a non-negative real number."
        if isinstance(gamma, Tensor):
            gamma = with_dependencies([Assert(greater_equal(gamma, 0), [refusal])], gamma)
        elif gamma < 0:
            raise ValueError(refusal)
        floating = _floating(image)
        return convert_image_dtype(gain * pow_(floating, gamma), old, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """All hues turned by ``delta``, from -1 to 1, where 1 is a full turn."""
    with op_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        floating = _floating(image)
        return convert_image_dtype(adjust_hue_op(floating, delta), old)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """All saturations times ``saturation_factor``, at most 1."""
    with op_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        floating = _floating(image)
        adjusted = adjust_saturation_op(floating, saturation_factor)
        return convert_image_dtype(adjusted, old)


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a random amount in [-max_delta, max_delta)."""
    from dataflow.ops.random import random_uniform

    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """`adjust_contrast` by a random factor in [lower, upper)."""
    from dataflow.ops.random import random_uniform

    _check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a random amount in [-max_delta, max_delta), at most half a turn."""
    from dataflow.ops.random import random_uniform

    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """`adjust_saturation` by a random factor in [lower, upper)."""
    from dataflow.ops.random import random_uniform

    _check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image: Any) -> Tensor:
    """Each image with mean 0 and deviation 1 (at least 1 / sqrt(pixels), for flat ones)."""
    from dataflow.ops.math import divide, reduce_mean, reduce_prod, rsqrt, sqrt, square

    with op_scope(None, "per_image_standardization", [image]) as scope:
        image = as_image(image)
        if not image.dtype.is_floating:  # not rescaled: the least deviation is in pixels' units
            image = cast(image, dtypes.float32)
        count_checks(image)
        count_left_out(4)  # the variance is made of the mean of squares
        count = reduce_prod(shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        variance = reduce_mean(square(image - mean), axis=[-1, -2, -3], keepdims=True)
        smallest = rsqrt(cast(count, image.dtype))
        return divide(image - mean, maximum(sqrt(variance), smallest), name=scope)


per_image_whitening = per_image_standardization
