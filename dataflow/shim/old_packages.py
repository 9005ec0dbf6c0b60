"""What SciPy, h5py, matplotlib, pandas, Pillow and scikit-learn took away; each is completed when it loads."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.shim import old_h5py, old_matplotlib, old_protos, old_scipy
from dataflow.shim.missing_names import put_missing
from dataflow.shim.scipy_pictures import (
    bytescale,
    imread,
    imresize,
    imrotate,
    imsave,
    toimage,
)


def _mend_scipy_misc(module: types.ModuleType) -> None:
    put_missing(module, imread=imread, imsave=imsave, imresize=imresize, imrotate=imrotate)
    put_missing(module, toimage=toimage, bytescale=bytescale, fromimage=np.array)
    special = importlib.import_module("scipy.special")
    put_missing(module, logsumexp=special.logsumexp, comb=special.comb, factorial=special.factorial)


def _mend_scipy_ndimage(module: types.ModuleType) -> None:
    put_missing(module, imread=imread)


def _mend_matplotlib(module: types.ModuleType) -> None:
    """Without a display, a window's backend becomes Agg: figures are drawn and saved, none is shown."""
    use = module.use

    def use_what_works(backend: str, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("warn", None)  # an argument of its time
        draws = str(backend).lower() in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
        if has_display() or draws or str(backend).startswith("module:"):
            use(backend, *args, **kwargs)
        else:
            use("Agg")

    module.__dict__["use"] = use_what_works


def has_display() -> bool:
    """Whether windows can be opened, as far as the environment tells."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _mend_pandas(module: types.ModuleType) -> None:
    from dataflow.shim.old_pandas import mend

    mend(module)


def _mend_sklearn_externals(module: types.ModuleType) -> None:
    module.__path__ = getattr(module, "__path__", [])


#: The features of `load_boston`, in the order of its columns.
_OF_BOSTON = [
    "CRIM",
    "ZN",
    "INDUS",
    "CHAS",
    "NOX",
    "RM",
    "AGE",
    "DIS",
    "RAD",
    "TAX",
    "PTRATIO",
    "B",
    "LSTAT",
]


def load_boston(*, return_X_y: bool = False) -> Any:
    """scikit-learn's ``load_boston``, which 1.2 took away: features [506, 13] and prices [506], float64.

    They come from Keras's file; `dataflow.keras.datasets.boston_housing` tells where it is looked
    for, and why the set was dropped. Raises `FileNotFoundError` without file and network.
    """
    from dataflow.keras.datasets import boston_housing

    found = boston_housing.stored_arrays()
    x, y = found["x"], found["y"]
    if return_X_y:
        return x, y
    bunch = importlib.import_module("sklearn.utils").Bunch
    description = str(boston_housing.__doc__)
    return bunch(data=x, target=y, feature_names=np.array(_OF_BOSTON), DESCR=description)


def _mend_sklearn_datasets(module: types.ModuleType) -> None:
    # Asked for the name, today's module raises an error that tells why it is gone.
    module.__dict__.setdefault("load_boston", load_boston)


def _mend_sklearn_manifold(module: types.ModuleType) -> None:
    """``TSNE(n_iter=)``, which is ``max_iter`` now: tutorials of word2vec end in it."""
    make = module.TSNE.__init__

    @functools.wraps(make)  # scikit-learn reads the parameters from the signature
    def init(self: Any, *args: Any, n_iter: int | None = None, **kwargs: Any) -> None:
        if n_iter is not None:
            kwargs["max_iter"] = n_iter
        make(self, *args, **kwargs)

    if "n_iter" not in inspect.signature(make).parameters:
        module.TSNE.__init__ = init


def _mend_pillow(module: types.ModuleType) -> None:
    if hasattr(module, "Resampling"):
        put_missing(module, ANTIALIAS=module.Resampling.LANCZOS, LINEAR=module.Resampling.BILINEAR)
        put_missing(module, CUBIC=module.Resampling.BICUBIC)
    save = module.Image.save

    @functools.wraps(save)
    def save_with_16_bits(self: Any, fp: Any, format: Any = None, **params: Any) -> None:
        """A PNG of whole numbers (mode "I") has 16 bits, as once: those beyond are cut off at the ends."""
        name = str(getattr(fp, "name", fp)).lower()
        if self.mode == "I" and (format or name.rpartition(".")[2]).upper() == "PNG":
            self = module.fromarray(np.clip(np.asarray(self), 0, 65535).astype(np.uint16))
        save(self, fp, format, **params)

    module.Image.save = save_with_16_bits


def _mend_pillow_fonts(module: types.ModuleType) -> None:
    """``font.getsize(text)``, (width, height with what stands above): object detection labels boxes so."""

    def getsize(font: Any, text: Any, *args: Any, **kwargs: Any) -> tuple[int, int]:
        left, _, right, bottom = font.getbbox(text, *args, **kwargs)
        return int(right - left), int(bottom)

    for owner in (module.ImageFont, module.FreeTypeFont):
        put_missing(owner, getsize=getsize)


def _mend_pillow_drawing(module: types.ModuleType) -> None:
    """``draw.textsize(text, font)``: how much room a text takes, on one line or on more."""

    def textsize(draw: Any, text: Any, font: Any = None, *args: Any, **kwargs: Any) -> Any:
        left, _, right, bottom = draw.textbbox((0, 0), text, font, None, *args, **kwargs)
        return int(right - left), int(bottom)

    put_missing(module.ImageDraw, textsize=textsize)


#: By module: what adds the names that it once had.
COMPLETED: dict[str, Callable[[types.ModuleType], None]] = {
    "google.protobuf.text_format": old_protos.read_options,
    "h5py": old_h5py.mend,
    **old_matplotlib.MENDS,
    **old_scipy.MENDS,
    "scipy.misc": _mend_scipy_misc,
    "scipy.ndimage": _mend_scipy_ndimage,
    "matplotlib": _mend_matplotlib,
    "pandas": _mend_pandas,
    "PIL.Image": _mend_pillow,
    "PIL.ImageDraw": _mend_pillow_drawing,
    "PIL.ImageFont": _mend_pillow_fonts,
    "sklearn.datasets": _mend_sklearn_datasets,
    "sklearn.externals": _mend_sklearn_externals,
    "sklearn.manifold": _mend_sklearn_manifold,
}
