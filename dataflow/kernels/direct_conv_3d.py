"""Convolutions with three spatial axes as lists of steps: a segment for each (depth, height) tap.

As `direct_conv` makes those of two axes: tiles of results stay in registers while a sum runs over
all taps that lie on the image, lines are padded in width alone, and what is to be done is listed
once for shapes and kept. Images [batch, depth, height, width, channels], single precision. Every
function returns ``False`` when it leaves the work to `conv`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.kernels import direct_conv
from dataflow.kernels.blas import num_threads
from dataflow.kernels.direct_conv import places_by_taps
from dataflow.kernels.direct_conv_common import (
    PIECES_EACH,
    SHARED_PRODUCT,
    SHARING_THREADS,
    Lines,
    addresses,
    is_worthwhile,
    kept,
)
from dataflow.kernels.jit import implicit_gemm
from dataflow.kernels.jit.avx512_microkernel import NUMBER_BYTES
from dataflow.kernels.jit.implicit_gemm import RIGHT, Axis, Panel, Steps, panels_of
from dataflow.windows import Window

#: Bytes of packed filters that a tile reads at a time.
_FILTER_BYTES = 3 << 17
#: Bytes of images and gradients that a tile of a filter's gradient adds up at a time.
_CHUNK_BYTES = 1 << 18
_ROWS_TOGETHER = 24

Windows = tuple[Window, Window, Window]


def _segments(left: list[int], right: list[int], left_end: int, right_end: int) -> Any:
    """Distances after segments that begin at these places; a segment covers ``..._end`` bytes."""
    following = zip(itertools.pairwise(left), itertools.pairwise(right), strict=True)
    found = [(b - a - left_end, d - c - right_end) for (a, b), (c, d) in following]
    return (*found, (0, 0))


def _is_empty(windows: Windows, size: int) -> bool:
    return not size or any(w.count == 0 for w in windows)


def forward(x: Any, filters: Any, windows: Windows, out: Any) -> bool:
    """``out`` [batch, places, places, places, outputs] of x, both filters and x contiguous."""
    outputs = filters.shape[-1]
    multiplications = out.size // max(1, outputs) * filters.size
    if not is_worthwhile(multiplications, outputs) or _is_empty(windows, x.size):
        return False
    code = implicit_gemm.code.get()
    if code is None:
        return False
    key = ("forward", x.shape, filters.shape, windows, out.strides)
    found: _Forward = kept(
        key, lambda: _Forward(code.tiles, x.shape, filters, windows, out.strides)
    )
    if found.has_empty:
        out.fill(0)
    direct_conv.run_listed(code.walk, found, x, filters, out)
    return True


class _Forward:
    """What is to be done for a convolution."""

    def __init__(
        self,
        tiles: dict[tuple[int, int], int],
        x_shape: tuple[int, ...],
        filters: Any,
        windows: Windows,
        out_strides: tuple[int, ...],
    ) -> None:
        self.depth, self.height, self.width = windows
        self.taps_high, self.taps_wide, self.channels, outputs = filters.shape[1:]
        self.out_strides = out_strides
        batch, planes = x_shape[:2]
        self.lines = Lines((batch * planes, *x_shape[2:]), self.width)
        self.panels = panels_of(outputs)
        together = filters.reshape(-1, *filters.shape[2:])
        packed = direct_conv.packing(tiles, self.panels, together)
        self.packing, self.panel_starts, self.panels_bytes = packed
        self.steps = Steps(tiles)
        groups = [list(places_by_taps(w)) for w in (self.depth, self.height)]
        self.groups = [[g for g in axis if g[3]] for axis in groups]
        #: Some places are met by no tap.
        self.has_empty = any(not g[3] for axis in groups for g in axis)
        places = self.depth.count * self.height.count * self.width.count
        multiplications = batch * places * filters.size
        shared = multiplications >= SHARED_PRODUCT
        if filters.size > np.prod(x_shape):  # large filters are read once: threads take outputs
            self.lines.pad(self.packing, range(batch * planes), range(self.lines.height))
            for i, image in itertools.product(range(len(self.panels)), range(batch)):
                self._tiles(i, image, range(self.depth.count))
                if image == batch - 1:
                    self.steps.end_piece()
            return
        if not shared:
            pieces = [[(image, range(self.depth.count)) for image in range(batch)]]
        elif batch >= num_threads() * PIECES_EACH // 2:
            pieces = [[(image, range(self.depth.count))] for image in range(batch)]
        else:
            parts = min(-(-num_threads() * PIECES_EACH // batch), self.depth.count)
            ends = [self.depth.count * i // parts for i in range(parts + 1)]
            pieces = [
                [(image, range(a, b))]
                for image in range(batch)
                for a, b in itertools.pairwise(ends)
            ]
        for piece in pieces:
            for image, places_deep in piece:
                self._pad(image, planes, places_deep)
                for i in range(len(self.panels)):
                    self._tiles(i, image, places_deep)
            self.steps.end_piece()

    def _pad(self, image: int, planes: int, places: range) -> None:
        """Pads the planes that these places see."""
        d = self.depth
        first = max(0, places.start * d.stride - d.before)
        last = min(d.size, (places.stop - 1) * d.stride - d.before + d.extent)
        if last > first:
            seen = range(image * planes + first, image * planes + last)
            self.lines.pad(self.steps, seen, range(self.lines.height))

    def _tiles(self, number: int, image: int, places: range) -> None:
        """One panel's outputs for some places in depth of one image."""
        panel, width, height, depth = self.panels[number], self.width, self.height, self.depth
        lines = self.lines
        place_bytes, plane_bytes = lines.place_bytes, lines.image_bytes
        if width.dilation == 1:  # neighbouring taps and their channels are one segment
            taps_apart, count = 1, self.taps_wide * self.channels
        else:
            taps_apart, count = self.taps_wide, self.channels
        tap_bytes = self.taps_wide * self.channels * panel.row_bytes
        at_once = max(1, _FILTER_BYTES // tap_bytes)
        for (z0, zs, z_tap, z_taps), (y0, ys, y_tap, y_taps) in itertools.product(*self.groups):
            begin, end = max(z0, places.start), min(z0 + zs, places.stop)
            if end <= begin:
                continue
            taps = list(
                itertools.product(range(z_tap, z_tap + z_taps), range(y_tap, y_tap + y_taps))
            )
            for start in range(0, len(taps), at_once):
                left, right = [], []
                for z, y in taps[start : start + at_once]:
                    plane = begin * depth.stride - depth.before + z * depth.dilation
                    line = y0 * height.stride - height.before + y * height.dilation
                    for x in range(taps_apart):
                        left.append(
                            (image * depth.size + plane) * plane_bytes
                            + line * lines.line_bytes
                            + x * width.dilation * place_bytes
                        )
                        right.append(
                            self.panel_starts[number]
                            + (z * self.taps_high + y) * tap_bytes
                            + x * count * panel.row_bytes
                        )
                ends = count * NUMBER_BYTES, count * panel.row_bytes
                self.steps.tiles(
                    width.count,
                    panel,
                    left=(lines.array, left[0]),
                    right=(RIGHT, right[0]),
                    out=image * self.out_strides[0]
                    + begin * self.out_strides[1]
                    + y0 * self.out_strides[2]
                    + panel.first * NUMBER_BYTES,
                    row=width.stride * place_bytes,
                    step=NUMBER_BYTES,
                    right_step=panel.row_bytes,
                    out_row=self.out_strides[3],
                    count=count,
                    segments=_segments(left, right, *ends),
                    adds=start > 0,
                    axes=[
                        Axis(end - begin, depth.stride * plane_bytes, self.out_strides[1]),
                        Axis(ys, height.stride * lines.line_bytes, self.out_strides[2]),
                    ],
                )


def input_gradient(filters: Any, grad: Any, windows: Windows, out: Any) -> bool:
    """``out`` [batch, depth, height, width, channels], which is zero so far.

    As `direct_conv.input_gradient`: a convolution with the filters turned round for each phase.
    """
    along = [direct_conv.phases(w) for w in windows]
    if any(phases is None for phases in along):
        return False
    turned = filters.swapaxes(3, 4)
    for deep, high, wide in itertools.product(*[phases or [] for phases in along]):
        taps = np.ascontiguousarray(turned[deep.taps, high.taps, wide.taps])
        target = out[:, deep.at, high.at, wide.at]
        if not forward(grad, taps, (deep.window, high.window, wide.window), target):
            out.fill(0)  # of the phases before
            return False
    return True


def filter_gradient(x: Any, grad: Any, windows: Windows, out: Any) -> bool:
    """Fills ``out`` [taps, taps, taps, channels, outputs], from contiguous arrays."""
    outputs = out.shape[-1]
    multiplications = grad.size // max(1, outputs) * out.size
    if not is_worthwhile(multiplications, outputs) or _is_empty(windows, x.size):
        return False
    code = implicit_gemm.code.get()
    if code is None:
        return False

    def make() -> _FilterGradient:
        return _FilterGradient(code.tiles, x.shape, out.shape, windows)

    found: _FilterGradient = kept(("filter", x.shape, out.shape, windows), make)
    totals = np.empty((found.shares, *out.shape), out.dtype) if found.shares > 1 else out
    if found.has_unmet:
        totals.fill(0)
    padded = found.lines.scratch()  # (kept until the end)
    arrays = addresses(x, padded, None, grad, totals)
    found.padding.run(code.walk, arrays)
    found.steps.run(code.walk, arrays)
    if found.shares > 1:  # in their order, whichever was ready first
        np.add.reduce(totals, 0, out=out)
    return True


class _FilterGradient:
    """What is to be done for a filter's gradient.

    Threads take shares of the planes of gradients, each with a total of its own, or, where filters
    are large, taps and outputs.
    """

    def __init__(
        self,
        tiles: dict[tuple[int, int], int],
        x_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        windows: Windows,
    ) -> None:
        self.depth, self.height, self.width = windows
        self.taps_wide, self.channels, self.outputs = out_shape[2:]
        batch, planes = x_shape[:2]
        self.lines = Lines((batch * planes, *x_shape[2:]), self.width)
        self.panels = panels_of(self.outputs)
        self.steps, self.padding = Steps(tiles), Steps(tiles)
        self.grad_line_bytes = self.width.count * self.outputs * NUMBER_BYTES
        self.grad_plane_bytes = self.height.count * self.grad_line_bytes
        self.filter_bytes = int(np.prod(out_shape)) * NUMBER_BYTES
        #: (image, place in depth) of all planes of the gradient
        self.places = list(itertools.product(range(batch), range(self.depth.count)))
        self.lines.pad(self.padding, range(batch * planes), range(self.lines.height))
        both = self.lines.image_bytes + self.grad_plane_bytes
        numbers = len(self.places) * self.height.count * self.width.count
        threads = SHARING_THREADS  # the same on all machines: shares decide how the sums round
        if numbers * self.filter_bytes // NUMBER_BYTES < SHARED_PRODUCT:
            threads = 1
        # Totals are to be small beside what they are made of.
        shares = min(threads * PIECES_EACH, len(self.places) * both // (2 * self.filter_bytes))
        shares = min(shares - shares % threads, len(self.places)) if threads > 1 else 1
        self.shares = shares
        size = max(1, _CHUNK_BYTES // both)
        met = set()
        if shares:
            ends = [len(self.places) * i // shares for i in range(shares + 1)]
            for share, (first, last) in enumerate(itertools.pairwise(ends)):
                for begin in range(first, last, size):
                    chunk = self.places[begin : min(begin + size, last)]
                    for part in self._parts(1):
                        to = (share, *part[:2], part[2].first)
                        if self._tiles(*part, chunk, share, to in met):
                            met.add(to)
                self.steps.end_piece()
        else:
            for part in self._parts(threads * PIECES_EACH):
                begun = False
                for begin in range(0, len(self.places), size):
                    begun |= self._tiles(*part, self.places[begin : begin + size], 0, begun)
                if begun:
                    met.add((0, *part[:2], part[2].first))
                self.steps.end_piece()
        #: Some taps never lie on an image.
        wanted = max(1, shares) * self.depth.taps * self.height.taps * len(self.panels)
        self.has_unmet = len(met) < wanted

    def _parts(self, least: int) -> Iterator[tuple[int, int, Panel, range]]:
        """(tap in depth, tap in height, panel of outputs, rows) for all of the filter."""
        rows = self.channels * (self.taps_wide if self.width.dilation == 1 else 1)
        taps = range(self.depth.taps), range(self.height.taps)
        parts = -(-least // (len(taps[0]) * len(taps[1]) * len(self.panels)))
        size = -(-rows // parts)
        size = -(-size // _ROWS_TOGETHER) * _ROWS_TOGETHER
        for z, y, panel in itertools.product(*taps, self.panels):
            for first in range(0, rows, size):
                yield z, y, panel, range(first, min(first + size, rows))

    def _tiles(
        self,
        z: int,
        y: int,
        panel: Panel,
        rows: range,
        places: list[tuple[int, int]],
        share: int,
        adds: bool,
    ) -> bool:
        """What some planes give to a part of the filter; ``False`` if nothing."""
        depth, height, width, lines = self.depth, self.height, self.width, self.lines
        inside = height.inside(y)[0]
        left, right = [], []
        for image, place in places:
            plane = place * depth.stride - depth.before + z * depth.dilation
            if not 0 <= plane < depth.size:
                continue
            for high in range(inside.start, inside.stop):
                line = high * height.stride - height.before + y * height.dilation
                left.append(
                    (image * depth.size + plane) * lines.image_bytes + line * lines.line_bytes
                )
                right.append(
                    (image * depth.count + place) * self.grad_plane_bytes
                    + high * self.grad_line_bytes
                )
        if not left:
            return False
        # Neighbouring taps and their channels lie side by side in the input: they are one axis.
        together = self.taps_wide if width.dilation == 1 else 1
        row_bytes, step = self.outputs * NUMBER_BYTES, width.stride * lines.place_bytes
        tap = (z * height.taps + y) * self.taps_wide * self.channels
        self.steps.tiles(
            len(rows),
            panel,
            left=(lines.array, left[0] + rows.start * NUMBER_BYTES),
            right=(RIGHT, right[0] + panel.first * NUMBER_BYTES),
            out=share * self.filter_bytes
            + (tap + rows.start) * row_bytes
            + panel.first * NUMBER_BYTES,
            row=NUMBER_BYTES,
            step=step,
            right_step=row_bytes,
            out_row=row_bytes,
            count=width.count,
            segments=_segments(left, right, width.count * step, width.count * row_bytes),
            adds=adds,
            axes=[
                Axis(
                    self.taps_wide // together,
                    width.dilation * lines.place_bytes,
                    self.channels * row_bytes,
                )
            ],
        )
        return True
