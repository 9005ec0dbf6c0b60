"""What direct convolutions share: when they are worth it, the lists that are kept, packing, padded lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.blas import num_threads
from dataflow.kernels.jit.compiler import address_of
from dataflow.kernels.jit.implicit_gemm import IMAGE, PADDED, Code, Panel, Steps
from dataflow.kernels.jit.isa import ALIGNMENT, BLOCK, NUMBER_BYTES
from dataflow.kernels.large_arrays import empty
from dataflow.windows import Window

#: Below this many multiplications nothing is won. Measured (microseconds; patches and BLAS, and tiles), with AVX2 and
#: AVX-512 alike: 3 x 3 windows, 32 x 32 x 3 to 8 channels 86 and 34, its gradients 141, 95 and 55, 37; 5 x 5 x 4 to 16
#: channels, 14,400 multiplications, 59 and 27, 92, 71 and 36, 26.
_SMALL_PRODUCT = 1 << 12
#: With fewer outputs most of a vector would be empty.
_LEAST_OUTPUTS = 3
#: From here on the team's threads share the work.
SHARED_PRODUCT = 4 << 20
#: How many threads the shares of a sum are made for.
SHARING_THREADS = 2
#: Pieces for each thread, so that one that is held up leaves work to the others.
PIECES_EACH = 4
#: Lists that are kept; where shapes change all the time, they are made anew.
_MOST_LISTS = 256
#: Filters of so many bytes are packed by all threads.
_PARALLEL_PACKING = 1 << 20

_lists: dict[tuple[Any, ...], Any] = {}


def kept(key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What ``make`` makes for a problem and the number of processors, made once."""
    key = (*key, num_threads())
    found = _lists.get(key)
    if found is None:
        if len(_lists) >= _MOST_LISTS:
            _lists.clear()
        found = _lists[key] = make()
    return found


class Lines:
    """The lines of an input, with ``copies`` padded where windows reach beyond their ends."""

    def __init__(self, shape: tuple[int, ...], width: Window, copies: bool) -> None:
        self.batch, self.height, _, channels = shape
        self.place_bytes = channels * NUMBER_BYTES
        needed = (width.count - 1) * width.stride + width.extent
        self.is_padded = copies and (width.before > 0 or needed > width.size)
        self.length = max(needed, width.before + width.size) if self.is_padded else width.size
        self.before = width.before if self.is_padded else 0
        self.line_bytes = self.length * self.place_bytes
        self.given_bytes = width.size * self.place_bytes
        self.image_bytes = self.height * self.line_bytes
        self.array = PADDED if self.is_padded else IMAGE

    def pad(self, steps: Steps, images: range, lines: range) -> None:
        """Adds the step that pads these lines of these images."""
        if not self.is_padded or not lines:
            return
        whole = len(lines) == self.height
        for image in images[:1] if whole else images:
            line = image * self.height + lines.start
            steps.pad(
                len(lines) * (len(images) if whole else 1),
                line * self.given_bytes,
                self.given_bytes,
                line * self.line_bytes,
                self.line_bytes,
                self.before * self.place_bytes,
            )

    def scratch(self) -> Any:
        """The array for the padded lines, or ``None``."""
        return empty((self.batch * self.image_bytes,), np.uint8) if self.is_padded else None


def is_trivial(w: Window) -> bool:
    return w.size == w.taps == w.count == 1 and w.before == 0


def addresses(*arrays: Any) -> list[int]:
    return [0 if a is None else address_of(a) for a in arrays]


def is_worthwhile(multiplications: int, outputs: int = _LEAST_OUTPUTS) -> bool:
    """True for a problem that tiles are quicker at than BLAS."""
    return outputs >= _LEAST_OUTPUTS and multiplications >= _SMALL_PRODUCT


def aligned(size_bytes: int) -> Any:
    """An array that begins at a multiple of any vector's bytes."""
    found = np.empty(size_bytes + ALIGNMENT, np.uint8)
    return found[-address_of(found) % ALIGNMENT :]


def packing(code: Code, panels: list[Panel], filters: Array) -> tuple[Steps, list[int], int]:
    """The steps that pack filters [taps, taps, channels, outputs], where each panel begins, and the
    bytes of all."""
    steps, starts, size = Steps(code), [], 0
    taps_high, taps_wide, channels, _ = filters.shape
    high, wide, channel, output = filters.strides
    turned = output != NUMBER_BYTES
    together = not turned and wide == channels * channel and high == taps_wide * wide
    for panel in panels:
        starts.append(size)
        at = panel.first * output
        if together:
            steps.pack(panel, taps_high * taps_wide * channels, at, size, channel, False)
        else:
            stride = output if turned else channel
            for i, (y, x) in enumerate(itertools.product(range(taps_high), range(taps_wide))):
                to = size + i * channels * panel.row_bytes
                steps.pack(panel, channels, at + y * high + x * wide, to, stride, turned)
        size += (taps_high * taps_wide * channels + BLOCK) * panel.row_bytes
        if filters.nbytes >= _PARALLEL_PACKING:
            steps.end_piece()
    return steps, starts, size
