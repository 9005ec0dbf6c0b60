"""Kernels of the ops in `dataflow.ops.reduce`."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.batch_norm import channel_sums
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.jit.native_ufunc import (
    SMALL_ELEMENTS,
    ColumnSums,
    Mapping,
    add_inner,
    rows_joined,
)
from dataflow.kernels.jit.row_mapping import summed_rows
from dataflow.kernels.registry import kernel


def axes_of(x: Array, axes: Any) -> tuple[int, ...]:
    """Reduction indices as NumPy wants them."""
    found = axes.tolist()
    if type(found) is int:
        found = [found]
    rank = x.ndim
    if len(found) > 1:
        found = [a + rank if a < 0 else a for a in found]
        if len(set(found)) < len(found):
            found = list(dict.fromkeys(found))  # as in TensorFlow 1: once is enough
    for axis in found:
        if not -rank <= axis < rank:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions")
    return tuple(found)


#: Sums of an array along any axes but the last, by the letter of its type.
_INNER_SUMS = {char: Mapping.of(char, (), (0,), adds=True) for char in "fd"}


def _inner_total(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """The sum along axes before the last, row after row; ``None`` for other axes and types."""
    mapping = _INNER_SUMS.get(x.dtype.char)
    gone = {a % x.ndim for a in axis}
    if mapping is None or x.ndim - 1 in gone or not x.flags.c_contiguous:
        return None
    shape = tuple([1 if i in gone else size for i, size in enumerate(x.shape)])
    first, channels = min(gone), x.shape[-1]
    rows = math.prod(x.shape[first:-1])
    joined = rows_joined(rows, channels) if len(gone) == x.ndim - 1 - first else 1
    if joined > 1:  # otherwise each addition of a short row waits for the one before
        wide = x.reshape(-1, rows // joined, joined * channels)
        sums = np.zeros((wide.shape[0], 1, wide.shape[2]), x.dtype)
        if not mapping.run(wide.shape, [wide], [sums]):
            add_inner(wide, sums)
        sums = sums.reshape(-1, joined, channels).sum(1).reshape(shape)
    else:
        sums = np.zeros(shape, x.dtype)
        if not mapping.run(x.shape, [x], [sums]):
            add_inner(x, sums)
    return sums if keep_dims else sums.reshape([s for i, s in enumerate(shape) if i not in gone])


#: Rows of so few numbers are taken apart by columns, which are added up as whole arrays.
_SHORTEST_ROW = 8


def _by_columns(ufunc: Any, x: Array, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """A reduction along a short last axis, one element of each row after the other; ``None`` for
    other arrays. NumPy's own costs a call for each row."""
    short = axis in ((-1,), (x.ndim - 1,)) and 1 < x.shape[-1] <= _SHORTEST_ROW
    if not short or x.ndim < 2 or x.size < SMALL_ELEMENTS:
        return None
    total = ufunc(x[..., 0], x[..., 1])
    for i in range(2, x.shape[-1]):
        ufunc(total, x[..., i], out=total)
    return total[..., None] if keep_dims else total


#: Numbers that BLAS adds up in one call of many, so that its own threads, which start at 36,864, stay asleep;
#: the fewest in all and in such a call for which they pay off. Longer sums are NumPy's, which adds in pairs.
_MOST_AT_ONCE, _LEAST_IN_ALL, _LEAST_AT_ONCE, _LONGEST_SUM = 1 << 15, 256, 128, 1024


@functools.lru_cache(maxsize=64)
def _ones(length: int, letter: str) -> Any:
    """So many ones, which nobody changes."""
    found = np.ones(length, letter)
    found.flags.writeable = False
    return found


