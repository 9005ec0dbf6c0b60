"""Sums, means and the softmax."""

from __future__ import annotations

import math

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes
from dataflow.kernels.jit.call_writers.elementwise import add_up, loop, row_sums
from dataflow.kernels.jit.expression import ROW_SUM
from dataflow.kernels.jit.native_ufunc import Mapping, rows_joined, shares_of_rows
from dataflow.kernels.jit.row_mapping import RowMapping


@writes("Sum", "Mean")
def _sum(w: CallWriter, node: Node) -> None:
    x, out = node.inputs[0], node.results[0]
    axes = sorted({int(a) % max(x.ndim, 1) for a in np.atleast_1d(node.number(1))})
    if not axes or not x.size or x.dtype.char not in "fd":
        raise CannotWrite
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    to = out.reshape(kept)
    _total(w, node, x, axes, to)
    if node.op_type == "Mean":
        count = math.prod(x.shape[a] for a in axes)
        must(w.ufunc(np.true_divide, to, w.constant(to.dtype.type(count)), to))


#: What reduces an axis by one ufunc, from the first element on.
_REDUCTIONS = {"Max": np.maximum, "Min": np.minimum, "Prod": np.multiply}


@writes(*_REDUCTIONS)
def _reduction(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    axes = sorted({int(a) % max(x.ndim, 1) for a in np.atleast_1d(node.number(1))})
    if not axes or not x.size:
        raise CannotWrite
    to = out.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])
    x, to, axis = _one_axis(x, to, axes)
    first, rest = np.split(x, [1], axis)
    must(w.copy(first, to))
    if rest.size:
        must(w.reduce(_REDUCTIONS[node.op_type], rest, axis, to))


def _one_axis(x: Array, to: Array, axes: list[int]) -> tuple[Array, Array, int]:
    """Neighboring axes as one, for what is summed and its sums."""
    first, last = axes[0], axes[-1]
    if len(axes) > 1:
        if not x.flags.c_contiguous or last - first != len(axes) - 1:
            raise CannotWrite
        x = x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])
        to = to.reshape(*x.shape[:first], 1, *x.shape[first + 1 :])
    return x, to, first


def _total(w: CallWriter, node: Node, x: Array, axes: list[int], to: Array) -> None:
    if all(x.shape[a] == 1 for a in axes):
        only(node)
        must(w.copy(x, to))
        return
    x, to, axis = _one_axis(x, to, axes)
    if axis == x.ndim - 1:
        only(node, 4)
        if node.variant < 2:
            row_sums(w, x, to, (node.variant,))
        elif node.variant == 2:
            add_up(w, [x[..., i : i + 1] for i in range(x.shape[-1])], to)
        else:
            loop(w, RowMapping, x.dtype.char, ((ROW_SUM, (0,)),), (1,), [x], [to])
        return
    only(node, 4)
    if node.variant == 0 and axis == x.ndim - 2:
        products_with_ones(w, x, to)
    elif node.variant == 1:
        must(w.fill(to, 0) and w.reduce(np.add, x, axis, to))
    elif node.variant == 2:
        _row_after_row(w, x, axis, to)
    else:
        raise CannotWrite


def _row_after_row(w: CallWriter, x: Array, axis: int, to: Array) -> None:
    """The sum along an axis before the last by a loop of ours, several rows as one: as `reduce` does it for
    many numbers."""
    if axis != x.ndim - 2 or not x.flags.c_contiguous:
        raise CannotWrite
    rows, channels = x.shape[-2:]
    joined, shares = rows_joined(rows, channels), shares_of_rows(rows, channels)
    wide = x.reshape(-1, rows // joined // shares, joined * channels)
    sums = w.buffer((wide.shape[0], 1, wide.shape[2]), x.dtype)
    must(w.fill(sums, 0))
    for i in range(shares if len(wide) == shares else 0):
        loop(w, Mapping, x.dtype.char, (), (0,), [wide[i : i + 1]], [sums[i : i + 1]], adds=True)
    if len(wide) != shares:
        loop(w, Mapping, x.dtype.char, (), (0,), [wide], [sums], adds=True)
    if joined * shares == 1:
        must(w.copy(sums.reshape(to.shape), to))
    else:
        must(w.fill(to, 0))
        apart = sums.reshape(*to.shape[:-2], shares * joined, channels)
        must(w.reduce(np.add, apart, apart.ndim - 2, to))
    w.release(sums)


def products_with_ones(w: CallWriter, x: Array, to: Array) -> None:
    """The sum along the last axis but one, as products."""
    ones = w.constant(np.ones((1, x.shape[-2]), x.dtype))
    for index in np.ndindex(*x.shape[:-2]):
        must(w.product(ones, x[index], to[index]))


@writes("L2Loss")
def _l2_loss(w: CallWriter, node: Node) -> None:
    only(node)
    x, total = node.inputs[0], node.results[0]
    if not x.flags.c_contiguous:
        raise CannotWrite
    flat = x.reshape(-1)
    must(w.dot(flat, flat, total))
    must(w.ufunc(np.multiply, total, w.constant(total.dtype.type(0.5)), total))


@writes("BiasAddGrad")
def _bias_add_grad(w: CallWriter, node: Node) -> None:
    only(node, 3)
    x, out = node.inputs[0], node.results[0]
    if node.attrs["data_format"] == "NCHW" or not x.size:
        raise CannotWrite
    rows = x.reshape(-1, x.shape[-1])
    to = out.reshape(1, -1)
    if node.variant == 2:
        _row_after_row(w, rows, 0, to)
        return
    if node.variant:
        must(w.fill(to, 0) and w.reduce(np.add, rows, 0, to))
        return
    products_with_ones(w, rows, to)


@writes("Softmax")
def _softmax(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    if not x.size:
        raise CannotWrite
    largest = w.buffer((*x.shape[:-1], 1), x.dtype)
    must(w.copy(x[..., :1], largest))
    must(w.reduce(np.maximum, x, x.ndim - 1, largest))
    must(w.ufunc(np.subtract, x, largest, out) and w.ufunc(np.exp, out, out))
    row_sums(w, out, largest)
    must(w.ufunc(np.true_divide, out, largest, out))
    w.release(largest)
