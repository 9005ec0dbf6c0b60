"""Matrix products on a GPU, also while a stream is captured.

CuPy (14.2) refuses every call of cuBLAS on a stream that is captured: "calling cuBLAS API during
stream capture is currently unsupported". cuBLAS itself can be captured, where it has a workspace
that stays and numbers that the host gives
(https://docs.nvidia.com/cuda/cublas/index.html#cuda-graphs-support). So while a step is captured its
library is called here, with a handle of our own; at all other times products are CuPy's.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import math
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.capture import current_capture
from dataflow.kernels.cuda.precision import tf32_enabled

#: What NVIDIA advises for a workspace: that of Hopper and later, and of older GPUs.
_WORKSPACE_BYTES, _SMALL_WORKSPACE_BYTES = 32 << 20, 4 << 20
_HOPPER = 90
#: cublasComputeType_t of single precision, and of TF32.
_COMPUTE_32F, _COMPUTE_TF32 = 68, 77
_DEFAULT_ALGORITHM = -1


class _Type(NamedTuple):
    """How cuBLAS names a dtype: cudaDataType, cublasComputeType_t, and the type of its factors."""

    data: int
    compute: int
    factor: Any
    is_complex: bool = False


_TYPES = {
    "e": _Type(2, _COMPUTE_32F, ctypes.c_float),
    "f": _Type(0, _COMPUTE_32F, ctypes.c_float),
    "d": _Type(1, 70, ctypes.c_double),
    "F": _Type(4, _COMPUTE_32F, ctypes.c_float, True),
    "D": _Type(5, 70, ctypes.c_double, True),
}


def product(xp: Module, a: Array, b: Array, out: Any = None) -> Any:
    """``a @ b`` for arrays of two axes or more on a GPU: [..., m, k] and [..., k, n]."""
    capture = current_capture()
    if capture is not None:
        return capture.blas.product(xp, a, b, out)
    if a.ndim == 2 and b.ndim == 2:  # with less overhead than `matmul`
        return xp.dot(a, b, out)
    return xp.matmul(a, b, out=out)


class CuBLAS:
    """NVIDIA's library with a handle and a workspace of its own, for the current GPU."""

    def __init__(self, cupy: Any, library: Any = None) -> None:
        """Raises what keeps it from being used: no library, no memory, a refused call."""
        self._library = library or _find_library()
        self._lock = threading.Lock()
        capability = int(cupy.cuda.Device().compute_capability)
        size = _WORKSPACE_BYTES if capability >= _HOPPER else _SMALL_WORKSPACE_BYTES
        self._workspace = cupy.empty(size, np.uint8)
        handle = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(handle))
        self._handle = handle

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} failed with status {status}")

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        """Products in the block go to ``stream``, which is being captured."""
        with self._lock:
            # In this order: another stream takes the workspace away.
            self._call("cublasSetStream_v2", self._handle, ctypes.c_void_p(stream.ptr))
            memory = ctypes.c_void_p(int(self._workspace.data.ptr))
            size = ctypes.c_size_t(self._workspace.nbytes)
            self._call("cublasSetWorkspace_v2", self._handle, memory, size)
            yield

    def product(self, xp: Module, a: Array, b: Array, out: Any) -> Any:
        """As `product`. Raises `NotImplementedError` for what it cannot multiply."""
        kind = _TYPES.get(a.dtype.char)
        if kind is None or a.dtype != b.dtype or a.ndim < 2 or b.ndim < 2:
            raise NotImplementedError(f"no product of {a.dtype} and {b.dtype} can be captured")
        (m, k), (inner, n) = a.shape[-2:], b.shape[-2:]
        if k != inner:
            raise ValueError(f"inner dimensions differ: {a.shape} and {b.shape}")
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        target = out
        if out is None or out.shape != (*batch, m, n) or not out.flags.c_contiguous:
            target = xp.empty((*batch, m, n), a.dtype)
        if target.size and k == 0:
            target.fill(0)
        elif target.size:
            left, right = _operand(xp, a, batch), _operand(xp, b, batch)
            self._multiply(kind, left, right, target, (m, n, k), math.prod(batch))
        if out is not None and target is not out:
            out[...] = target
            return out
        return target

    def _multiply(
        self,
        kind: _Type,
        left: _Operand,
        right: _Operand,
        target: Any,
        sizes: tuple[int, int, int],
        count: int,
    ) -> None:
        """cuBLAS has columns where NumPy has rows: the product of the transposed in their order."""
        m, n, k = sizes
        numbers = (*sizes, left.pitch, right.pitch)
        if max(numbers) >= 1 << 31:
            raise NotImplementedError(f"too large for one product: {sizes}")
        one = (kind.factor * 2)(1, 0)
        zero = (kind.factor * 2)(0, 0)
        tf32 = target.dtype.char in "fF" and tf32_enabled()
        number, place = ctypes.c_int, ctypes.c_void_p
        data, stride = number(kind.data), ctypes.c_longlong
        self._call(
            "cublasGemmStridedBatchedEx",
            self._handle,
            *(number(right.is_turned), number(left.is_turned), number(n), number(m), number(k)),
            ctypes.byref(one),
            *(place(int(right.array.data.ptr)), data, number(right.pitch), stride(k * n)),
            *(place(int(left.array.data.ptr)), data, number(left.pitch), stride(m * k)),
            ctypes.byref(zero),
            *(place(int(target.data.ptr)), data, number(n), stride(m * n)),
            number(count),
            number(_COMPUTE_TF32 if tf32 else kind.compute),
            number(_DEFAULT_ALGORITHM),
        )


class _Operand(NamedTuple):
    """A matrix, or several: elements from row to row, or from column to column if ``is_turned``."""

    array: Any
    pitch: int
    is_turned: bool


def _operand(xp: Module, x: Array, batch: tuple[int, ...]) -> _Operand:
    if x.shape[:-2] != batch:
        x = xp.broadcast_to(x, (*batch, *x.shape[-2:]))
    rows, columns = x.shape[-2:]
    if x.ndim == 2:
        down, along = (s // x.itemsize for s in x.strides)
        if along == 1 and down >= columns:
            return _Operand(x, down, False)
        if down == 1 and along >= rows:
            return _Operand(x, along, True)
    elif xp.swapaxes(x, -1, -2).flags.c_contiguous:
        return _Operand(x, rows, True)
    return _Operand(xp.ascontiguousarray(x), columns, False)


class Refused:
    """In place of cuBLAS where it is not to be had: products cannot be captured."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        """As `CuBLAS.on`."""
        yield

    def product(self, xp: Module, a: Array, b: Array, out: Any) -> Any:
        """Raises `NotImplementedError`."""
        raise NotImplementedError(f"products cannot be captured: {self.reason}")


def cublas_of(cupy: Any) -> CuBLAS | Refused:
    """The library for the current GPU; never raises."""
    try:
        return CuBLAS(cupy)
    except Exception as e:
        return Refused(f"{type(e).__name__}: {e}")


def _find_library() -> Any:
    """The library that CuPy has loaded, or would load."""
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        path = pathfinder.load_nvidia_dynamic_lib("cublas").abs_path
    except ImportError:  # CuPy 13 and older come without it
        from ctypes.util import find_library  # loads much that a CPU never needs

        path = find_library("cublas")
    if not path:
        raise ImportError("cuBLAS is not found")
    return ctypes.CDLL(path)
