"""NumPy's names, and ways of its functions, that NumPy 2 took away.

Not put back: ``numpy.load`` of pickled objects without ``allow_pickle=True``, as loading a pickle runs
code from the file.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.shim import array_numbers
from dataflow.shim.missing_names import put_missing

#: NumPy's removed names, and what they were.
_NUMPY_NAMES: dict[str, Any] = {
    "float": float,
    "int": int,
    "bool": bool,
    "object": object,
    "str": str,
    "complex": complex,
    "long": int,
    "int0": np.intp,
    "uint0": np.uintp,
    "bool8": np.bool_,
    "object0": np.object_,
    "str0": np.str_,
    "bytes0": np.bytes_,
    "void0": np.void,
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

#: Functions of NumPy that `numpy.lib` had, too, of those that programs called by that name.
_NAMES_OF_LIB = (
    *(
        "append",
        "apply_along_axis",
        "average",
        "column_stack",
        "delete",
        "diff",
        "digitize",
        "flip",
    ),
    *("histogram", "insert", "interp", "kron", "median", "meshgrid", "pad", "percentile", "select"),
    *("split", "tile", "tril", "triu", "unique"),
)

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


def _with_interpolation(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with ``interpolation=``, the old name of ``method=``."""

    @functools.wraps(function)
    def quantiles(*args: Any, **kwargs: Any) -> Any:
        if "interpolation" in kwargs:
            kwargs["method"] = kwargs.pop("interpolation")
        return function(*args, **kwargs)

    return quantiles


def _with_newshape(function: Callable[..., Any]) -> Callable[..., Any]:
    """``reshape`` with ``newshape=``, the old name of ``shape=``."""

    @functools.wraps(function)
    def reshape(a: Any, *args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs:
            kwargs["shape"] = kwargs.pop("newshape")
        return function(a, *args, **kwargs)

    return reshape


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


def mend_numpy() -> None:
    """Puts them back in this process."""
    import warnings

    names = {
        **_NUMPY_NAMES,
        "asfarray": _asfarray,
        "in1d": _in1d,
        "asscalar": lambda a: np.asarray(a).item(),
        "rank": np.ndim,
        "trapz": getattr(np, "trapezoid", None),
        "math": math,
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
    for name in ("percentile", "quantile", "nanpercentile", "nanquantile"):
        setattr(np, name, _with_interpolation(getattr(np, name)))
    np.reshape = _with_newshape(np.reshape)
    np.meshgrid = _as_list(np.meshgrid)
    np.broadcast_arrays = _as_list(np.broadcast_arrays)
    put_missing(np.random, random_integers=_random_integers)
    put_missing(np.lib, **{name: getattr(np, name) for name in _NAMES_OF_LIB})
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
