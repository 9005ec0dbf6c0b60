"""Image files through Pillow, which is imported when the first one is read or written.

Ordinary JPEG files are decoded by simplejpeg where that is installed (the extra ``fast``): by the same library as
in Pillow, to the same pixels, without the copies in between.

Few bytes can claim to be a huge picture: its size is read first, and more than 25 million pixels (all
frames together) are refused, or than what the environment variable ``DATAFLOW_MAX_IMAGE_PIXELS`` says.
Beyond 178 million, Pillow has a limit of its own (``PIL.Image.MAX_IMAGE_PIXELS``).
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.extras import where_to_get
from dataflow.formats import png16
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit.png_filters import unfiltered
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one, text_array

_REASON = "image files are read on the host"
MAX_PIXELS_VARIABLE = "DATAFLOW_MAX_IMAGE_PIXELS"
_DEFAULT_MAX_PIXELS = 25_000_000
#: Pixels that are turned into an array at once: Pillow holds them twice while it does so.
_STRIP_PIXELS = 1 << 20
#: How a JPEG file begins.
_JPEG_START = b"\xff\xd8"
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as e:
        raise NotImplementedError(
            "Image files are read and written by the package pillow, which is not installed: "
            + where_to_get("pillow", "train")
        ) from e
    return Image


def _max_pixels() -> int:
    text = os.environ.get(MAX_PIXELS_VARIABLE, "")
    if not text:
        return _DEFAULT_MAX_PIXELS
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{MAX_PIXELS_VARIABLE} must be a number of pixels, got {text!r}")
    return int(text)


def _check_size(image: Any, num_frames: int = 1) -> None:
    """Raises `ValueError` for a picture with more pixels than are read."""
    limit = _max_pixels()
    if image.width * image.height * num_frames > limit:
        frames = f"{num_frames} frames of " if num_frames > 1 else ""
        raise ValueError(
            f"the image is {frames}{image.width} x {image.height} pixels, more than {limit:,}. If it "
            f"is to be read, set the environment variable {MAX_PIXELS_VARIABLE} to what it may have"
        )


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Pillow's decoders raise errors of any class for bytes that are damaged."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as e:
        raise ValueError(f"the image is cut short or damaged: {e}") from e


def _open(contents: Any, formats: tuple[str, ...], what: str) -> Any:
    data = one(contents)
    pillow = _pillow()
    try:
        image = pillow.open(io.BytesIO(data), formats=formats)
    except pillow.DecompressionBombError as e:
        raise ValueError(f"{what}: {e}; that limit is PIL.Image.MAX_IMAGE_PIXELS") from e
    except Exception as e:  # of any class, for bytes that are damaged
        start = data[:8]
        raise ValueError(
            f"{what}: these {len(data)} bytes are no image of format {', '.join(formats)} "
            f"(they begin with {start!r})"
        ) from e
    _check_size(image)
    return image


def _pixels(image: Array, channels: int) -> Any:
    """[height, width, channels]; 0 channels keeps those of the file."""
    with _reading():
        return _array(_converted(image, channels))


def _converted(image: Any, channels: int) -> Any:
    if channels == 0:
        if image.mode == "P" or image.mode == "CMYK" or image.mode == "YCbCr":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        elif image.mode == "1":
            image = image.convert("L")
    elif image.mode != _MODES[channels]:
        if image.mode == "P":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        image = image.convert(_MODES[channels])
    return image


def _array(image: Any) -> Any:
    """The pixels as an array of their own, [height, width, channels]."""
    image.load()
    rows = max(1, _STRIP_PIXELS // max(image.width, 1))
    if rows >= image.height:
        array = np.array(image)
    else:
        strips = range(0, image.height, rows)
        boxes = [(0, y, image.width, min(y + rows, image.height)) for y in strips]
        first = np.asarray(image.crop(boxes[0]))
        array = np.empty((image.height, *first.shape[1:]), first.dtype)
        for box in boxes:
            array[box[1] : box[3]] = np.asarray(image.crop(box))
    return array[..., None] if array.ndim == 2 else array


def _as_dtype(array: Array, dtype: DType) -> Any:
    """Pixels of 8 or 16 bits as ``dtype``; floats run from 0 to 1."""
    if array.dtype == np.int32:  # Pillow's mode I holds 16 bits
        array = array.astype(np.uint16)
    wide = array.dtype == np.uint16
    name = dtype.name
    if name == "float32":
        return array.astype(np.float32) / np.float32(65535 if wide else 255)
    if name == "uint16":
        return array if wide else array.astype(np.uint16) * 257
    return (array >> 8).astype(np.uint8) if wide else np.asarray(array, np.uint8)


@functools.cache
def _simplejpeg() -> Any:
    try:
        import simplejpeg
    except ImportError:
        return None
    return simplejpeg


def _by_simplejpeg(data: bytes, channels: int) -> Any:
    """The pixels of a JPEG file; ``None`` for what is left to Pillow: other files and color spaces, damaged and
    huge pictures, which it has words for, and gray from color, which it computes otherwise."""
    package = _simplejpeg() if data[:2] == _JPEG_START else None
    if package is None:
        return None
    try:
        height, width, space, _ = package.decode_jpeg_header(data)
        if height * width > _max_pixels() or space not in ("Gray", "YCbCr"):
            return None
        if channels not in ((0, 3) if space == "YCbCr" else (0, 1, 3)):
            return None
        gray = space == "Gray" and channels < 3
        return package.decode_jpeg(data, "GRAY" if gray else "RGB")
    except ValueError:
        return None


@kernel("DecodeJpeg", cpu_only=_REASON)
def decode_jpeg_kernel(xp: Module, contents: Array, *, channels: int, ratio: int) -> Any:
    if ratio == 1:
        pixels = _by_simplejpeg(one(contents), channels)
        if pixels is not None:
            return pixels
    image = _open(contents, ("JPEG", "PNG", "GIF"), "DecodeJpeg")
    if channels == 4 and image.format != "PNG":
        raise ValueError(f"channels must be 0, 1, or 3 for {image.format}, got 4")
    if ratio > 1 and image.format == "JPEG":
        image.draft(None, (image.width // ratio, image.height // ratio))
    return np.asarray(_pixels(image, channels), np.uint8)


def _by_machine_code(data: bytes, channels: int) -> Any:
    """The pixels of a PNG file of 8 bits a channel, without a palette; ``None`` for what is left to Pillow: other
    files, damaged and huge ones."""
    if not data.startswith(png16.SIGNATURE) or data[12:16] != b"IHDR" or len(data) < 33:
        return None
    width, height, bits, color, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    has = png16.CHANNELS.get(color)
    if has is None or bits != 8 or interlaced or not 0 < width * height <= _max_pixels():
        return None
    if channels not in (0, has) and (has, channels) not in ((4, 3), (1, 3)):
        return None
    packed = []
    try:
        for kind, body in png16.chunks(data):
            if kind == b"tRNS":
                return None
            if kind == b"IDAT":
                packed.append(body)
        size = height * (1 + width * has)
        rows = zlib.decompressobj().decompress(b"".join(packed), size)
    except (ValueError, zlib.error):
        return None
    if len(rows) != size:
        return None
    found = unfiltered(rows, height, width * has, has)
    if found is None:
        return None
    pixels = found.reshape(height, width, has)
    if channels in (0, has):
        return pixels
    return np.ascontiguousarray(pixels[..., :3] if has == 4 else np.repeat(pixels, 3, -1))


@kernel("DecodePng", cpu_only=_REASON)
def decode_png_kernel(xp: Module, contents: Array, *, channels: int, dtype: DType) -> Any:
    pixels = _by_machine_code(one(contents), channels)
    if pixels is not None:
        return _as_dtype(pixels, dtype)
    image = _open(contents, ("PNG", "JPEG", "GIF"), "DecodePng")
    return _as_dtype(_wide_pixels(contents, channels, dtype, image), dtype)


def _wide_pixels(contents: Any, channels: int, dtype: DType, image: Array) -> Any:
    """As `_pixels`, with all 16 bits of a PNG file that has so many, where ``dtype`` can hold them."""
    data = one(contents)
    if dtype.name == "uint8" and not png16.is_gray_with_alpha(data):
        return _pixels(image, channels)
    found = png16.decode(data)
    return _pixels(image, channels) if found is None else _with_channels(found, channels)


def _with_channels(pixels: Any, channels: int) -> Any:
    """uint16 pixels with as many channels as asked for; 0 keeps theirs."""
    has = pixels.shape[-1]
    if channels in (0, has):
        return pixels
    colors, alpha = (pixels[..., :-1], pixels[..., -1:]) if has in (2, 4) else (pixels, None)
    if channels > 2 and colors.shape[-1] == 1:
        colors = np.repeat(colors, 3, -1)
    elif channels < 3 and colors.shape[-1] == 3:
        gray = colors @ np.array([299, 587, 114], np.int64) // 1000  # the weights of ITU-R 601-2
        colors = gray.astype(np.uint16)[..., None]
    if channels in (1, 3):
        return colors
    opaque = np.full_like(colors[..., :1], 65535)
    return np.concatenate([colors, opaque if alpha is None else alpha], -1)


@kernel("DecodeBmp", cpu_only=_REASON)
def decode_bmp_kernel(xp: Module, contents: Array, *, channels: int) -> Any:
    return np.asarray(_pixels(_open(contents, ("BMP",), "DecodeBmp"), channels), np.uint8)


def _gif_extents(data: bytes) -> Iterator[tuple[int, int]]:
    """Right and bottom edge of each frame of a GIF file, as far as it can be read."""

    def palette_bytes(flags: int) -> int:
        return 3 << ((flags & 7) + 1) if flags & 0x80 else 0

    def after_blocks(at: int) -> int:
        while at < len(data) and data[at]:
            at += 1 + data[at]
        return at + 1

    at = 13 + palette_bytes(data[10]) if len(data) > 12 else len(data)
    while at < len(data) and data[at] not in b"\0;":
        if data[at] == ord("!"):
            at = after_blocks(at + 2)
        elif data[at] == ord(",") and at + 10 <= len(data):
            left, top, width, height, flags = struct.unpack_from("<HHHHB", data, at + 1)
            yield left + width, top + height
            at = after_blocks(at + 11 + palette_bytes(flags))
        else:
            at += 1


def _frames(contents: Any, what: str, all_of_them: bool = True) -> Any:
    image = _open(contents, ("GIF",), what)
    if all_of_them:
        # A later frame that is larger would make Pillow's picture grow while it reads.
        for number, (right, bottom) in enumerate(_gif_extents(one(contents))):
            if right > image.width or bottom > image.height:
                raise ValueError(
                    f"{what}: frame {number} reaches to {right} x {bottom}, beyond the image's "
                    f"{image.width} x {image.height}"
                )
    with _reading():
        num_frames = getattr(image, "n_frames", 1) if all_of_them else 1
    _check_size(image, num_frames)
    out = np.empty((num_frames, image.height, image.width, 3), np.uint8)
    with _reading():
        for i in range(num_frames):
            image.seek(i)
            out[i] = _array(image.convert("RGB"))
    return out


@kernel("DecodeGif", cpu_only=_REASON)
def decode_gif_kernel(xp: Module, contents: Array) -> Any:
    return _frames(contents, "DecodeGif")


@kernel("DecodeImage", cpu_only=_REASON)
def decode_image_kernel(
    xp: Module, contents: Array, *, channels: int, dtype: DType, expand_animations: bool
) -> Any:
    image = _open(contents, ("JPEG", "PNG", "GIF", "BMP"), "DecodeImage")
    if image.format == "GIF":
        if channels not in (0, 3):
            raise ValueError("channels must be 0 or 3 for a GIF")
        frames = _frames(contents, "DecodeImage", expand_animations)
        return _as_dtype(frames if expand_animations else frames[0], dtype)
    return _as_dtype(_wide_pixels(contents, channels, dtype, image), dtype)


def _check_channels(array: Array) -> int:
    channels: int = array.shape[-1]
    if channels not in _MODES:
        raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    return channels


def _as_image(array: Array) -> Any:
    channels = _check_channels(array)
    return _pillow().fromarray(array[..., 0] if channels == 1 else array)


@kernel("EncodeJpeg", cpu_only=_REASON)
def encode_jpeg_kernel(
    xp: Module,
    image: Array,
    *,
    format: str,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    x_density: int,
    y_density: int,
) -> Any:
    channels = image.shape[-1]
    wanted = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[format]
    if channels not in wanted:
        raise ValueError(
            f"image must have {' or '.join(map(str, wanted))} channels, got {channels}"
        )
    buffer = io.BytesIO()
    _as_image(image).save(
        buffer,
        "JPEG",
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling=-1 if chroma_downsampling else 0,
        dpi=(x_density, y_density),
    )
    return text_array([buffer.getvalue()], ())


@kernel("EncodeJpegVariableQuality", cpu_only=_REASON)
def encode_jpeg_variable_quality_kernel(xp: Module, image: Array, quality: Array) -> Any:
    if not 0 <= int(quality) <= 100:
        raise ValueError(f"quality must be in [0,100], got {int(quality)}")
    return encode_jpeg_kernel(
        xp,
        image,
        format="",
        quality=int(quality),
        progressive=False,
        optimize_size=False,
        chroma_downsampling=True,
        x_density=300,
        y_density=300,
    )


@kernel("EncodePng", cpu_only=_REASON)
def encode_png_kernel(xp: Module, image: Array, *, compression: int) -> Any:
    level = 6 if compression < 0 else compression

    def encode(array: Array) -> bytes:
        if array.dtype == np.uint16:
            _check_channels(array)
            return png16.encode(array, level)
        buffer = io.BytesIO()
        _as_image(array).save(buffer, "PNG", compress_level=level)
        return buffer.getvalue()

    flat = image.reshape(-1, *image.shape[-3:])
    return text_array((encode(a) for a in flat), image.shape[:-3])


@kernel("ExtractJpegShape", cpu_only=_REASON)
def extract_jpeg_shape_kernel(xp: Module, contents: Array, *, output_type: DType) -> Any:
    image = _open(contents, ("JPEG",), "ExtractJpegShape")
    return np.array([image.height, image.width, len(image.getbands())], output_type.numpy)
