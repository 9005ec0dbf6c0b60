"""Curves of any length in bounded memory.

A curve has at most 1,000 rows. When they are used up, neighbors are merged two by two, and each
row then stands for twice as many points: their mean, lowest and highest value. Nothing is left out
of that: a spike of one step stays visible as the edge of a band.
"""

from __future__ import annotations

import math

import numpy as np

CAPACITY = 1000
STEP, MEAN, LOW, HIGH = range(4)


class Curve:
    """The points of one metric of one run.

    Attributes:
        stride: how many points a row stands for.
        last: the newest value, as it was logged.
        num_points: how many points were logged.
        num_bad: how many of them were NaN or infinite; first_bad is the step of the first.
        changed_from: the first row that changed since the page was last told; the one who tells it
            sets it.
    """

    def __init__(self) -> None:
        self._rows = np.empty((CAPACITY, 4))
        self._finite = np.zeros(CAPACITY, np.int64)
        self._num_rows = 0
        self._in_row = 0
        self.stride = 1
        self.last = math.nan
        self.last_step = -math.inf
        self.num_points = self.num_bad = 0
        self.first_bad: float | None = None
        self.changed_from = 0

    def append(self, step: float, value: float) -> None:
        """Adds a point; steps never decrease."""
        self.num_points += 1
        self.last, self.last_step = value, step
        if self._in_row == 0 or self._in_row == self.stride:
            if self._num_rows == CAPACITY:
                self._merge()
            self._rows[self._num_rows] = (step, math.nan, math.nan, math.nan)
            self._finite[self._num_rows] = 0
            self._num_rows += 1
            self._in_row = 0
        at = self._num_rows - 1
        self._in_row += 1
        self.changed_from = min(self.changed_from, at)
        row = self._rows[at]
        row[STEP] = step
        if not math.isfinite(value):
            self.num_bad += 1
            if self.first_bad is None:
                self.first_bad = step
            return
        count = self._finite[at]
        if count == 0:
            row[MEAN:] = value
        else:
            row[MEAN] += (value - row[MEAN]) / (count + 1)
            row[LOW] = min(row[LOW], value)
            row[HIGH] = max(row[HIGH], value)
        self._finite[at] = count + 1

    def _merge(self) -> None:
        half = CAPACITY // 2
        pairs = self._rows.reshape(half, 2, 4)
        counts = self._finite.reshape(half, 2)
        total = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(counts > 0, pairs[:, :, MEAN] * counts, 0.0).sum(axis=1) / total
        merged = np.stack(
            [
                pairs[:, 1, STEP],
                mean,  # 0 / 0 is NaN: a row without a finite value
                np.fmin(pairs[:, 0, LOW], pairs[:, 1, LOW]),
                np.fmax(pairs[:, 0, HIGH], pairs[:, 1, HIGH]),
            ],
            axis=1,
        )
        self._rows[:half] = merged
        self._finite[:half] = total
        self._num_rows = half
        self._in_row = self.stride = self.stride * 2
        self.changed_from = 0

    def rows(self, start: int = 0) -> np.ndarray:
        """A copy of the rows from ``start``: float64 (n, 4), step, mean, lowest, highest."""
        return self._rows[start : self._num_rows].copy()

    def __len__(self) -> int:
        return self._num_rows

    def extremes(self) -> tuple[float, float] | None:
        """The lowest and the highest value of all; None before a finite one."""
        rows = self._rows[: self._num_rows]
        if self.num_bad == self.num_points:
            return None
        return float(np.nanmin(rows[:, LOW])), float(np.nanmax(rows[:, HIGH]))
