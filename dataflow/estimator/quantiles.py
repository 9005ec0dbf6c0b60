"""Approximate quantiles of a stream of weighted numbers, with bounded memory.

A summary holds a few of the values with bounds of their ranks. Batches become summaries, which are merged,
and compressed where they grow, so that no rank is off by more than ``epsilon`` of the whole weight (Zhang and
Wang, "A fast algorithm for approximate quantiles in high speed data streams", 2007). Block sizes are those of
TensorFlow's boosted trees, so the cuts are too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Columns of a summary's array.
VALUE, WEIGHT, MIN_RANK, MAX_RANK = range(4)
#: More than what is ever seen of a feature.
_MANY = 1 << 40


def summary_of_values(values: Array, weights: Array) -> Array:
    """The exact summary, float32 [different values, 4]; values without a weight are left out."""
    kept = weights > 0
    different, places = np.unique(values[kept].astype(np.float32), return_inverse=True)
    total = np.zeros(len(different), np.float32)
    np.add.at(total, places, weights[kept].astype(np.float32))
    ranks = np.cumsum(total, dtype=np.float32)
    return np.stack([different, total, np.concatenate([[0], ranks[:-1]]), ranks], axis=1).astype(
        np.float32
    )


def merged(a: Array, b: Array) -> Array:
    """The summary of the values of both."""
    if not len(a) or not len(b):
        return b if len(b) else a
    values = np.union1d(a[:, VALUE], b[:, VALUE]).astype(np.float32)
    result = np.zeros((len(values), 4), np.float32)
    result[:, VALUE] = values
    for one in (a, b):
        # Where a value is not in a summary, its neighbors there bound its rank.
        after = np.searchsorted(one[:, VALUE], values)
        near = one[np.minimum(after, len(one) - 1)]
        there = near[:, VALUE] == values
        before = one[np.maximum(after - 1, 0)]
        lowest = np.where(after > 0, before[:, MIN_RANK] + before[:, WEIGHT], np.float32(0))
        highest = np.where(after < len(one), near[:, MAX_RANK] - near[:, WEIGHT], one[-1, MAX_RANK])
        result[:, WEIGHT] += np.where(there, near[:, WEIGHT], np.float32(0))
        result[:, MIN_RANK] += np.where(there, near[:, MIN_RANK], lowest)
        result[:, MAX_RANK] += np.where(there, near[:, MAX_RANK], highest)
    return result


def compressed(summary: Array, size: int, epsilon: float) -> Array:
    """About ``size`` entries of the summary, the first and the last among them, evenly by rank."""
    size, count = max(size, 2), len(summary)
    if count <= size:
        return summary
    gap = float(summary[-1, MAX_RANK]) * max(1.0 / size, epsilon)
    before, after = (
        (summary[:, MAX_RANK] - summary[:, WEIGHT]).tolist(),
        (summary[:, MIN_RANK] + summary[:, WEIGHT]).tolist(),
    )
    kept, read, saved = [0], 0, 0
    while read + 1 != count:
        following = read + 1
        while following != count and saved < count and before[following] - after[read] <= gap:
            saved += size
            following += 1
        read = read + 1 if read == following - 1 else following - 1
        kept.append(read)
        saved -= count
    if kept[-1] != count - 1:
        kept.append(count - 1)
    return summary[kept]


def error_of(summary: Array) -> float:
    """The largest error of a rank, as a fraction of the total weight."""
    if not len(summary):
        return 0.0
    own = summary[1:, MAX_RANK] - summary[1:, MIN_RANK] - summary[1:, WEIGHT]
    between = summary[1:, MAX_RANK] - summary[1:, WEIGHT]
    between = between - (summary[:-1, MIN_RANK] + summary[:-1, WEIGHT])
    return float(max(0.0, *own, *between) / summary[-1, MAX_RANK]) if len(own) else 0.0


class Quantiles:
    """A stream of at most ``most`` weighted values; see the module."""

    def __init__(self, epsilon: float, most: int = _MANY) -> None:
        self._epsilon = float(np.float32(epsilon))
        level, block = 1, 2
        while (1 << level) * block < most:
            block = math.ceil(level / self._epsilon) + 1
            level += 1
        self._block, self._at_once = block, min(2 * block, most)
        self._levels: list[Array] = []

    def add(self, values: Array, weights: Array) -> None:
        """Adds a batch of values."""
        for start in range(0, len(values), self._at_once):
            part = slice(start, start + self._at_once)
            self.add_summary(summary_of_values(values[part], weights[part]))

    def add_summary(self, summary: Array) -> None:
        """Adds the values that a summary stands for."""
        current = compressed(summary, self._block, self._epsilon)
        level = 0
        while len(current):
            if level == len(self._levels):
                self._levels.append(np.zeros((0, 4), np.float32))
            there = self._levels[level]
            current = merged(current, there)
            if not len(there) or len(current) <= self._block + 1:
                self._levels[level] = current
                return
            current = compressed(current, self._block, self._epsilon)
            self._levels[level] = there[:0]
            level += 1

    def summary(self) -> Array:
        """The summary of all values so far."""
        result = np.zeros((0, 4), np.float32)
        for level in self._levels:
            result = merged(result, level)
        return result

    def boundaries(self, count: int) -> Array:
        """About ``count`` distinct values, ascending, with about the same weight between neighbors."""
        summary = self.summary()
        few = compressed(summary, count, error_of(summary) + 1.0 / count)
        return np.unique(few[:, VALUE])


def batch_summary(values: Array, weights: Array, epsilon: float) -> Array:
    """The summary of one batch of values [n], with weights [n]."""
    stream = Quantiles(epsilon, len(values) + 1)
    stream.add(values, weights)
    return stream.summary()
