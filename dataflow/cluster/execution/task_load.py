"""What a task counts of the steps that it runs, and the brake that makes it a straggler."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

#: Staleness is reported of this many last updates.
_WINDOW = 200
#: A step that is given up does not wait for the brake longer than this.
_SLICE_SECONDS = 0.02


class TaskLoad:
    """Shared by all partitions of one task.

    ``delay_seconds`` is how much longer each step takes here: a straggler made to order.
    An *update* is a step that read variables of this task and then changed variables of this task
    with what it got from elsewhere; its *staleness* is how many other updates came in between.
    """

    def __init__(self) -> None:
        self.delay_seconds = 0.0
        self.num_updates = 0
        self._staleness: deque[int] = deque(maxlen=_WINDOW)
        self._lock = threading.Lock()

    def updated(self, read_at: int) -> None:
        """A step that began to read when ``num_updates`` was ``read_at`` changes variables now."""
        with self._lock:
            self._staleness.append(self.num_updates - read_at)
            self.num_updates += 1

    def hold(self, given_up: Callable[[], bool]) -> None:
        """Wait as long as each step is to take longer, or until it is given up."""
        deadline = time.monotonic() + self.delay_seconds
        while not given_up() and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))

    def describe(self) -> dict[str, Any]:
        """Return the figures: updates, mean and largest staleness of the last ones, the brake."""
        with self._lock:
            recent = list(self._staleness)
        return {
            "updates": self.num_updates,
            "staleness": sum(recent) / len(recent) if recent else None,
            "largest_staleness": max(recent) if recent else None,
            "delay_seconds": self.delay_seconds,
        }
