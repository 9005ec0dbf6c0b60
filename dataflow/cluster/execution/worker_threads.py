"""Pooled threads for the segments of partitions that may block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from dataflow.capabilities import THREADS
from dataflow.cluster.transport.in_process import mail
from dataflow.kernels.subnormals import compute_in_this_thread


class _Worker(threading.Thread):
    """A pooled thread that runs one function after the other."""

    def __init__(self) -> None:
        super().__init__(name="dataflow segment", daemon=True)
        self.work: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        # Once for this thread: entering a context for each segment costs a microsecond.
        compute_in_this_thread()
        while True:
            function = self.work.get()
            function()
            del function
            idle.append(self)


idle: list[_Worker] = []


def run_in_thread(function: Callable[[], None]) -> None:
    """Run ``function`` on an idle thread, a new one when all are busy (they may all be blocked).

    Where there are no threads it runs when a task waits.
    """
    if not THREADS:
        mail.later(function)
        return
    try:
        worker = idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.work.put(function)
