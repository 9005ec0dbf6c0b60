"""Resizing by powers of two in loops of machine code: results that need the same weights are one loop.

When the size of an image doubles, every second row is made of its two neighbors by the same weights. A map of an axis
thus has a few pieces, each a slice of the results; a piece of the rows and one of the columns are one loop over
all images. NumPy computes the same in the same order.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit.native_ufunc import Mapping

#: A map with more pieces is left to others, and so are sums of more numbers, as a loop has an array for each.
_MOST_PIECES, _MOST_TAPS = 8, 16
#: The fewest numbers for each loop, and the fewest channels: they are the innermost loop.
_LEAST_ELEMENTS, _LEAST_CHANNELS = 1 << 13, 8


class Piece(NamedTuple):
    """Results along an axis, the places that each of their taps meets, and the weights of the taps."""

    results: slice
    met: tuple[slice, ...]
    weights: tuple[float, ...]


class _Run(NamedTuple):
    """Equal distances between results and between what they meet."""

    result: int
    place: int
    length: int = 1
    results_by: int = 1
    places_by: int = 1

    def extended(self, result: int, place: int) -> _Run | None:
        """The run with one more result; ``None`` where that is not at the same distance."""
        last = self.length - 1
        by = (
            result - self.result - last * self.results_by,
            place - self.place - last * self.places_by,
        )
        if by[1] < 1 or (last and by != (self.results_by, self.places_by)):
            return None
        return _Run(self.result, self.place, self.length + 1, *by)


def pieces_of(matrix: Array) -> tuple[Piece, ...]:
    """The pieces of the map of an axis by its matrix [results, places]; none where there would be many."""
    runs: dict[tuple[Any, ...], list[_Run]] = {}
    count = 0
    for result, line in enumerate(matrix):
        (places,) = line.nonzero()
        first = int(places[0]) if len(places) else result
        key = (*line[places].tolist(), *(places - first).tolist())
        found = runs.setdefault(key, [])
        longer = found[-1].extended(result, first) if found else None
        if longer is not None:
            found[-1] = longer
            continue
        found.append(_Run(result, first))
        count += 1
        if count > _MOST_PIECES:
            return ()
    return tuple(_piece(key, run) for key, found in runs.items() for run in found)


def _piece(key: tuple[Any, ...], run: _Run) -> Piece:
    weights, distances = key[: len(key) // 2], key[len(key) // 2 :]
    met = tuple(_slice(run.place + d, run.length, run.places_by) for d in distances)
    return Piece(_slice(run.result, run.length, run.results_by), met, weights)


def _slice(first: int, length: int, step: int) -> slice:
    return slice(first, first + (length - 1) * step + 1, step)


def resize(images: Array, rows: tuple[Piece, ...], columns: tuple[Piece, ...], out: Any) -> bool:
    """Fills ``out`` with the images [batch, height, width, channels] resized; ``False`` where others are quicker."""
    loops = list(itertools.product(rows, columns))
    taps = max((len(r.met) * len(c.met) for r, c in loops), default=_MOST_TAPS + 1)
    size = max(images.size, out.size)
    if taps > _MOST_TAPS or size < len(loops) * _LEAST_ELEMENTS:
        return False
    if images.shape[3] < _LEAST_CHANNELS or images.dtype.char not in "fd":
        return False
    for row, column in loops:
        target = out[:, row.results, column.results]
        views = [images[:, a, b] for a, b in itertools.product(row.met, column.met)]
        if not views:
            target[...] = 0
            continue
        weights = [a * b for a, b in itertools.product(row.weights, column.weights)]
        operands = [*views, *(np.array(w, images.dtype) for w in weights)]
        mapping = _weighted_sum(images.dtype, len(views))
        if mapping is None or not mapping.run(target.shape, operands, [target]):
            target[...] = _total(np, *operands)
    return True


def _total(xp: Module, *x: Any) -> Any:
    """The sum of the first half, each times its weight in the second."""
    count = len(x) // 2
    total = x[0] * x[count]
    for value, weight in zip(x[1:count], x[count + 1 :], strict=True):
        total = total + value * weight
    return total


@functools.cache
def _weighted_sum(dtype: Any, count: int) -> Mapping | None:
    return Mapping.of_function(dtype, _total, 2 * count)
