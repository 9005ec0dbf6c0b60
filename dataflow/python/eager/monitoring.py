"""``from tensorflow.python.eager import monitoring``: what a program counts about itself.

A metric has a cell for each combination of labels. Cells are kept by the name of the metric, as long
as the process: a metric that is made again goes on with its cells.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

_T = TypeVar("_T")
_lock = threading.Lock()
_cells: dict[tuple[Any, ...], Any] = {}


class _Gauge(Generic[_T]):
    start: ClassVar[Any]

    def __init__(self) -> None:
        self._value: _T = self.start

    def set(self, value: _T) -> None:
        """Replaces the value."""
        self._value = value

    def value(self) -> _T:
        """The value."""
        return self._value


class CounterCell:
    """A count that only grows."""

    def __init__(self) -> None:
        self._value = 0

    def increase_by(self, value: int) -> None:
        """Adds ``value``; raises `ValueError` for a negative one."""
        if value < 0:
            raise ValueError(f"A counter cannot be decreased: {value}")
        with _lock:
            self._value += value

    def value(self) -> int:
        """The count."""
        return self._value


class IntGaugeCell(_Gauge[int]):
    """A whole number."""

    start = 0


class StringGaugeCell(_Gauge[str]):
    """A text."""

    start = ""


class BoolGaugeCell(_Gauge[bool]):
    """True or False."""

    start = False


class SamplerCell:
    """How many samples fell into each bucket, and their sum and sum of squares."""

    def __init__(self, limits: Sequence[float]) -> None:
        self._limits = list(limits)
        self._counts = [0] * (len(self._limits) + 1)
        self._sums = [0.0, 0.0]

    def add(self, value: float) -> None:
        """Counts a sample."""
        with _lock:
            self._counts[bisect.bisect_right(self._limits, value)] += 1
            self._sums[0] += value
            self._sums[1] += value * value

    def value(self) -> dict[str, Any]:
        """``num``, ``sum``, ``sum_squares``, and ``bucket`` with the counts below each of ``bucket_limit``."""
        return {
            "num": sum(self._counts),
            "sum": self._sums[0],
            "sum_squares": self._sums[1],
            "bucket_limit": [*self._limits, float("inf")],
            "bucket": list(self._counts),
        }


class ExponentialBuckets:
    """Buckets whose limits are ``scale``, ``scale * growth_factor``, ...: ``bucket_count`` of them."""

    def __init__(self, scale: float, growth_factor: float, bucket_count: int) -> None:
        self.limits = [scale * growth_factor**i for i in range(bucket_count)]


class Metric:
    """What is counted under one name; ``labels`` say which cells it has. Raises `ValueError` for a
    number of labels that is not the one it was made with.
    """

    cell: ClassVar[type]

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self.labels = name, description, labels

    def get_cell(self, *labels: str) -> Any:
        """The cell of these labels' values."""
        if len(labels) != len(self.labels):
            raise ValueError(
                f"The metric {self.name} has {len(self.labels)} labels; got {len(labels)}"
            )
        with _lock:
            return _cells.setdefault((type(self), self.name, *labels), self._new_cell())

    def _new_cell(self) -> Any:
        return self.cell()


class Counter(Metric):
    """Counts; `CounterCell`."""

    cell = CounterCell


class IntGauge(Metric):
    """Whole numbers; `IntGaugeCell`."""

    cell = IntGaugeCell


class StringGauge(Metric):
    """Texts; `StringGaugeCell`."""

    cell = StringGaugeCell


class BoolGauge(Metric):
    """Flags; `BoolGaugeCell`."""

    cell = BoolGaugeCell


class Sampler(Metric):
    """Distributions; `SamplerCell`."""

    def __init__(
        self, name: str, buckets: ExponentialBuckets, description: str, *labels: str
    ) -> None:
        super().__init__(name, description, *labels)
        self.buckets = buckets

    def _new_cell(self) -> SamplerCell:
        return SamplerCell(self.buckets.limits)
