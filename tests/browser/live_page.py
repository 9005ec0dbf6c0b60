"""A page whose widget sends by itself, from threads of its own: a real one, in this process.

`LivePage.until` brings what the widget has sent to the page, in order, until a condition holds.
"""

from __future__ import annotations

import json
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from tests.browser.kernel_page import KernelPage
from tests.browser.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable


class LivePage(KernelPage):
    """A `KernelPage` for widgets that send without being asked."""

    def show_widget(self, widget: Any, **kernel: Any) -> None:
        self._widget = widget
        self._queue: SimpleQueue[Any] = SimpleQueue()
        widget.send = lambda content, buffers=None: self._queue.put(json.loads(json.dumps(content)))
        payload = json.loads(json.dumps(widget.payload or getattr(widget, "_payload", dict)()))
        self.show(json.loads(json.dumps(self._state())) | {"payload": payload}, **kernel)

    def _answer_page(self, message: dict[str, Any]) -> dict[str, Any]:
        self._widget._receive(self._widget, message, [])
        return {"state": {}, "messages": []}

    def bring(self) -> None:
        """What the widget has sent so far reaches the page."""
        while not self._queue.empty():
            self.page.evaluate("(m) => models.at(-1).custom(m, [])", self._queue.get())
        changed = self._widget.payload
        if changed and changed is not getattr(self, "_shown", None):
            self._shown = changed
            self.page.evaluate(
                "(p) => models.at(-1).update('payload', p)", json.loads(json.dumps(changed))
            )
        self.page.evaluate("0")  # calls of the page are answered meanwhile

    def until(self, condition: str | Callable[[], Any], what: str = "") -> None:
        """Wait until a function of the page, or one of this process, returns something true."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.bring()
            found = self.page.evaluate(condition) if isinstance(condition, str) else condition()
            if found:
                return
            if time.monotonic() > end:
                raise TimeoutError(f"{what or condition} did not come true")
            time.sleep(0.02)
