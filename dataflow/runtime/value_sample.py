"""The sample of a large value that a recording keeps: its size, and a few of its numbers.

Taking a sample costs a few microseconds for any size of the value, plus one pass of BLAS to find out
whether all numbers are finite, so that recording hardly slows down a run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_WHOLE = 64  # up to this many elements are kept
_ROWS, _COLUMNS = 24, 32  # of larger values, at most this many even rows and columns


class ValueSample(NamedTuple):
    """A value of which only a part is kept.

    ``sample`` is the value itself when it is small, else evenly chosen rows and columns of it, laid
    out in two dimensions (all but the last stacked); None when only the size was requested.
    ``num_nan`` and ``num_inf`` count all elements, not only those of the sample.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    sample: np.ndarray | None
    num_nan: int = 0
    num_inf: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the sample is the value."""
        return self.sample is not None and self.sample.shape == self.shape

    @property
    def size(self) -> int:
        """How many elements the value has."""
        return int(np.prod(self.shape, dtype=np.int64))


def size_of(array: np.ndarray) -> ValueSample:
    """Only the shape, dtype and size in bytes."""
    return ValueSample(array.dtype, array.shape, array.nbytes, None)


def sample_of(array: np.ndarray, check: bool = True) -> ValueSample:
    """A sample of ``array``; with ``check=False`` NaN and infinities are not counted."""
    if array.size <= _WHOLE:
        sample = array.copy()
    else:
        flat = array.reshape(-1, array.shape[-1]) if array.flags.c_contiguous else None
        sample = _rows_and_columns(array) if flat is None else _even(flat)
    nan, inf = not_finite(array) if check else (0, 0)
    return ValueSample(array.dtype, array.shape, array.nbytes, sample, nan, inf)


def not_finite(array: np.ndarray) -> tuple[int, int]:
    """How many elements are NaN, and how many infinite."""
    if array.dtype.kind not in "fc" and array.dtype.name != "bfloat16":
        return 0, 0
    if array.dtype.char in "fd" and array.flags.c_contiguous:
        flat = array.reshape(-1)
        # One pass: a NaN or an infinity makes the sum of squares one too. So may an overflow.
        with np.errstate(all="ignore"):
            if np.isfinite(np.dot(flat, flat)):
                return 0, 0
    return int(np.isnan(array).sum()), int(np.isinf(array).sum())


def _even(grid: np.ndarray) -> np.ndarray:
    rows, columns = grid.shape
    return grid[:: -(-rows // _ROWS), :: -(-columns // _COLUMNS)].copy()


def _rows_and_columns(array: np.ndarray) -> np.ndarray:
    """As `_even`, for a value whose rows are not beside each other in memory."""
    columns = array.shape[-1]
    rows = array.size // columns
    chosen = np.unravel_index(np.arange(0, rows, -(-rows // _ROWS)), array.shape[:-1])
    return np.asarray(array[chosen][:, :: -(-columns // _COLUMNS)])
