"""Gradients of filters without expanded rows, as `direct_conv` makes convolutions.

Returns ``False`` when it leaves the work to `conv`.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.kernels import direct_few_outputs
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import places_by_taps
from dataflow.kernels.direct_conv_common import (
    PIECES_EACH,
    SHARED_PRODUCT,
    SHARING_THREADS,
    Lines,
    addresses,
    is_trivial,
    is_worthwhile,
    kept,
)
from dataflow.kernels.jit import implicit_gemm
from dataflow.kernels.jit.implicit_gemm import RIGHT, Axis, Code, Panel, Steps, panels_of
from dataflow.kernels.jit.isa import NUMBER_BYTES
from dataflow.kernels.jit.native_ufunc import Mapping
from dataflow.windows import Window

#: Bytes that a tile adds up at a time; every tile reads all of them again.
_CHUNK_BYTES = 1 << 18
#: Lines with fewer channels are copied with zeros at their ends. With more the places at the ends are added up by
#: themselves, down the image: that takes the time of their taps, and a copy of 16 channels a fifth of the whole.
_LEAST_CHANNELS = 8
#: Rows that a thread takes are multiples of this.
_ROWS_TOGETHER = 24
#: Steps that a list has, about: each takes 20 us to write down.
_MOST_STEPS = 4096


def filter_gradient(x: Array, grad: Array, height: Window, width: Window, out: Any) -> bool:
    """Fills ``out`` [taps, taps, channels, outputs], from contiguous arrays."""
    channels, outputs = out.shape[2:]
    multiplications = grad.size // outputs * out.size
    if direct_few_outputs.has_few(channels, outputs, height, width):
        turned = direct_few_outputs.exchanged(height), direct_few_outputs.exchanged(width)
        if turned[0] is not None and turned[1] is not None and is_worthwhile(multiplications):
            found = np.empty((*out.shape[:2], outputs, channels), out.dtype)
            if not _filter_gradient(grad, x, turned[0], turned[1], found):
                return False  # and `out` stays as it is: others add to it
            out[...] = found[::-1, ::-1].swapaxes(2, 3)
            return True
    return is_worthwhile(multiplications, outputs) and _filter_gradient(x, grad, height, width, out)


def _filter_gradient(x: Array, grad: Array, height: Window, width: Window, out: Any) -> bool:
    found = listed(x.shape, out.shape, height, width)
    if found is None:
        return False
    totals = np.empty((found.shares, *out.shape), out.dtype) if found.shares > 1 else out
    if found.adds_to_zeros:
        totals.fill(0)
    padded = found.lines.scratch()
    arrays = addresses(x, padded, None, grad, totals)
    found.padding.run(arrays)
    found.steps.run(arrays)
    if found.shares > 1:  # in their order, whichever was ready first
        parts = list(totals)
        sums = _sum_of(len(parts))
        if sums is None or not sums.run(out.shape, parts, (out,)):
            np.add.reduce(totals, 0, out=out)
    return True


def listed(
    x_shape: tuple[int, ...], out_shape: tuple[int, ...], height: Window, width: Window
) -> Listed | None:
    """What is to be done for a gradient, by tiles; ``None`` without machine code."""
    code = implicit_gemm.code.get()
    if code is None:
        return None
    key = ("filter", _CHUNK_BYTES, x_shape, out_shape, height, width)
    found: Listed = kept(key, lambda: Listed(code, x_shape, out_shape, height, width))
    return found


@functools.cache
def _sum_of(count: int) -> Mapping | None:
    """The sum of so many arrays, from the first on."""

    def total(xp: Module, *x: Any) -> Any:
        return functools.reduce(operator.add, x)

    return Mapping.of_function(np.float32, total, count)


class Listed:
    """What is to be done for a filter's gradient.

    Threads take shares of the batch, or of its lines, each with a total of its own, or, where filters are large,
    taps and outputs.
    """

    def __init__(
        self,
        code: Code,
        x_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        height: Window,
        width: Window,
    ) -> None:
        if is_trivial(width):  # the longer axis is that of the sums
            x_shape = (x_shape[0], 1, x_shape[1], x_shape[3])
            out_shape = (1, out_shape[0], *out_shape[2:])
            height, width = width, height
        self.height, self.width = height, width
        _, self.taps_wide, self.channels, self.outputs = out_shape
        self.lines = lines = Lines(x_shape, width, copies=self.channels < _LEAST_CHANNELS)
        self.image_bytes = lines.image_bytes
        #: Places along the width by the taps that meet the image there, those of most taps first.
        self.groups = sorted((g for g in places_by_taps(width) if g[3]), key=lambda g: -g[3])
        if lines.is_padded:
            self.groups = [(0, width.count, 0, width.taps)]
        self.panels = panels_of(code.isa, self.outputs)
        #: Parts of the filter, each with a step of its own for every chunk.
        self.parts = height.taps * len(self.panels) * len(self.groups)
        self.steps, self.padding = Steps(code), Steps(code)
        self.grad_line_bytes = width.count * self.outputs * NUMBER_BYTES
        self.grad_image_bytes = height.count * self.grad_line_bytes
        batch = self.batch = x_shape[0]
        self.filter_bytes = int(np.prod(out_shape)) * NUMBER_BYTES
        is_large = (
            batch * height.count * width.count * self.filter_bytes // NUMBER_BYTES >= SHARED_PRODUCT
        )
        # The same on all machines: shares decide how the sums round.
        threads = SHARING_THREADS if is_large else 1
        batch_bytes = batch * (self.image_bytes + self.grad_image_bytes)
        # Totals are to be small beside what they are made of.
        all_lines = batch * height.count
        shares = min(threads * PIECES_EACH, all_lines, batch_bytes // (2 * self.filter_bytes))
        shares -= shares % threads
        self.shares = shares if threads > 1 else 1
        met = set()
        #: There are taps that never lie on an image, or never together.
        self.adds_to_zeros = not self.groups or self.groups[0][3] < self.taps_wide
        if self.shares:
            whole = height.count if self.shares <= batch else 1  # images, or else lines
            ends = [all_lines // whole * i // self.shares * whole for i in range(self.shares + 1)]
            for share, (first, last) in enumerate(itertools.pairwise(ends)):
                for images, places in self._chunks(first, last):
                    self._pad(images, places)
                    for tap, panel, rows in self._parts(1):
                        to = (share, tap, panel.first)
                        if self._tiles(tap, panel, rows, images, places, share, to in met):
                            met.add(to)
                self.steps.end_piece()
        else:
            lines.pad(self.padding, range(batch), range(lines.height))
            for tap, panel, rows in self._parts(threads * PIECES_EACH):
                begun = False
                for images, places in self._chunks(0, all_lines):
                    begun |= self._tiles(tap, panel, rows, images, places, 0, begun)
                if begun:
                    met.add((0, tap, panel.first))
                self.steps.end_piece()
        self.adds_to_zeros |= len(met) < max(1, self.shares) * height.taps * len(self.panels)

    def _parts(self, least: int) -> Iterator[tuple[int, Panel, range]]:
        """(tap in height, panel of outputs, rows) for all of the filter, in so many parts."""
        rows = self.channels * (self.taps_wide if self.width.dilation == 1 else 1)
        parts = -(-least // (self.height.taps * len(self.panels)))
        size = -(-rows // parts)
        size = -(-size // _ROWS_TOGETHER) * _ROWS_TOGETHER
        for tap, panel in itertools.product(range(self.height.taps), self.panels):
            for first in range(0, rows, size):
                yield tap, panel, range(first, min(first + size, rows))

    def _chunks(self, first: int, last: int) -> Iterator[tuple[range, range]]:
        """Images, and their places in height, that are added up at a time: some of those of the whole batch."""
        both = self.image_bytes + self.grad_image_bytes
        count = self.height.count
        chunk_bytes = max(_CHUNK_BYTES, self.batch * both * self.parts // _MOST_STEPS)
        images = chunk_bytes // max(1, both)
        size = max(1, count * chunk_bytes // max(1, both))
        while first < last:
            image, place = divmod(first, count)
            if place == 0 and images and first + count <= last:
                taken = min(images, (last - first) // count)
                yield range(image, image + taken), range(count)
                first += taken * count
            else:
                end = min(place + size, count, place + last - first)
                yield range(image, image + 1), range(place, end)
                first += end - place

    def _pad(self, images: range, places: range) -> None:
        """Pads the lines that these places see."""
        h = self.height
        first = max(0, places.start * h.stride - h.before)
        last = min(h.size, (places.stop - 1) * h.stride - h.before + h.extent)
        self.lines.pad(self.steps, images, range(first, max(first, last)))

    def _tiles(
        self,
        tap: int,
        panel: Panel,
        rows: range,
        images: range,
        places: range,
        share: int,
        adds: bool,
    ) -> bool:
        """What some images and places give to a part of the filter; ``False`` if nothing."""
        inside = self.height.inside(tap)[0]
        first, last = max(places.start, inside.start), min(places.stop, inside.stop)
        if last <= first:
            return False
        adds |= self.adds_to_zeros
        for group in self.groups:
            self._group(tap, panel, rows, images, range(first, last), share, adds, group)
            adds = True
        return True

    def _group(
        self,
        tap: int,
        panel: Panel,
        rows: range,
        images: range,
        places: range,
        share: int,
        adds: bool,
        wide: tuple[int, int, int, int],
    ) -> None:
        """As `_tiles`, for places along the width that have the same taps."""
        width, height, lines = self.width, self.height, self.lines
        first, length, tap_wide, taps_wide = wide
        column = first * width.stride - width.before + lines.before
        row_bytes = self.outputs * NUMBER_BYTES
        if width.dilation == 1:
            # Neighboring taps and their channels lie side by side in the input: they are one axis.
            begin = max(rows.start, tap_wide * self.channels)
            rows = range(begin, min(rows.stop, (tap_wide + taps_wide) * self.channels))
            axes = []
        else:
            column += tap_wide * width.dilation
            tap_bytes = self.channels * row_bytes
            axes = [Axis(taps_wide, width.dilation * lines.place_bytes, tap_bytes)]
        if not rows:
            return
        line = places.start * height.stride + tap * height.dilation - height.before
        to = tap * self.taps_wide * self.channels + rows.start
        if width.dilation != 1:
            to += tap_wide * self.channels
        along = (length, width.stride * lines.place_bytes, row_bytes)
        down = (len(places), height.stride * lines.line_bytes, self.grad_line_bytes)
        inner, outer = (down, along) if 2 * length <= len(places) else (along, down)
        image = (len(images), self.image_bytes, self.grad_image_bytes)
        self.steps.tiles(
            len(rows),
            panel,
            left=(
                lines.array,
                images.start * self.image_bytes
                + line * lines.line_bytes
                + column * lines.place_bytes
                + rows.start * NUMBER_BYTES,
            ),
            right=(
                RIGHT,
                images.start * self.grad_image_bytes
                + places.start * self.grad_line_bytes
                + first * row_bytes
                + panel.first * NUMBER_BYTES,
            ),
            out=share * self.filter_bytes + to * row_bytes + panel.first * NUMBER_BYTES,
            row=NUMBER_BYTES,
            step=inner[1],
            right_step=inner[2],
            out_row=row_bytes,
            count=inner[0],
            segments=_segments(inner, outer, image),
            adds=adds,
            axes=axes,
        )


@functools.lru_cache(maxsize=256)
def _segments(*axes: tuple[int, int, int]) -> tuple[tuple[int, int], ...]:
    """The distances after each run of the innermost of three axes, each of a length and two steps."""
    inner, outer, image = axes
    turn = [outer[side] - inner[0] * inner[side] for side in (1, 2)]
    end = [image[side] - (outer[0] - 1) * outer[side] - inner[0] * inner[side] for side in (1, 2)]
    return tuple(([(turn[0], turn[1])] * (outer[0] - 1) + [(end[0], end[1])]) * image[0])