def _total_by_blas(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """The sum along the last axis or the last but one, as products with ones; ``None`` for other arrays.

    Measured (microseconds): 32 x 20 x 64 along the last axis 3.4 (19.4 by NumPy's reduction), along the
    one before 3.7 (21.7); 8192 x 64 19 to 43 (209).
    """
    at = axis[0] + (x.ndim if axis[0] < 0 else 0)
    if len(axis) > 1 or x.ndim < 2 or at < x.ndim - 2 or x.dtype.char not in "fd":
        return None
    length, size = x.shape[at], x.size
    if not _SHORTEST_ROW < length <= _LONGEST_SUM or size < _LEAST_IN_ALL:
        return None
    if at == x.ndim - 1:
        total = summed_rows(x)
        if total is not None:
            return total if keep_dims else total[..., 0][()]
    if not x.flags.c_contiguous:
        return None
    if at == x.ndim - 1:
        rows = x.reshape(-1, length)
        if len(rows) < _SHORTEST_ROW:
            return None
        total = rows.dot(_ones(length, x.dtype.char))
        return total.reshape((*x.shape[:-1], 1) if keep_dims else x.shape[:-1])
    if x.ndim < 3 or not _LEAST_AT_ONCE <= length * x.shape[-1] <= _MOST_AT_ONCE:
        return None
    total = np.matmul(_ones(length, x.dtype.char), x)
    return total[..., None, :] if keep_dims else total


def _total(xp: Module, x: Array, axis: Any, keep_dims: bool, dtype: Any) -> Any:
    if xp is np and dtype == x.dtype:
        total = _total_by_blas(x, axis, keep_dims)
        if total is not None:
            return total
    if xp is np and x.ndim > 2 and x.size >= SMALL_ELEMENTS and dtype == x.dtype:
        total = _inner_total(x, axis, keep_dims)
        if total is not None:
            return total
    if xp is np and dtype == x.dtype:
        total = _by_columns(np.add, x, axis, keep_dims)
        if total is not None:
            return total
    if xp is np:  # the ufunc's own method: without the checks that np.sum adds
        return np.add.reduce(x, axis=axis, keepdims=keep_dims, dtype=dtype)  # type: ignore[call-overload]
    gone = {a % x.ndim for a in axis}
    if x.ndim > 1 and gone == set(range(x.ndim - 1)) and x.dtype == dtype and can_run(xp, x):
        total = channel_sums(xp, x, x.ndim - 1)
        return total.reshape((1,) * (x.ndim - 1) + total.shape) if keep_dims else total
    return xp.sum(x, axis=axis, keepdims=keep_dims, dtype=dtype)


def is_tall(xp: Module, x: Array) -> bool:
    """Many short rows: NumPy reduces each in a call of its own, which costs more than the work.

    To turn the matrix round and reduce over the first axis is quicker.
    """
    return xp is np and x.ndim == 2 and 0 < x.shape[1] <= 64 and x.shape[0] >= 2 * x.shape[1]


#: From so many rows on, to turn a matrix round takes longer than to halve its rows to `_FEW_COLUMNS`.
_MANY_ROWS, _FEW_COLUMNS, _MOST_COLUMNS = 4096, 16, 128


def row_maxima(xp: Module, x: Array) -> Any:
    """The maximum along the last axis, which stays with size 1."""
    columns = x.shape[-1]
    if (
        xp is np
        and _FEW_COLUMNS < columns <= _MOST_COLUMNS
        and x.size >= _MANY_ROWS * columns
        and x.flags.c_contiguous
    ):
        rows = x.reshape(-1, columns)
        while rows.shape[1] > _FEW_COLUMNS:  # the larger of each number and one of the other half
            half = (rows.shape[1] + 1) // 2
            rows = np.maximum(rows[:, :half], rows[:, -half:])
        largest = np.maximum.reduce(np.ascontiguousarray(rows.T), axis=0)
        return largest.reshape(*x.shape[:-1], 1)
    if is_tall(xp, x):
        return np.maximum.reduce(np.ascontiguousarray(x.T), axis=0)[:, None]
    return x.max(axis=-1, keepdims=True)


def row_sums(xp: Module, x: Array) -> Any:
    """The sum along the last axis, which stays with size 1."""
    total = _total_by_blas(x, (-1,), True) if xp is np else None
    return x.sum(axis=-1, keepdims=True) if total is None else total


@ColumnSums
def sums_of_rows(xp: Module, x: Array) -> Any:
    return x


def column_sums(xp: Module, rows: Any) -> Any:
    """The sum over the rows of a matrix of single or double precision."""
    sums = sums_of_rows([rows]) if xp is np and rows.flags.c_contiguous else None
    if sums is not None:
        return sums[0]
    if can_run(xp, rows):
        return channel_sums(xp, rows, 1)
    if xp is not np:  # CuPy keeps cuBLAS out of CUDA graphs
        return rows.sum(0)
    # BLAS adds rows several times faster than a reduction over the first axis.
    return np.ones(rows.shape[0], rows.dtype) @ rows


def _sum(xp: Module, x: Array, axes: Any, keep_dims: bool) -> Any:
    axis = axes_of(x, axes)
    if not axis:
        return x
    if x.shape[axis[0]] == 1 and all(x.shape[a] == 1 for a in axis):
        # One number is its sum, -0.0 too, to which NumPy would add 0.0.
        gone = () if keep_dims else {a % x.ndim for a in axis}
        return x.reshape([n for a, n in enumerate(x.shape) if a not in gone]).copy()[()]
    if xp is np and x.size >= SMALL_ELEMENTS and axis == tuple(range(x.ndim - 1)):
        sums = sums_of_rows([x.reshape(-1, x.shape[-1])]) if x.flags.c_contiguous else None
        if sums is not None:
            return sums[0].reshape((1,) * len(axis) + sums[0].shape) if keep_dims else sums[0]
    if x.dtype.char == "e":  # half precision is summed in single
        return _total(xp, x, axis, keep_dims, "float32").astype(x.dtype)
    return _total(xp, x, axis, keep_dims, x.dtype)


@kernel("Sum")
def sum_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool) -> Any:
    return _sum(xp, x, axes, keep_dims)


