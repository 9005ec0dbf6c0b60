"""Indices and sizes: as Python's integers, and in the dtype that NumPy counts and addresses with."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array


def int_tuple(vector: Any) -> tuple[int, ...]:
    """A shape or index vector as Python integers."""
    return tuple(vector.tolist())


def scalar_int(value: Any) -> int:
    """A scalar (or one-element) index as a Python integer."""
    return int(value) if not getattr(value, "shape", ()) else int(value.reshape(-1)[0])


#: Signed dtypes as the unsigned ones of their size, in which a negative number is a very large one.
_UNSIGNED = {np.dtype(f"i{n}"): np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def all_below(numbers: Any, limit: int) -> bool:
    """Whether all of one or more whole numbers lie in [0, limit), found in one pass.

    ``False`` for arrays of a GPU, for which the host would wait.
    """
    unsigned = _UNSIGNED.get(numbers.dtype)
    if unsigned is None or not isinstance(numbers, (np.ndarray, np.generic)):
        return False
    return bool(np.maximum.reduce(numbers.view(unsigned), axis=None) < limit)


def is_counting(numbers: Any) -> bool:
    """Whether a vector is 0, 1, 2, ...; ``False`` for arrays of a GPU, for which the host would wait."""
    if not isinstance(numbers, np.ndarray) or not len(numbers) or numbers[-1] != len(numbers) - 1:
        return False
    # Counting is four times as quick as `all` for some hundred numbers.
    return bool(np.count_nonzero(numbers == np.arange(len(numbers))) == len(numbers))


def as_intp(array: Array) -> Any:
    """``array`` as `numpy.intp`, itself where it is so already.

    ``bincount`` and ``repeat`` take nothing wider, and refuse int64 where addresses have 32 bits (in
    WebAssembly).
    """
    return array.astype(np.intp, copy=False)
