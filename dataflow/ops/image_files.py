"""Reading and writing image files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import image as image_ops
from dataflow.ops.concat_split import unstack
from dataflow.ops.image_color import convert_image_dtype
from dataflow.ops.image_geometry import cut
from dataflow.ops.static_value import static_value

decode_jpeg = image_ops.decode_jpeg_op
decode_png = image_ops.decode_png_op
decode_bmp = image_ops.decode_bmp_op
decode_gif = image_ops.decode_gif_op
encode_jpeg = image_ops.encode_jpeg_op
encode_png = image_ops.encode_png_op
extract_jpeg_shape = image_ops.extract_jpeg_shape_op


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
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


def decode_and_crop_jpeg(
    contents: TensorLike,
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
        window = convert_to_tensor(crop_window, dtypes.int32)
        known = static_value(window)
        top, left, height, width = unstack(window, 4) if known is None else known.tolist()
        return cut(image, top, left, height, width)


def extract_patches(
    images: TensorLike,
    sizes: Any,
    strides: int | Sequence[int],
    rates: Any,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Windows of images flattened into channels; see `tf.extract_image_patches`."""
    from dataflow.ops.permute import extract_image_patches

    return extract_image_patches(images, sizes, strides, rates, padding, name)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether a file begins like a JPEG."""
    from dataflow.ops.math import equal
    from dataflow.ops.string import substr

    with op_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff")


def adjust_jpeg_quality(image: TensorLike, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """The image as it looks after being saved as a JPEG of that quality (0 to 100, a scalar)."""
    with op_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
        saved = image_ops.encode_jpeg_variable_quality_op(pixels, jpeg_quality)
        channels = (image.dims[-1] if image.dims else None) or 0
        return convert_image_dtype(decode_jpeg(saved, channels=channels), old, saturate=True)


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` by a random quality in [min_jpeg_quality, max_jpeg_quality)."""
    from dataflow.ops.random import random_uniform

    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtypes.int32, seed)
    return adjust_jpeg_quality(image, quality)
