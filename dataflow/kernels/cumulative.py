"""Kernels of the ops in `dataflow.ops.cumulative`."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


def _running(
    xp: Module, x: Array, axis: Any, exclusive: bool, reverse: bool, ufunc: Any, start: Any
) -> Any:
    if axis.ndim:
        raise ValueError(f"axis must be a scalar, got shape {axis.shape}")
    axis = int(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} is not one of an array with {x.ndim} axes")
    back = [slice(None)] * x.ndim
    back[axis] = slice(None, None, -1)
    flip = tuple(back)
    if reverse:
        x = x[flip]
    result = ufunc(x, axis)
    if exclusive:
        head, rest = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        head[axis], rest[axis] = slice(None, -1), slice(1, None)
        shifted = xp.empty_like(result)
        shifted[tuple(rest)] = result[tuple(head)]
        first = [slice(None)] * x.ndim
        first[axis] = slice(0, 1)
        shifted[tuple(first)] = start
        result = shifted
    return result[flip] if reverse else result


@kernel("Cumsum")
def cumsum_kernel(xp: Module, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Any:
    return _running(
        xp, x, axis, exclusive, reverse, lambda a, i: xp.cumsum(a, axis=i, dtype=a.dtype), 0
    )


@kernel("Cumprod")
def cumprod_kernel(xp: Module, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Any:
    return _running(
        xp, x, axis, exclusive, reverse, lambda a, i: xp.cumprod(a, axis=i, dtype=a.dtype), 1
    )


@kernel("CumulativeLogsumexp", cpu_only="CuPy has no running logaddexp")
def cumulative_logsumexp_kernel(
    xp: Module, x: Array, axis: Array, *, exclusive: bool, reverse: bool
) -> Any:
    lowest = xp.finfo(x.dtype).min
    return _running(
        xp, x, axis, exclusive, reverse, lambda a, i: xp.logaddexp.accumulate(a, axis=i), lowest
    )
