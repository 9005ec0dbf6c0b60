"""The input of a convolution with its windows unrolled: along the last axis alone, or over all axes (im2col)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import Problem
from dataflow.windows import Window


class ExpandedRows:
    """The input, expanded along the last spatial axis, for pieces of the batch."""

    def __init__(self, xp: Module, problem: Problem, dtype: Any) -> None:
        self.xp, self.problem, self.dtype = xp, problem, dtype
        depth, height, width = problem.windows
        # With a stride, the rows that a tap needs lie `stride` apart: they are sorted by phase.
        self.phases = [min(w.stride, w.extent) for w in (depth, height)]
        self.lengths = [
            max(t * w.dilation // w.stride for t in range(w.taps)) + w.count
            for w in (depth, height)
        ]
        self.row = width.taps * problem.channels
        self.needed = [
            *(
                w.stride * (n - 1) + p
                for w, n, p in zip((depth, height), self.lengths, self.phases, strict=True)
            ),
            (width.count - 1) * width.stride + width.extent,
        ]
        places = self.phases[0] * self.phases[1] * self.lengths[0] * self.lengths[1] * width.count
        outputs = depth.count * height.count * width.count * problem.outputs
        self.item_bytes = dtype.itemsize * (
            places * self.row + outputs + int(np.prod(self.needed)) * problem.channels
        )

    def shape(self, n: int) -> tuple[int, ...]:
        """(phases, lengths, batch, places along the last axis, numbers in a row)."""
        return (*self.phases, *self.lengths, n, self.problem.windows[2].count, self.row)

    def padded(self, x: Array) -> Any:
        """A piece of the input with its padding, no larger than the windows need."""
        windows = self.problem.windows
        if all(
            w.before == 0 and need <= w.size for w, need in zip(windows, self.needed, strict=True)
        ):
            return x
        out = self.xp.zeros((x.shape[0], *self.needed, x.shape[4]), self.dtype)
        into, take = [slice(None)], [slice(None)]
        for w, need in zip(windows, self.needed, strict=True):
            length = max(0, min(w.size, need - w.before))
            into.append(slice(w.before, w.before + length))
            take.append(slice(0, length))
        out[tuple(into)] = x[tuple(take)]
        return out

    def expand(self, x: Array, out: Any) -> None:
        """Fills ``out``, of `shape`, from a piece of the input."""
        x = self.padded(x)
        n, d, h, w, c = x.strides
        depth, height, width = self.problem.windows
        view = self.xp.lib.stride_tricks.as_strided(
            x,
            (*self.phases, *self.lengths, x.shape[0], width.count, width.taps, x.shape[4]),
            (d, h, d * depth.stride, h * height.stride, n, w * width.stride, w * width.dilation, c),
        )
        self.xp.copyto(out.reshape(view.shape), view)

    def block(self, rows: Any, z: int, y: int, place: int) -> Any:
        """The rows that tap (z, y) needs for all outputs at depth ``place``: a matrix."""
        depth, height, _ = self.problem.windows
        z_shift, z_phase = divmod(z * depth.dilation, depth.stride)
        y_shift, y_phase = divmod(y * height.dilation, height.stride)
        part = rows[z_phase, y_phase, z_shift + place, y_shift : y_shift + height.count]
        return part.reshape(-1, self.row)


class Patches:
    """The input with its windows unrolled over all axes: im2col, for short rows."""

    def __init__(self, xp: Module, problem: Problem, dtype: Any) -> None:
        self.xp, self.problem, self.dtype = xp, problem, dtype
        self.rows = ExpandedRows(xp, problem, dtype)
        self.needed = [(w.count - 1) * w.stride + w.extent for w in problem.windows]
        self.rows.needed = self.needed
        self.row = int(np.prod([w.taps for w in problem.windows])) * problem.channels
        self.places = int(np.prod([w.count for w in problem.windows]))
        # Copies go along the last axis of the source, which is short for a single channel: then
        # the places come last, and long runs along the image are copied.
        self.places_last = problem.channels * problem.windows[2].stride <= 2
        self.item_bytes = dtype.itemsize * (self.places * (self.row + problem.outputs))

    def expand(self, x: Array) -> Any:
        """A matrix, one row for each place of each item of the piece."""
        x = self.rows.padded(x)
        n, *steps, c = x.strides
        windows = self.problem.windows
        places = [(w.count, s * w.stride) for w, s in zip(windows, steps, strict=True)]
        taps = [(w.taps, s * w.dilation) for w, s in zip(windows, steps, strict=True)]
        first, second = [(x.shape[0], n), *places], [*taps, (x.shape[4], c)]
        if self.places_last:
            first, second = second, first
        shape, strides = zip(*first, *second, strict=True)
        view = self.xp.lib.stride_tricks.as_strided(x, shape, strides)
        matrix = self.xp.ascontiguousarray(view)
        if self.places_last:
            return matrix.reshape(self.row, -1).T
        return matrix.reshape(-1, self.row)


def collect(buffer: Any, out: Any, problem: Problem, rows: ExpandedRows) -> None:
    """Adds every expanded row back to the places of the input that it was copied from."""
    depth, height, width = problem.windows
    parts = buffer.reshape(*buffer.shape[:6], width.taps, problem.channels)
    for z_phase in range(rows.phases[0]):
        z_from, z_to = _phase(depth, z_phase, rows.lengths[0])
        for y_phase in range(rows.phases[1]):
            y_from, y_to = _phase(height, y_phase, rows.lengths[1])
            for tap in range(width.taps):
                x_from, x_to = width.inside(tap)
                part = parts[z_phase, y_phase, z_from, y_from, :, x_from, tap]
                target = out[:, z_to, y_to, x_to].transpose(1, 2, 0, 3, 4)
                target += part


def _phase(w: Window, phase: int, length: int) -> tuple[slice, slice]:
    """Of the rows of one phase: those that lie on the axis, and where."""
    return w._replace(taps=1, dilation=1, before=w.before - phase, count=length).inside(0)
