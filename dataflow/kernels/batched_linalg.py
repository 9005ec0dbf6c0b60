"""NumPy's functions of matrices or lines, one for each of a batch: parts of it by several threads.

LAPACK's and FFT's calls let go of the interpreter's lock, and each result is made as alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.blas import num_threads
from dataflow.kernels.parallel import run_pieces


def for_lapack(x: Array) -> Any:
    """LAPACK has no half precision."""
    return x.astype(np.float32) if x.dtype.char == "e" else x


def in_dtype_of(x: Array, *results: Any) -> Any:
    out = tuple(r.astype(x.dtype, copy=False) for r in results)
    return out[0] if len(out) == 1 else out


def adjoint_of(xp: Module, x: Array) -> Any:
    return xp.conj(xp.swapaxes(x, -1, -2))


#: With fewer elements, waking a thread costs more than it saves.
SHARED_ELEMENTS = 1 << 13


def by_batch(xp: Module, function: Callable[..., Any], num_axes: int, *operands: Any) -> Any:
    """``function(*operands)``, for operands whose axes before the last ``num_axes`` are a batch.

    All have the same batch; so have the results, an array or a tuple of arrays.
    """
    x = operands[0]
    count = x.shape[0] if x.ndim > num_axes else 0
    if xp is not np or count < 2 or num_threads() < 2 or x.size < SHARED_ELEMENTS:
        return function(*operands)
    size = -(-count // min(count, 2 * num_threads()))
    starts = range(0, count, size)
    found: list[Any] = [None] * len(starts)

    def work(start: int) -> None:
        here = [operand[start : start + size] for operand in operands]
        found[start // size] = function(*here)

    run_pieces(starts, lambda: work)
    if isinstance(found[0], tuple):
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    return np.concatenate(found)
