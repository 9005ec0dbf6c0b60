"""Image files through Pillow, which is imported when the first one is read or written."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one, text_array

_REASON = "image files are read on the host"
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as e:
        raise NotImplementedError(
            "Image files are read and written by the package pillow, which is not installed: "
            "pip install pillow"
        ) from e
    return Image


def _open(contents: Any, formats: tuple[str, ...], what: str) -> Any:
    data = one(contents)
    try:
        return _pillow().open(io.BytesIO(data), formats=formats)
    except (OSError, SyntaxError, ValueError) as e:
        start = data[:8]
        raise ValueError(
            f"{what}: these {len(data)} bytes are no image of format {', '.join(formats)} "
            f"(they begin with {start!r})"
        ) from e


def _pixels(image: Any, channels: int) -> Any:
    """[height, width, channels]; 0 channels keeps those of the file."""
    if channels == 0:
        if image.mode == "P" or image.mode == "CMYK" or image.mode == "YCbCr":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        elif image.mode == "1":
            image = image.convert("L")
    elif image.mode != _MODES[channels]:
        if image.mode == "P":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        image = image.convert(_MODES[channels])
    try:
        array = np.asarray(image)
    except OSError as e:
        raise ValueError(f"the image is cut short or damaged: {e}") from e
    return array[..., None] if array.ndim == 2 else array


def _as_dtype(array: Any, dtype: DType) -> Any:
    """Pixels of 8 or 16 bits as ``dtype``; floats run from 0 to 1."""
    if array.dtype == np.int32:  # Pillow's mode I holds 16 bits
        array = array.astype(np.uint16)
    wide = array.dtype == np.uint16
    name = dtype.name
    if name == "float32":
        return array.astype(np.float32) / np.float32(65535 if wide else 255)
    if name == "uint16":
        return array if wide else array.astype(np.uint16) * 257
    return (array >> 8).astype(np.uint8) if wide else np.array(array, np.uint8)


@kernel("DecodeJpeg", cpu_only=_REASON)
def decode_jpeg_kernel(xp: Any, contents: Any, *, channels: int, ratio: int) -> Any:
    image = _open(contents, ("JPEG", "PNG", "GIF"), "DecodeJpeg")
    if ratio > 1 and image.format == "JPEG":
        image.draft(None, (image.width // ratio, image.height // ratio))
    return np.array(_pixels(image, channels), np.uint8)


@kernel("DecodePng", cpu_only=_REASON)
def decode_png_kernel(xp: Any, contents: Any, *, channels: int, dtype: DType) -> Any:
    return _as_dtype(_pixels(_open(contents, ("PNG", "JPEG", "GIF"), "DecodePng"), channels), dtype)


@kernel("DecodeBmp", cpu_only=_REASON)
def decode_bmp_kernel(xp: Any, contents: Any, *, channels: int) -> Any:
    return np.array(_pixels(_open(contents, ("BMP",), "DecodeBmp"), channels), np.uint8)


def _frames(image: Any) -> Any:
    out = []
    for i in range(getattr(image, "n_frames", 1)):
        image.seek(i)
        out.append(np.asarray(image.convert("RGB")))
    return np.stack(out)


@kernel("DecodeGif", cpu_only=_REASON)
def decode_gif_kernel(xp: Any, contents: Any) -> Any:
    return _frames(_open(contents, ("GIF",), "DecodeGif"))


@kernel("DecodeImage", cpu_only=_REASON)
def decode_image_kernel(
    xp: Any, contents: Any, *, channels: int, dtype: DType, expand_animations: bool
) -> Any:
    image = _open(contents, ("JPEG", "PNG", "GIF", "BMP"), "DecodeImage")
    if image.format == "GIF":
        if channels not in (0, 3):
            raise ValueError("channels must be 0 or 3 for a GIF")
        frames = _frames(image)
        return _as_dtype(frames if expand_animations else frames[0], dtype)
    return _as_dtype(_pixels(image, channels), dtype)


def _as_image(array: Any) -> Any:
    channels = array.shape[-1]
    if channels not in _MODES:
        raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if array.dtype == np.uint16:
        if channels != 1:
            raise NotImplementedError("16-bit images are written with one channel only")
        return _pillow().fromarray(array[..., 0])
    return _pillow().fromarray(array[..., 0] if channels == 1 else array)


@kernel("EncodeJpeg", cpu_only=_REASON)
def encode_jpeg_kernel(
    xp: Any,
    image: Any,
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


@kernel("EncodePng", cpu_only=_REASON)
def encode_png_kernel(xp: Any, image: Any, *, compression: int) -> Any:
    level = 6 if compression < 0 else compression

    def encode(array: Any) -> bytes:
        buffer = io.BytesIO()
        _as_image(array).save(buffer, "PNG", compress_level=level)
        return buffer.getvalue()

    flat = image.reshape(-1, *image.shape[-3:])
    return text_array((encode(a) for a in flat), image.shape[:-3])


@kernel("ExtractJpegShape", cpu_only=_REASON)
def extract_jpeg_shape_kernel(xp: Any, contents: Any, *, output_type: DType) -> Any:
    image = _open(contents, ("JPEG",), "ExtractJpegShape")
    return np.array([image.height, image.width, len(image.getbands())], output_type.numpy)
