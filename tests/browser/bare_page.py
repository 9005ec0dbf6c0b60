"""A widget in a page without Jupyter: the committed JavaScript, a model made of a dictionary, and a
kernel that answers or does not. Much quicker than a JupyterLab, and every failure can be staged.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.patience import eventually, new_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

BUILT = Path(__file__).parents[2] / "widgets" / "dataflow_widgets" / "built"
# What Jupyter Server sends, plus what WIDGETS.md says a strict site must allow.
STRICT_CSP = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; connect-src 'none'"
)
ADDRESS = "http://localhost:9/"  # answered by the route below, never by a server

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>widget</title></head>
<body><main id="root"></main><script>
window.sent = []; window.failures = [];
addEventListener("error", (e) => failures.push(String(e.message)));
addEventListener("unhandledrejection", (e) => failures.push(String(e.reason)));
async function pack(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new DataView(await new Response(packed).arrayBuffer());
}
function makeModel(state, kernel) {
  const handlers = new Map();
  const emit = (event, ...args) => (handlers.get(event) ?? []).slice().forEach((f) => f(...args));
  return {
    get: (k) => state[k],
    set: (k, v) => { state[k] = v; },
    update(k, v) { state[k] = v; emit(`change:${k}`); },
    save_changes() {},
    state: () => state,
    on: (e, f) => handlers.set(e, [...(handlers.get(e) ?? []), f]),
    off: (e, f) => handlers.set(e, (handlers.get(e) ?? []).filter((g) => g !== f)),
    custom: (message, buffers) => emit("msg:custom", message, buffers),
    send(message) {
      sent.push(message);
      const text = { library: kernel.library, engine: kernel.engine }[message.kind];
      const answer = async () => emit("msg:custom", { kind: message.kind }, [await pack(text)]);
      if (text) setTimeout(answer, kernel.delay ?? 0);
    },
  };
}
async function show(loader, state, kernel) {
  const url = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  const model = makeModel(state, kernel);
  const el = document.createElement("div");
  document.getElementById("root").append(el);
  window.started = performance.now();
  widget.initialize({ model });
  const stop = widget.render({ model, el });
  (window.models ??= []).push(model);
  (window.stops ??= []).push(stop);
}
</script></body></html>"""


def built(name: str) -> str:
    """A committed file of JavaScript."""
    return (BUILT / name).read_text(encoding="utf-8")


def unpacked(text: str) -> str:
    """A picture or a snapshot as the page keeps it."""
    return zlib.decompress(base64.b64decode(text), wbits=-15).decode()


def graph_state(nodes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The traits of a GraphView of ``nodes``."""
    return {
        "kind": "graph_view",
        "title": "",
        "height": 480,
        "direction": "down",
        "only": [],
        "marks": {},
        "profile_data": {},
        "picture": "",
        "words": "",
        "failure": "",
        "payload": {"version": len(nodes), "nodes": nodes},
        **more,
    }


class BarePage:
    """One page; `page` is Playwright's own.

    What its ``wait_for_function`` waits for is written as a function: text that is an expression is
    evaluated again at every look, which the content security policy forbids.
    """

    def __init__(self, browser: Browser, *, csp: str = STRICT_CSP, dark: bool = False) -> None:
        self.context = new_context(
            browser,
            viewport={"width": 1100, "height": 800},
            color_scheme="dark" if dark else "light",
        )
        self.page: Page = self.context.new_page()
        self.outside: list[str] = []
        self.page.route("**/*", lambda route: self._answer(route, csp))
        self.page.goto(ADDRESS)

    def _answer(self, route: Any, csp: str) -> None:
        if route.request.url == ADDRESS:
            headers = {"content-security-policy": csp}
            route.fulfill(status=200, content_type="text/html", body=_PAGE, headers=headers)
        elif route.request.url.startswith(("blob:", "data:")):
            route.continue_()
        else:
            if not route.request.url.endswith("favicon.ico"):
                self.outside.append(route.request.url)
            route.abort()

    def show(self, state: dict[str, Any], **kernel: Any) -> None:
        """Displays a widget; ``library=""`` or ``engine=""`` stages a kernel that does not
        answer."""
        kernel = {"library": built("library.js"), "engine": built("graphviz.js")} | kernel
        # Through JSON text, so that names with any characters arrive as they are.
        self.page.evaluate(
            "([loader, state, kernel]) => show(loader, JSON.parse(state), kernel)",
            [built("loader.js"), json.dumps(state), kernel],
        )

    def keep_library(self) -> None:
        """What a notebook keeps of the library is here, as `dataflow_widgets.base.Library` keeps it."""
        self.page.evaluate(
            """async ([loader, library]) => {
              const url = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
              const model = makeModel({ kind: "library", library: await pack(library) }, {});
              (await import(url)).default.initialize({ model });
            }""",
            [built("loader.js"), built("library.js")],
        )

    def kept(
        self, is_wanted: Callable[[dict[str, Any]], bool] = lambda state: True
    ) -> dict[str, Any]:
        """What a notebook saved now keeps of the newest widget, when the page has written it and ``is_wanted``:
        it writes when things have been quiet for a moment, and what has not changed it does not write again.
        """
        state: dict[str, Any] = {}

        def is_kept() -> bool:
            state.update(self.page.evaluate("models.at(-1).state()"))
            return bool(state["picture"] and state.get("snapshot")) and is_wanted(state)

        eventually(self.page, is_kept, True)
        return state | {"payload": {}, "bundle": None}

    def wait_drawn(self, *, attempt: str | None = None) -> None:
        """Until the newest widget has a drawing (made in the way ``attempt``)."""
        suffix = f'[data-attempt="{attempt}"]' if attempt else "[data-attempt]"
        self.page.locator(f"#root > :last-child .df-pane{suffix}").last.wait_for()

    def failures(self) -> list[str]:
        """Uncaught errors of the page."""
        return list(self.page.evaluate("window.failures"))

    def close(self) -> None:
        """Closes the page and its context."""
        self.context.close()
