"""What BLAS and LAPACK can do and NumPy does not offer, by ctypes where NumPy brings OpenBLAS.

Products that are *added* to an array (``beta = 1``), which saves a pass over memory and a temporary
array; triangles; and inverses by ``?getri``, where NumPy solves for the identity. Elsewhere NumPy does
the work: then these functions return ``None``, or compute by it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.capabilities import THREADS
from dataflow.kernels import cpu_quota
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.matmul import product

#: CBLAS's numbers for the order of a matrix, and for how it is read.
ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112


@functools.cache
def _library() -> Any:
    """The OpenBLAS that NumPy loaded into this process, or ``None`` (another BLAS or system)."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "openblas" in line}
    except OSError:
        return None
    for path in paths:
        if "numpy" in path:
            try:
                return ctypes.CDLL(path)
            except OSError:
                continue
    return None


@functools.cache
def _thread_functions() -> tuple[Any, Any] | None:
    """OpenBLAS's (get, set) of its number of threads, or ``None``."""
    library = _library()
    read = getattr(library, "scipy_openblas_get_num_threads64_", None)
    write = getattr(library, "scipy_openblas_set_num_threads64_", None)
    if read is None or write is None:
        return None
    read.restype, write.argtypes, write.restype = ctypes.c_int, [ctypes.c_int], None
    allowed = None if any(name in os.environ for name in _GIVEN_THREADS) else cpu_quota.quota()
    if allowed is not None and allowed < read():
        write(allowed)
    return read, write


#: Where a user says how many threads OpenBLAS has; without them it has one for each processor.
_GIVEN_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")

_single_lock = threading.Lock()
_single_users = 0
_threads_before = 1


def num_threads() -> int:
    """How many threads BLAS may use; 1 where it cannot be told to use fewer, or where there are none."""
    functions = _thread_functions()
    if functions is None or not THREADS:
        return 1
    return _threads_before if _single_users else int(functions[0]())


class SingleThreaded:
    """Inside, BLAS uses the calling thread alone.

    OpenBLAS's threads wait for each other in loops: while another process has one of the
    processors, a product of 100 us takes 100 ms with them. On a quiet machine a product of ten
    million multiplications is not a fifth quicker with two; larger ones are divided among the
    threads of `parallel`. The setting is the library's, so products in other threads are on their
    own meanwhile, too.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _single_users, _threads_before
        functions = _thread_functions()
        if functions is None:
            return
        with _single_lock:
            if _single_users == 0:
                _threads_before = int(functions[0]())
                functions[1](1)
            _single_users += 1

    def __exit__(self, *_: object) -> None:
        global _single_users
        functions = _thread_functions()
        if functions is None:
            return
        with _single_lock:
            _single_users -= 1
            if _single_users == 0:
                functions[1](_threads_before)


_SINGLE_THREADED = SingleThreaded()


def single_threaded() -> SingleThreaded:
    """The context in which BLAS uses the calling thread alone; it can be nested and shared."""
    return _SINGLE_THREADED


@functools.cache
def _cblas(letter: str) -> Callable[..., None] | None:
    """``cblas_sgemm`` or ``cblas_dgemm`` with 64-bit sizes, or ``None``."""
    function = getattr(_library(), f"scipy_cblas_{letter}gemm64_", None)
    if function is None:
        return None
    size, pointer = ctypes.c_int64, ctypes.c_void_p
    scalar = ctypes.c_float if letter == "s" else ctypes.c_double
    function.argtypes = [
        *[ctypes.c_int] * 3,
        *[size] * 3,
        *[scalar, pointer, size, pointer, size, scalar, pointer, size],
    ]
    function.restype = None
    return function  # type: ignore[no-any-return]


@functools.cache
def product_functions(char: str) -> tuple[int, int, int] | None:
    """The addresses of ``cblas_?gemm``, ``cblas_?gemv`` and ``cblas_?dot`` with 64-bit sizes, or ``None``."""
    letter = {"f": "s", "d": "d"}.get(char)
    found = []
    for kind in ("gemm", "gemv", "dot"):
        function = getattr(_library(), f"scipy_cblas_{letter}{kind}64_", None)
        if function is None:
            return None
        found.append(ctypes.cast(function, ctypes.c_void_p).value or 0)
    matrix, vector, numbers = found
    return matrix, vector, numbers


_LEFT, _UPPER, _LOWER, _WHOLE_DIAGONAL = 141, 121, 122, 131


@functools.cache
def _cblas_solver(letter: str) -> Callable[..., None] | None:
    """``cblas_strsm`` or ``cblas_dtrsm`` with 64-bit sizes, or ``None``."""
    function = getattr(_library(), f"scipy_cblas_{letter}trsm64_", None)
    if function is None:
        return None
    size, pointer = ctypes.c_int64, ctypes.c_void_p
    scalar = ctypes.c_float if letter == "s" else ctypes.c_double
    function.argtypes = [*[ctypes.c_int] * 5, size, size, scalar, pointer, size, pointer, size]
    function.restype = None
    return function  # type: ignore[no-any-return]


def solve_triangle(matrix: Array, rhs: Array, lower: bool, transposed: bool) -> Any:
    """x with ``triangle @ x == rhs``, or ``triangle.T`` if ``transposed``; ``None`` where BLAS is not reached.

    The triangle is the lower or the upper one of ``matrix`` [..., n, n], and is not singular; the other one
    is not read. ``rhs`` is [..., n, m], of the same dtype and batch.
    """
    letter = {"f": "s", "d": "d"}.get(rhs.dtype.char)
    function = _cblas_solver(letter) if letter is not None else None
    if function is None or matrix.dtype != rhs.dtype or matrix.shape[:-1] != rhs.shape[:-1]:
        return None
    size, columns = rhs.shape[-2:]
    out = np.array(rhs, order="C")
    if not out.size:
        return out
    matrices = np.ascontiguousarray(matrix).reshape(-1, size, size)
    how = (
        *(ROW_MAJOR, _LEFT, _LOWER if lower else _UPPER),
        *(TRANSPOSED if transposed else PLAIN, _WHOLE_DIAGONAL, size, columns, 1.0),
    )
    with single_threaded():
        for one, part in zip(matrices, out.reshape(-1, size, columns), strict=True):
            function(*how, one.ctypes.data, size, part.ctypes.data, columns)
    return out


#: A smaller matrix is inverted by NumPy, whose one call does a whole batch.
_LEAST_INVERTED = 24
#: From this size on the threads of BLAS share a matrix.
_LEAST_SHARED = 512
_COLUMN_MAJOR = 102


@functools.cache
def _lapack_inversion(letter: str) -> tuple[Callable[..., int], Callable[..., int]] | None:
    """LAPACK's ``?getrf`` and ``?getri`` with 64-bit sizes, or ``None``."""
    library = _library()
    factor = getattr(library, f"scipy_LAPACKE_{letter}getrf_work64_", None)
    invert = getattr(library, f"scipy_LAPACKE_{letter}getri_work64_", None)
    if factor is None or invert is None:
        return None
    size, pointer = ctypes.c_int64, ctypes.c_void_p
    factor.argtypes = [ctypes.c_int, size, size, pointer, size, pointer]
    invert.argtypes = [ctypes.c_int, size, pointer, size, pointer, pointer, size]
    factor.restype = invert.restype = size
    return factor, invert


