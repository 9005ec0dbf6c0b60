"""The windows of a convolution's input, unrolled over all axes (im2col): a row for each place.

A convolution is then one product of matrices. Some places are unrolled at a time, into memory that is used again, so
that the product finds them in the cache. Measured on one busy core, beside one product for each row of taps over rows
unrolled along one axis: windows of 3 x 3 0.6 to 0.9 of the time, of 5 x 5 with 32 channels 1.4, as 25 copies cost more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import Problem

#: Bytes of rows that are unrolled at a time, about. Measured on a busy machine, 0.25, 0.5 and 1 MB were alike.
_ROWS_BYTES = 1 << 19


class Unrolled:
    """What one thread needs to unroll the windows of piece after piece of a batch."""

    def __init__(self, xp: Module, problem: Problem, dtype: Any) -> None:
        self.xp, self.problem, self.dtype = xp, problem, dtype
        windows = problem.windows
        #: Numbers in a row.
        self.row = math.prod(w.taps for w in windows) * problem.channels
        self._needed = [(w.count - 1) * w.stride + w.extent for w in windows]
        self._is_inside = all(
            w.before == 0 and need <= w.size for w, need in zip(windows, self._needed, strict=True)
        )
        # Copies go along the last axis of the source, which is short for a single channel: then
        # the places come last, and long runs along the image are copied.
        self._places_last = problem.channels * windows[2].stride <= 2
        self._rows = self._padded = xp.empty(0, dtype)

    def parts(self, x: Array) -> Iterator[tuple[Any, Any]]:
        """(index, matrix): the rows of the places that ``index`` selects from the output of a piece, which are contiguous."""
        windows, (n, *steps, c) = self.problem.windows, (x := self._with_padding(x)).strides
        taps = [(w.taps, s * w.dilation) for w, s in zip(windows, steps, strict=True)]
        taps.append((x.shape[4], c))
        depth, height, width = [
            (w.count, s * w.stride) for w, s in zip(windows, steps, strict=True)
        ]
        line_bytes = width[0] * self.row * self.dtype.itemsize
        lines = max(1, _ROWS_BYTES // max(1, line_bytes)) if self.xp is np else height[0]
        items = lines // (depth[0] * height[0]) if self.xp is np else len(x)
        if items:
            for first in range(0, len(x), items):
                piece = x[first : first + items]
                places = [(len(piece), n), depth, height, width]
                yield slice(first, first + items), self._matrix(piece, places, taps)
            return
        for item in range(len(x)):
            for z in range(depth[0]):
                plane = x[item, z * windows[0].stride :]
                for y in range(0, height[0], lines):
                    count = min(lines, height[0] - y)
                    places = [(count, height[1]), width]
                    piece = plane[:, y * windows[1].stride :]
                    yield (item, z, slice(y, y + count)), self._matrix(piece, places, taps)

    def _matrix(self, x: Array, places: list[tuple[int, int]], taps: list[tuple[int, int]]) -> Any:
        """The rows of places from ``x`` on; axes are (length, bytes)."""
        first, second = (taps, places) if self._places_last else (places, taps)
        shape, strides = zip(*first, *second, strict=True)
        view = self.xp.lib.stride_tricks.as_strided(x, shape, strides)
        size = math.prod(shape)
        if self._rows.size < size:
            self._rows = self.xp.empty(size, self.dtype)
        rows = self._rows[:size]
        self.xp.copyto(rows.reshape(shape), view)
        return rows.reshape(self.row, -1).T if self._places_last else rows.reshape(-1, self.row)

    def _with_padding(self, x: Array) -> Any:
        """A piece of the input with its padding, no larger than the windows need."""
        if self._is_inside:
            return x
        shape = (x.shape[0], *self._needed, x.shape[4])
        if self._padded.shape != shape:
            self._padded = self.xp.zeros(shape, self.dtype)
        into, take = [slice(None)], [slice(None)]
        for w, need in zip(self.problem.windows, self._needed, strict=True):
            length = max(0, min(w.size, need - w.before))
            into.append(slice(w.before, w.before + length))
            take.append(slice(0, length))
        self._padded[tuple(into)] = x[tuple(take)]
        return self._padded
