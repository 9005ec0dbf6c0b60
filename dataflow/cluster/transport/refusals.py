"""The peers that a task has refused: counted, the last ones kept, and logged at a limited rate."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

log = logging.getLogger("dataflow.cluster")

#: The most lines written in each period; the next line says how many were left out.
LINES = 5
PERIOD_SECONDS = 10.0
#: How many of the last refusals are kept.
_KEPT = 100


class Refusals:
    """The connections that one task has refused."""

    def __init__(self, task: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        #: The last ones as ``(peer address, why)``, oldest first.
        self.last: deque[tuple[str, str]] = deque(maxlen=_KEPT)
        self._task = task
        self._clock = clock
        self._since = -PERIOD_SECONDS
        self._lines = 0
        self._left_out = 0
        self._lock = threading.Lock()

    def add(self, source: str, why: str) -> None:
        """Count and keep a refusal; log it unless there were too many lines lately."""
        with self._lock:
            self.count += 1
            self.last.append((source, why))
            now = self._clock()
            if now - self._since >= PERIOD_SECONDS:
                self._tell_left_out()
                self._since, self._lines = now, 0
            if self._lines == LINES:
                self._left_out += 1
                return
            self._lines += 1
        log.warning("%s refused %s: %s", self._task, source, why)

    def close(self) -> None:
        """Log how many were left out since the last line."""
        with self._lock:
            self._tell_left_out()

    def _tell_left_out(self) -> None:
        if self._left_out:
            log.warning("%s refused %d more connections.", self._task, self._left_out)
            self._left_out = 0
