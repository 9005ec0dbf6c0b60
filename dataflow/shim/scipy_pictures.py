"""Reading, writing and changing pictures as ``scipy.misc`` did until SciPy 1.2, by Pillow."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def _pillow() -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError as error:
        from dataflow.extras import install

        raise ImportError(
            f"scipy.misc reads and writes pictures by Pillow: {install('train')}"
        ) from error


def _mode(image: Any, flatten: bool, mode: str | None) -> Any:
    image = image.convert(mode) if mode else image
    if not mode and image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.convert("F") if flatten else image


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """A picture as an array, uint8 ``[height, width(, channels)]``; float32 with ``flatten``."""
    with _pillow().open(name) as image:
        return np.array(_mode(image, flatten, mode))


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> Any:
    """``data`` stretched to ``low`` to ``high`` as uint8; uint8 is left as it is."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    scale = (high - low) / (float(cmax - cmin) or 1.0)
    return (np.clip((data - cmin) * scale + low, low, high) + 0.5).astype(np.uint8)


def toimage(arr: Any, high: int = 255, low: int = 0, cmin: Any = None, cmax: Any = None) -> Any:
    """An array ``[h, w]``, ``[h, w, 3 or 4]`` or ``[3 or 4, h, w]`` as a picture of Pillow's."""
    data = np.asarray(arr)
    if data.ndim == 3 and data.shape[2] not in (3, 4) and data.shape[0] in (3, 4):
        data = data.transpose(1, 2, 0)
    if data.ndim not in (2, 3) or (data.ndim == 3 and data.shape[2] not in (3, 4)):
        raise ValueError(f"'arr' does not have a suitable array shape for any mode: {data.shape}")
    return _pillow().fromarray(bytescale(data, cmin, cmax, high, low))


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as a picture, stretched to 0 to 255 unless it is uint8."""
    toimage(arr).save(name, format)


_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """A picture of another size: percent (int), fraction (float), or ``(height, width)``; uint8."""
    image = _pillow().fromarray(np.asarray(arr, np.float32), "F") if mode == "F" else toimage(arr)
    if isinstance(size, (int, np.integer)):
        new = tuple(int(n * size / 100.0) for n in image.size)
    elif isinstance(size, (float, np.floating)):
        new = tuple(int(n * size) for n in image.size)
    else:
        new = (int(size[1]), int(size[0]))
    return np.array(image.resize(new, _FILTERS[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """A picture turned counter-clockwise by ``angle`` degrees, of the same size."""
    return np.array(toimage(arr).rotate(angle, resample=_FILTERS[interp]))
