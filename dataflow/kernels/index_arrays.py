"""Indices and sizes: as Python's integers, and in the dtype that NumPy counts and addresses with."""

from __future__ import annotations

import functools
import math
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


#: Vectors up to this length are compared as bytes with a kept one, in a quarter of the time.
_SHORT = 4096


def is_counting(numbers: Any) -> bool:
    """Whether a vector is 0, 1, 2, ...; ``False`` for arrays of a GPU, for which the host would wait."""
    if not isinstance(numbers, np.ndarray) or not (length := len(numbers)):
        return False
    if numbers[-1] != length - 1:
        return False
    if length <= _SHORT:
        return numbers.tobytes() == _counting(length, numbers.dtype)
    # Counting is four times as quick as `all`.
    return bool(np.count_nonzero(numbers == np.arange(length)) == length)


@functools.lru_cache(maxsize=64)
def _counting(length: int, dtype: Any) -> bytes:
    return np.arange(length).astype(dtype).tobytes()


@functools.lru_cache(maxsize=64)
def _kept_places(shape: tuple[int, ...]) -> tuple[Any, bytes]:
    places = np.indices(shape, np.int64).reshape(len(shape), -1).T.copy()
    return places, places.tobytes()


def true_places(truths: Any) -> Any:
    """The coordinates of the true elements of an array of bools of the host, in order: int64 [n, rank]."""
    if truths.size <= _SHORT and np.count_nonzero(truths) == truths.size:
        return _kept_places(truths.shape)[0].copy()
    return np.argwhere(truths).astype(np.int64, copy=False)


def are_places_of_all(places: Any, shape: tuple[int, ...]) -> bool:
    """Whether coordinates are those of all elements of an array of this shape, in order.

    ``False`` for large arrays, too, for which finding out takes as long as using the coordinates.
    """
    if not shape or places.ndim != 2 or places.shape[1] != len(shape):
        return False
    if places.dtype != np.int64:
        return False
    length = len(places)
    if length > _SHORT or length != math.prod(shape) or type(places) is not np.ndarray:
        return False
    return bool(places.tobytes() == _kept_places(shape)[1])


def as_intp(array: Array) -> Any:
    """``array`` as `numpy.intp`, itself where it is so already.

    ``bincount`` and ``repeat`` take nothing wider, and refuse int64 where addresses have 32 bits (in
    WebAssembly).
    """
    return array.astype(np.intp, copy=False)