def inverse(matrix: Array) -> Any:
    """The inverse of each of ``matrix`` [..., n, n], of float32, float64 or complex numbers.

    Raises `numpy.linalg.LinAlgError` for a singular one.
    """
    size = matrix.shape[-1]
    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}.get(matrix.dtype.char)
    functions = _lapack_inversion(letter) if letter is not None else None
    if functions is None or size < _LEAST_INVERTED or matrix.shape[-2] != size:
        return np.linalg.inv(matrix)
    factor, invert = functions
    out = np.array(matrix, order="C")
    pivots, work = np.empty(size, np.int64), np.empty(64 * size, out.dtype)
    threads = single_threaded() if size < _LEAST_SHARED else contextlib.nullcontext()
    with threads:
        for part in out.reshape(-1, size, size):
            # Rows taken for columns: the inverse of the transposed is the transposed inverse.
            there = (_COLUMN_MAJOR, size, part.ctypes.data, size, pivots.ctypes.data)
            failed = factor(*there[:2], *there[1:]) or invert(*there, work.ctypes.data, work.size)
            if failed:
                raise np.linalg.LinAlgError("Singular matrix")
    return out


def _leading(array: Array) -> tuple[int, int] | None:
    """(order, row stride in elements) of a matrix for BLAS, or ``None`` when it cannot take it."""
    item = array.itemsize
    rows, columns = array.strides
    if columns == item and rows % item == 0 and rows >= array.shape[1] * item:
        return PLAIN, rows // item
    if rows == item and columns % item == 0 and columns >= array.shape[0] * item:
        return TRANSPOSED, columns // item
    return None


def add_product(xp: Module, a: Array, b: Array, out: Any) -> None:
    """``out += a @ b`` for matrices: a [m, k], b [k, n], out [m, n], all of one dtype."""
    if xp is np and out.size and a.size:
        letter = {"f": "s", "d": "d"}.get(out.dtype.char)
        function = _cblas(letter) if letter is not None else None
        if function is not None and a.dtype == b.dtype == out.dtype:
            left, right, target = _leading(a), _leading(b), _leading(out)
            if left and right and target and target[0] == PLAIN:
                (m, k), n = a.shape, b.shape[1]
                function(
                    ROW_MAJOR,
                    left[0],
                    right[0],
                    m,
                    n,
                    k,
                    1.0,
                    a.ctypes.data,
                    left[1],
                    b.ctypes.data,
                    right[1],
                    1.0,
                    out.ctypes.data,
                    target[1],
                )
                return
    if a.size:
        out += a @ b if xp is np else product(xp, a, b)