@kernel("Mean")
def mean_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool) -> Any:
    axis = axes_of(x, axes)
    if not axis:
        return x
    count = 1
    for a in axis:
        count *= x.shape[a]
    if x.dtype.char == "e":
        total = _total(xp, x, axis, keep_dims, "float32")
        return xp.true_divide(total, total.dtype.type(count)).astype(x.dtype)
    total = _total(xp, x, axis, keep_dims, x.dtype)
    if x.dtype.kind in "iu":
        return xp.trunc(total / max(count, 1)).astype(x.dtype)
    return xp.true_divide(total, total.dtype.type(count))


#: Rows of products that are computed side by side: NumPy multiplies the numbers of a row one after the other, and
#: each product waits for the one before.
_PRODUCTS = 64


def _product_of_rows(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """The product along a last axis of floating-point numbers; ``None`` for other arrays."""
    length = x.shape[-1]
    if axis not in ((-1,), (x.ndim - 1,)) or x.size < SMALL_ELEMENTS or x.dtype.char not in "fd":
        return None
    if length <= _SHORTEST_ROW:
        return _by_columns(np.multiply, x, axis, keep_dims)
    products = x[..., : min(_PRODUCTS, length)].copy()
    for at in range(_PRODUCTS, length, _PRODUCTS):
        part = x[..., at : at + _PRODUCTS]
        products[..., : part.shape[-1]] *= part
    while products.shape[-1] > _SHORTEST_ROW:
        half = (products.shape[-1] + 1) // 2
        products[..., : products.shape[-1] - half] *= products[..., half:]
        products = products[..., :half]
    total = np.multiply.reduce(products, axis=-1, keepdims=True)
    return total if keep_dims else total[..., 0][()]


@kernel("Prod")
def prod_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool) -> Any:
    axis = axes_of(x, axes)
    if not axis:
        return x
    found = _product_of_rows(x, axis, keep_dims) if xp is np else None
    return xp.prod(x, axis=axis, keepdims=keep_dims, dtype=x.dtype) if found is None else found


def _one_axis(ufunc: Any, x: Array, axis: tuple[int, ...], keep_dims: bool) -> Any:
    """As ``ufunc.reduce``, for neighboring axes along one."""
    gone = sorted(a % x.ndim for a in axis)
    first, last = gone[0], gone[-1]
    if last - first == len(gone) - 1 and x.flags.c_contiguous:
        kept = (1,) * len(gone) if keep_dims else ()
        shape = x.shape[:first] + kept + x.shape[last + 1 :]
        before, after = math.prod(x.shape[:first]), math.prod(x.shape[last + 1 :])
        flat = x.reshape(before, -1, after)
        return ufunc.reduce(flat, axis=1).reshape(shape)[()]
    return ufunc.reduce(x, axis=axis, keepdims=keep_dims)


