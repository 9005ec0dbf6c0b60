"""What programs of TensorFlow 1's time expect of Python and of NumPy, SciPy and their like.

`install` puts back, in this process, names that were removed between 2019 and today. Each is what it was:
an alias, or a few lines in today's terms. Names that are still there are left alone. Packages that are not
loaded yet are completed when they are.

Not put back: ``numpy.load`` of pickled objects without ``allow_pickle=True``, as loading a pickle runs
code from the file.
"""

from __future__ import annotations

import collections
import collections.abc
import fractions
import functools
import importlib
import inspect
import math
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, NamedTuple

import numpy as np

from dataflow.shim import array_numbers, old_scipy, six_module

#: NumPy's removed names, and what they were.
_NUMPY_NAMES: dict[str, Any] = {
    "float": float,
    "int": int,
    "bool": bool,
    "object": object,
    "str": str,
    "complex": complex,
    "long": int,
    "unicode": str,
    "float_": np.float64,
    "complex_": np.complex128,
    "string_": np.bytes_,
    "unicode_": np.str_,
    "singlecomplex": np.complex64,
    "cfloat": np.complex128,
    "clongfloat": np.clongdouble,
    "longfloat": np.longdouble,
    "Inf": np.inf,
    "Infinity": np.inf,
    "infty": np.inf,
    "PINF": np.inf,
    "NINF": -np.inf,
    "NaN": np.nan,
    "NAN": np.nan,
    "PZERO": 0.0,
    "NZERO": -0.0,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "alltrue": np.all,
    "sometrue": np.any,
    "round_": np.round,
    "mat": np.asmatrix,
    "row_stack": np.vstack,
    "ComplexWarning": np.exceptions.ComplexWarning,
    "RankWarning": np.exceptions.RankWarning,
    "VisibleDeprecationWarning": np.exceptions.VisibleDeprecationWarning,
}


