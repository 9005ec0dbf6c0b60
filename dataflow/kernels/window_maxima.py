"""Maximum pooling with windows that overlap, leave gaps or reach beyond the array, and its gradient.

As in `window_sums`: places that have the same taps inside are one loop of machine code over all of them. The gradient
notes for each window which of its taps is the first maximum; then every element adds up the gradients of those windows
in which it is that tap, in the order of its taps: where channels come last by `jit.channel_maxima`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import leave_out
from dataflow.kernels.jit import channel_maxima
from dataflow.kernels.jit.native_ufunc import Mapping
from dataflow.kernels.large_arrays import empty
from dataflow.kernels.window_sums import Windows, groups_of, has_loops, phases_of_axes

#: One call takes as long as NumPy does for fewer elements.
_LEAST_BY_CHANNELS = 1 << 10


def window_maxima(x: Array, windows: Windows, out: Any) -> bool:
    """Fills ``out`` with the maxima; where it returns ``False``, ``out`` is not defined."""
    done = True  # all loops are asked for, as each is compiled when it is
    for to, _, met, _ in groups_of(x.ndim, windows):
        mapping = _largest(x.dtype, len(met)) if met else None
        views, target = [x[frm] for frm in met], out[to]
        done &= mapping is not None and mapping.run(target.shape, views, [target])
    return done


def has_gradient_loops(xp: Module, x: Array, windows: Windows) -> bool:
    """True where `maxima_gradient` is to be used: where channels come last, for any windows and smaller arrays."""
    if xp is np and x.size >= _LEAST_BY_CHANNELS and channel_maxima.fits(x, windows):
        return True
    return has_loops(xp, x, x.size, windows)


def maxima_gradient(x: Array, y: Array, grad: Array, windows: Windows, out: Any) -> bool:
    """Fills ``out`` with the gradient of the maxima y; where it returns ``False``, ``out`` is not defined."""
    if channel_maxima.fits(x, windows):
        return channel_maxima.gradient(x, y, grad, windows, out)
    combined = phases_of_axes(out.ndim, windows)
    if combined is None:
        return False
    first = empty(y.shape, x.dtype)
    done = _first_maxima(x, y, windows, first)
    if any(leave_out(w) for w in windows.values()):
        out.fill(0)
    for at, parts, taps_of in combined:
        target = out[at]
        for to, _, met, taps in groups_of(out.ndim, parts, backwards=True):
            if not met:
                target[to] = 0
                continue
            numbers = [
                _number(windows, [of[t] for of, t in zip(taps_of, tap, strict=True)])
                for tap in taps
            ]
            views = [first[frm] for frm in met], [grad[frm] for frm in met]
            inputs = [*views[0], *views[1], *[np.array(n, x.dtype) for n in numbers]]
            mapping = _gradients(x.dtype, len(met))
            done &= mapping is not None and mapping.run(target[to].shape, inputs, [target[to]])
    return done


def _first_maxima(x: Array, y: Array, windows: Windows, out: Any) -> bool:
    """Fills ``out``: for each window the number of the first tap that is the maximum, 0 if none is (NaN)."""
    done = True
    for to, _, met, taps in groups_of(x.ndim, windows):
        numbers = tuple(_number(windows, tap) for tap in taps)
        mapping = _first_of(x.dtype, numbers) if met else None
        inputs = [*[x[frm] for frm in met], y[to]]
        done &= mapping is not None and mapping.run(y[to].shape, inputs, [out[to]])
    return done


def _number(windows: Windows, tap: Sequence[int]) -> float:
    """The number of a tap, from 1 on, in row-major order."""
    number = 0
    for axis, t in zip(sorted(windows), tap, strict=True):
        number = number * windows[axis].taps + t
    return float(number + 1)


@functools.cache
def _largest(dtype: Any, count: int) -> Mapping | None:
    return Mapping.of_function(dtype, lambda xp, *x: functools.reduce(xp.maximum, x), count)


@functools.cache
def _first_of(dtype: Any, numbers: tuple[float, ...]) -> Mapping | None:
    """From all taps and their maximum, the number of the first tap that is it."""

    def first(xp: Module, *x: Any) -> Any:
        found: Any = 0.0
        for tap, number in zip(x[-2::-1], numbers[::-1], strict=True):
            found = xp.where(tap == x[-1], number, found)
        return found

    return Mapping.of_function(dtype, first, len(numbers) + 1)


@functools.cache
def _gradients(dtype: Any, count: int) -> Mapping | None:
    """From ``count`` windows' first taps, their gradients, and the taps by which they meet an element: its gradient."""

    def total(xp: Module, *x: Any) -> Any:
        found: Any = 0.0
        for first, grad, tap in zip(x[:count], x[count : 2 * count], x[2 * count :], strict=True):
            found = found + xp.where(first == tap, grad, 0.0)
        return found

    return Mapping.of_function(dtype, total, 3 * count)
