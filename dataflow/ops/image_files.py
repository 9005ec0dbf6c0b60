"""Reading and writing image files."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.ops import image as image_ops
from dataflow.ops.image_color import convert_image_dtype
from dataflow.ops.image_geometry import cut
from dataflow.ops.joining import unstack


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
        return cut(image, top, left, height, width)


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
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff")


def adjust_jpeg_quality(image: Any, jpeg_quality: int, name: str | None = None) -> Tensor:
    """The image as it looks after being saved as a JPEG of that quality."""
    with op_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        old = image.dtype.base_dtype
        pixels = convert_image_dtype(image, dtypes.uint8)
        again = decode_jpeg(encode_jpeg(pixels, quality=jpeg_quality))
        return convert_image_dtype(again, old)
