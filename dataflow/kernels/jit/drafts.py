"""Machine code that was compiled quickly, and is compiled well once the process has lived for some seconds.

A program of a few hundred steps ends before that pays off, and one that runs for an hour does not notice: it is done
in the background, a function at a time, with pauses. Who runs such code is told where the new one lies; the
old one stays, so it does not matter when they learn of it. In lists of calls (`call_list`) the addresses are exchanged.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

#: How old code is when it is compiled again, and how long the pause is after that, in times of compiling.
_SECONDS_BEFORE_IMPROVING, _PAUSE = 5.0, 4.0


class Holder(Protocol):
    """What has noted addresses of machine code."""

    def replace(self, addresses: Mapping[int, int], /) -> None:
        """Exchanges the addresses that are keys for their values."""


_holders: weakref.WeakSet[Holder] = weakref.WeakSet()


def add_holder(holder: Holder) -> None:
    """Has `Holder.replace` called when code is improved, as long as the holder lives."""
    _holders.add(holder)


def replace(addresses: Mapping[int, int]) -> None:
    """Tells all holders where improved code lies."""
    for holder in list(_holders):
        holder.replace(addresses)


class _Improver:
    """The thread that improves code: it ends when there is none left, and with the process."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        # LLVM's clean-up at exit would free what a thread is using.
        atexit.register(self._stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A fork has no thread of its own, and may have a lock that another thread held."""
        self._lock = threading.Lock()
        self._thread = None

    def add(self, improve: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append((time.monotonic() + _SECONDS_BEFORE_IMPROVING, improve))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="dataflow-improve", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        pause = 0.0
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                at, _ = self._waiting[0]
            if self._stopped.wait(max(pause, at - time.monotonic())):
                return
            with self._lock:
                if not self._waiting:
                    continue
                _, improve = self._waiting.popleft()
            began = time.thread_time()
            _try(improve)
            pause = _PAUSE * (time.thread_time() - began)

    def finish(self) -> None:
        """Improves all that waits, now."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                _, improve = self._waiting.popleft()
            _try(improve)

    def num_waiting(self) -> int:
        """How many functions are to be improved."""
        return len(self._waiting)

    def _stop(self) -> None:
        self._stopped.set()
        thread = self._thread
        if thread is not None:
            thread.join()


def _try(improve: Callable[[], None]) -> None:
    try:
        improve()
    except Exception as e:
        warnings.warn(f"Machine code could not be improved and stays as it is: {e}", stacklevel=1)


_improver = _Improver()
improve_later = _improver.add
#: Does now what would be done in some seconds.
finish = _improver.finish
num_waiting = _improver.num_waiting
