"""Counters of the steps that a task runs, and the delay that makes it a straggler on request."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from dataflow.capabilities import THREADS
from dataflow.cluster.execution.traffic import Traffic

#: Staleness is reported for this many of the last updates.
_WINDOW = 200
#: A canceled step does not go on waiting for the delay longer than this.
_SLICE_SECONDS = 0.02


class TaskLoad:
    """Shared by all partitions of one task.

    ``delay_seconds`` is added to each step here, to make the task a straggler.
    An *update* is a step that read variables of this task and then changed variables of this task
    with what it got from elsewhere; its *staleness* is how many other updates came in between.
    """

    def __init__(self) -> None:
        self.delay_seconds = 0.0
        #: Without threads: whether the delay of the step that is being called has passed already.
        self.has_held = False
        self._paused = False
        self._before_pause = 0.0
        self.num_updates = 0
        #: By the task of a master: how many updates there were after its last one.
        self.version_of: dict[str, int] = {}
        self.traffic = Traffic()
        self._staleness: deque[int] = deque(maxlen=_WINDOW)
        self._lock = threading.Lock()

    def updated(self, read_at: int, master: str = "") -> None:
        """A step that began to read when ``num_updates`` was ``read_at`` changes variables now.

        ``master`` is the task whose session the step belongs to.
        """
        with self._lock:
            self._staleness.append(self.num_updates - read_at)
            self.num_updates += 1
            self.version_of[master] = self.num_updates

    @property
    def is_paused(self) -> bool:
        """Whether no step begins here."""
        return self._paused

    def hold(self, given_up: Callable[[], bool]) -> None:
        """Wait for the step's added delay, or until the step is canceled.

        Where there are no threads the step has waited before it began (`MasterStep`, `in_process`).
        """
        if not THREADS:
            return
        deadline = time.monotonic() + self.delay_seconds
        while not given_up() and (self._paused or time.monotonic() < deadline):
            time.sleep(_SLICE_SECONDS if self._paused else self._slice(deadline))

    @staticmethod
    def _slice(deadline: float) -> float:
        return max(0.0, min(deadline - time.monotonic(), _SLICE_SECONDS))

    def pause(self) -> None:
        """Let no step begin here until `go_on`; a delayed step counts as one that may block."""
        if not self._paused:
            self._before_pause = self.delay_seconds
            self.delay_seconds = self.delay_seconds or _SLICE_SECONDS
            self._paused = True

    def go_on(self) -> None:
        """End a pause."""
        if self._paused:
            self.delay_seconds = self._before_pause
            self._paused = False

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