def _extreme(xp: Module, x: Array, axes: Any, keep_dims: bool, largest: bool, dtype: DType) -> Any:
    axis = axes_of(x, axes)
    if not axis:
        return x
    if x.size:
        if largest and axis == (1,) and is_tall(xp, x):
            rows = row_maxima(xp, x)
            return rows if keep_dims else rows[:, 0]
        if xp is np:
            ufunc: Any = np.maximum if largest else np.minimum
            by_columns = _by_columns(ufunc, x, axis, keep_dims)
            if by_columns is not None:
                return by_columns
            return _one_axis(ufunc, x, axis, keep_dims)
        return (xp.max if largest else xp.min)(x, axis=axis, keepdims=keep_dims)
    if x.dtype.kind == "f":  # nothing to look at: the neutral element, as in TensorFlow
        start = -xp.inf if largest else xp.inf
    else:
        start = dtype.min if largest else dtype.max
    gone = {a % x.ndim for a in axis}
    dims = [1 if i in gone else d for i, d in enumerate(x.shape) if keep_dims or i not in gone]
    return xp.full(dims, start, x.dtype)


@kernel("Max")
def max_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool, T: DType) -> Any:
    return _extreme(xp, x, axes, keep_dims, True, T)


@kernel("Min")
def min_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool, T: DType) -> Any:
    return _extreme(xp, x, axes, keep_dims, False, T)


@kernel("EuclideanNorm")
def euclidean_norm_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool) -> Any:
    axis = axes_of(x, axes)
    squares = (x * x.conj()).real if x.dtype.kind == "c" else x * x
    return xp.sqrt(squares.sum(axis=axis, keepdims=keep_dims)).astype(x.dtype)


@kernel("All")
def all_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool) -> Any:
    axis = axes_of(x, axes)
    if xp is np and len(axis) == np.ndim(x) > 0 and not keep_dims:  # a third of the time
        return np.bool_(np.count_nonzero(x) == x.size)
    return xp.all(x, axis=axis, keepdims=keep_dims) if axis else x


@kernel("Any")
def any_kernel(xp: Module, x: Array, axes: Array, *, keep_dims: bool) -> Any:
    axis = axes_of(x, axes)
    if xp is np and len(axis) == np.ndim(x) > 0 and not keep_dims:
        return np.bool_(np.count_nonzero(x) > 0)
    return xp.any(x, axis=axis, keepdims=keep_dims) if axis else x


def _position(x: Array, dimension: Any) -> int:
    axis = int(dimension)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {axis}")
    if not x.shape[axis]:
        raise ValueError(f"Reduction axis {axis} is empty in shape {list(x.shape)}")
    return axis


#: Up to so many elements their maximum, which is NaN where one of them is, takes less time than `take_along_axis`.
_FEW_ELEMENTS = 1 << 15


def _points_at_nan(xp: Module, x: Array, found: Any, axis: int) -> bool:
    """NumPy stops at the first value that is not a number; TensorFlow passes over them."""
    if x.dtype.kind != "f" or not found.size:
        return False
    if x.size <= _FEW_ELEMENTS:
        largest = x.max()
        return bool(largest != largest)
    chosen = xp.take_along_axis(x, xp.expand_dims(found, axis), axis)
    return bool(xp.isnan(chosen).any())


@kernel("ArgMax")
def arg_max_kernel(xp: Module, x: Array, dimension: Array, *, output_type: DType) -> Any:
    axis = _position(x, dimension)
    found = x.argmax(axis)
    if _points_at_nan(xp, x, found, axis):
        found = xp.argmax(xp.where(xp.isnan(x), -xp.inf, x), axis=axis)
    return found.astype(output_type.numpy, copy=False)


@kernel("ArgMin")
def arg_min_kernel(xp: Module, x: Array, dimension: Array, *, output_type: DType) -> Any:
    axis = _position(x, dimension)
    found = x.argmin(axis)
    if _points_at_nan(xp, x, found, axis):
        found = xp.argmin(xp.where(xp.isnan(x), xp.inf, x), axis=axis)
    return found.astype(output_type.numpy, copy=False)