_OURS = frozenset({"dataflow", "dataflow_datasets", "dataflow_widgets"})
#: Packages that are written for the NumPy of today.
_OF_TODAY = _OURS | {
    "IPython",
    "PIL",
    "gymnasium",
    "h5py",
    "matplotlib",
    "numpy",
    "pandas",
    "scipy",
}
_OF_TODAY |= {"seaborn", "skimage", "sklearn", "statsmodels", "torch"}


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    return np.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _ragged(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's ``array`` or ``asarray``, with rows of different lengths as an array of lists again."""

    def make(a: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(a, *args, **kwargs)
        except ValueError as error:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if kwargs.get("copy") is False and "avoid copy" in str(error):
                # Before NumPy 2 `copy=False` meant: no copy unless one is needed.
                return function(a, *args, **{**kwargs, "copy": None})
            if "inhomogeneous" not in str(error) or args or kwargs.get("dtype") is not None:
                raise
            if caller.partition(".")[0] in _OURS:
                raise  # the engine tells the user of such rows by this error
            return function(a, **{**kwargs, "dtype": object})

    make.__name__, make.__doc__ = function.__name__, function.__doc__
    return make


def _as_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with a list for a result, where NumPy 2 gives a tuple."""

    @functools.wraps(function)
    def listed(*args: Any, **kwargs: Any) -> list[Any]:
        return list(function(*args, **kwargs))

    return listed


def _issubdtype(function: Any) -> Any:
    """NumPy's ``issubdtype``, in which ``float`` means every floating-point type again (int, complex alike).

    Packages of today, to which it means float64, keep that.
    """
    kinds = {float: np.floating, int: np.signedinteger, complex: np.complexfloating}

    def issubdtype(arg1: Any, arg2: Any) -> bool:
        if isinstance(arg2, type) and arg2 in kinds:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.partition(".")[0] not in _OF_TODAY:
                arg2 = kinds[arg2]
        return bool(function(arg1, arg2))

    issubdtype.__doc__ = function.__doc__
    return issubdtype


def _fromstring(function: Callable[..., Any]) -> Callable[..., Any]:
    def fromstring(
        string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **kwargs: Any
    ) -> Any:
        """``numpy.fromstring``; without ``sep`` the bytes of an array, as a copy."""
        if sep:
            return function(string, dtype, count, sep=sep, **kwargs)
        data = string.encode("latin-1") if isinstance(string, str) else string
        return np.frombuffer(data, dtype, count).copy()

    return fromstring


def _mend_numpy() -> None:
    import warnings

    names = {
        **_NUMPY_NAMES,
        "asfarray": _asfarray,
        "in1d": _in1d,
        "asscalar": lambda a: np.asarray(a).item(),
        "rank": np.ndim,
        "trapz": getattr(np, "trapezoid", None),
        "msort": lambda a: np.sort(a, axis=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hasattr(np, "object") warns
        for name, value in names.items():
            # `np.bool` is NumPy's again in NumPy 2, and stays.
            if value is not None and name not in vars(np) and not hasattr(np, name):
                setattr(np, name, value)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        np.set_printoptions(
            legacy="1.25"
        )  # a list of losses prints as numbers, not np.float32(...)
    array_numbers.put_back()
    np.issubdtype = _issubdtype(np.issubdtype)
    np.array = _ragged(np.array)
    np.asarray = _ragged(np.asarray)
    np.asanyarray = _ragged(np.asanyarray)
    np.fromstring = _fromstring(np.fromstring)
    np.meshgrid = _as_list(np.meshgrid)
    np.broadcast_arrays = _as_list(np.broadcast_arrays)
    _put(np.random, random_integers=_random_integers)
    if not hasattr(np.ndarray, "tostring"):
        _add_method(np.ndarray, "tostring", np.ndarray.tobytes)
    if not hasattr(np.generic, "tostring"):
        _add_method(np.generic, "tostring", np.generic.tobytes)


def _add_method(owner: type, name: str, method: Any) -> None:
    """Adds a method to a class of C, whose attributes Python does not let one set.

    Its dictionary is reached through the garbage collector, as the mapping proxy refers to nothing else;
    `PyType_Modified` drops what the interpreter has cached. Where Python is not CPython, the class stays.
    """
    import ctypes
    import gc

    (names,) = gc.get_referents(vars(owner)) or [None]
    if isinstance(names, dict) and hasattr(ctypes, "pythonapi"):
        names[name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def _random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
    """Integers from ``low`` to ``high``, both included; from 1 where one number is given."""
    low, high = (1, low) if high is None else (low, high)
    return np.random.randint(low, high + 1, size)


class ArgSpec(NamedTuple):
    """What ``inspect.getargspec`` returned."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _getargspec(function: Callable[..., Any]) -> Any:
    """``inspect.getargspec``: args, varargs, keywords, defaults."""
    full = inspect.getfullargspec(function)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _put(owner: Any, **names: Any) -> None:
    for name, value in names.items():
        if not hasattr(owner, name):
            setattr(owner, name, value)


def _mend_python() -> None:
    import base64
    import errno
    import html
    import html.parser
    import platform

    for name in collections.abc.__all__:
        _put(collections, **{name: getattr(collections.abc, name)})
    _put(inspect, getargspec=_getargspec)
    _put(time, clock=time.perf_counter)
    _put(fractions, gcd=math.gcd)
    _put(threading.Thread, isAlive=threading.Thread.is_alive)
    _put(os, errno=errno)
    _put(base64, encodestring=base64.encodebytes, decodestring=base64.decodebytes)
    _put(html.parser.HTMLParser, unescape=staticmethod(html.unescape))
    # TensorFlow loads these itself, so that programs found them after a mere `import urllib`.
    _add_submodules("urllib", ("error", "parse", "request"))
    _put(platform, linux_distribution=lambda *args, **kwargs: ("", "", ""))


def _add_submodules(package: str, names: Sequence[str]) -> None:
    """Lets attributes of ``package`` load its modules ``names`` when they are first asked for."""
    module = importlib.import_module(package)

    def get_attribute(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    module.__dict__.setdefault("__getattr__", get_attribute)


# ---- modules that are gone --------------------------------------------------------------------


def _imp() -> types.ModuleType:
    """The part of ``imp`` that programs used."""
    import importlib.util

    def load_source(name: str, path: str, file: Any = None) -> types.ModuleType:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return _module(
        "imp", reload=importlib.reload, load_source=load_source, new_module=types.ModuleType
    )


class _LooseVersion:
    """``distutils.version.LooseVersion``: versions that compare part by part."""

    def __init__(self, vstring: str) -> None:
        import re

        self.vstring = vstring
        parts = re.split(r"(\d+|[a-z]+|\.)", vstring)
        self.version = [int(p) if p.isdigit() else p for p in parts if p and p != "."]

    def _key(self, other: Any) -> tuple[list[Any], list[Any]]:
        other = other if isinstance(other, _LooseVersion) else _LooseVersion(str(other))
        return [[(isinstance(p, str), p) for p in v.version] for v in (self, other)]  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        mine, theirs = self._key(other)
        return mine == theirs

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._key(other)
        return mine < theirs

    def __le__(self, other: Any) -> bool:
        mine, theirs = self._key(other)
        return mine <= theirs

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __hash__(self) -> int:
        return hash(self.vstring)

    def __str__(self) -> str:
        return self.vstring

    __repr__ = __str__


def _distutils() -> types.ModuleType:
    def strtobool(value: str) -> int:
        word = value.lower()
        if word in ("y", "yes", "t", "true", "on", "1"):
            return 1
        if word in ("n", "no", "f", "false", "off", "0"):
            return 0
        raise ValueError(f"invalid truth value {word!r}")

    def copy_tree(src: str, dst: str, **kwargs: Any) -> list[str]:
        import shutil

        shutil.copytree(src, dst, dirs_exist_ok=True)
        return [os.path.join(dst, name) for name in os.listdir(src)]

    package = _module("distutils")
    package.__path__ = []
    version = _module("distutils.version", LooseVersion=_LooseVersion, StrictVersion=_LooseVersion)
    package.__dict__.update(
        version=version,
        util=_module("distutils.util", strtobool=strtobool),
        dir_util=_module("distutils.dir_util", copy_tree=copy_tree),
    )
    return package


def _module(module_name: str, /, **names: Any) -> types.ModuleType:
    module = types.ModuleType(module_name, f"What programs used of {module_name}, which is gone.")
    module.__dict__.update(names)
    return module


def _named(name: str) -> Callable[[], types.ModuleType]:
    return lambda: importlib.import_module(name)


#: Modules that today's Python or packages lack, and how to make or find each. They are made only where
#: no module of that name is found.
_GONE: dict[str, Callable[[], types.ModuleType]] = {
    "imp": _imp,
    "distutils": _distutils,
    "distutils.version": lambda: importlib.import_module("distutils").version,
    "distutils.util": lambda: importlib.import_module("distutils").util,
    "distutils.dir_util": lambda: importlib.import_module("distutils").dir_util,
    "xml.etree.cElementTree": _named("xml.etree.ElementTree"),
    "sklearn.cross_validation": _named("sklearn.model_selection"),
    "sklearn.grid_search": _named("sklearn.model_selection"),
    "sklearn.externals.joblib": _named("joblib"),
    "scipy.misc": lambda: _module("scipy.misc"),
    "six": six_module.six,
    "six.moves": six_module.moves,
    **{name: _named(target) for name, target in six_module.moved_modules().items()},
}


# ---- packages that are completed when they load -------------------------------------------------


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


def _mend_scipy_misc(module: types.ModuleType) -> None:
    _put(module, imread=imread, imsave=imsave, imresize=imresize, imrotate=imrotate)
    _put(module, toimage=toimage, bytescale=bytescale, fromimage=np.array)
    special = importlib.import_module("scipy.special")
    _put(module, logsumexp=special.logsumexp, comb=special.comb, factorial=special.factorial)


def _mend_scipy_ndimage(module: types.ModuleType) -> None:
    _put(module, imread=imread)


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
        _put(module, ANTIALIAS=module.Resampling.LANCZOS, LINEAR=module.Resampling.BILINEAR)
        _put(module, CUBIC=module.Resampling.BICUBIC)


def _share_flags(module: types.ModuleType) -> None:
    from dataflow.shim.absl_flags import share_flags

    share_flags(module)


_COMPLETED: dict[str, Callable[[types.ModuleType], None]] = {
    "absl.flags": _share_flags,
    **old_scipy.MENDS,
    "scipy.misc": _mend_scipy_misc,
    "scipy.ndimage": _mend_scipy_ndimage,
    "matplotlib": _mend_matplotlib,
    "pandas": _mend_pandas,
    "PIL.Image": _mend_pillow,
    "sklearn.datasets": _mend_sklearn_datasets,
    "sklearn.externals": _mend_sklearn_externals,
    "sklearn.manifold": _mend_sklearn_manifold,
}


class _Completing(Loader):
    """Loads a module as ever, then adds the names that it once had."""

    def __init__(self, loader: Any, complete: Callable[[types.ModuleType], None]) -> None:
        self._loader, self._complete = loader, complete

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        module: types.ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        self._complete(module)

    def __getattr__(self, name: str) -> Any:  # get_data, get_source, is_package, ...
        return getattr(self._loader, name)


class _Making(Loader):
    def __init__(self, make: Callable[[], types.ModuleType]) -> None:
        self._make = make
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = self._make()
        self._spec = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        if self._spec is not None:
            module.__spec__ = self._spec
        if complete := _COMPLETED.get(module.__name__):
            complete(module)


class Finder(MetaPathFinder):
    """Completes some modules when they load, and makes those that are gone."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _COMPLETED and fullname not in _GONE:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            spec = None
        if spec is None:
            make = _GONE.get(fullname)
            return None if make is None else ModuleSpec(fullname, _Making(make))
        if spec.loader is not None and (complete := _COMPLETED.get(fullname)):
            spec.loader = _Completing(spec.loader, complete)
        return spec


def install() -> None:
    """Puts the names back and stands ready for packages that load later; once."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    _mend_numpy()
    _mend_python()
    if not has_display():
        os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, Finder())
    for name, complete in _COMPLETED.items():
        if name in sys.modules:
            complete(sys.modules[name])
