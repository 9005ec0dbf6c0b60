"""Convolutions without expanded rows: tiles of results in registers, by `fused.products`.

Used where the processor and llvmlite allow it and the code has been compiled; `conv` has the form
for everything else. Every function here returns ``False`` when it leaves the work to that one.
Padding in height costs nothing: the taps that fall outside are left out, by groups of places that
have the same taps inside. Only rows are padded, in a copy, when windows reach beyond their ends.

Problems have two spatial axes (a depth of one), channels last, in single precision.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.blas import num_threads
from dataflow.kernels.fused.native import address_of
from dataflow.kernels.fused.products import (
    LANES,
    Axis,
    ProductFunction,
    Tile,
    product,
    split_rows,
    vectors_of,
)
from dataflow.kernels.parallel import add_up_pieces, run_pieces
from dataflow.windows import Window

#: Below this many multiplications calls cost more than they save.
_SMALL_PRODUCT = 1 << 20
#: Bytes of input and output of a piece of the batch: they stay in the cache of one core.
_PIECE_BYTES = 1 << 19
#: Bytes that a tile of a filter's gradient adds up at a time; every tile reads all of them again.
_CHUNK_BYTES = 1 << 19


class _Strip(NamedTuple):
    """Rows of tiles that one function computes, from row ``first`` on."""

    first: int
    rows: int
    tiles: int
    function: ProductFunction


def _strips(rows: int, vectors: int, *tile: Any) -> list[_Strip] | None:
    """The functions for so many rows, or ``None`` while one of them is not compiled."""
    strips, first, ready = [], 0, True
    for each, tiles in split_rows(rows, vectors):
        function = product(Tile(each, vectors, *tile)).get()
        if function is None:
            ready = False
        else:
            strips.append(_Strip(first, each, tiles, function))
        first += each * tiles
    return strips if ready else None


class _Rows:
    """The input, with its rows padded where windows reach beyond them."""

    def __init__(self, x: Any, width: Window) -> None:
        self.x, self.width = x, width
        needed = (width.count - 1) * width.stride + width.extent
        self.length = width.size
        if width.before or needed > width.size:
            self.length = max(needed, width.before + width.size)
        self.row_bytes = self.length * x.shape[3] * x.itemsize
        self.image_bytes = x.shape[1] * self.row_bytes

    def piece(self, part: slice, scratch: list[Any]) -> Any:
        """Some of the images, contiguous; ``scratch`` keeps the array for the next piece."""
        x = self.x[part]
        if self.length == self.width.size:
            return x
        shape = (x.shape[0], x.shape[1], self.length, x.shape[3])
        if not scratch or scratch[0].shape[0] < shape[0]:
            scratch[:] = [np.zeros(shape, x.dtype)]  # the padding stays zero
        padded = scratch[0][: shape[0]]
        padded[:, :, self.width.before : self.width.before + self.width.size] = x
        return padded


def _pieces(batch: int, item_bytes: int) -> list[slice]:
    size = max(1, _PIECE_BYTES // max(item_bytes, 1))
    count = -(-batch // size)
    if batch >= num_threads():  # as many for each thread
        count = -(-count // num_threads()) * num_threads()
    size = -(-batch // min(count, batch))
    return [slice(i, min(i + size, batch)) for i in range(0, batch, size)]


def _groups(w: Window) -> Iterator[tuple[int, int, int, int]]:
    """(first place, places, first tap, taps): places that have the same taps on the axis."""
    inside = []
    for place in range(w.count):
        start = place * w.stride - w.before
        taps = [t for t in range(w.taps) if 0 <= start + t * w.dilation < w.size]
        inside.append((taps[0], len(taps)) if taps else (0, 0))
    first = 0
    for place in range(1, w.count + 1):
        if place == w.count or inside[place] != inside[first]:
            yield first, place - first, *inside[first]
            first = place


def forward(x: Any, filters: Any, height: Window, width: Window, out: Any) -> bool:
    """``out`` [batch, places, places, outputs] of x [batch, height, width, channels].

    Only the last axis of ``out`` must be contiguous.
    """
    taps_high, taps_wide, channels, outputs = filters.shape
    vectors = vectors_of(outputs)
    if vectors is None or out.size * taps_high * taps_wide * channels < _SMALL_PRODUCT:
        return False
    number = x.itemsize
    block = vectors * LANES
    block_bytes = block * number
    strips = _strips(
        width.count,
        vectors,
        width.stride * channels * number,
        out.strides[2],
        number,
        block_bytes,
        False,
    )
    if strips is None:
        return False
    # The columns of one tile lie together: [blocks, taps, taps, channels, columns].
    panels = np.ascontiguousarray(
        filters.reshape(taps_high, taps_wide, channels, -1, block).transpose(3, 0, 1, 2, 4)
    )
    panel_bytes = panels[0].nbytes
    tap_row_bytes = taps_wide * channels * block_bytes
    rows = _Rows(x, width)
    out_image_bytes, out_row_bytes, out_place_bytes, _ = out.strides
    within = _row_axes(width, channels, number, block_bytes)
    groups = list(_groups(height))

    def make_worker() -> Any:
        scratch: list[Any] = []

        def work(part: slice) -> None:
            piece, target = rows.piece(part, scratch), out[part]
            left, right, to = address_of(piece), address_of(panels), address_of(target)
            for place, places, tap, taps in groups:
                if not taps:
                    target[:, place : place + places] = 0
                    continue
                line = place * height.stride - height.before + tap * height.dilation
                for strip in strips:
                    start = strip.first * width.stride * channels * number
                    strip.function(
                        left + line * rows.row_bytes + start,
                        right + tap * tap_row_bytes,
                        to + place * out_row_bytes + strip.first * out_place_bytes,
                        [
                            Axis(panels.shape[0], 0, panel_bytes, block_bytes),
                            Axis(len(target), rows.image_bytes, 0, out_image_bytes),
                            Axis(places, height.stride * rows.row_bytes, 0, out_row_bytes),
                            Axis(
                                strip.tiles,
                                strip.rows * width.stride * channels * number,
                                0,
                                strip.rows * out_place_bytes,
                            ),
                        ],
                        [
                            Axis(taps, height.dilation * rows.row_bytes, tap_row_bytes),
                            *within,
                        ],
                    )

        return work

    run_pieces(_pieces(len(x), rows.image_bytes + out[0].nbytes), make_worker)
    return True


def _row_axes(width: Window, channels: int, number: int, block_bytes: int) -> Sequence[Axis]:
    """The sums over the taps of a row and their channels; neighbouring taps are one axis."""
    if width.dilation == 1:
        return [Axis(width.taps * channels)]
    return [
        Axis(width.taps, width.dilation * channels * number, channels * block_bytes),
        Axis(channels),
    ]


def input_gradient(filters: Any, grad: Any, height: Window, width: Window, out: Any) -> bool:
    """``out`` [batch, height, width, channels], which is zero so far.

    The convolution of the gradient with the filters turned round. With a stride there is one for
    each phase: every stride-th element of an axis has met every stride-th tap.
    """
    along_height, along_width = _phases(height), _phases(width)
    if along_height is None or along_width is None:
        return False
    turned = filters.transpose(0, 1, 3, 2)
    for high, wide in itertools.product(along_height, along_width):
        taps, target = turned[high.taps, wide.taps], out[:, high.at, wide.at]
        if not forward(grad, taps, high.window, wide.window, target):
            out.fill(0)  # of the phases before
            return False
    return True


class _Phase(NamedTuple):
    """Elements of an axis, the taps that meet them (the last one first), and how."""

    at: slice
    taps: slice
    window: Window


def _phases(w: Window) -> list[_Phase] | None:
    """The phases of an axis that any tap meets; ``None`` where the windows are too irregular."""
    if w.dilation > 1 and w.stride > 1:
        return None
    phases = []
    for first in range(min(w.stride, w.size)):
        tap = (first + w.before) % w.stride
        taps = -(-(w.taps - tap) // w.stride)
        if taps <= 0:
            continue
        shift = (first + w.before - tap) // w.stride
        before = (taps - 1) * w.dilation - shift
        if before < 0:
            return None
        last_tap = tap + (taps - 1) * w.stride
        count = -(-(w.size - first) // w.stride)
        phases.append(
            _Phase(
                slice(first, None, w.stride),
                slice(last_tap, tap - 1 if tap else None, -w.stride),
                Window(w.count, taps, 1, w.dilation, before, 0, count),
            )
        )
    return phases


def filter_gradient(x: Any, grad: Any, height: Window, width: Window, out: Any) -> bool:
    """Adds to ``out`` [taps, taps, channels, outputs]."""
    _, taps_wide, channels, outputs = out.shape
    vectors = vectors_of(outputs)
    if vectors is None or grad.size * out.size // outputs < _SMALL_PRODUCT:
        return False
    number = x.itemsize
    # Neighbouring taps and their channels lie side by side in the input: they are one axis.
    together = taps_wide if width.dilation == 1 else 1
    strips = _strips(
        together * channels,
        vectors,
        number,
        outputs * number,
        width.stride * channels * number,
        outputs * number,
        True,
    )
    if strips is None:
        return False
    rows = _Rows(x, width)
    grad_row_bytes = width.count * outputs * number
    grad_image_bytes = height.count * grad_row_bytes
    block_bytes = vectors * LANES * number
    per_line = height.stride * rows.row_bytes + grad_row_bytes
    pieces = _pieces(len(x), rows.image_bytes + grad_image_bytes)
    images = pieces[0].stop
    step = max(1, _CHUNK_BYTES // (per_line * images))
    chunks = [(i, i + step) for i in range(0, height.count, step)]

    def make_worker(total: Any) -> Any:
        scratch: list[Any] = []

        def work(part: slice) -> None:
            piece, right_piece = rows.piece(part, scratch), grad[part]
            left, right, to = address_of(piece), address_of(right_piece), address_of(total)
            for tap, (first, last) in itertools.product(range(height.taps), chunks):
                inside = height.inside(tap)[0]
                first, last = max(first, inside.start), min(last, inside.stop)
                if last <= first:
                    continue
                line = first * height.stride + tap * height.dilation - height.before
                for strip in strips:
                    strip.function(
                        left + line * rows.row_bytes + strip.first * number,
                        right + first * grad_row_bytes,
                        to + tap * out[0].nbytes + strip.first * outputs * number,
                        [
                            Axis(
                                taps_wide // together,
                                width.dilation * channels * number,
                                0,
                                channels * outputs * number,
                            ),
                            Axis(outputs * number // block_bytes, 0, block_bytes, block_bytes),
                            Axis(
                                strip.tiles,
                                strip.rows * number,
                                0,
                                strip.rows * outputs * number,
                            ),
                        ],
                        [
                            Axis(len(right_piece), rows.image_bytes, grad_image_bytes),
                            Axis(last - first, height.stride * rows.row_bytes, grad_row_bytes),
                            Axis(width.count),
                        ],
                    )

        return work

    add_up_pieces(np, pieces, out, make_worker)
    return True
