"""Kernels of ranges, sorting, searching and sets."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.batched_linalg import by_batch
from dataflow.kernels.index_arrays import as_intp, int_tuple
from dataflow.kernels.jit.distinct import distinct
from dataflow.kernels.registry import kernel


@kernel("Range")
def range_kernel(xp: Module, start: Array, limit: Array, delta: Array) -> Any:
    if delta == 0:
        raise ValueError("delta must not be 0")
    if (limit - start) * delta < 0:
        raise ValueError(f"start {start}, limit {limit} and delta {delta} point apart")
    dtype = start.dtype
    if dtype.kind in "iu":
        return xp.arange(int(start), int(limit), int(delta), dtype=dtype)
    # TensorFlow adds delta up in the element type, start first.
    count = int(np.ceil(abs((limit - start) / delta)))
    steps = xp.full(count, delta, dtype)
    if count:
        steps[0] = start
    return xp.cumsum(steps, dtype=dtype)


@kernel("TopKV2")
def top_k_kernel(xp: Module, x: Any, k: Any, *, sorted: bool) -> Any:
    k = int(k)
    size = x.shape[-1]
    if k > size:
        raise ValueError(f"the input must have at least k = {k} columns, it has {size}")
    if k < 0:
        raise ValueError(f"k must not be negative, got {k}")
    if k == 0:
        return x[..., :0], xp.zeros((*x.shape[:-1], 0), np.int32)
    if k == 1:
        index = x.argmax(-1)[..., None]
    elif xp is np and 8 * k < size and x.dtype.kind == "f":
        index = _few_largest(x, k)
    else:
        index = _largest_first(xp, x)[..., :k]
    return xp.take_along_axis(x, index, -1), index.astype(np.int32)


def _largest_first(xp: Module, x: Array) -> Any:
    """Indices that sort each row downwards; equal elements keep their order."""
    if xp is np and x.dtype.char == "f" and x.size >= _PACKED_FROM and not np.isnan(x).any():
        rows = x.reshape(-1, x.shape[-1])
        return by_batch(np, _order_by_packed, 1, rows).reshape(x.shape)
    if x.dtype.kind == "f":
        return xp.argsort(-x, axis=-1, kind="stable")
    if x.dtype.kind == "u":
        return xp.argsort(x.dtype.type(np.iinfo(x.dtype).max) - x, axis=-1, kind="stable")
    if x.dtype.kind == "i":
        return xp.argsort(~x, axis=-1, kind="stable")  # ~x = -x - 1 does not overflow
    return xp.argsort(~x, axis=-1, kind="stable")


#: With fewer elements a stable sort costs no more.
_PACKED_FROM = 1 << 10


def _order_by_packed(rows: Any) -> Any:
    """`_largest_first` of finite or infinite float32 rows: numbers and places packed into whole
    numbers, which are all different, so that the quickest sort will do."""
    bits = (rows + np.float32(0)).view(np.uint32)  # minus zero becomes zero
    size = np.where(bits >> 31, bits, bits ^ np.uint32(0x7FFFFFFF))  # the largest comes first
    keys = size.astype(np.uint64, order="C") << np.uint64(32)  # rows of a transposed x, too
    keys |= np.arange(rows.shape[1], dtype=np.uint64)
    keys.sort(axis=-1)
    return keys.view(np.uint32)[:, _LOW_HALF::2].astype(np.int64)


#: Where the lower half of a uint64 lies.
_LOW_HALF = 0 if sys.byteorder == "little" else 1


def _few_largest(x: Array, k: int) -> Any:
    """The first k of `_largest_first`, by partition; rows with ties at the border are sorted."""
    flat = x.reshape(-1, x.shape[-1])
    index = np.sort(np.argpartition(-flat, k - 1, axis=-1)[:, :k], axis=-1)
    values = np.take_along_axis(flat, index, -1)
    index = np.take_along_axis(index, np.argsort(-values, axis=-1, kind="stable"), -1)
    smallest = values.min(-1, keepdims=True)
    unclear = (flat >= smallest).sum(-1) != k  # also where there are NaNs
    if unclear.any():
        index[unclear] = _largest_first(np, flat[unclear])[:, :k]
    return index.reshape(*x.shape[:-1], k)


def _in_top_k(xp: Module, predictions: Any, targets: Any, k: int) -> Any:
    rows = xp.arange(predictions.shape[0])
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    chosen = predictions[rows, xp.where(inside, targets, 0)]
    if xp is not np:
        larger = (predictions > chosen[:, None]).sum(1)
        return (larger < k) & inside & xp.isfinite(chosen)
    larger = (predictions > chosen[:, None]).sum(1)
    return (larger < k) & inside & np.isfinite(predictions).all(1)


@kernel("InTopKV2")
def in_top_k_kernel(xp: Module, predictions: Array, targets: Array, k: Array) -> Any:
    if predictions.shape[0] != targets.shape[0]:
        raise ValueError(f"{predictions.shape[0]} rows and {targets.shape[0]} targets")
    return _in_top_k(xp, predictions, targets, int(k))


@kernel("InTopK")
def in_top_k_v1_kernel(xp: Module, predictions: Array, targets: Array, *, k: int) -> Any:
    if predictions.shape[0] != targets.shape[0]:
        raise ValueError(f"{predictions.shape[0]} rows and {targets.shape[0]} targets")
    return _in_top_k(xp, predictions, targets, k)


@kernel("NthElement")
def nth_element_kernel(xp: Module, x: Array, n: Any, *, reverse: bool) -> Any:
    n = int(n)
    if n < 0:
        raise ValueError(f"Need n >= 0, got {n}")
    if not x.ndim:
        raise ValueError("Input must be >= 1-D, got shape []")
    size = x.shape[-1]
    if n >= size:
        raise ValueError(f"Input must have at least n+1 columns: n = {n}, the last size is {size}")
    at = size - 1 - n if reverse else n
    return xp.partition(x, at, axis=-1)[..., at]


def _search(xp: Module, rows: Any, values: Any, side: str, out_type: DType) -> Any:
    if rows.shape[0] != values.shape[0]:
        raise ValueError(f"{rows.shape[0]} sorted rows for {values.shape[0]} rows of values")
    out = xp.empty(values.shape, out_type.numpy)
    for i in range(rows.shape[0]):
        out[i] = xp.searchsorted(rows[i], values[i], side)
    return out


@kernel("LowerBound")
def lower_bound_kernel(xp: Module, rows: Array, values: Array, *, out_type: DType) -> Any:
    return _search(xp, rows, values, "left", out_type)


@kernel("UpperBound")
def upper_bound_kernel(xp: Module, rows: Array, values: Array, *, out_type: DType) -> Any:
    return _search(xp, rows, values, "right", out_type)


#: Places of a table with one for each number between the smallest and the largest.
_LARGEST_TABLE = 1 << 22


def _unique_by_table(x: Array, low: int, num_places: int) -> tuple[Any, Any]:
    """`first_appearances` without sorting, for numbers from ``low`` on that do not lie far apart.

    The table is not initialized: it is read only where it was written.
    """
    if low:
        at = x - x.dtype.type(low) if x.dtype.kind == "u" else x.astype(np.int64) - low
    else:
        at = as_intp(x)
    table = np.empty(num_places, np.int64)
    places = np.arange(x.size)
    table[at[::-1]] = places[::-1]  # of several the first, written last, stays
    first = table[at]
    is_first = first == places
    which = np.add.accumulate(is_first, dtype=np.int64)
    which -= 1
    return x[is_first], which.take(first)


def first_appearances(x: Array, which_dtype: Any = np.int64) -> tuple[Any, Any]:
    """Different elements of a vector in the order in which they first appear; for each x its number."""
    if x.size and x.dtype.kind == "i" and (found := distinct(x, which_dtype)) is not None:
        return found
    values, which = _first_appearances(x)
    return values, which.astype(which_dtype, copy=False)


def _first_appearances(x: Array) -> tuple[Any, Any]:
    if x.dtype.kind == "O":
        items = x.tolist()
        numbers = {item: i for i, item in enumerate(dict.fromkeys(items))}
        which = np.fromiter(map(numbers.__getitem__, items), np.int64, len(items))
        values = object_array(numbers)
        return values, which
    if x.size and x.dtype.kind in "iu":
        low, high = int(np.minimum.reduce(x)), int(np.maximum.reduce(x))
        if low >= 0 and high <= 4 * x.size:  # to subtract the lowest would take longer
            low = 0
        if high - low < _LARGEST_TABLE:
            return _unique_by_table(x, low, high - low + 1)
    values, first, which = np.unique(x, return_index=True, return_inverse=True, equal_nan=False)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[order], place[which.reshape(-1)]


def unique_in_order(x: Array) -> tuple[Any, Any, Any]:
    """`first_appearances`, and how often each element appears."""
    values, which = first_appearances(x)
    return values, which, np.bincount(as_intp(which), minlength=len(values))


_SETS = "sets are built in order of first appearance, one element after the other"


@kernel("Unique", cpu_only=_SETS)
def unique_kernel(xp: Module, x: Array, *, out_idx: DType) -> Any:
    return first_appearances(x, out_idx.numpy)


@kernel("UniqueWithCounts", cpu_only=_SETS)
def unique_with_counts_kernel(xp: Module, x: Array, *, out_idx: DType) -> Any:
    values, which, counts = unique_in_order(x)
    return values, which.astype(out_idx.numpy), counts.astype(out_idx.numpy)


def _unique_slices(x: Array, axis: Array, out_idx: DType) -> tuple[Any, Any, Any]:
    """The different slices, for each slice its number, and how often each appears."""
    if not axis.size:
        if x.ndim != 1:
            raise ValueError(f"without an axis, x must be a vector; its shape is {x.shape}")
        values, which, counts = unique_in_order(x)
    else:
        if axis.size > 1 or not -x.ndim <= axis[0] < x.ndim:
            raise ValueError(f"axis {axis.tolist()} is not an axis of the shape {x.shape}")
        slices = np.moveaxis(x, int(axis[0]), 0)
        rows = map(tuple, slices.reshape(len(slices), -1).tolist())
        numbers: dict[Any, int] = {}
        which = np.fromiter((numbers.setdefault(r, len(numbers)) for r in rows), np.int64)
        first = np.searchsorted(np.maximum.accumulate(which), np.arange(len(numbers)))
        values = x.take(first, int(axis[0]))
        counts = np.bincount(which, minlength=len(numbers))
    return values, which.astype(out_idx.numpy), counts.astype(out_idx.numpy)


@kernel("UniqueV2", cpu_only=_SETS)
def unique_v2_kernel(xp: Module, x: Array, axis: Array, *, out_idx: DType) -> Any:
    return _unique_slices(x, axis, out_idx)[:2]


@kernel("UniqueWithCountsV2", cpu_only=_SETS)
def unique_with_counts_v2_kernel(xp: Module, x: Array, axis: Array, *, out_idx: DType) -> Any:
    return _unique_slices(x, axis, out_idx)


@kernel("ListDiff", cpu_only=_SETS)
def list_diff_kernel(xp: Module, x: Array, y: Array, *, out_idx: DType) -> Any:
    if x.dtype.kind == "O":
        known = set(y.tolist())
        keep = np.array([v not in known for v in x.tolist()], bool)
    else:
        keep = ~np.isin(x, y)
    at = np.flatnonzero(keep)
    return x[at], at.astype(out_idx.numpy)


@kernel("InvertPermutation")
def invert_permutation_kernel(xp: Module, x: Array) -> Any:
    size = x.shape[0]
    if size and (int(x.min()) < 0 or int(x.max()) >= size):
        raise ValueError(f"{x.tolist()} is not a permutation: its numbers must lie in [0, {size})")
    out = xp.full(size, -1, x.dtype)
    out[x] = xp.arange(size, dtype=x.dtype)
    if size and int(out.min()) < 0:
        raise ValueError(f"{x.tolist()} is not a permutation: a number is there twice")
    return out


@kernel("UnravelIndex")
def unravel_index_kernel(xp: Module, indices: Array, dims: Array) -> Any:
    shape = int_tuple(dims)
    total = int(np.prod(shape, dtype=np.int64))
    if np.size(indices) and (int(np.min(indices)) < 0 or int(np.max(indices)) >= total):
        raise ValueError(f"an index is outside of the {total} elements of shape {list(shape)}")
    flat = np.reshape(indices, -1) if np.ndim(indices) else indices
    return np.stack(np.unravel_index(flat, shape)).astype(dims.dtype)
