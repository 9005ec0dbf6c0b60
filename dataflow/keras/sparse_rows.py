"""Examples for a sparse input: `Input(sparse=True)` is given SciPy matrices, or SparseTensorValues."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.ops.sparse_tensor import SparseTensorValue, is_sparse, sparse_parts

Array = np.ndarray[Any, Any]


class SparseRows:
    """Examples [n, ...] of which only the entries that are not zero are kept; cut into batches as an array is.

    ``entries``: int64 [m, rank], in row-major order; ``values``: [m].
    """

    def __init__(self, entries: Array, values: Array, shape: tuple[int, ...]) -> None:
        order = np.lexsort(entries.T[::-1])
        self._entries = entries[order]
        self._values = values[order]
        self.shape = shape
        self.ndim = len(shape)
        self.dtype = values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> SparseRows:
        """The examples of a slice, or of an array of their numbers, which may repeat."""
        picked = np.arange(len(self))[rows]
        starts = np.searchsorted(self._entries[:, 0], picked)
        counts = np.searchsorted(self._entries[:, 0], picked, "right") - starts
        total = int(counts.sum())
        ends = np.cumsum(counts)
        at = np.arange(total) + np.repeat(starts - (ends - counts), counts)
        entries = self._entries[at]
        entries[:, 0] = np.repeat(np.arange(len(picked)), counts)
        return SparseRows(entries, self._values[at], (len(picked), *self.shape[1:]))

    def fed(self, dtype: Any) -> SparseTensorValue:
        """What a sparse placeholder is fed with."""
        shape = np.asarray(self.shape, np.int64)
        return SparseTensorValue(self._entries, np.asarray(self._values, dtype), shape)


def sparse_rows(value: Any, name: str) -> SparseRows:
    """A SciPy matrix or a SparseTensorValue as `SparseRows`; raises `ValueError` for what the input cannot take."""
    if isinstance(value, SparseRows):
        return value
    if hasattr(value, "tocoo"):
        matrix = value.tocoo()
        matrix.sum_duplicates()
        entries = np.stack([matrix.row, matrix.col], 1).astype(np.int64)
        return SparseRows(entries, np.asarray(matrix.data), matrix.shape)
    if isinstance(value, SparseTensorValue):
        sizes = tuple(int(n) for n in np.asarray(value.dense_shape))
        return SparseRows(np.asarray(value.indices, np.int64), np.asarray(value.values), sizes)
    raise ValueError(
        f"The input {name!r} is sparse (Input(sparse=True)), got {type(value).__name__}.\n"
        "Give a SciPy sparse matrix (scipy.sparse.csr_matrix(a)) or a tf.SparseTensorValue, or leave sparse=True out."
    )


def fed_tensors(tensors: list[Any]) -> list[Any]:
    """What a session is fed with: a sparse placeholder's three tensors in place of it."""
    parts = [sparse_parts(t) if is_sparse(t) else (t,) for t in tensors]
    return [tensor for part in parts for tensor in part]


def fed_values(arrays: list[Any], types: list[Any]) -> list[Any]:
    """The values of `fed_tensors`: arrays of ``types``, and what `SparseRows` hold."""
    parts = [
        a.fed(t) if isinstance(a, SparseRows) else (np.asarray(a, t),)
        for a, t in zip(arrays, types, strict=True)
    ]
    return [value for part in parts for value in part]
