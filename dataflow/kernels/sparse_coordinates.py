"""Coordinates of sparse tensors [n, rank] as numbers of elements in row-major order, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.index_arrays import int_tuple


def flat_numbers(indices: Array, shape: Any) -> Any:
    """Each coordinate as the number of its element in row-major order; checked."""
    sizes = int_tuple(shape)
    if indices.shape[1] != len(sizes):
        raise ValueError(f"indices of {indices.shape[1]} numbers for the shape {list(sizes)}")
    if indices.size:
        # A negative number is a large one without a sign.
        wrong = indices.astype(np.int64, copy=False).view(np.uint64) >= np.array(sizes, np.uint64)
        if wrong.any():
            at = int(np.flatnonzero(wrong.any(1))[0])
            raise ValueError(
                f"indices[{at}] = {indices[at].tolist()} is out of bounds: need 0 <= index < "
                f"{list(sizes)}"
            )
    if not sizes:
        return np.zeros(len(indices), np.int64)
    numbers = indices[:, 0].astype(np.int64)
    for i, size in enumerate(sizes[1:], 1):
        numbers *= size
        numbers += indices[:, i]
    return numbers


def coordinates(numbers: Any, shape: Any) -> Any:
    """The inverse of `flat_numbers`."""
    if not len(shape):
        return np.zeros((len(numbers), 0), np.int64)
    if len(shape) == 2 and shape[1]:
        found = np.empty((len(numbers), 2), np.int64)
        np.divmod(numbers, shape[1], out=(found[:, 0], found[:, 1]))
        return found
    return np.stack(np.unravel_index(numbers, shape), 1).astype(np.int64).reshape(-1, len(shape))


def _zero(dtype: Any) -> Any:
    return b"" if dtype.kind == "O" else dtype.type(0)
