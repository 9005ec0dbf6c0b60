"""What the workers of a `Training` do alike in every mode."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from dataflow.train.gradient_descent import GradientDescentOptimizer

#: Modes in which the workers keep the variables, and exchange gradients around a ring.
RING_MODES = ("all-reduce", "ZeRO")


def container_of(number: int) -> str:
    """The container of what a mode makes anew: slots, accumulators, queues, mirrored variables."""
    return f"training_{number}"


def optimizer_of(options: dict[str, Any]) -> Any:
    """The optimizer that the user asked for."""
    make = options["optimizer"]
    return make() if make is not None else GradientDescentOptimizer(options["rate"])


def paced(most: float | None) -> Iterator[float]:
    """Yield the time at each step's end, not more often than ``most`` times a second."""
    at = time.monotonic()
    while True:
        yield time.monotonic()
        if most is not None:
            at = max(at + 1 / most, time.monotonic() - 1 / most)
            time.sleep(max(0.0, at - time.monotonic()))
