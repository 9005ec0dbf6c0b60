"""Kernels of grayscale dilation, from which erosion is made: one pass over the image for each tap.

The passes are loops in machine code where there are some (`jit.native_ufunc`). On a GPU all taps are one
kernel's work (`cuda.dilation`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import attr_windows
from dataflow.kernels.cuda import dilation as cuda_dilation
from dataflow.kernels.cuda.source import C_TYPES, can_run
from dataflow.kernels.depthwise import lines, taps_of
from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS, Mapping
from dataflow.kernels.reduce import column_sums
from dataflow.kernels.registry import kernel
from dataflow.windows import Window

#: With fewer channels whole lines are worked on, and the filter repeated along them.
_FEW_CHANNELS = 64


@functools.cache
def _larger(dtype: Any) -> Mapping | None:
    """(best, its tap, image, filter, this tap) -> (best, its tap)."""

    def larger(xp: Module, best: Any, tap: Any, image: Array, filter: Array, this_tap: Any) -> Any:
        value = image + filter
        takes = value > best
        return xp.where(takes, value, best), xp.where(takes, this_tap, tap)

    return Mapping.of_function(dtype, larger, 5)


@functools.cache
def _chosen(dtype: Any, adds: bool) -> Mapping | None:
    """(gradient, tap, this tap) -> the gradient where this tap was taken, added to the result."""

    def chosen(xp: Module, grad: Array, tap: Any, this_tap: Any) -> Any:
        return xp.where(tap == this_tap, grad, 0.0)

    return Mapping.of_function(dtype, chosen, 3, adds=adds)


def _run(mapping: Mapping | None, inputs: list[Any], outputs: list[Any]) -> bool:
    """Over [n, rows, places, channels]; a vector [channels] among the inputs is repeated."""
    shape = outputs[0].shape
    if mapping is None or outputs[0].size < SMALL_ELEMENTS:
        return False
    large = [lines(x) for x in (*inputs, *outputs) if x.ndim > 1]
    if shape[3] < _FEW_CHANNELS and all(x.ndim == 3 for x in large):
        inputs = [lines(x) if x.ndim > 1 else np.tile(x, shape[2]) if x.ndim else x for x in inputs]
        outputs = [lines(x) for x in outputs]
    return mapping.run(outputs[0].shape, inputs, outputs)


def _dilate(xp: Module, image: Array, filter: Array, windows: list[Window]) -> tuple[Any, Any]:
    """The dilation, and for each result the number of the tap that gave it (first of equals)."""
    shape = (image.shape[0], *(w.count for w in windows), image.shape[3])
    kind = image.dtype
    lowest = -np.inf if kind.kind == "f" else np.iinfo(kind).min
    best = xp.full(shape, lowest, kind)
    in_code = xp is np and kind.char in "fd" and filter.dtype == kind
    tap_of = xp.zeros(shape, kind if in_code else np.int32)
    for y, x, to, frm in taps_of(windows):
        tap = tap_of.dtype.type(y * windows[1].taps + x)
        if in_code:
            state = [best[to], tap_of[to]]
            met = image[frm]
            if windows[1].stride > 1 and shape[3] < _FEW_CHANNELS:
                met = np.ascontiguousarray(met)  # a line of it is one vector
            if _run(_larger(kind), [*state, met, filter[y, x], np.array(tap)], state):
                continue
        value = image[frm] + filter[y, x]
        better = value > best[to]
        best[to] = xp.where(better, value, best[to])
        tap_of[to] = xp.where(better, tap, tap_of[to])
    return best, tap_of


def _dilation_windows(
    input: Any, filter: Array, strides: list[int], rates: list[int], padding: str
) -> list[Window]:
    return attr_windows(input.shape, (*filter.shape, 1), strides, rates, padding, [])


def _on_gpu(xp: Module, *arrays: Any) -> bool:
    return can_run(xp, *arrays, of=tuple(C_TYPES)) and len({a.dtype for a in arrays}) == 1


@kernel("Dilation2D")
def dilation2d_kernel(
    xp: Module, input: Array, filter: Array, *, strides: list[int], rates: list[int], padding: str
) -> Any:
    windows = _dilation_windows(input, filter, strides, rates, padding)
    if _on_gpu(xp, input, filter):
        return cuda_dilation.dilate(xp, input, filter, windows)
    return _dilate(xp, input, filter, windows)[0]


@kernel("Dilation2DBackpropInput")
def dilation2d_backprop_input_kernel(
    xp: Module,
    input: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Any:
    windows = _dilation_windows(input, filter, strides, rates, padding)
    if _on_gpu(xp, input, filter, out_backprop):
        return cuda_dilation.image_gradient(xp, input, filter, out_backprop, windows)
    tap_of = _dilate(xp, input, filter, windows)[1]
    out = xp.zeros(input.shape, input.dtype)
    for y, x, to, frm in taps_of(windows):
        tap = tap_of.dtype.type(y * windows[1].taps + x)
        if xp is np and tap_of.dtype == out_backprop.dtype:
            operands = [out_backprop[to], tap_of[to], np.array(tap)]
            if _run(_chosen(tap_of.dtype, True), operands, [out[frm]]):
                continue
        out[frm] += xp.where(tap_of[to] == tap, out_backprop[to], out.dtype.type(0))
    return out


@kernel("Dilation2DBackpropFilter")
def dilation2d_backprop_filter_kernel(
    xp: Module,
    input: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Any:
    windows = _dilation_windows(input, filter, strides, rates, padding)
    if _on_gpu(xp, input, filter, out_backprop):
        return cuda_dilation.filter_gradient(xp, input, filter, out_backprop, windows)
    tap_of = _dilate(xp, input, filter, windows)[1]
    out = xp.zeros(filter.shape, filter.dtype)
    for y, x, to, _ in taps_of(windows):
        tap = tap_of.dtype.type(y * windows[1].taps + x)
        if xp is np and tap_of.dtype == out_backprop.dtype:
            part = out_backprop[to]
            chosen = np.empty(part.shape, part.dtype)
            operands = [part, tap_of[to], np.array(tap)]
            if not _run(_chosen(tap_of.dtype, False), operands, [chosen]):
                chosen = np.where(tap_of[to] == tap, part, part.dtype.type(0))
            out[y, x] = column_sums(np, chosen.reshape(-1, chosen.shape[3]))
            continue
        chosen = out_backprop[to] * (tap_of[to] == tap)
        out[y, x] = chosen.sum((0, 1, 2), dtype=filter.dtype)
    return out
