"""Calls that may be asked for at any rate, and are made at most so often.

Curves are drawn at most ten times a second, however quick the training. One daemon thread serves
all widgets; it lives while something is due and ends when nothing has been for a while. It works
while a cell keeps the kernel's main thread busy, as messages to the page leave from any thread. Where
no thread can be started, it is a task that has its turns between the cells.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow_widgets import side_tasks

if TYPE_CHECKING:
    from dataflow.runtime.cooperative import Wait

_IDLE_SECONDS = 2.0
_change = threading.Condition()
_due: dict[Pacer, float] = {}  # when each is to be called, by time.monotonic()
_thread: threading.Thread | None = None


class Pacer:
    """`ask` sees to it that ``method()`` is called soon, at most once in ``seconds``.

    The method is held weakly, so that a widget which is no longer used is not kept.
    """

    def __init__(self, method: Callable[[], Any], seconds: float = 0.1) -> None:
        self._method = weakref.WeakMethod(method)
        self._seconds = seconds
        self._last = float("-inf")

    def ask(self, *, after: float = 0.0) -> None:
        """Asks for a call, not before ``after`` seconds have passed; returns at once."""
        global _thread
        with _change:
            at = max(time.monotonic() + after, self._last + self._seconds)
            _due[self] = min(at, _due.get(self, at))
            if _thread is None:
                _thread = side_tasks.begin(_steps, "dataflow widgets")
            _change.notify()

    def cancel(self) -> None:
        """Takes back what was asked for."""
        with _change:
            _due.pop(self, None)

    def _call(self) -> None:
        method = self._method()
        if method is None:
            return
        try:
            method()
        except Exception as e:
            owner = method.__self__  # type: ignore[attr-defined]
            try:
                owner.failure = (
                    f"This view could not be brought up to date: {type(e).__name__}: {e}"
                )
            except Exception:  # no widget, or a closed one
                print(f"{owner!r}: {type(e).__name__}: {e}", file=sys.stderr)


def _steps() -> Iterator[Wait | None]:
    """What the thread, or the task, does."""
    global _thread
    from dataflow.runtime.cooperative import Wait

    idle_until = time.monotonic() + _IDLE_SECONDS
    while True:
        with _change:
            now = time.monotonic()
            ready = min(_due, key=_due.__getitem__, default=None)
            at = idle_until if ready is None else _due[ready]
            if at <= now:
                if ready is None:
                    _thread = None
                    return
                del _due[ready]
                ready._last = now
        if ready is None or at > now:
            yield Wait("a widget to be due", _is_sooner(at), at, _block)
            continue
        ready._call()
        del ready
        idle_until = time.monotonic() + _IDLE_SECONDS
        yield None


def _is_sooner(at: float) -> Callable[[], bool]:
    return lambda: min(_due.values(), default=at) < at


def _block() -> None:
    with _change:
        at = min(_due.values(), default=time.monotonic() + _IDLE_SECONDS)
        _change.wait(max(0.0, at - time.monotonic()))
