"""Until when a run may last: what its ops wait, and its loops go on, at most."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from dataflow.errors import CancelledError, DeadlineExceededError
from dataflow.runtime.cancellation import here


class LoopEnd:
    """Ends the loops of a session's runs when it is closed or their time is up; nothing else can stop a loop."""

    #: Run in each round, which may take a tenth of a microsecond.
    line = "stop.due and stop.end()"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        #: How many runs have a deadline, and 1 when the session was closed: 0 where no loop need look.
        self.due = 0

    def add(self, number: int) -> None:
        with self._lock:
            self.due += number

    def close(self) -> None:
        self._is_closed = True
        self.add(1)

    def end(self) -> None:
        """Raises `CancelledError` or `DeadlineExceededError` when it is time."""
        if self._is_closed:
            raise CancelledError(None, None, "A loop was running when its session was closed.")
        if here.deadline is not None and time.monotonic() >= here.deadline:
            raise DeadlineExceededError(
                None, None, "A loop was still running when its run timed out."
            )


@contextlib.contextmanager
def within(seconds: float, loop_end: LoopEnd | None = None) -> Iterator[None]:
    """Ops of the runs inside that wait longer than this many seconds end with `DeadlineExceededError`.

    So do loops of the session that has this ``loop_end``.
    """
    outer = here.deadline
    here.deadline = time.monotonic() + seconds
    if loop_end is not None:
        loop_end.add(1)
    try:
        yield
    finally:
        if loop_end is not None:
            loop_end.add(-1)
        here.deadline = outer
