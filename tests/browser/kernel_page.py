"""A widget in a page without Jupyter, with its Python half in this process: a click reaches the real
widget and its answers reach the page, with no server between them.

Only for widgets whose messages are answered on the thread that they came on; `without_threads`
makes an explorer such a one, which is also how it works where Python cannot start threads.
"""

from __future__ import annotations

import base64
import json
import threading
from typing import TYPE_CHECKING, Any

from tests.browser.bare_page import BarePage

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import Browser

# What the page's model does instead of BarePage's: state and messages of a real widget.
_CONNECT = """() => {
  const plain = makeModel;
  window.makeModel = makeModel = (state, kernel) => {
    const model = plain(state, kernel);
    const send = model.send;
    const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    model.busy = false;
    model.send = (message) => {
      send(message);
      if (message.kind === "library" || message.kind === "engine" || model.busy) return;
      toKernel(message).then((told) => {
        const arrive = () => {
          for (const [key, value] of Object.entries(told.state)) model.update(key, value);
          for (const { content, buffers } of told.messages) model.custom(content, buffers.map(bytes));
        };
        if (model.underway) model.underway.push(arrive); // a test lets them arrive one by one
        else arrive();
      });
    };
    return model;
  };
}"""


class KernelPage(BarePage):
    """A `BarePage` whose widgets have a kernel: `show_widget`."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        super().__init__(browser, **options)
        self._widget: Any = None
        self._sent: list[dict[str, Any]] = []
        self.page.expose_function("toKernel", self._answer_page)
        self.page.evaluate(_CONNECT)

    def show_widget(self, widget: Any, **kernel: Any) -> None:
        """Displays ``widget``; what it sends from now on reaches the page with the next answer."""
        self._widget = widget

        def send(content: Any, buffers: Any = None) -> None:
            told = [base64.b64encode(bytes(b)).decode() for b in buffers or []]
            self._sent.append({"content": content, "buffers": told})

        widget.send = send
        state = json.loads(json.dumps(self._state()))
        self.show(state | {"payload": {}}, **kernel)

    def _state(self) -> dict[str, Any]:
        names = [n for n in self._widget.keys if not n.startswith("_")]
        state = {name: getattr(self._widget, name) for name in names}
        return {
            name: value
            for name, value in state.items()
            if isinstance(value, str | int | float | dict | list) and name != "payload"
        }

    def _answer_page(self, message: dict[str, Any]) -> dict[str, Any]:
        self._sent = []
        before = self._state()
        self._widget._receive(self._widget, message, [])
        changed = {name: v for name, v in self._state().items() if v != before.get(name)}
        return {"state": changed, "messages": self._sent}


def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the start of an explorer's thread fail, as it does in WebAssembly."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "dataflow explorer":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
