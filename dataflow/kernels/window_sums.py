"""Sums over windows, and their gradients: for average pooling, and for resizing by whole numbers.

Places that have the same taps inside are one loop of machine code over all of these taps, and the gradient is such a
sum for each phase of the array. NumPy computes the same sums in the same order.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import Phase, leave_out, phases, places_by_taps
from dataflow.kernels.jit.native_ufunc import Mapping
from dataflow.windows import Window

Windows = dict[int, Window]
#: Windows with more taps are left to others, as a loop has an array for each, and so are smaller arrays.
_MOST_TAPS, _LEAST_ELEMENTS = 9, 1 << 16


class Group(NamedTuple):
    """Places, as an index; how many taps they have along each axis; what each tap meets, as an index; and the taps."""

    places: tuple[slice, ...]
    counts: tuple[int, ...]
    met: list[tuple[slice, ...]]
    taps: list[tuple[int, ...]]


def has_loops(xp: Module, x: Array, size: int, windows: Windows, least: int | None = None) -> bool:
    """True where sums over these windows of x, to or from so many numbers, ``least`` at least, are to be made here."""
    return (
        xp is np
        and x.dtype.char in "fd"
        and size >= (_LEAST_ELEMENTS if least is None else least)
        and math.prod(w.taps for w in windows.values()) <= _MOST_TAPS
        and not any(w.count == 1 and w.taps == w.size for w in windows.values())
    )


def window_sums(
    x: Array, windows: Windows, out: Any, *, divides: bool = False, backwards: bool = False
) -> None:
    """Fills ``out`` with the sums over the windows; ``divides``: by the number of taps that are inside.

    The taps of an axis are added up in their order, or ``backwards``, those of the first axis first.
    """
    for to, counts, met, _ in groups_of(x.ndim, windows, backwards):
        target, views = out[to], [x[frm] for frm in met]
        if not met:
            target[...] = 0
            continue
        if divides:
            views.append(np.array(math.prod(counts), x.dtype))
        mapping = _sum_of_taps(x.dtype, counts, divides)
        if mapping is None or not mapping.run(target.shape, views, [target]):
            target[...] = _total(counts, divides)(np, *views)


def spread(grad: Array, windows: Windows, out: Any) -> bool:
    """Fills ``out`` with the gradient of `window_sums`; ``False`` where ``windows`` are too irregular."""
    combined = phases_of_axes(out.ndim, windows)
    if combined is None:
        return False
    if all(w.stride >= w.taps for w in windows.values()):
        _spread_apart(grad, windows, out)
        return True
    if any(leave_out(w) for w in windows.values()):
        out.fill(0)
    for at, parts, _ in combined:
        window_sums(grad, parts, out[at], backwards=True)
    return True


def phases_of_axes(
    rank: int, windows: Windows
) -> list[tuple[tuple[slice, ...], Windows, list[range]]] | None:
    """Each phase of an array: where it is, the windows that meet it, and the numbers of their taps along each axis.

    ``None`` where the windows of an axis are too irregular (`conv_geometry.phases`).
    """
    axes = sorted(windows)
    along: list[list[Phase]] = []
    for axis in axes:
        found = phases(windows[axis])
        if found is None:
            return None
        along.append(found)
    return [
        (
            _index(rank, axes, [phase.at for phase in one]),
            {axis: phase.window for axis, phase in zip(axes, one, strict=True)},
            [range(windows[axis].taps)[phase.taps] for axis, phase in zip(axes, one, strict=True)],
        )
        for one in itertools.product(*along)
    ]


def _spread_apart(grad: Array, windows: Windows, out: Any) -> None:
    """The same where no element is in two windows: each place's number goes to all of its taps."""
    if not all(w.stride == w.taps and w.count * w.stride >= w.size for w in windows.values()):
        out.fill(0)
    for at, counts, met, _ in groups_of(out.ndim, windows):
        value, views = grad[at], [out[frm] for frm in met]
        mapping = _copies(out.dtype, math.prod(counts))
        if mapping is None or not mapping.run(value.shape, [value], views):
            for view in views:
                view[...] = value


@functools.lru_cache(maxsize=256)
def _listed(rank: int, windows: tuple[tuple[int, Window], ...], backwards: bool) -> list[Group]:
    found = []
    axes = [axis for axis, _ in windows]
    for groups in itertools.product(*[list(places_by_taps(w)) for _, w in windows]):
        places = [slice(first, first + length) for first, length, _, _ in groups]
        along = [range(tap, tap + taps) for _, _, tap, taps in groups]
        all_taps = list(itertools.product(*[t[::-1] if backwards else t for t in along]))
        met = [
            _index(
                rank,
                axes,
                [
                    _met(w, first, length, t)
                    for (_, w), (first, length, _, _), t in zip(windows, groups, taps, strict=True)
                ],
            )
            for taps in all_taps
        ]
        found.append(Group(_index(rank, axes, places), tuple(map(len, along)), met, all_taps))
    return found


def groups_of(rank: int, windows: Windows, backwards: bool = False) -> list[Group]:
    """The groups of places that have the same taps inside; the taps of each axis in their order, or backwards."""
    return _listed(rank, tuple(sorted(windows.items())), backwards)


def _index(rank: int, axes: Sequence[int], parts: Sequence[slice]) -> tuple[slice, ...]:
    index = [slice(None)] * rank
    for axis, part in zip(axes, parts, strict=True):
        index[axis] = part
    return tuple(index)


def _met(w: Window, first: int, length: int, tap: int) -> slice:
    """What a tap meets at some places that all lie inside."""
    start = first * w.stride - w.before + tap * w.dilation
    return slice(start, start + (length - 1) * w.stride + 1, w.stride)


def _total(counts: Sequence[int], divides: bool) -> Callable[..., Any]:
    """The sum of so many taps along each axis; ``divides``: by the last input."""

    def total(xp: Module, *x: Any) -> Any:
        level = list(x[: math.prod(counts)])
        for count in counts:
            rest = len(level) // count
            level = [
                functools.reduce(operator.add, [level[i * rest + j] for i in range(count)])
                for j in range(rest)
            ]
        # Without -0.0, as sums that begin with zero.
        sums = level[0] + 0.0
        return sums / x[-1] if divides else sums

    return total


@functools.cache
def _sum_of_taps(dtype: Any, counts: tuple[int, ...], divides: bool) -> Mapping | None:
    return Mapping.of_function(dtype, _total(counts, divides), math.prod(counts) + divides)


@functools.cache
def _copies(dtype: Any, count: int) -> Mapping | None:
    """So many copies of an array."""
    return Mapping.of_function(dtype, lambda _, x: (x,) * count, 1)
