"""Kernels of sparse tensors and dense ones: conversion, products, element by element."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.gather_scatter import sum_rows
from dataflow.kernels.index_arrays import are_places_of_all, int_tuple
from dataflow.kernels.jit.table_rows import add_rows, change_rows
from dataflow.kernels.registry import kernel
from dataflow.kernels.sparse_coordinates import flat_numbers

_REASON = "coordinates are sorted and matched on the host"
#: Products of numbers from which on SciPy is asked; its import takes as long as some millions of them.
_WORTH_SCIPY = 100_000
_SCIPYS_TYPES = "fdFD"
_BLOCK_BYTES = 1 << 18


@kernel("SparseToDense", cpu_only=_REASON)
def sparse_to_dense_kernel(
    xp: Module,
    indices: Array,
    shape: Array,
    values: Array,
    default: Array,
    *,
    validate_indices: bool,
) -> Any:
    if np.ndim(default):
        raise ValueError(f"default_value should be a scalar, got shape {np.shape(default)}")
    sizes = int_tuple(shape)
    at = np.reshape(indices, (-1, 1)) if np.ndim(indices) < 2 else indices
    if np.ndim(values) and len(values) == len(at) and are_places_of_all(at, sizes):
        return values.reshape(sizes).copy()
    numbers = flat_numbers(at.astype(np.int64, copy=False), np.asarray(sizes))
    if np.ndim(values) and len(values) != len(numbers):
        raise ValueError(f"{len(numbers)} indices for {len(values)} values")
    if validate_indices and len(numbers) > 1:
        steps = np.diff(numbers)
        if (steps <= 0).any():
            bad = int(np.flatnonzero(steps <= 0)[0]) + 1
            what = "is repeated" if steps[bad - 1] == 0 else "is out of order"
            raise ValueError(
                f"indices[{bad}] = {at[bad].tolist()} {what}\n"
                "  Sort them with tf.sparse_reorder, or pass validate_indices=False."
            )
    dtype = getattr(values, "dtype", np.dtype(object))
    out = np.empty(sizes, dtype)
    out[...] = default if not isinstance(default, np.ndarray) else default[()]
    if len(numbers):
        out.reshape(-1)[numbers] = values
    return out


@kernel("SparseTensorDenseMatMul")
def sparse_tensor_dense_matmul_kernel(
    xp: Any, indices: Any, values: Any, shape: Any, b: Any, *, adjoint_a: bool, adjoint_b: bool
) -> Any:
    rows, columns = indices[:, 0], indices[:, 1]
    num_rows, inner = int_tuple(shape)
    if adjoint_a:
        rows, columns, num_rows, inner = columns, rows, inner, num_rows
        values = values.conj() if values.dtype.kind == "c" else values
    if adjoint_b:
        b = b.conj().T if b.dtype.kind == "c" else b.T
    if b.shape[0] != inner:
        raise ValueError(f"inner dimensions differ: [{num_rows}, {inner}] x {list(b.shape)}")
    if rows.size:
        if int(rows.min()) < 0 or int(rows.max()) >= num_rows:
            raise ValueError(f"a row index lies outside of [0, {num_rows})")
        if int(columns.min()) < 0 or int(columns.max()) >= inner:
            raise ValueError(f"a column index lies outside of [0, {inner})")
    if xp is np:
        return _product(rows, columns, values, b, num_rows)
    return sum_rows(xp, rows, b[columns] * values[:, None], num_rows)


def _product(rows: Array, columns: Array, values: Array, b: Array, num_rows: int) -> Any:
    """The product on the host: SciPy's, where it is and the work is worth its import."""
    count = len(rows) * b.shape[1]
    if count >= _WORTH_SCIPY and values.dtype.char in _SCIPYS_TYPES:
        sparse = _scipy_sparse()
        if sparse is not None:
            shape = (num_rows, len(b))
            if (rows[1:] >= rows[:-1]).all():
                starts = np.zeros(num_rows + 1, np.int64)
                np.cumsum(np.bincount(rows, minlength=num_rows), out=starts[1:])
                return sparse.csr_array((values, columns, starts), shape=shape) @ b
            return sparse.coo_array((values, (rows, columns)), shape=shape) @ b
    # A block of products at a time, which stays in the cache.
    out = np.zeros((num_rows, b.shape[1]), values.dtype)
    block = max(1, _BLOCK_BYTES // max(1, b.shape[1] * b.itemsize))
    for start in range(0, len(rows) if count else 0, block):
        part = slice(start, start + block)
        products = b.take(columns[part], 0)
        np.multiply(products, values[part, None], products)
        into = np.ascontiguousarray(rows[part])
        if not change_rows("Add", out, into, products):
            add_rows(out, into, products)
    return out


@functools.cache
def _scipy_sparse() -> Any:
    try:
        import scipy.sparse
    except ImportError:
        return None
    return scipy.sparse


def _met(indices: Array, shape: Any, dense: Any) -> Any:
    """The element of ``dense``, broadcast to the sparse shape, at each place."""
    return np.broadcast_to(dense, int_tuple(shape))[tuple(indices.T)]


@kernel("SparseDenseCwiseAdd", cpu_only=_REASON)
def sparse_dense_add_kernel(
    xp: Module, indices: Array, values: Array, shape: Array, dense: Array
) -> Any:
    return values + _met(indices, shape, dense)


@kernel("SparseDenseCwiseMul", cpu_only=_REASON)
def sparse_dense_mul_kernel(
    xp: Module, indices: Array, values: Array, shape: Array, dense: Array
) -> Any:
    return values * _met(indices, shape, dense)


@kernel("SparseDenseCwiseDiv", cpu_only=_REASON)
def sparse_dense_div_kernel(
    xp: Module, indices: Array, values: Array, shape: Array, dense: Array
) -> Any:
    met = _met(indices, shape, dense)
    return values // met if values.dtype.kind in "iu" else values / met
