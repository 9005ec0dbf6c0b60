"""The pretend GPU: NumPy arrays that refuse to be mixed with the host's, as CuPy's arrays do.

What a kernel may do with a `PretendArray` is what it may do with a ``cupy.ndarray``: the functions
of ``xp`` that CuPy has, operators, methods; Python's and NumPy's scalars beside arrays, but no
NumPy arrays; no strings and no objects; results of reductions stay arrays; reading a single number
(``int(x)``) is allowed, and counted in `num_synchronizations`, as it makes the host wait.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.precision import rounded_to_tf32, tf32_enabled
from dataflow.kernels.scatter_at import ATOMIC_DTYPES
from dataflow.kernels.subnormals import Computing

#: Names of NumPy that CuPy (14.2) has not.
LACKING = frozenset(
    {
        *("asmatrix", "block", "bmat", "busday_count", "busday_offset", "busdaycalendar"),
        *("bytes_", "char", "character", "clongdouble", "complex256", "core", "ctypeslib"),
        *("datetime64", "datetime_as_string", "datetime_data", "einsum_path", "emath"),
        *("errstate", "f2py", "flexible", "float128", "frompyfunc", "fromregex", "geomspace"),
        *("getbufsize", "geterr", "geterrcall", "histogram_bin_edges", "info", "insert"),
        *("is_busday", "isnat", "longdouble", "ma", "matrix", "matvec", "memmap"),
        *("nanpercentile", "nanquantile", "ndenumerate", "nditer", "nested_iters", "object_"),
        *("polyder", "polydiv", "polyint", "rec", "recarray", "record", "setbufsize", "seterr"),
        *("seterrcall", "spacing", "str_", "strings", "test", "timedelta64", "unstack", "vecdot"),
        *("vecmat", "void"),
    }
)
LACKING_IN_LINALG = frozenset(
    {
        *("cross", "diagonal", "matmul", "matrix_norm", "matrix_transpose", "multi_dot", "outer"),
        *("svdvals", "tensordot", "trace", "vecdot", "vector_norm"),
    }
)
_NUMBERS = "biufc"


class PretendOutOfMemoryError(MemoryError):
    """A pretend GPU's memory is used up; CuPy's ``OutOfMemoryError`` says the same words."""


class PretendMemory:
    """The memory of one pretend GPU: counts the bytes of its arrays, where it has a limit."""

    def __init__(self, limit_bytes: int = 0) -> None:
        self.limit_bytes = limit_bytes
        #: How much of it a process may take (``per_process_gpu_memory_fraction``).
        self.fraction = 1.0
        self.used_bytes = 0

    def take(self, array: PretendArray) -> None:
        """Counts a new array until nobody holds it. Raises `PretendOutOfMemoryError`."""
        size = array.host_array.nbytes
        limit = int(self.limit_bytes * self.fraction)
        if self.used_bytes + size > limit:
            raise PretendOutOfMemoryError(
                f"Out of memory allocating {size:,} bytes (allocated so far: "
                f"{self.used_bytes:,} bytes, limit set to: {limit:,} bytes)."
            )
        self.used_bytes += size
        weakref.finalize(array, self._free, size)

    def _free(self, size: int) -> None:
        self.used_bytes -= size


#: One for each pretend GPU.
memories: dict[int, PretendMemory] = {}


class Recording:
    """What a stream would have captured: every call, with the arrays that it read and wrote.

    Waiting for the device while it lasts is an error, as it is under CUDA.
    """

    current: Recording | None = None

    def __init__(self) -> None:
        self.steps: list[tuple[Callable[[], Any], Any]] = []

    def __enter__(self) -> Recording:
        Recording.current = self
        return self

    def __exit__(self, *_: object) -> None:
        Recording.current = None

    def replay(self) -> None:
        """Every call again, into the arrays that it wrote first."""
        with Computing():  # as in any run
            for call, result in self.steps:
                _write_into(result, call())


def _write_into(old: Any, new: Any) -> None:
    if isinstance(old, np.ndarray):
        if old is not new and not np.may_share_memory(old, new):
            old[...] = new
    elif isinstance(old, (tuple, list)):
        for one, other in zip(old, new, strict=True):
            _write_into(one, other)


def compute(
    index: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Calls a function of NumPy on arrays of one device."""
    _refuse_what_cupy_has_not(function, args, kwargs)
    args, kwargs = unwrap(args, index), unwrap(kwargs, index)
    if Recording.current is not None and _is_product(function):
        raise NotImplementedError(
            "calling cuBLAS API during stream capture is currently unsupported"
        )
    return _run(index, function, args, kwargs)


