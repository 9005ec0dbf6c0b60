"""Depthwise convolutions in machine code (`jit.depthwise_codegen`), in single precision, one output for a channel.

Every function here returns ``False`` or ``None`` where it leaves the work to `depthwise`. Which lines and places have
which taps is listed once for shapes.
"""

from __future__ import annotations

import functools
import itertools
import struct
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.blas import num_threads
from dataflow.kernels.conv_geometry import places_by_taps
from dataflow.kernels.direct_conv_common import PIECES_EACH, SHARED_PRODUCT, SHARING_THREADS, kept
from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source
from dataflow.kernels.jit.depthwise_codegen import FIELDS, GROUP_FIELDS, LINE_FIELDS, source
from dataflow.kernels.jit.isa import NUMBER_BYTES, needed_isa
from dataflow.kernels.jit.thread_pool import run_calls
from dataflow.windows import Window

#: The columns of filters, and the strides, that code is made for. A row of up to five stays in registers with AVX2, of
#: 11 with AVX-512; what does not is read from the stack, which still takes a small part of a pass for each tap.
_MOST_COLUMNS, _MOST_STRIDE = 11, 2
_pack = struct.Struct("q" * len(FIELDS)).pack


@functools.cache
def _code(columns: int, stride: int, of_filters: bool) -> JitEntry[int]:
    """The function for filters with so many columns."""

    def compile_now() -> int:
        (address,) = compile_source(source(needed_isa(), columns, stride, of_filters), "loop")
        return address

    return JitEntry(compile_now, at_once=True)


def _function(width: Window, dtype: Any, of_filters: bool) -> int | None:
    if width.dilation > 1 or width.taps > _MOST_COLUMNS or width.stride > _MOST_STRIDE:
        return None
    return _code(width.taps, width.stride, of_filters).get() if dtype.char == "f" else None


def forward(image: Array, weights: Any, windows: list[Window], out: Any) -> bool:
    """Fills ``out`` [batch, places, places, channels] from a contiguous image and weights [taps, taps, channels].

    Channels must be contiguous in all three.
    """
    height, width = windows
    function = _function(width, image.dtype, of_filters=False)
    if function is None or not weights.dtype == image.dtype == out.dtype:
        return False
    if weights.strides[2] != NUMBER_BYTES or out.strides[3] != NUMBER_BYTES:
        return False
    key = ("depthwise", image.shape, height, width, weights.strides, out.strides)
    found: _Lists = kept(
        key,
        lambda: _Lists(image.strides, weights.strides[:2], (0, 0), out.strides[1:3], height, width),
    )
    pieces = num_threads() * PIECES_EACH if out.size * weights[..., 0].size >= SHARED_PRODUCT else 1
    starts = (
        address_of(image),
        weights.__array_interface__["data"][0],
        out.__array_interface__["data"][0],
    )
    by_image = image.strides[0], 0, out.strides[0]
    steps = (*weights.strides[1::-1], out.strides[2])
    parts = _parts(len(image), height.count, pieces)
    run_calls(
        [(function, found.table(starts, by_image, image.shape[3], steps, *part)) for part in parts]
    )
    return True


def filter_gradient(image: Array, grad: Any, windows: list[Window]) -> Any:
    """[taps, taps, channels] of a contiguous image and gradient; ``None`` where it is left to others."""
    height, width = windows
    function = _function(width, image.dtype, of_filters=True)
    if function is None or grad.dtype != image.dtype:
        return None
    shape = (height.taps, width.taps, grad.shape[3])
    # The same on all machines: shares decide how the sums round.
    is_large = grad.size * height.taps * width.taps >= SHARED_PRODUCT
    parts = _parts(len(image), height.count, SHARING_THREADS * PIECES_EACH if is_large else 1)
    totals = np.zeros((len(parts), *shape), image.dtype)
    weights_by = totals.strides[1:3]
    key = ("depthwise filter", image.shape, height, width)
    found: _Lists = kept(
        key,
        lambda: _Lists(
            image.strides, (0, 0), grad.strides[1:3], weights_by, height, width, taps_out=True
        ),
    )
    by_image = image.strides[0], grad.strides[0], 0
    steps = (*weights_by[::-1], grad.strides[2])
    calls = []
    for total, part in zip(totals, parts, strict=True):
        starts = address_of(image), address_of(grad), total.__array_interface__["data"][0]
        calls.append((function, found.table(starts, by_image, image.shape[3], steps, *part)))
    run_calls(calls)
    return functools.reduce(np.add, totals)


def _parts(batch: int, lines: int, pieces: int) -> list[tuple[range, range]]:
    """Images and lines in about so many parts."""
    of_images = min(batch, pieces)
    of_lines = max(1, min(lines, pieces // max(1, of_images)))

    def ranges(length: int, parts: int) -> list[range]:
        ends = [length * i // parts for i in range(parts + 1)]
        return [range(a, b) for a, b in itertools.pairwise(ends)]

    return list(itertools.product(ranges(batch, of_images), ranges(lines, of_lines)))


class _Lists:
    """Which lines and places have which taps, in bytes of the three arrays of a call."""

    def __init__(
        self,
        image_strides: tuple[int, ...],
        weights_by: tuple[int, ...],
        other_by: tuple[int, ...],
        out_by: tuple[int, ...],
        height: Window,
        width: Window,
        taps_out: bool = False,
    ) -> None:
        _, self.line_bytes, self.place_bytes, _ = image_strides
        self.height, self.width = height, width

        def entry(w: Window, place: int, tap: int, axis: int) -> list[int]:
            start = place * w.stride - w.before + tap * w.dilation
            if taps_out:
                return [start * image_strides[1 + axis], place * other_by[axis], tap * out_by[axis]]
            return [start * image_strides[1 + axis], tap * weights_by[axis], place * out_by[axis]]

        lines = [
            [*entry(height, place, tap, 0), taps]
            for first, length, tap, taps in places_by_taps(height)
            for place in range(first, first + length)
        ]
        groups = [
            [*entry(width, first, tap, 1), length, taps]
            for first, length, tap, taps in places_by_taps(width)
        ]
        self.lines = np.array(lines, np.int64).reshape(-1, len(LINE_FIELDS))
        self.groups = np.array(groups, np.int64).reshape(-1, len(GROUP_FIELDS))

    def table(
        self,
        starts: tuple[int, int, int],
        by_image: tuple[int, int, int],
        channels: int,
        steps: tuple[int, int, int],
        images: range,
        lines: range,
    ) -> bytes:
        """The table of a call for some images and lines; ``steps``: the last three `FIELDS`."""
        return _pack(
            *(start + images.start * by for start, by in zip(starts, by_image, strict=True)),
            len(images),
            *by_image,
            len(lines),
            address_of(self.lines) + lines.start * self.lines.strides[0],
            channels,
            len(self.groups),
            address_of(self.groups),
            self.width.stride * self.place_bytes,
            self.place_bytes,
            self.height.dilation * self.line_bytes,
            *steps,
        )
