"""Convolutions of volumes as planar ones: the slices under a window, one behind the other, are channels.

A filter of three slices and 16 channels is a planar filter of 48 channels, and each place along the depth an
image of its own. The slices are copied as often as the filter is deep; everything else is `direct_conv`'s, whose
tiles need no copies of height and width. Every function returns ``False`` when it leaves the work to `conv`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.kernels import direct_conv, direct_filter_gradient
from dataflow.kernels.array_types import Array
from dataflow.kernels.conv_geometry import Problem, leave_out, phases
from dataflow.kernels.direct_conv import Ending
from dataflow.kernels.direct_conv_common import is_worthwhile
from dataflow.kernels.jit import implicit_gemm
from dataflow.windows import Window

#: Bytes of slices that are beside each other at a time, about.
_PIECE_BYTES = 8 << 20


def _applies(problem: Problem) -> bool:
    """Whether tiles are compiled, and there is enough to do for them."""
    multiplications = problem.batch * problem.taps * problem.channels * problem.outputs
    for window in problem.windows:
        multiplications *= window.count
    return is_worthwhile(multiplications, problem.outputs) and implicit_gemm.code.get() is not None


def _pieces(volumes: Array, depth: Window) -> Iterator[slice]:
    """The batch in parts whose stacked slices keep within bounds."""
    stacked = volumes[:1].nbytes // volumes.shape[1] * depth.count * depth.taps
    size = max(1, _PIECE_BYTES // stacked)
    for first in range(0, len(volumes), size):
        yield slice(first, first + size)


def _stacked(volumes: Array, depth: Window) -> Any:
    """Images [batch * places, height, width, taps * channels] of volumes [batch, depth, height, width, channels]."""
    batch, size, height, width, channels = volumes.shape
    shape = (batch * depth.count, height, width, depth.taps * channels)
    if depth.taps == depth.stride == 1 and depth.count == size and not depth.before:
        return volumes.reshape(shape)
    out = np.empty((batch, depth.count, height, width, depth.taps, channels), volumes.dtype)
    for tap in range(depth.taps):
        # The places at which this tap meets a slice: first <= place < last.
        offset = tap * depth.dilation - depth.before
        first = min(depth.count, max(0, -(offset // depth.stride)))
        last = max(first, min(depth.count, (size - 1 - offset) // depth.stride + 1))
        out[:, :first, :, :, tap] = 0
        out[:, last:, :, :, tap] = 0
        if first < last:
            start = first * depth.stride + offset
            stop = (last - 1) * depth.stride + offset + 1
            out[:, first:last, :, :, tap] = volumes[:, start : stop : depth.stride]
    return out.reshape(shape)


def forward(x: Array, filters: Array, problem: Problem, out: Any, ending: Ending | None) -> bool:
    """Fills ``out``; arrays have the problem's shapes. An ``ending`` only where `direct_conv.can_end`."""
    if not _applies(problem):
        return False
    depth, height, width = problem.windows
    planar = filters.transpose(1, 2, 0, 3, 4).reshape(height.taps, width.taps, -1, problem.outputs)
    whole = out.size * planar.size // problem.outputs
    for piece in _pieces(x, depth):
        images = _stacked(x[piece], depth)
        target = out[piece].reshape(len(images), height.count, width.count, problem.outputs)
        if not direct_conv.forward(images, planar, height, width, target, whole, ending):
            return False
    return True


def filter_gradient(x: Array, grad: Array, problem: Problem, out: Any) -> bool:
    """Fills ``out`` [taps, taps, taps, channels, outputs]."""
    if not _applies(problem):
        return False
    depth, height, width = problem.windows
    taps = (height.taps, width.taps)
    shape = (*taps, depth.taps * problem.channels, problem.outputs)
    total = None
    for piece in _pieces(x, depth):
        images = _stacked(x[piece], depth)
        planes = grad[piece].reshape(len(images), height.count, width.count, problem.outputs)
        part = np.empty(shape, out.dtype)
        if not direct_filter_gradient.filter_gradient(images, planes, height, width, part):
            return False
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    parted = total.reshape(*taps, depth.taps, problem.channels, problem.outputs)
    out[...] = parted.transpose(2, 0, 1, 3, 4)
    return True


def input_gradient(filters: Array, grad: Array, problem: Problem, out: Any) -> bool:
    """Fills ``out`` [batch, depth, height, width, channels]; not defined where it returns ``False``."""
    depth, height, width = problem.windows
    along_depth = phases(depth)
    if along_depth is None or not _applies(problem):
        return False
    if leave_out(depth):
        out.fill(0)
    for at, taps, window in along_depth:
        turned = filters[taps].transpose(1, 2, 3, 0, 4)
        planar = turned.reshape(height.taps, width.taps, problem.channels, -1)
        for piece in _pieces(grad, window):
            planes = _stacked(grad[piece], window)
            target = out[piece, at]
            images = (len(planes), *target.shape[2:])
            whole = target.flags.c_contiguous
            found = target.reshape(images) if whole else np.empty(images, out.dtype)
            if not direct_conv.input_gradient(planar, planes, height, width, found):
                return False
            if not whole:
                target[...] = found.reshape(target.shape)
    return True
