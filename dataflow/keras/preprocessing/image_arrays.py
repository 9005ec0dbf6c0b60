"""Images as arrays, from files and to files."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.extras import install
from dataflow.keras import backend as K

Array = np.ndarray[Any, Any]
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff")
_MODES = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"tf.keras.preprocessing.image needs Pillow: {install('train')}"
        ) from error
    return Image


def load_img(
    path: Any,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Any = None,
    interpolation: str = "nearest",
) -> Any:
    """A Pillow image of a file; ``target_size`` is (height, width)."""
    image_module = _pillow()
    if grayscale:
        color_mode = "grayscale"
    if color_mode not in _MODES:
        raise ValueError(f'color_mode must be "grayscale", "rgb", or "rgba", got {color_mode!r}.')
    with image_module.open(path) as opened:
        image = opened.convert(_MODES[color_mode])
    if target_size is not None:
        methods = ("nearest", "bilinear", "bicubic", "lanczos", "hamming", "box")
        if interpolation not in methods:
            raise ValueError(
                f"Invalid interpolation method {interpolation}; choose one of {', '.join(methods)}."
            )
        size = (target_size[1], target_size[0])
        if image.size != size:
            image = image.resize(size, getattr(image_module.Resampling, interpolation.upper()))
    return image


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Array:
    """A Pillow image as an array [height, width, channels] (or channels first) of floats."""
    array = np.asarray(img, dtype or K.floatx())
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3:
        raise ValueError(f"Unsupported image shape: {array.shape}")
    return array.transpose(2, 0, 1) if is_first(data_format) else array


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:  # fmt: skip
    """An array as a Pillow image; ``scale`` brings its values to 0 .. 255."""
    x = np.asarray(x, dtype or K.floatx())
    if x.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}"
        )
    if is_first(data_format):
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        x = x / (x.max() or 1.0) * 255
    if x.shape[2] not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {x.shape[2]}")
    image_module = _pillow()
    bytes_ = x.astype("uint8")
    return image_module.fromarray(bytes_[..., 0] if x.shape[2] == 1 else bytes_)


def save_img(path: Any, x: Any, data_format: str | None = None, file_format: Any = None, scale: bool = True) -> None:  # fmt: skip
    """Writes an array as an image file."""
    array_to_img(x, data_format, scale).save(path, format=file_format)


def is_first(data_format: str | None) -> bool:
    """Whether channels come first; raises `ValueError` for anything but a data format."""
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    return (data_format or K.image_data_format()) == "channels_first"
