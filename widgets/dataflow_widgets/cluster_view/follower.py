"""What looks at a running cluster for a widget, beside the cells, as long as a page shows the widget."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dataflow_widgets import side_tasks

if TYPE_CHECKING:
    from dataflow.runtime.cooperative import Wait

STATE_SECONDS = 0.5
FRAME_SECONDS = 0.1  # at most ten updates a second


class Follower:
    """Calls ``widget._send_state()`` twice a second and ``widget._send_messages()`` up to ten times.

    What they raise is the widget's ``failure``, until they succeed again.
    """

    def __init__(self, widget: Any, name: str) -> None:
        self._widget = widget
        self._name = name
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def wake(self) -> None:
        """Look now: something has changed."""
        self._wake.set()

    def page_changed(self) -> None:
        """Begin if a page shows the widget; the thread finds out by itself that none does."""
        with self._lock:
            if self._widget._num_open and (self.thread is None or not self.thread.is_alive()):
                self.thread = side_tasks.begin(self._steps, self._name)
        self._wake.set()

    def _steps(self) -> Iterator[Wait]:
        from dataflow.runtime.cooperative import Wait

        widget = self._widget
        while True:
            self._wake.clear()
            with self._lock:
                if not widget._num_open:
                    self.thread = None
                    return
            try:
                widget._send_state()
                if widget.failure:
                    widget.failure = ""
            except Exception as e:
                widget.failure = f"The cluster could not be looked at: {type(e).__name__}: {e}"
            until = time.monotonic() + STATE_SECONDS
            yield side_tasks.pause(FRAME_SECONDS, "the next frame")
            while not self._wake.is_set() and time.monotonic() < until and widget._num_open:
                seconds = self._frame()
                at = time.monotonic() + seconds
                wait = functools.partial(self._wake.wait, seconds)
                yield Wait("a change of the cluster", self._wake.is_set, at, wait)

    def _frame(self) -> float:
        """Sends what is new; how long to rest then."""
        began = time.monotonic()
        try:
            self._widget._send_messages()
        except Exception as e:
            self._widget.failure = f"Its messages could not be looked at: {type(e).__name__}: {e}"
        # On a machine that is too busy for ten frames a second there are fewer.
        took = time.monotonic() - began
        return max(FRAME_SECONDS - took, 2 * took, 0.01)
