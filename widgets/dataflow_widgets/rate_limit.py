"""Calls that may be asked for at any rate, and are made at most so often.

Curves are drawn at most ten times a second, however quick the training. One daemon thread serves
all widgets; it lives while something is due and ends when nothing has been for a while. It works
while a cell keeps the kernel's main thread busy, as messages to the page leave from any thread.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

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
                _thread = threading.Thread(target=_work, name="dataflow widgets", daemon=True)
                _thread.start()
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


def _work() -> None:
    global _thread
    while True:
        with _change:
            now = time.monotonic()
            ready = min(_due, key=_due.__getitem__, default=None)
            if ready is None:
                if not _change.wait(_IDLE_SECONDS) and not _due:
                    _thread = None
                    return
                continue
            if _due[ready] > now:
                _change.wait(_due[ready] - now)
                continue
            del _due[ready]
            ready._last = now
        ready._call()
        del ready
