"""The geometry of convolutions: problems with three spatial axes, windows from attributes, layouts.

What the kernels of every device need before they compute.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.windows import Window, window


class Problem(NamedTuple):
    """A channels-last convolution with exactly three spatial axes."""

    batch: int
    windows: tuple[Window, Window, Window]
    channels: int
    outputs: int

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (self.batch, *(w.size for w in self.windows), self.channels)

    @property
    def filter_shape(self) -> tuple[int, ...]:
        return (*(w.taps for w in self.windows), self.channels, self.outputs)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.batch, *(w.count for w in self.windows), self.outputs)

    @property
    def taps(self) -> int:
        """Elements under the window."""
        return math.prod(w.taps for w in self.windows)

    @property
    def is_product(self) -> bool:
        """True for windows of one element without stride or padding: a plain matrix product."""
        return all(w.taps == 1 and w.count == w.size and w.before == 0 for w in self.windows)


def problem_of(
    input_shape: tuple[int, ...], filter_shape: tuple[int, ...], windows: list[Window]
) -> Problem:
    """Normalizes to three spatial axes."""
    padded = [Window(1, 1, 1, 1, 0, 0, 1)] * (3 - len(windows)) + windows
    return Problem(input_shape[0], tuple(padded), filter_shape[-2], filter_shape[-1])  # type: ignore[arg-type]


def _bad(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def attr_windows(
    input_shape: tuple[int, ...],
    filter_shape: tuple[int, ...],
    strides: list[int],
    dilations: list[int],
    padding: str,
    explicit_paddings: list[int],
) -> list[Window]:
    """The windows of the spatial axes, for channels-last shapes and attributes."""
    lists = strides, dilations, explicit_paddings
    return list(_windows(tuple(input_shape), tuple(filter_shape), padding, *map(tuple, lists)))


@functools.lru_cache(maxsize=4096)
def _windows(
    input_shape: tuple[int, ...],
    filter_shape: tuple[int, ...],
    padding: str,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    explicit_paddings: tuple[int, ...],
) -> tuple[Window, ...]:
    rank = len(input_shape) - 2
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2], strict=True))
    pairs = pairs or [(0, 0)] * (rank + 2)
    try:
        return tuple(
            window(
                input_shape[i],
                filter_shape[i - 1],
                strides[i],
                dilations[i],
                padding,
                pairs[i],
            )
            for i in range(1, rank + 1)
        )
    except ValueError as e:
        raise _bad(str(e)) from e


class Phase(NamedTuple):
    """Elements of an axis, the taps that meet them (the last one first), and how: see `phases`."""

    at: slice
    taps: slice
    window: Window


def phases(w: Window) -> list[Phase] | None:
    """The phases of an axis that any tap meets; ``None`` where the windows are too irregular.

    With a stride, every stride-th element of an axis has met every stride-th tap: the gradient of the
    input is a convolution with stride 1 for each phase.
    """
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
            Phase(
                slice(first, None, w.stride),
                slice(last_tap, tap - 1 if tap else None, -w.stride),
                Window(w.count, taps, 1, w.dilation, before, 0, count),
            )
        )
    return phases


def leave_out(w: Window) -> bool:
    """Whether `phases` may lack elements of the axis, those that no tap meets."""
    return w.taps < w.stride


def places_by_taps(w: Window) -> Iterator[tuple[int, int, int, int]]:
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


class Layout(NamedTuple):
    """Moves between an op's data format and channels-last."""

    first: bool

    def to_last(self, x: Array) -> Any:
        return x.transpose(0, *range(2, x.ndim), 1) if self.first else x

    def from_last(self, xp: Module, x: Array) -> Any:
        if not self.first:
            return x
        return xp.ascontiguousarray(x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1)))

    def sizes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0], *shape[2:], shape[1]) if self.first else shape

    def from_sizes(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return (sizes[0], sizes[-1], *sizes[1:-1]) if self.first else sizes

    def attr(self, values: list[int], rank: int) -> list[int]:
        values = values or [1] * (rank + 2)
        return [values[0], *values[2:], values[1]] if self.first else values

    def pads(self, values: list[int]) -> list[int]:
        return [*values[:2], *values[4:], *values[2:4]] if self.first and values else values


def num_groups(channels: int, own: int, outputs: int) -> int:
    if own == 0 or channels % own or outputs % (channels // own):
        raise _bad(
            f"input depth must be evenly divisible by filter depth: {channels} vs {own}, "
            f"and the groups must divide the {outputs} outputs"
        )
    return channels // own


def check_gradient(grad: Array, shape: tuple[int, ...]) -> None:
    if grad.shape != shape:
        raise _bad(
            f"out_backprop has shape {list(grad.shape)}; the convolution that it belongs to gives "
            f"{list(shape)} (channels last)"
        )
