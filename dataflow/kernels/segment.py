"""Kernels of the ops in `dataflow.ops.segment`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import gather_scatter
from dataflow.kernels.index_arrays import all_below, as_intp, is_counting
from dataflow.kernels.jit.table_rows import add_rows, change_rows
from dataflow.kernels.registry import kernel
from dataflow.kernels.scatter_at import scatter_at
from dataflow.kernels.sequences import first_appearances


def segment_reduce(
    xp: Module, data: Any, ids: Any, num_segments: int, ufunc: str, start: Any
) -> Any:
    """``ufunc`` over the rows of each segment; ``start`` for segments without rows.

    ``ids`` is a vector with one id for each row; negative ids are left out.
    """
    inner = data.shape[1:]
    shape = (num_segments, *inner)
    # Zeros come from the operating system for nothing; a fill would touch every page.
    result = xp.full(shape, start, data.dtype) if start else xp.zeros(shape, data.dtype)
    if not len(ids):
        return result
    if xp is np and ufunc == "add":
        data = np.ascontiguousarray(data)  # so machine code can go along its rows
        if change_rows("Add", result, ids, data):
            return result
    if result.size and ufunc == "add" and gather_scatter.can_change(xp, data, ids):
        gather_scatter.change_rows(xp, "Add", result, ids, data)
        return result
    if int(ids.max()) >= num_segments:
        raise ValueError(
            f"segment_ids holds {int(ids.max())}, which is out of range [0, {num_segments})"
        )
    if not result.size:
        return result
    if xp is not np:
        return _reduce_on_gpu(xp, result, data, ids, ufunc, start)
    if ufunc == "add":
        kept = ids >= 0
        if not kept.all():
            ids, data = ids[kept], data[kept]
        if len(ids):
            add_rows(result, ids, data)
        return result
    return _reduce_sorted(result, data, ids, getattr(np, ufunc))


def _reduce_on_gpu(xp: Module, result: Any, data: Any, ids: Any, ufunc: str, start: Any) -> Any:
    """``ufunc`` over rows, by atomic updates of ``result``, which holds ``start``."""
    kept = ids >= 0
    if not bool(kept.all()):
        ids, data = ids[kept], data[kept]
    if ufunc == "multiply":  # CuPy has no atomic product
        host = segment_reduce(np, data.get(), ids.get(), len(result), ufunc, start)
        return xp.asarray(host)
    if ufunc in ("maximum", "minimum"):
        # The atomic update needs the neutral element to start from; `start` is for the empty.
        neutral = _lowest(data.dtype) if ufunc == "maximum" else _highest(data.dtype)
        result.fill(neutral)
        scatter_at(xp, ufunc, result, ids, data)
        if start != neutral:
            empty = xp.ones(len(result), bool)
            empty[ids] = False
            result[empty] = start
        return result
    scatter_at(xp, ufunc, result, ids, data)
    return result


def _reduce_sorted(result: Any, data: Any, ids: Any, ufunc: Any) -> Any:
    """``ufunc`` over rows into ``result``, with the rows of each segment side by side."""
    # Rows of a segment brought together, then reduced in one call: much faster than ufunc.at.
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        ids, data = ids[order], data.take(order, axis=0)
    first = int(np.searchsorted(ids, 0))
    if first:
        ids, data = ids[first:], data[first:]
        if not len(ids):
            return result
    is_start = np.empty(len(ids), bool)
    is_start[0] = True
    np.not_equal(ids[1:], ids[:-1], out=is_start[1:])
    starts = np.flatnonzero(is_start)
    if len(starts) * 2 > len(ids):
        _few_repeats(result, ids, data, starts, ufunc)
    else:
        result[ids[starts]] = ufunc.reduceat(data, starts, axis=0, dtype=data.dtype)
    return result


def _few_repeats(result: Any, ids: Any, data: Any, starts: Any, ufunc: Any) -> None:
    """Where most segments have one row: that row, then all second rows, all third ones, ..."""
    result[ids[starts]] = data[starts]
    lengths = np.diff(starts, append=len(ids))
    for place in range(1, int(lengths.max())):
        rows = starts[lengths > place] + place
        at = ids[rows]
        result[at] = ufunc(result[at], data[rows])


def _lowest(dtype: Any) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


#: op -> (ufunc, value of an empty segment: unsorted, sorted)
_KINDS = {
    "Sum": ("add", lambda dtype: 0, 0),
    "Prod": ("multiply", lambda dtype: 1, 1),
    "Max": ("maximum", _lowest, 0),
    "Min": ("minimum", _highest, 0),
}


def _register(kind: str) -> None:
    ufunc, unsorted_start, sorted_start = _KINDS[kind]

    @kernel(f"UnsortedSegment{kind}")
    def unsorted_kernel(xp: Module, data: Array, segment_ids: Array, num_segments: Array) -> Any:
        count = int(num_segments)
        data, ids = xp.asarray(data), xp.asarray(segment_ids)
        rows = data.reshape(ids.size, *data.shape[ids.ndim :])
        ids = ids.reshape(-1)
        return segment_reduce(xp, rows, ids, count, ufunc, unsorted_start(data.dtype))  # type: ignore[no-untyped-call]

    @kernel(f"Segment{kind}")
    def sorted_kernel(xp: Module, data: Array, segment_ids: Array) -> Any:
        count = check_sorted_ids(data, segment_ids)
        return segment_reduce(xp, data, segment_ids, count, ufunc, sorted_start)


#: More rows a variable on a GPU cannot have, for its numbers to be sorted.
_MOST_ROWS = (1 << 31) - 1


@kernel("_SumRepeatedRows")
def sum_repeated_rows_kernel(
    xp: Module, values: Array, indices: Array, *, num_rows: int
) -> tuple[Any, Any]:
    if values.shape[:1] != indices.shape:
        raise ValueError(f"there are {values.shape[0]} rows and {indices.size} indices")
    rows = num_rows or _MOST_ROWS
    if xp is not np and gather_scatter.can_sum_repeated(xp, values, indices, rows):
        return gather_scatter.sum_repeated(xp, values, indices, rows)
    if xp is not np:
        different, which = xp.unique(indices, return_inverse=True)
        which = which.reshape(-1)
    else:
        different, which = first_appearances(indices)
    return segment_reduce(xp, values, which, len(different), "add", 0), different


def check_sorted_ids(data: Any, ids: Any) -> int:
    """The number of segments; raises `ValueError` for ids that decrease or are negative."""
    if data.shape[:1] != ids.shape:
        raise ValueError(f"data has {data.shape[0]} rows, segment_ids {ids.shape[0]} ids")
    if not ids.size:
        return 0
    if int(ids[0]) < 0:
        raise ValueError("segment ids must be >= 0")
    if bool((ids[1:] < ids[:-1]).any()):
        raise ValueError("segment ids are not increasing")
    return int(ids[-1]) + 1


for _kind in _KINDS:
    _register(_kind)


@kernel("SegmentMean")
def segment_mean_kernel(xp: Module, data: Array, segment_ids: Array) -> Any:
    count = check_sorted_ids(data, segment_ids)
    total = segment_reduce(xp, data, segment_ids, count, "add", 0)
    sizes = xp.maximum(xp.bincount(as_intp(segment_ids), minlength=count), 1)
    sizes = sizes.reshape(-1, *([1] * (data.ndim - 1)))
    return (total / sizes).astype(data.dtype)


def _divisors(xp: Module, kind: str, ids: Any, count: int, data: Any) -> Any:
    """What the sums of the segments are divided by: a column of the dtype and rank of ``data``."""
    sizes = xp.maximum(xp.bincount(as_intp(ids), minlength=count), 1).astype(data.dtype)
    if kind == "SqrtN":
        sizes = xp.sqrt(sizes)
    return sizes.reshape(-1, *([1] * (data.ndim - 1)))


def _sparse_rows(data: Any, indices: Array) -> Any:
    if not indices.size or all_below(indices, data.shape[0]):
        return data.take(indices, axis=0)
    if not (int(indices.min()) >= 0 and int(indices.max()) < data.shape[0]):
        raise ValueError(
            f"indices reach from {int(indices.min())} to {int(indices.max())}, "
            f"data has {data.shape[0]} rows"
        )
    return data[indices]


def _reduce_sparse(xp: Module, kind: str, data: Any, indices: Array, ids: Any, count: int) -> Any:
    rows = _sparse_rows(data, indices)
    if count == len(ids) and is_counting(ids):  # one row in each segment
        return rows
    total = segment_reduce(xp, rows, ids, count, "add", 0)
    return total if kind == "Sum" else total / _divisors(xp, kind, ids, count, data)


def reduce_sparse_segments(xp: Module, kind: str, data: Any, indices: Array, ids: Any) -> Any:
    """``SparseSegment<kind>``: the rows ``data[indices]`` of each segment as one row."""
    return _reduce_sparse(xp, kind, data, indices, ids, check_sorted_ids(indices, ids))


def _register_sparse(kind: str) -> None:
    @kernel(f"SparseSegment{kind}")
    def sparse_kernel(xp: Module, data: Array, indices: Array, segment_ids: Array) -> Any:
        return reduce_sparse_segments(xp, kind, data, indices, segment_ids)

    @kernel(f"SparseSegment{kind}WithNumSegments")
    def numbered_kernel(
        xp: Module, data: Array, indices: Array, segment_ids: Array, num_segments: Array
    ) -> Any:
        count = int(num_segments)
        if check_sorted_ids(indices, segment_ids) > count:
            raise ValueError(f"segment ids must be < num_segments ({count})")
        return _reduce_sparse(xp, kind, data, indices, segment_ids, count)


def _register_gradient(kind: str) -> None:
    @kernel(f"SparseSegment{kind}Grad")
    def gradient_kernel(
        xp: Module, grad: Array, indices: Array, segment_ids: Array, count: Array
    ) -> Any:
        if not (indices.shape == segment_ids.shape == grad.shape[:1] and is_counting(segment_ids)):
            used = check_sorted_ids(indices, segment_ids)
            if used > grad.shape[0]:
                raise ValueError(f"segment ids reach {used - 1}, and grad has {grad.shape[0]} rows")
            if kind != "Sum":
                grad = grad / _divisors(xp, kind, segment_ids, grad.shape[0], grad)
            grad = grad.take(segment_ids, axis=0)
        return segment_reduce(xp, grad, indices, int(count), "add", 0)


for _kind in ("Sum", "Mean", "SqrtN"):
    _register_sparse(_kind)
    _register_gradient(_kind)
