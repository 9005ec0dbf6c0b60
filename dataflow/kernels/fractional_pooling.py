"""Kernels of the ops in `dataflow.ops.fractional_pooling`: slices for the n-th row and column of all regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.philox import Stream, stream_of
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "regions of uneven sizes are slices of the host; TensorFlow has no GPU kernel either"


def _starts(size: int, ratio: float, pseudo_random: bool, stream: Stream) -> Any:
    """Where each region starts, and where the last ends: int64, one more than there are regions."""
    count = math.floor(size / ratio)
    if count < 1:
        raise ValueError(f"a pooling ratio of {ratio} leaves nothing of {size} elements")
    whole, longer = divmod(size, count)
    if not longer:
        sizes = np.full(count, whole)
    elif pseudo_random:
        # Graham 2014, equation (2.2): ceil(alpha * (i + u)), u so small that no region is longer
        # than two sizes allow.
        alpha = size / count
        largest = min((whole + 2) / alpha - 1, (size + 1 - whole) / alpha - (count - 1))
        u = float(stream.uniform(1, np.dtype(np.float64))[0]) * largest
        inner = [math.ceil(alpha * (i + u)) - 1 for i in range(1, count)]
        return np.array([0, *inner, size], np.int64)
    else:
        sizes = np.full(count, whole)
        sizes[np.argsort(stream.uniform(count, np.dtype(np.float64)))[:longer]] += 1
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _ends(starts: Any, overlapping: bool) -> Any:
    """The first row behind each region."""
    return np.minimum(starts[1:] + (1 if overlapping else 0), starts[-1])


def _stream(context: KernelContext, deterministic: bool, seed: int, seed2: int) -> Stream:
    """What regions are drawn from: the same numbers in each run where they are to be the same."""
    if not deterministic:
        if seed or seed2:
            raise ValueError("Both seed and seed2 should be 0 if deterministic is false.")
        return stream_of(context, 0, 0)
    if "key" not in context.state:
        drawn = np.random.SeedSequence().generate_state(2) + 1
        context.state["key"] = (seed, seed2) if seed or seed2 else (int(drawn[0]), int(drawn[1]))
    return Stream(*context.state["key"])


def _taps(rows: Any, columns: Any, overlapping: bool) -> Iterator[tuple[Any, Any, Any]]:
    """For the n-th row and column of all regions: their indices, and which regions have them."""
    row_ends, column_ends = (_ends(np.asarray(s), overlapping) for s in (rows, columns))
    row_starts, column_starts = np.asarray(rows)[:-1], np.asarray(columns)[:-1]
    for i in range(int((row_ends - row_starts).max())):
        for j in range(int((column_ends - column_starts).max())):
            y, x = row_starts + i, column_starts + j
            inside = (y < row_ends)[:, None] & (x < column_ends)
            clipped = np.minimum(y, row_ends - 1), np.minimum(x, column_ends - 1)
            yield clipped[0][:, None], clipped[1][None, :], inside[None, :, :, None]


def _maximum(x: Array, rows: Any, columns: Any, overlapping: bool) -> Any:
    best = None
    # A place that is clipped lies in its region, too: it changes no maximum.
    for y, z, _ in _taps(rows, columns, overlapping):
        found = x[:, y, z, :]
        best = found if best is None else np.maximum(best, found)
    return best


def _mean(x: Array, rows: Any, columns: Any, overlapping: bool) -> Any:
    total: Any = 0
    count: Any = 0
    for y, z, inside in _taps(rows, columns, overlapping):
        total = total + x[:, y, z, :] * inside
        count = count + inside
    # Integers are divided as in C++.
    return total / count if x.dtype.kind == "f" else np.trunc(total / count)


def _pool(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def pool(
        context: KernelContext,
        x: Array,
        *,
        pooling_ratio: list[float],
        pseudo_random: bool,
        overlapping: bool,
        deterministic: bool,
        seed: int,
        seed2: int,
    ) -> Any:
        stream = _stream(context, deterministic, seed, seed2)
        rows, columns = (
            _starts(x.shape[i], pooling_ratio[i], pseudo_random, stream) for i in (1, 2)
        )
        pooled = reduce(x, rows, columns, overlapping)
        return pooled.astype(x.dtype, copy=False), rows, columns

    return pool


fractional_max_pool_kernel = kernel("FractionalMaxPool", stateful=True, cpu_only=_REASON)(
    _pool(_maximum)
)
fractional_avg_pool_kernel = kernel("FractionalAvgPool", stateful=True, cpu_only=_REASON)(
    _pool(_mean)
)


@kernel("FractionalMaxPoolGrad", cpu_only=_REASON)
def fractional_max_pool_grad_kernel(
    xp: Any, x: Any, output: Any, grad: Any, rows: Any, columns: Any, *, overlapping: bool
) -> Any:
    result = np.zeros_like(x)
    waiting = np.ones(output.shape, bool)
    for y, z, inside in _taps(rows, columns, overlapping):
        first = waiting & (x[:, y, z, :] == output) & inside
        waiting &= ~first
        _add(result, y, z, grad * first)
    return result


@kernel("FractionalAvgPoolGrad", cpu_only=_REASON)
def fractional_avg_pool_grad_kernel(
    xp: Module, shape: Array, grad: Array, rows: Array, columns: Array, *, overlapping: bool
) -> Any:
    result = np.zeros(tuple(shape.tolist()), grad.dtype)
    taps = list(_taps(rows, columns, overlapping))
    part = (grad / sum(inside.astype(grad.dtype) for _, _, inside in taps)).astype(grad.dtype)
    for y, z, inside in taps:
        _add(result, y, z, part * inside)
    return result


def _add(result: Any, y: Array, x: Array, values: Any) -> None:
    """Adds values at rows y and columns x; regions that overlap have places in common."""
    places: Any = (slice(None), *np.broadcast_arrays(y, x))
    np.add.at(result, places, values)
