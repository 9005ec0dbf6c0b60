"""Measures of images: total variation, signal-to-noise ratio, structural similarity, gradients, edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.image_color import convert_image_dtype
from dataflow.ops.image_geometry import as_image
from dataflow.ops.pad import pad
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.shape import shape
from dataflow.ops.tile import tile


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of absolute differences of neighboring pixels, for each image."""
    from dataflow.ops.math import abs_, reduce_sum

    with op_scope(name, "total_variation"):
        images = as_image(images)
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


def psnr(a: TensorLike, b: TensorLike, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of two images in decibel: 10 log10(max² / mse)."""
    from dataflow.ops.math import log, reduce_mean, squared_difference, subtract

    with op_scope(name, "PSNR", [a, b]) as scope:
        count_left_out(19)  # checks of the shapes
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


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """``(dy, dx)``: differences to the next pixel, zero in the last row and column."""
    image = as_image(image, (4,))
    with counted_as(34):  # zeros of the image's sizes are joined to the differences there
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
    from dataflow.ops.math import reduce_mean

    with op_scope(None, "SSIM", [img1, img2]):
        a, b, peak = _pair_of_images(img1, img2, max_val)
        _check_sizes(a, b, filter_size)
        similarity, _ = _similarity(a, b, peak, filter_size, filter_sigma, k1, k2)
        return reduce_mean(similarity, [-1])


#: How much each scale counts, from the finest (Wang et al., 2003).
_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity at several scales (Wang et al., 2003): the product of powers.

    Images [..., height, width, channels] are halved from scale to scale; ``power_factors`` holds the
    exponent of each. The smallest scale must still be ``filter_size`` high and wide, else `ValueError`.
    """
    from dataflow.ops.activation import relu
    from dataflow.ops.math import pow_, reduce_mean, reduce_prod

    with op_scope(None, "MS-SSIM", [img1, img2]):
        a, b, peak = _pair_of_images(img1, img2, max_val)
        factors = [float(f) for f in power_factors]
        _check_sizes(a, b, filter_size, 2 ** (len(factors) - 1))
        parts = []
        for scale, factor in enumerate(factors):
            if scale:
                a, b = _halved(a), _halved(b)
            similarity, contrast = _similarity(a, b, peak, filter_size, filter_sigma, k1, k2)
            last = scale == len(factors) - 1
            parts.append(pow_(relu(similarity if last else contrast), np.float32(factor)))
        return reduce_mean(reduce_prod(stack(parts, axis=-1), [-1]), [-1])


def _halved(x: Tensor) -> Tensor:
    """Means of 2 x 2 pixels; an odd last row or column is doubled."""
    from dataflow.ops.pooling_functions import avg_pool

    height, width, channels = _image_dims(x)
    sizes = shape(x)
    flat = reshape(x, concat([[-1], sizes[-3:]], 0))
    flat.set_shape((None, height, width, channels))
    odd = sizes[-3:-1] % 2
    zero = np.zeros(2, np.int32)
    padded = pad(
        flat, stack([zero, stack([0, odd[0]]), stack([0, odd[1]]), zero]), mode="SYMMETRIC"
    )
    padded.set_shape((None, *(d and d + d % 2 for d in (height, width)), channels))
    small = avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    result = reshape(small, concat([sizes[:-3], shape(small)[1:]], 0))
    if x.dims is not None:
        result.set_shape((*x.dims[:-3], *small.shape[1:]))
    return result


def _pair_of_images(img1: Any, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    a, b = convert_to_tensor(img1), convert_to_tensor(img2)
    peak = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
    a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
    for image in (a, b):
        if image.dims is not None and len(image.dims) < 3:
            raise ValueError(f"ssim needs images [..., height, width, channels], got {image.shape}")
    return a, b, peak


def _image_dims(x: Tensor) -> tuple[int | None, ...]:
    """Height, width and channels, each None where only a run tells it."""
    return (None, None, None) if x.dims is None else x.dims[-3:]


def _check_sizes(a: Tensor, b: Tensor, filter_size: int, halvings: int = 1) -> None:
    least = filter_size * halvings
    for t in (a, b):
        if t.dims is not None and any(
            d is not None and -(-d // halvings) < filter_size for d in t.dims[-3:-1]
        ):
            scales = f" for {halvings.bit_length()} scales" if halvings > 1 else ""
            raise ValueError(
                f"images must be at least {least} pixels high and wide{scales}, got {t.shape}"
            )


def _for_each_channel(window: Any, images: Tensor) -> Any:
    """``window`` [height, width, 1, outputs] once for each channel of ``images``."""
    channels = _image_dims(images)[-1]
    if channels is None:
        return tile(window, stack([1, 1, shape(images)[-1], 1]))
    return np.tile(window, [1, 1, channels, 1])


def _similarity(
    a: Tensor, b: Tensor, peak: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """The structural similarity, and its part of contrast and structure, [..., channels]."""
    from dataflow.ops.depthwise import depthwise_op
    from dataflow.ops.math import reduce_mean, square

    outer = shape(a)[:-3]
    at = np.arange(size) - (size - 1) / 2
    line = np.exp(-0.5 * (at / sigma) ** 2)
    line = (line / line.sum()).astype(np.float32)
    # A Gaussian window is a product of two lines: 22 taps a pixel instead of 121.
    lines = [_for_each_channel(line.reshape(form), a) for form in ((-1, 1, 1, 1), (1, -1, 1, 1))]

    def blur(x: Tensor) -> Tensor:
        y = reshape(x, concat([[-1], shape(x)[-3:]], 0))
        y.set_shape((None, *_image_dims(x)))
        for taps in lines:
            y = depthwise_op(y, taps, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(y, concat([outer, shape(y)[1:]], 0))

    c1, c2 = (k1 * peak) ** 2, (k2 * peak) ** 2
    mean_a, mean_b = blur(a), blur(b)
    both = mean_a * mean_b * 2.0
    squares = square(mean_a) + square(mean_b)
    luminance = (both + c1) / (squares + c1)
    joint = blur(a * b) * 2.0
    power = blur(square(a) + square(b))
    contrast = (joint - both + c2) / (power - squares + c2)
    return reduce_mean(luminance * contrast, [-3, -2]), reduce_mean(contrast, [-3, -2])


def sobel_edges(image: TensorLike) -> Tensor:
    """Sobel's edge filters: the image's axes with a last one for (dy, dx)."""
    from dataflow.ops.depthwise import depthwise_op

    image = as_image(image, (4,))
    kernel = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], image.dtype.as_numpy_dtype)
    with counted_as(20):  # the filters are repeated for the channels in the graph
        filters = _for_each_channel(np.stack([kernel, kernel.T], -1)[:, :, None, :], image)
        padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
        out = depthwise_op(padded, filters, strides=[1, 1, 1, 1], padding="VALID")
        result = reshape(out, concat([shape(image), [2]], 0))
    if image.dims is not None:
        result.set_shape((*image.dims, 2))
    return result
