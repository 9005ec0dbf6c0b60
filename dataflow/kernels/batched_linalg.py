"""NumPy's functions of matrices or lines, one for each of a batch: parts of it by several threads.

LAPACK's and FFT's calls let go of the interpreter's lock, and each result is made as alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Module
from dataflow.kernels.blas import num_threads
from dataflow.kernels.parallel import run_pieces

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