def _run(index: int, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The call, on NumPy's arrays."""
    if tf32_enabled() and _is_product(function):
        function = _in_tf32(function)
    if getattr(function, "__name__", "") in _SIZE_KNOWN_LATE:
        synchronize()
    result = _arrays(function(*args, **kwargs))
    if Recording.current is not None:
        Recording.current.steps.append((lambda: function(*args, **kwargs), result))
    return wrap(result, index)


#: Functions that CuPy leaves to cuBLAS.
_PRODUCTS = (np.dot, np.vdot, np.inner, np.tensordot, np.einsum)


def _is_product(function: Callable[..., Any]) -> bool:
    """Whether cuBLAS computes it."""
    return function in _PRODUCTS or getattr(function, "__self__", function) is np.matmul


class _BLAS:
    """What multiplies while a pretend GPU records: `cuda.products` calls it."""

    def product(self, xp: Module, a: PretendArray, b: PretendArray, out: Any) -> Any:
        """``a @ b``, recorded."""
        index = a._index
        arguments = unwrap((a, b), index)
        found = _run(index, np.matmul, arguments, {} if out is None else {"out": out.host_array})
        return found if out is None else out


BLAS = _BLAS()


def _in_tf32(product: Callable[..., Any]) -> Callable[..., Any]:
    """A product that rounds its inputs where cuBLAS may: two matrices of single precision."""

    def call(*arrays: Any, **kwargs: Any) -> Any:
        if all(a.dtype == np.float32 and a.ndim == 2 for a in arrays[:2]):
            arrays = (*map(rounded_to_tf32, arrays[:2]), *arrays[2:])
        return product(*arrays, **kwargs)

    return call


def recorded(launch: Callable[..., None]) -> Callable[..., None]:
    """A launch that a `Recording` keeps as well."""

    def call(grid: Any, block: Any, arguments: tuple[Any, ...]) -> None:
        launch(grid, block, arguments)
        if Recording.current is not None:
            # Whoever held a variable's array itself would make the next update copy it.
            kept = tuple(alias_of(a) if type(a) is PretendArray else a for a in arguments)
            Recording.current.steps.append((lambda: launch(grid, block, kept), None))

    return call


def _arrays(value: Any) -> Any:
    """Scalars as arrays, which have a place in memory."""
    if isinstance(value, np.generic):
        return np.asarray(value)
    if type(value) in (tuple, list):
        return type(value)(_arrays(v) for v in value)
    return value


#: Methods of arrays that CuPy's have; the others of NumPy's are refused.
_METHODS = frozenset(
    {
        *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap"),
        *("choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum"),
        *("diagonal", "dot", "fill", "flatten", "item", "max", "mean", "min", "nonzero"),
        *("partition", "prod", "ptp", "put", "ravel", "repeat", "reshape", "round", "searchsorted"),
        *("sort", "squeeze", "std", "sum", "swapaxes", "take", "tobytes", "tolist", "trace"),
        *("transpose", "var", "view"),
    }
)
#: Keywords that CuPy's functions do not take, and the functions that do take them.
_KEYWORDS = {"where": ("copyto",), "initial": (), "mode": ("pad", "convolve", "correlate", "qr")}
#: Functions of a sequence of arrays, in which CuPy wants arrays and no scalars.
_OF_SEQUENCES = frozenset({"stack", "concatenate", "hstack", "vstack", "dstack", "column_stack"})


def _refuse_what_cupy_has_not(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    name = getattr(function, "__name__", "")
    if name in _OF_SEQUENCES and isinstance(args[0], (list, tuple)):
        for value in args[0]:
            if not isinstance(value, PretendArray):
                raise TypeError(f"CuPy's {name} takes arrays, got {type(value).__name__}")
    for keyword in kwargs:
        if keyword in _KEYWORDS and name not in _KEYWORDS[keyword]:
            raise TypeError(f"CuPy's {name} takes no argument {keyword!r}")
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        if name == "at":
            dtype = args[0].dtype.name
            if dtype not in ATOMIC_DTYPES.get(ufunc.__name__, ()):
                raise TypeError(f"`{ufunc.__name__}.at` of {dtype} is not supported by CuPy")
        if name == "reduceat" and ufunc.__name__ != "add":
            raise TypeError(f"`{ufunc.__name__}.reduceat` is not supported by CuPy")
        if name == "accumulate" and ufunc.__name__ not in ("add", "multiply"):
            raise TypeError(f"`{ufunc.__name__}.accumulate` is not supported by CuPy")


#: How large their results are depends on values: the host has to wait for them.
_SIZE_KNOWN_LATE = frozenset({"nonzero", "flatnonzero", "argwhere", "unique", "compress"})


def synchronize() -> None:
    """The host waits for the device."""
    PretendArray.num_synchronizations += 1
    if Recording.current is not None:
        raise RuntimeError(
            "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing"
        )


#: Functions that look at a shape or a dtype only; NumPy's own serve host and device.
ABOUT_DTYPES = frozenset(
    {
        *("dtype", "finfo", "iinfo", "result_type", "promote_types", "can_cast", "issubdtype"),
        *("common_type", "min_scalar_type", "broadcast_shapes", "ndim", "shape", "size"),
    }
)


class PretendArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in the memory of a pretend GPU. ``get()`` copies it to the host."""

    __slots__ = ("__weakref__", "_index", "host_array")
    __array_priority__ = 100

    #: How often the host waited for a number of this array; see the module's text.
    num_synchronizations = 0

    def __init__(self, array: Array, index: int) -> None:
        if array.dtype.kind not in _NUMBERS:
            raise TypeError(f"Unsupported dtype {array.dtype}: a GPU holds numbers only.")
        self.host_array = array
        self._index = index
        memory = memories.get(index)
        if memory is not None and memory.limit_bytes and array.base is None:
            memory.take(self)

    # ---- what CuPy offers -----------------------------------------------------------------

    def get(self) -> Any:
        """A copy on the host."""
        synchronize()
        return self.host_array.copy()

    def set(self, array: Array, stream: Any = None) -> None:
        """Copies an array of the host into this one's memory."""
        if type(array) is not np.ndarray:
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if array.dtype != self.host_array.dtype or array.shape != self.host_array.shape:
            raise ValueError(
                f"Shape mismatch. Old shape: {self.host_array.shape}, new shape: {array.shape}"
            )
        self.host_array[...] = array

    @property
    def device(self) -> str:
        """Where it lies."""
        return f"gpu:{self._index}"

    @property
    def T(self) -> Any:
        """The transposed array."""
        return self._wrap(self.host_array.T)

    @property
    def real(self) -> Any:
        """The real parts."""
        return self._wrap(self.host_array.real)

    @real.setter
    def real(self, value: Any) -> None:
        compute(self._index, np.copyto, (self.real, value), {})

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return self._wrap(self.host_array.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        compute(self._index, np.copyto, (self.imag, value), {})

    @property
    def base(self) -> Any:
        """The array whose memory this one shares, or ``None``."""
        return self.host_array.base

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return compute(self._index, getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in LACKING or "." in function.__module__.removeprefix("numpy"):
            raise TypeError(f"CuPy has no {function.__module__}.{function.__name__}")
        if function.__name__ in ABOUT_DTYPES:
            return function(
                *(a.host_array if type(a) is PretendArray else a for a in args), **kwargs
            )
        return compute(self._index, function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("host_array", "_index"):
            raise AttributeError(name)
        value = getattr(self.host_array, name)
        if not callable(value):
            return value

        if name not in _METHODS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        if name in ("item", "tolist"):
            synchronize()
            return value
        return lambda *args, **kwargs: compute(self._index, value, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        array, key = self.host_array, self._key(key)  # a recording must not hold this object
        return compute(self._index, lambda: array[key], (), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        array, key = self.host_array, self._key(key)
        compute(self._index, lambda new: array.__setitem__(key, new), (value,), {})

    def __len__(self) -> int:
        return len(self.host_array)

    def __iter__(self) -> Any:
        return (self._wrap(item) for item in self.host_array)

    def _scalar(self) -> Any:
        if self.host_array.size != 1:
            raise TypeError("only single-element arrays can be converted to Python scalars")
        synchronize()
        return self.host_array.reshape(())[()]

    def __bool__(self) -> bool:
        if self.host_array.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        return bool(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        return self._scalar().__index__()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{self.host_array!r} on gpu:{self._index}"

    # ---- inside ---------------------------------------------------------------------------

    def _wrap(self, value: Any) -> Any:
        return wrap(value, self._index)

    def _key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._key(k) for k in key)
        if isinstance(key, (list, range)) or type(key) is np.ndarray:
            return np.asarray(key)  # CuPy takes lists and host arrays as indices
        if type(key) is PretendArray and key.dtype == bool:
            synchronize()  # how many are chosen is known on the device only
        return unwrap(key, self._index)


def alias_of(array: PretendArray) -> PretendArray:
    """Another object on the same memory, which is counted once. The given one is not held."""
    alias = object.__new__(PretendArray)
    alias.host_array, alias._index = array.host_array, array._index
    return alias


def wrap(value: Any, index: int) -> Any:
    """NumPy's results as arrays of the device; scalars become arrays without dimensions."""
    if isinstance(value, np.ndarray):
        return PretendArray(value, index)
    if isinstance(value, np.generic):
        return PretendArray(np.asarray(value), index)
    if isinstance(value, (tuple, list)):
        wrapped = [wrap(v, index) for v in value]
        if hasattr(value, "_fields"):
            return type(value)(*wrapped)
        return type(value)(wrapped)
    return value


def unwrap(value: Any, index: int) -> Any:
    """The NumPy arrays inside; raises `TypeError` for one of the host or of another device."""
    if type(value) is PretendArray:
        if value._index != index:
            raise TypeError(
                f"Array device must be same as the current device: gpu:{value._index} given, "
                f"gpu:{index} needed."
            )
        return value.host_array
    if isinstance(value, np.ndarray):
        raise TypeError(
            f"Unsupported type {type(value)}: an array of the host, gpu:{index} needed."
        )
    if isinstance(value, dict):
        return {k: unwrap(v, index) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(unwrap(v, index) for v in value)
    return value
