"""Convolutions with few outputs: several places of a line are made together, as one with more.

A tile's vector holds 16 outputs. A convolution to one channel, or to eight, would leave most of it
empty. Places that lie beside each other are contiguous in memory together with their outputs, so a
block of them is one place with more outputs, whose window covers those of all: its filters are the
given ones, moved by the stride for each place, with zeros between. The zeros cost multiplications;
how many places make a block is chosen for the least work. The gradient of the input is made the
same way, and there all phases of a stride along a line come out at once.

The rest is `direct_conv`; every function returns ``False`` where a block would not help.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels import direct_conv
from dataflow.kernels.direct_conv_common import kept
from dataflow.kernels.jit.avx512_microkernel import LANES, MOST_ROWS
from dataflow.windows import Window

#: Outputs of a block at the most: those of one panel.
_MOST_OUTPUTS = max(MOST_ROWS) * LANES
#: So many sums at once keep the processor's two units busy; a tile of fewer takes as long.
_BUSY = 8
#: So little of the work must be left, as the filters of blocks are made anew for each call.
_GAIN = 0.7
#: With fewer blocks in all the making of the filters is most of the work.
_LEAST_BLOCKS = 64


class _Meeting(NamedTuple):
    """A tap of a place in a block, and the element of the input's line that it meets."""

    place: int
    tap: int
    element: int


class _Blocks(NamedTuple):
    """Blocks of places: the window of one along the input's line, and what is in it."""

    size: int
    window: Window
    meetings: list[_Meeting]


def _cost(taps: float, places: int, outputs: int, rows: int) -> float:
    """The time of one place, where so many are made together and lines have so many ``rows``."""
    vectors = -(-outputs // LANES)
    rows = min(rows, MOST_ROWS[min(vectors, max(MOST_ROWS))])
    return taps * max(vectors, _BUSY / rows) / places


def _forward_blocks(w: Window, outputs: int) -> _Blocks | None:
    """Blocks of the places of a window; ``None`` where single places are as good."""

    def blocks(size: int) -> _Blocks:
        meetings = [
            _Meeting(place, tap, place * w.stride + tap * w.dilation)
            for place in range(size)
            for tap in range(w.taps)
        ]
        taps = max(m.element for m in meetings) + 1
        window = Window(w.size, taps, size * w.stride, 1, w.before, 0, w.count // size)
        return _Blocks(size, window, meetings)

    sizes = [n for n in range(2, w.count + 1) if w.count % n == 0]
    single = _cost(w.taps, 1, outputs, w.count)
    return _best(map(blocks, _small_enough(sizes, outputs)), outputs, single)


def _gradient_blocks(w: Window, outputs: int) -> _Blocks | None:
    """Blocks of the elements of an axis that a window slid along: they meet the window's places."""

    def blocks(size: int) -> _Blocks:
        found = []
        for element in range(size):
            for tap in range(w.taps):
                place, rest = divmod(element + w.before - tap * w.dilation, w.stride)
                if not rest:
                    found.append(_Meeting(element, tap, place))
        first = min((m.element for m in found), default=0)
        first = min(first, 0)
        meetings = [m._replace(element=m.element - first) for m in found]
        taps = max((m.element for m in meetings), default=0) + 1
        window = Window(w.count, taps, size // w.stride, 1, -first, 0, w.size // size)
        return _Blocks(size, window, meetings)

    sizes = [n for n in range(2, w.size + 1) if w.size % n == 0 and n % w.stride == 0]
    single = _cost(w.taps / w.stride, 1, outputs, -(-w.size // w.stride))
    return _best(map(blocks, _small_enough(sizes, outputs)), outputs, single)


def _small_enough(sizes: list[int], outputs: int) -> list[int]:
    return [n for n in sizes if n * outputs <= _MOST_OUTPUTS]


def _best(choices: Iterable[_Blocks], outputs: int, single: float) -> _Blocks | None:
    """The blocks that cost least, where they cost less than a ``single`` place."""

    def cost(blocks: _Blocks) -> float:
        window = blocks.window
        return _cost(window.taps, blocks.size, blocks.size * outputs, window.count)

    found = min(choices, key=cost, default=None)
    return found if found is not None and cost(found) < _GAIN * single else None


def forward(x: Any, filters: Any, height: Window, width: Window, out: Any) -> bool:
    """``out`` [batch, places, places, outputs] of x [batch, height, width, channels], contiguous."""
    taps_high, _, channels, outputs = filters.shape
    if outputs > LANES:
        return False

    def make() -> tuple[_Blocks, Any] | None:
        blocks = _forward_blocks(width, outputs)
        if blocks is None or out.size < _LEAST_BLOCKS * blocks.size * outputs:
            return None
        places = np.arange(filters.size).reshape(filters.shape)
        index = np.full((*_filter_shape(taps_high, blocks, channels), outputs), filters.size)
        for place, tap, element in blocks.meetings:
            index[:, element, :, place] = places[:, tap]
        return blocks, index.reshape(*index.shape[:3], -1)

    key = ("blocks", x.shape, filters.shape, height, width)
    found: tuple[_Blocks, Any] | None = kept(key, make)
    if found is None:
        return False
    blocks, index = found
    target = out.reshape(*out.shape[:2], blocks.window.count, -1)
    return direct_conv.forward(x, _moved(filters, index), height, blocks.window, target)


def input_gradient(filters: Any, grad: Any, height: Window, width: Window, out: Any) -> bool:
    """``out`` [batch, height, width, channels], contiguous, which is zero so far."""
    channels, num_grads = filters.shape[2:]
    if channels > LANES:
        return False

    def make() -> list[tuple[Any, ...]] | None:
        blocks, along = _gradient_blocks(width, channels), direct_conv.phases(height)
        if blocks is None or along is None:
            return None
        if out.size < _LEAST_BLOCKS * blocks.size * channels:
            return None
        places = np.arange(filters.size).reshape(filters.shape).transpose(0, 1, 3, 2)
        found = []
        for phase in along:
            turned = places[phase.taps]
            shape = (*_filter_shape(len(turned), blocks, num_grads), channels)
            index = np.full(shape, filters.size)
            for place, tap, element in blocks.meetings:
                index[:, element, :, place] = turned[:, tap]
            found.append((phase, blocks, index.reshape(*shape[:3], -1)))
        return found

    key = ("blocks of a gradient", grad.shape, filters.shape, height, width)
    found: list[tuple[Any, ...]] | None = kept(key, make)
    if found is None:
        return False
    whole = grad.size * filters.size // num_grads
    for phase, blocks, index in found:
        target = out.reshape(*out.shape[:2], blocks.window.count, -1)[:, phase.at]
        moved, windows = _moved(filters, index), (phase.window, blocks.window)
        if not direct_conv.forward(grad, moved, *windows, target, whole):
            out.fill(0)  # of the phases before
            return False
    return True


def _filter_shape(taps_high: int, blocks: _Blocks, channels: int) -> tuple[int, int, int, int]:
    return taps_high, blocks.window.taps, channels, blocks.size


def _moved(filters: Any, index: Any) -> Any:
    """The filters of blocks: numbers of the given ones, and zero where the index is their count."""
    numbers = np.empty(filters.size + 1, filters.dtype)
    numbers[:-1] = filters.reshape(-1)
    numbers[-1] = 0
    return numbers.take(index)
