"""Convolutions without expanded rows: tiles of results in registers, by `jit.implicit_gemm`.

Used where the processor and llvmlite allow it and the code has been compiled; `conv` has the form
for everything else. Every function here returns ``False`` when it leaves the work to that one.
Padding costs nothing: the taps that fall outside are left out, by groups of places that have the
same taps inside.

What is to be done for shapes is listed once, in pieces for the threads, and the list kept.

Problems have two spatial axes (a depth of one), channels last, in single precision. The gradient of
the filters is in `direct_filter_gradient`.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels import direct_few_outputs
from dataflow.kernels.array_types import Array
from dataflow.kernels.blas import num_threads
from dataflow.kernels.conv_geometry import leave_out, phases, places_by_taps
from dataflow.kernels.direct_conv_common import (
    PIECES_EACH,
    SHARED_PRODUCT,
    addresses,
    aligned,
    is_trivial,
    is_worthwhile,
    kept,
    packing,
)
from dataflow.kernels.jit import implicit_gemm
from dataflow.kernels.jit.implicit_gemm import IMAGE, RIGHT, Axis, Code, Steps, panels_of
from dataflow.kernels.jit.isa import BIAS, NEON, NUMBER_BYTES, PLAIN, RELU
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.windows import Window

#: Bytes of input and output of a piece of the batch: they stay in the cache of one core.
_PIECE_BYTES = 1 << 19
#: Bytes of packed filters that a tile reads at a time.
_FILTER_BYTES = 3 << 17


_biased = NativeUfunc(lambda xp, x, bias: xp.add(x, bias))
_rectified = NativeUfunc(lambda xp, x, bias: xp.maximum(xp.add(x, bias), 0))


class Ending(NamedTuple):
    """What a convolution ends with: biases [outputs], float32, and perhaps the rectifier."""

    bias: Array
    relu: bool

    def apply(self, sums: Any) -> Any:
        """The result for the sums [..., outputs], which may be overwritten."""
        function = _rectified if self.relu else _biased
        return function(np, sums, self.bias, reused=0)


def _in_images(batch: int, item_bytes: int, pieces: int) -> list[range]:
    """The batch in equal parts, at least so many where there are as many images."""
    size = max(1, _PIECE_BYTES // max(item_bytes, 1))
    count = min(batch, max(-(-batch // size), pieces))
    if count > num_threads():  # as many for each thread
        count = min(batch, -(-count // num_threads()) * num_threads())
    ends = [batch * i // count for i in range(count + 1)]
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def forward(
    x: Array,
    filters: Array,
    height: Window,
    width: Window,
    out: Any,
    whole: int | None = None,
    ending: Ending | None = None,
) -> bool:
    """``out`` [batch, places, places, outputs] of x [batch, height, width, channels].

    Only x, the last axis of ``out`` and one of the last two of ``filters`` must be contiguous.
    ``whole``: how many multiplications there are in all, where this is one of several parts. An
    ``ending`` is left to the caller where `can_end` says so.
    """
    taps_high, taps_wide, channels, outputs = filters.shape
    if direct_few_outputs.has_few(channels, outputs, height, width):
        multiplications = whole or out.size * taps_high * taps_wide * channels
        return is_worthwhile(multiplications) and direct_few_outputs.forward(
            x, filters, height, width, out
        )
    finish = PLAIN if ending is None else RELU if ending.relu else BIAS
    found = listed(x, filters, height, width, out, whole, finish)
    if found is None:
        return False
    for index in found.empty:
        out[index] = 0 if ending is None else ending.apply(np.zeros_like(ending.bias))
    run_listed(found, x, filters, out, None if ending is None else ending.bias)
    return True


def listed(
    x: Array,
    filters: Array,
    height: Window,
    width: Window,
    out: Any,
    whole: int | None = None,
    finish: int = PLAIN,
) -> Listed | None:
    """What is to be done for `forward`, by tiles; ``None`` where there is another way, as for few outputs."""
    taps_high, taps_wide, channels, outputs = filters.shape
    multiplications = whole or out.size * taps_high * taps_wide * channels
    if direct_few_outputs.has_few(channels, outputs, height, width):
        return None
    if not is_worthwhile(multiplications, outputs) or NUMBER_BYTES not in filters.strides[2:]:
        return None
    code = implicit_gemm.code.get()
    if code is None:
        return None
    key = (
        *("forward", _PIECE_BYTES, x.shape, filters.shape, filters.strides),
        *(height, width, out.strides, finish),
    )

    def make() -> Listed:
        return Listed(code, x.shape, filters, height, width, out.strides, finish)

    found: Listed = kept(key, make)
    return found


def can_end(channels: int, outputs: int, height: Window, width: Window) -> bool:
    """True where `forward` adds a bias and rectifies: where its tiles can."""
    code = implicit_gemm.code.get()
    few = direct_few_outputs.has_few(channels, outputs, height, width)
    return code is not None and code.isa is not NEON and not few


def run_listed(found: Any, x: Array, filters: Array, out: Any, bias: Array | None = None) -> None:
    """What was listed for a convolution: its filters are packed, and its tiles made."""
    panels_bytes = found.panels_bytes
    if bias is None:
        panels = aligned(panels_bytes)
    else:  # the biases come after the panels
        panels = aligned(panels_bytes + bias.nbytes)
        panels[panels_bytes : panels_bytes + bias.nbytes] = bias.view(np.uint8)
    arrays = addresses(x, None, filters, panels, out)
    found.packing.run(arrays)
    found.steps.run(arrays)


class Listed:
    """What is to be done for a convolution."""

    def __init__(
        self,
        code: Code,
        x_shape: tuple[int, ...],
        filters: Array,
        height: Window,
        width: Window,
        out_strides: tuple[int, ...],
        finish: int = PLAIN,
    ) -> None:
        self.finish = finish
        along_width = 2  # the axis of ``out``
        if is_trivial(width):  # the longer axis is that of the tiles
            x_shape = (x_shape[0], 1, x_shape[1], x_shape[3])
            filters = filters.swapaxes(0, 1)
            out_strides = (out_strides[0], 0, out_strides[1], out_strides[3])
            height, width = width, height
            along_width = 1
        self.height, self.width = height, width
        self.taps_wide, self.channels, outputs = filters.shape[1:]
        self.out_strides = out_strides
        self.place_bytes = self.channels * NUMBER_BYTES
        self.line_bytes = x_shape[2] * self.place_bytes
        self.image_bytes = x_shape[1] * self.line_bytes
        along = [list(places_by_taps(w)) for w in (height, width)]
        self.groups, self.wide_groups = ([g for g in groups if g[3]] for groups in along)
        #: Places that no tap meets, as indices.
        self.empty = [
            (*[slice(None)] * axis, slice(first, first + length))
            for axis, groups in zip((1, along_width), along, strict=True)
            for first, length, _, taps in groups
            if not taps
        ]
        self.panels = panels_of(code.isa, outputs)
        self.most_rows = code.isa.most_rows
        self.packing, self.panel_starts, self.panels_bytes = packing(code, self.panels, filters)
        self.steps = Steps(code)
        batch = x_shape[0]
        places = height.count * width.count
        multiplications = batch * places * filters.size
        pieces = num_threads() * PIECES_EACH if multiplications >= SHARED_PRODUCT else 1
        image_bytes = self.image_bytes + places * outputs * NUMBER_BYTES
        if filters.size > x_shape[0] * x_shape[1] * x_shape[2] * x_shape[3]:
            # Large filters are read once: threads take outputs.
            for i in range(len(self.panels)):
                self._tiles(i, range(batch), range(height.count))
                self.steps.end_piece()
            return
        parts = max(1, min(pieces // batch, height.count)) if pieces > 1 else 1
        ends = [height.count * i // parts for i in range(parts + 1)]
        for images in _in_images(batch, image_bytes, pieces):
            for first, last in itertools.pairwise(ends):
                for i in range(len(self.panels)):
                    self._tiles(i, images, range(first, last))
                self.steps.end_piece()

    def _tiles(self, number: int, images: range, places: range) -> None:
        """One panel's outputs for some images and some places in height."""
        tap_bytes = self.taps_wide * self.channels * self.panels[number].row_bytes
        at_once = max(1, _FILTER_BYTES // tap_bytes)
        for first, length, tap, taps in self.groups:
            begin, end = max(first, places.start), min(first + length, places.stop)
            if end <= begin:
                continue
            for start in range(tap, tap + taps, at_once):
                here = range(start, min(start + at_once, tap + taps))
                finish = self.finish if here.stop == tap + taps else PLAIN
                for wide in self.wide_groups:
                    self._group(number, images, range(begin, end), here, start > tap, wide, finish)

    def _group(
        self,
        number: int,
        images: range,
        places: range,
        taps: range,
        adds: bool,
        wide: tuple[int, int, int, int],
        finish: int,
    ) -> None:
        """Places that have the same taps inside: ``places`` and ``taps`` in height, ``wide`` as in `places_by_taps`."""
        panel, width, height = self.panels[number], self.width, self.height
        place_bytes, line_bytes = self.place_bytes, self.line_bytes
        first, length, tap, taps_wide = wide
        if width.dilation == 1:  # neighboring taps and their channels are one segment
            segments_wide, count = 1, taps_wide * self.channels
        else:
            segments_wide, count = taps_wide, self.channels
        tap_bytes = self.channels * panel.row_bytes
        turn = width.dilation * place_bytes - count * NUMBER_BYTES
        line_turn = height.dilation * line_bytes - count * NUMBER_BYTES
        line_turn -= (segments_wide - 1) * width.dilation * place_bytes
        left_out = (self.taps_wide - taps_wide) * tap_bytes
        segments = [*[(turn, 0)] * (segments_wide - 1), (line_turn, left_out)] * len(taps)
        line = places.start * height.stride - height.before + taps.start * height.dilation
        column = first * width.stride - width.before + tap * width.dilation
        along_width = Axis(length, width.stride * place_bytes, self.out_strides[2])
        along_height = Axis(len(places), height.stride * line_bytes, self.out_strides[1])
        rows, axis = along_width, along_height
        if length < min(len(places), self.most_rows[panel.vectors - 1]):
            rows, axis = (
                along_height,
                along_width,
            )  # a tile of the ends of lines, one below the other
        self.steps.tiles(
            rows.length,
            panel,
            left=(
                IMAGE,
                images.start * self.image_bytes + line * line_bytes + column * place_bytes,
            ),
            right=(
                RIGHT,
                self.panel_starts[number] + (taps.start * self.taps_wide + tap) * tap_bytes,
            ),
            out=images.start * self.out_strides[0]
            + places.start * self.out_strides[1]
            + first * self.out_strides[2]
            + panel.first * NUMBER_BYTES,
            row=rows.left,
            step=NUMBER_BYTES,
            right_step=panel.row_bytes,
            out_row=rows.out,
            count=count,
            segments=tuple(segments),
            adds=adds,
            axes=[Axis(len(images), self.image_bytes, self.out_strides[0]), axis],
            ends=finish,
            bias=self.panels_bytes + panel.first * NUMBER_BYTES,
        )


def input_gradient(filters: Array, grad: Array, height: Window, width: Window, out: Any) -> bool:
    """Fills ``out`` [batch, height, width, channels]; where it returns ``False``, ``out`` is not defined.

    The convolution of the gradient with the filters turned round. With a stride there is one for
    each phase: every stride-th element of an axis has met every stride-th tap.
    """
    parts = gradient_parts(filters, height, width, out)
    if parts is None:
        return False
    if leave_out(height) or leave_out(width):
        out.fill(0)
    whole = grad.size * filters.size // filters.shape[3]
    return all(forward(grad, *part, whole) for part in parts)


def gradient_parts(
    filters: Array, height: Window, width: Window, out: Any
) -> list[tuple[Array, Window, Window, Any]] | None:
    """The filters, windows and result of each convolution of the gradient that `input_gradient` is made of."""
    along_height, along_width = phases(height), phases(width)
    if along_height is None or along_width is None:
        return None
    turned = filters.transpose(0, 1, 3, 2)
    return [
        (turned[high.taps, wide.taps], high.window, wide.window, out[:, high.at, wide.at])
        for high, wide in itertools.product(along_height, along_width)
    ]
