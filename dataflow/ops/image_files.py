"""Reading and writing image files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.concat_split import unstack
from dataflow.ops.image_color import convert_image_dtype
from dataflow.ops.image_geometry import cut
from dataflow.ops.seeds import count_left_out
from dataflow.ops.shape import need_rank
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


def _channels(channels: int, allowed: tuple[int, ...] = (0, 1, 3)) -> int | None:
    if channels not in allowed:
        raise ValueError(f"channels must be one of {list(allowed)}, got {channels}")
    return channels or None


@define_op("DecodeJpeg", "contents: string -> image: uint8")
def decode_jpeg_op(
    contents: Tensor,
    *,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
) -> Dims:
    """A JPEG (or PNG, GIF) file as uint8 [height, width, channels]; ``channels`` 0 keeps the file's.

    Not differentiable.
    """
    need_rank(contents, 0, "contents")
    # 4 is for a PNG file; of a JPEG file it is an error when it is read.
    return (None, None, _channels(channels, (0, 1, 3, 4)))


@define_op("DecodePng", "contents: string -> image: dtype", dtype={dtypes.uint8, dtypes.uint16})
def decode_png_op(contents: Tensor, *, channels: int = 0, dtype: DType = dtypes.uint8) -> Dims:
    """A PNG file as [height, width, channels]; ``channels`` 0 keeps the file's. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (None, None, _channels(channels, (0, 1, 2, 3, 4)))


@define_op("DecodeBmp", "contents: string -> image: uint8")
def decode_bmp_op(contents: Tensor, *, channels: int = 0) -> Dims:
    """A BMP file as uint8 [height, width, channels]. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (None, None, _channels(channels, (0, 1, 3, 4)))


@define_op("DecodeGif", "contents: string -> image: uint8")
def decode_gif_op(contents: Tensor) -> Dims:
    """A GIF file as uint8 [frames, height, width, 3]. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (None, None, None, 3)


@define_op(
    "DecodeImage",
    "contents: string -> image: dtype",
    dtype={dtypes.uint8, dtypes.uint16, dtypes.float32},
)
def decode_image_op(
    contents: Tensor,
    *,
    channels: int = 0,
    dtype: DType = dtypes.uint8,
    expand_animations: bool = True,
) -> Dims:
    """A file of any of these formats as pixels; a GIF as frames, which adds an axis.

    Not differentiable.
    """
    need_rank(contents, 0, "contents")
    found = _channels(channels, (0, 1, 3, 4))
    return None if expand_animations else (None, None, found)


@define_op("EncodeJpeg", "image: uint8 -> contents: string")
def encode_jpeg_op(
    image: Tensor,
    *,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
) -> Dims:
    """uint8 pixels [height, width, 1 or 3] as a JPEG file, a scalar string. Not differentiable."""
    need_rank(image, 3, "image")
    return ()


@define_op("EncodeJpegVariableQuality", "images: uint8, quality: int32 -> contents: string")
def encode_jpeg_variable_quality_op(images: Tensor, quality: Tensor) -> Dims:
    """As EncodeJpeg, with a quality (0 to 100, a scalar) that a run computes. Not differentiable."""
    need_rank(images, 3, "images")
    need_rank(quality, 0, "quality")
    return ()


@define_op(
    "EncodePng",
    "image: T -> contents: string",
    T=Defaulted(dtypes.uint8, frozenset({dtypes.uint8, dtypes.uint16})),
)
def encode_png_op(image: Tensor, *, compression: int = -1) -> Dims:
    """Pixels [height, width, 1 to 4] as a PNG file, a scalar string. Not differentiable."""
    if image.dims is not None and len(image.dims) < 3:
        raise ValueError(f"the image must have rank 3, got {shapes.list_dims(image.dims)}")
    return None if image.dims is None else image.dims[:-3]


@define_op("ExtractJpegShape", "contents: string -> image_shape: output_type")
def extract_jpeg_shape_op(contents: Tensor, *, output_type: DType = dtypes.int32) -> Dims:
    """[height, width, channels] of a JPEG file, without decoding it. Not differentiable."""
    need_rank(contents, 0, "contents")
    return (3,)


not_differentiable(
    decode_jpeg_op,
    decode_png_op,
    decode_bmp_op,
    decode_gif_op,
    decode_image_op,
    encode_jpeg_op,
    encode_jpeg_variable_quality_op,
    encode_png_op,
    extract_jpeg_shape_op,
)

decode_jpeg = decode_jpeg_op
decode_png = decode_png_op
decode_bmp = decode_bmp_op
decode_gif = decode_gif_op
encode_jpeg = encode_jpeg_op
encode_png = encode_png_op
extract_jpeg_shape = extract_jpeg_shape_op


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """A JPEG, PNG, GIF or BMP file as pixels; a GIF as frames."""
    # TensorFlow looks at the first bytes, and chooses among the decoders in the graph.
    count_left_out(75 if as_dtype(dtype) is dtypes.uint8 else 83)
    return decode_image_op(  # type: ignore[no-any-return]
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
    from dataflow.ops.patches import extract_image_patches

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
        saved = encode_jpeg_variable_quality_op(pixels, jpeg_quality)
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
    count_left_out(-4)
    return adjust_jpeg_quality(image, quality)
