"""Machine code that was compiled quickly, and is compiled well once it has run often and the process long.

A program of a few hundred steps ends before that pays off, and one that runs for an hour does not notice: it is done
in the background, a function at a time, with pauses. The quick code counts its runs: what only starts a program is
never compiled again. Time is the processor's, which other programs on the machine do not take from this one. Who runs
such code is told where the new one lies; the old one stays, so it does not matter when they learn of it. In lists of
calls (`call_list`) the addresses are exchanged.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from dataflow.kernels.jit.llvm_builder import counting_calls

#: How many seconds of processor time after code was compiled quickly it may be compiled well, and how often it has run
#: by then. What has not is looked at again when as much time has gone by.
_SECONDS_BEFORE_IMPROVING, _RUNS_BEFORE_IMPROVING = 5.0, 100
#: How long the pause is after compiling, in times of that; and in seconds, where there is nothing to do yet.
_PAUSE, _LEAST_PAUSE = 4.0, 1.0
#: What texts call the number of runs.
_COUNT = "dataflow_runs"


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


class Count:
    """How often quick code has run, which it writes down itself: ``text`` is one that counts the calls of the functions
    ``names``. Threads that run it at the same time may count once."""

    #: The code may run as long as the process lives.
    _all: list[ctypes.c_int64] = []

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = counting_calls(text, names, _COUNT)
        self._number = ctypes.c_int64()
        self._all.append(self._number)

    @property
    def data(self) -> dict[str, int]:
        """Where what is external in the text lies."""
        return {_COUNT: ctypes.addressof(self._number)}

    def __call__(self) -> int:
        """The number of runs."""
        return self._number.value


class _Waiting(NamedTuple):
    """Code that is to be improved, not before so many seconds of the process's time."""

    at: float
    num_runs: Callable[[], int]
    improve: Callable[[], None]


class _Improver:
    """The thread that improves code: it ends when there is none left, and with the process."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        # LLVM's clean-up at exit would free what a thread is using.
        atexit.register(self._stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A fork has no thread of its own, and may have a lock that another thread held; its time begins anew."""
        self._lock = threading.Lock()
        self._thread = None
        self._waiting = [one._replace(at=_SECONDS_BEFORE_IMPROVING) for one in self._waiting]

    def add(self, num_runs: Callable[[], int], improve: Callable[[], None]) -> None:
        """Has ``improve`` called in some seconds, if ``num_runs()`` are many by then."""
        at = time.process_time() + _SECONDS_BEFORE_IMPROVING
        with self._lock:
            self._waiting.append(_Waiting(at, num_runs, improve))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="dataflow-improve", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        pause = _SECONDS_BEFORE_IMPROVING / (os.cpu_count() or 1)
        while not self._stopped.wait(max(pause, _LEAST_PAUSE)):
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                found = self._next()
            if found is None:
                pause = 0.0
                continue
            began = time.thread_time()
            _try(found.improve)
            pause = _PAUSE * (time.thread_time() - began)

    def _next(self) -> _Waiting | None:
        """Takes what is to be improved now."""
        now = time.process_time()
        for i, one in enumerate(self._waiting):
            if now < one.at:
                continue
            if one.num_runs() >= _RUNS_BEFORE_IMPROVING:
                return self._waiting.pop(i)
            self._waiting[i] = one._replace(at=2 * now)
        return None

    def finish(self) -> None:
        """Improves all that waits, now."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                found = self._waiting.pop(0)
            _try(found.improve)

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
