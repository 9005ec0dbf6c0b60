"""Kernels of sums of sparse tensors, over axes and with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.gather_scatter import sum_rows
from dataflow.kernels.index_arrays import int_tuple
from dataflow.kernels.registry import kernel
from dataflow.kernels.sparse_coordinates import coordinates, flat_numbers

_REASON = "coordinates are sorted and matched on the host"


@kernel("SparseAdd", cpu_only=_REASON)
def sparse_add_kernel(
    xp: Any, a_at: Any, a: Any, a_shape: Any, b_at: Any, b: Any, b_shape: Any, thresh: Any
) -> Any:
    if int_tuple(a_shape) != int_tuple(b_shape):
        raise ValueError(f"shapes differ: {a_shape.tolist()} and {b_shape.tolist()}")
    numbers = np.concatenate([flat_numbers(a_at, a_shape), flat_numbers(b_at, b_shape)])
    places, which = np.unique(numbers, return_inverse=True)
    sums = sum_rows(np, which.reshape(-1), np.concatenate([a, b]), len(places))
    if thresh > 0:
        keep = np.abs(sums) >= thresh
        places, sums = places[keep], sums[keep]
    return coordinates(places, int_tuple(a_shape)), sums, a_shape.copy()


@kernel("SparseAddGrad", cpu_only=_REASON)
def sparse_add_grad_kernel(xp: Module, grad: Array, a_at: Array, b_at: Array, sum_at: Array) -> Any:
    everything = np.concatenate([a_at, b_at, sum_at])
    shape = everything.max(0) + 1 if len(everything) else np.ones(a_at.shape[1], np.int64)
    places = flat_numbers(sum_at, shape)
    result = []
    for at in (a_at, b_at):
        numbers = flat_numbers(at, shape)
        found = np.minimum(np.searchsorted(places, numbers), max(len(places) - 1, 0))
        if not len(places):
            result.append(np.zeros(len(numbers), grad.dtype))
            continue
        hit = places[found] == numbers
        result.append(np.where(hit, grad[found], grad.dtype.type(0)))
    return tuple(result)


@kernel("SparseTensorDenseAdd", cpu_only=_REASON)
def sparse_tensor_dense_add_kernel(
    xp: Module, at: Array, values: Array, shape: Array, b: Array
) -> Any:
    if int_tuple(shape) != b.shape:
        raise ValueError(f"shapes differ: {shape.tolist()} and {list(b.shape)}")
    numbers = flat_numbers(at.astype(np.int64, copy=False), shape)
    return b + sum_rows(np, numbers, values, b.size).reshape(b.shape)


def _extremum(
    function: Any, a_at: Any, a: Array, a_shape: Any, b_at: Any, b: Array, b_shape: Any
) -> Any:
    if int_tuple(a_shape) != int_tuple(b_shape):
        raise ValueError(f"shapes differ: {a_shape.tolist()} and {b_shape.tolist()}")
    first, second = flat_numbers(a_at, a_shape), flat_numbers(b_at, b_shape)
    places = np.union1d(first, second)
    left, right = np.zeros(len(places), a.dtype), np.zeros(len(places), b.dtype)
    left[np.searchsorted(places, first)] = a
    right[np.searchsorted(places, second)] = b
    return coordinates(places, int_tuple(a_shape)), function(left, right)


@kernel("SparseSparseMaximum", cpu_only=_REASON)
def sparse_maximum_kernel(
    xp: Module, a_at: Array, a: Array, a_shape: Array, b_at: Array, b: Array, b_shape: Array
) -> Any:
    return _extremum(np.maximum, a_at, a, a_shape, b_at, b, b_shape)


@kernel("SparseSparseMinimum", cpu_only=_REASON)
def sparse_minimum_kernel(
    xp: Module, a_at: Array, a: Array, a_shape: Array, b_at: Array, b: Array, b_shape: Array
) -> Any:
    return _extremum(np.minimum, a_at, a, a_shape, b_at, b, b_shape)


def _groups(at: Any, shape: Any, axes: Any) -> tuple[Any, list[int], list[int]]:
    """For each element the number of its group, the sizes of the axes kept, and those axes."""
    sizes = int_tuple(shape)
    gone = {int(a) % len(sizes) for a in np.reshape(axes, -1)}
    kept = [i for i in range(len(sizes)) if i not in gone]
    kept_sizes = [sizes[i] for i in kept]
    return flat_numbers(at[:, kept], np.array(kept_sizes, np.int64)), kept_sizes, kept


def _group_max(numbers: Any, values: Any) -> tuple[Any, Any]:
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    if not len(order):
        return numbers, values
    return ordered[starts], np.maximum.reduceat(values[order], starts)


def _with_ones(kept_sizes: list[int], kept: list[int], rank: int, keep_dims: bool) -> list[int]:
    if not keep_dims:
        return kept_sizes
    sizes = [1] * rank
    for axis, size in zip(kept, kept_sizes, strict=True):
        sizes[axis] = size
    return sizes


@kernel("SparseReduceSum", cpu_only=_REASON)
def sparse_reduce_sum_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    out = sum_rows(np, numbers, values, int(np.prod(sizes, dtype=np.int64)))
    return out.reshape(_with_ones(sizes, kept, len(shape), keep_dims))


@kernel("SparseReduceMax", cpu_only=_REASON)
def sparse_reduce_max_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    out = np.zeros(int(np.prod(sizes, dtype=np.int64)), values.dtype)
    places, largest = _group_max(numbers, values)
    out[places] = largest
    return out.reshape(_with_ones(sizes, kept, len(shape), keep_dims))


@kernel("SparseReduceSumSparse", cpu_only=_REASON)
def sparse_reduce_sum_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    places, which = np.unique(numbers, return_inverse=True)
    sums = sum_rows(np, which.reshape(-1), values, len(places))
    full = _with_ones(sizes, kept, len(shape), keep_dims)
    return coordinates(places, full), sums, np.array(full, np.int64)


@kernel("SparseReduceMaxSparse", cpu_only=_REASON)
def sparse_reduce_max_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    places, largest = _group_max(numbers, values)
    full = _with_ones(sizes, kept, len(shape), keep_dims)
    return coordinates(places, full), largest, np.array(full, np.int64)


@kernel("SparseSoftmax", cpu_only=_REASON)
def sparse_softmax_kernel(xp: Module, at: Array, values: Array, shape: Array) -> Any:
    if not len(values):
        return values.copy()
    rows = flat_numbers(at[:, :-1], shape[:-1])
    places, which = np.unique(rows, return_inverse=True)
    which = which.reshape(-1)
    largest = np.full(len(places), -np.inf, values.dtype)
    np.maximum.at(largest, which, values)
    powers = np.exp(values - largest[which])
    return powers / sum_rows(np, which, powers, len(places))[which]
