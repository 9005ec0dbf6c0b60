"""The site of `make site` on a port of loopback, and a page on it, for tests."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.wasm import distribution

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: For each step: the page and its kernel have two processors that others use as well.
PATIENCE_MS = 120_000

_KERNEL = "() => !!window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel"
_DIRTY = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
# [number of code cells that have not ended, what went wrong in others]
_PROGRESS = """() => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets.filter((c) => c.model.type === "code");
  const wrong = cells.flatMap((c) => c.model.outputs.toJSON().filter((o) => o.output_type === "error")
    .map((o) => c.model.id + ": " + o.ename + ": " + o.evalue));
  const busy = cells.filter((c) => c.model.executionState !== "idle" || c.model.executionCount === null);
  return [busy.filter((c) => c.model.sharedModel.getSource().trim()).length, wrong];
}"""


def build(folder: Path) -> Path:
    """The site in ``folder``, with npm's Pyodide and the wheels of ``../shared/wasm``."""
    from tools.site import Site

    pyodide = os.pathsep.join([str(distribution.PYODIDE), str(distribution.WHEELS)])
    Site(pyodide, folder, distribution.ROOT / "lessons").build()
    settings = json.loads((folder / "jupyter-lite.json").read_text())
    settings["jupyter-config-data"]["exposeAppInBrowser"] = True  # `window.jupyterapp`
    (folder / "jupyter-lite.json").write_text(json.dumps(settings))
    return folder


class _Silent(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server of static files; its address."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Silent, directory=str(folder))
    )
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


class SitePage:
    """A page of the site.

    ``outside`` are the addresses of other hosts that it asked for, ``slow_starts`` what its kernels said of why
    they could not begin from the stored memory.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.outside: list[str] = []
        self.slow_starts: list[str] = []
        page.context.on("request", self._note)
        page.on("console", self._note_start)
        page.context.set_default_timeout(PATIENCE_MS)

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.outside.append(request.url)

    def _note_start(self, message: Any) -> None:
        if message.text.startswith("Python starts from its beginning"):
            self.slow_starts.append(message.text)

    def wait_for_notebook(self) -> None:
        """Until the notebook in front has a kernel: cells that are run before it are lost."""
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        self.page.wait_for_function(_KERNEL)

    def command(self, command: str) -> None:
        """Execute a command of JupyterLab, without waiting for its end."""
        self.page.evaluate(
            "(command) => { window.jupyterapp.commands.execute(command); return null; }", command
        )

    def save(self) -> None:
        """Save the notebook in front, once more for what the kernel still said of a widget meanwhile."""
        end = time.monotonic() + PATIENCE_MS / 1000
        self.command("docmanager:save")
        while self.page.evaluate(_DIRTY):
            if time.monotonic() > end:
                raise TimeoutError("the notebook is not saved")
            self.page.wait_for_timeout(500)
            self.command("docmanager:save")

    def run_all(self, patience_seconds: float) -> list[str]:
        """Run the notebook until all cells have ended or one failed; the errors."""
        self.command("notebook:run-all-cells")
        end = time.monotonic() + patience_seconds
        while True:
            left, wrong = self.page.evaluate(_PROGRESS)
            if wrong or not left:
                return list(wrong)
            if time.monotonic() > end:
                raise TimeoutError(f"{left} cells have not ended")
            self.page.wait_for_timeout(200)

    def show_cell(self, index: int) -> None:
        """Scroll to a cell: those out of sight are not in the page."""
        self.page.evaluate(
            "(index) => { const notebook = window.jupyterapp.shell.currentWidget.content;"
            " notebook.activeCellIndex = index; return notebook.scrollToItem(index); }",
            index,
        )

    def index_of(self, text: str) -> int:
        """The first cell whose source has ``text``."""
        found = self.page.evaluate(
            "(text) => window.jupyterapp.shell.currentWidget.content.widgets.findIndex("
            "(c) => c.model.sharedModel.getSource().includes(text))",
            text,
        )
        assert found >= 0, f"no cell has {text!r}"
        return int(found)
