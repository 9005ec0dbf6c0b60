"""Convolutions to few outputs: the last one of a network that draws images, and gradients of images.

With one output for each place a tile would leave most of its vectors empty. Here the outputs of all taps are the
columns of one product, of every place of the input; then what the taps gave is added up at each place of the output
(`jit.tap_sums`). Lines of one piece share a scratch array that stays in the cache.

The gradient of the filters is that of a convolution that has the two images exchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.blas import num_threads
from dataflow.kernels.conv_geometry import places_by_taps
from dataflow.kernels.direct_conv_common import (
    PIECES_EACH,
    SHARED_PRODUCT,
    addresses,
    aligned,
    kept,
    packing,
)
from dataflow.kernels.jit import implicit_gemm
from dataflow.kernels.jit.implicit_gemm import (
    IMAGE,
    NUM_ARRAYS,
    OUT,
    PADDED,
    RIGHT,
    Axis,
    Code,
    Steps,
    panels_of,
)
from dataflow.kernels.jit.isa import NUMBER_BYTES
from dataflow.kernels.large_arrays import empty
from dataflow.windows import Window

#: The most outputs, and the fewest channels for each of them; the same for all processors, as the order of sums
#: depends on it.
_MOST_OUTPUTS, _CHANNELS_EACH = 4, 4
#: Bytes of products that a piece adds up at a time.
_CHUNK_BYTES = 1 << 17


def has_few(channels: int, outputs: int, height: Window, width: Window) -> bool:
    """True for a convolution that products of all taps are quicker at; every place is to be one of the output, too."""
    return (
        outputs <= _MOST_OUTPUTS
        and channels >= _CHANNELS_EACH * outputs
        and height.taps * width.taps > 1
        and height.stride == width.stride == 1
    )


def exchanged(w: Window) -> Window | None:
    """The window of the gradient of filters with the two images exchanged; ``None`` where there is none.

    Its taps are in the opposite order.
    """
    before = w.extent - 1 - w.before
    if before < 0 or w.stride > 1:
        return None
    return Window(w.count, w.taps, 1, w.dilation, before, 0, w.size)


def forward(x: Array, filters: Array, height: Window, width: Window, out: Any) -> bool:
    """``out`` as by `direct_conv.forward`, for what `has_few`."""
    code = implicit_gemm.code.get()
    if code is None:
        return False
    columns = np.ascontiguousarray(filters.transpose(2, 0, 1, 3))
    columns = columns.reshape(1, 1, x.shape[3], -1)
    key = ("few", _CHUNK_BYTES, x.shape, filters.shape, height, width, out.strides)

    def make() -> _FewOutputs:
        return _FewOutputs(code, x.shape, columns, height, width, out.strides)

    found: _FewOutputs = kept(key, make)
    for index in found.empty:
        out[index] = 0
    panels = aligned(found.panels_bytes)
    products = empty((found.scratch_bytes,), np.uint8)
    arrays = addresses(x, products, columns, panels, out)
    found.packing.run(arrays)
    found.steps.run(arrays)
    return True


class _FewOutputs:
    """What is to be done for such a convolution."""

    def __init__(
        self,
        code: Code,
        x_shape: tuple[int, ...],
        columns: Array,
        height: Window,
        width: Window,
        out_strides: tuple[int, ...],
    ) -> None:
        self.height, self.width, self.out_strides = height, width, out_strides
        batch, _, _, channels = x_shape
        self.place_bytes = channels * NUMBER_BYTES
        #: Bytes of the products of a place, and of one tap of it.
        self.product_bytes = columns.shape[3] * NUMBER_BYTES
        self.tap_bytes = self.product_bytes // (height.taps * width.taps)
        along = [list(places_by_taps(w)) for w in (height, width)]
        self.groups = [[g for g in groups if g[3]] for groups in along]
        #: Places that no tap meets, as indices.
        self.empty = [
            (*[slice(None)] * axis, slice(first, first + length))
            for axis, groups in enumerate(along, 1)
            for first, length, _, taps in groups
            if not taps
        ]
        self.panels = panels_of(code.isa, columns.shape[3])
        self.packing, self.panel_starts, self.panels_bytes = packing(code, self.panels, columns)
        self.steps = Steps(code)
        chunks = list(self._chunks(batch))
        multiplications = batch * height.size * width.size * columns.size
        pieces = num_threads() * PIECES_EACH if multiplications >= SHARED_PRODUCT else 1
        ends = [len(chunks) * i // pieces for i in range(pieces + 1)]
        each = max((self._scratch(*chunk) for chunk in chunks), default=0)
        for i, (first, last) in enumerate(itertools.pairwise(ends)):
            # By what is the same, the steps that were written, and their first image.
            written: dict[tuple[int, range], tuple[int, int, int]] = {}
            for images, places in chunks[first:last]:
                kind = len(images), places
                if kind in written:
                    begin, end, before = written[kind]
                    self.steps.repeat(begin, end, self._moved(images.start - before))
                    continue
                begin = self.steps.count
                self._chunk(images, places, i * each)
                written[kind] = begin, self.steps.count, images.start
            self.steps.end_piece()
        self.scratch_bytes = pieces * each

    def _chunks(self, batch: int) -> Iterator[tuple[range, range]]:
        """Images, and places in height, that are added up at a time."""
        line = self.width.size * self.product_bytes
        count = self.height.count
        images = _CHUNK_BYTES // max(1, line * self.height.size)
        if images:
            for first in range(0, batch, images):
                yield range(first, min(first + images, batch)), range(count)
            return
        # Lines that two neighbors read are multiplied twice.
        lines = max(4 * self.height.extent, _CHUNK_BYTES // max(1, line))
        for image in range(batch):
            for first in range(0, count, lines):
                yield range(image, image + 1), range(first, min(first + lines, count))

    def _lines(self, places: range) -> range:
        """The lines of an image that these places see."""
        h = self.height
        first = max(0, places.start - h.before)
        return range(first, max(first, min(h.size, places.stop - 1 - h.before + h.extent)))

    def _scratch(self, images: range, places: range) -> int:
        line_bytes: int = self.width.size * self.product_bytes
        return len(images) * len(self._lines(places)) * line_bytes

    def _moved(self, images: int) -> list[int]:
        """By how many bytes so many ``images`` lie further on in each array."""
        moved = [0] * NUM_ARRAYS
        moved[IMAGE] = images * self.height.size * self.width.size * self.place_bytes
        moved[OUT] = images * self.out_strides[0]
        return moved

    def _chunk(self, images: range, places: range, scratch: int) -> None:
        """The products of some lines, and what is made of them."""
        lines, width = self._lines(places), self.width.size
        if not lines:
            return
        start = (images.start * self.height.size + lines.start) * width * self.place_bytes
        for panel, right in zip(self.panels, self.panel_starts, strict=True):
            self.steps.tiles(
                len(images) * len(lines) * width,
                panel,
                left=(IMAGE, start),
                right=(RIGHT, right),
                out=scratch + panel.first * NUMBER_BYTES,
                to=PADDED,
                row=self.place_bytes,
                step=NUMBER_BYTES,
                right_step=panel.row_bytes,
                out_row=self.product_bytes,
                count=self.place_bytes // NUMBER_BYTES,
                segments=((0, 0),),
                adds=False,
            )
        line_bytes = width * self.product_bytes
        image = Axis(len(images), len(lines) * line_bytes, self.out_strides[0])
        out = images.start * self.out_strides[0]
        for high, wide in itertools.product(*self.groups):
            begin, end = max(high[0], places.start), min(high[0] + high[1], places.stop)
            if end <= begin:
                continue
            (_, _, tap_high, taps_high), (first, length, tap_wide, taps_wide) = high, wide
            line = begin - self.height.before - lines.start
            distances = [
                (line + y * self.height.dilation) * line_bytes
                + (first - self.width.before + x * self.width.dilation) * self.product_bytes
                + (y * self.width.taps + x) * self.tap_bytes
                for y in range(tap_high, tap_high + taps_high)
                for x in range(tap_wide, tap_wide + taps_wide)
            ]
            self.steps.sum_taps(
                scratch + distances[0],
                out + begin * self.out_strides[1] + first * self.out_strides[2],
                [
                    image,
                    Axis(end - begin, line_bytes, self.out_strides[1]),
                    Axis(length, self.product_bytes, self.out_strides[2]),
                ],
                self.tap_bytes // NUMBER_BYTES,
                tuple(d - distances[0] for d in distances),
            )
