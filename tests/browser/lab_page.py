"""JupyterLab in a page: open a notebook, run its cells, look at what came out."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from tests.browser.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Locator, Page, Request

    from tests.browser.jupyter_server import JupyterServer

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_IN_PAGE_SCHEMES = ("data", "blob", "about", "chrome-error")

# Thrown by the front ends themselves while they start, on a slow machine more often.
KNOWN_JUPYTER_ERRORS = (
    "Command 'filebrowser:open-path' not registered",  # JupyterLab, opened on a /tree/ address
    "reading 'schema'",  # Notebook 7, with no widget in sight
)

# Output, error and execution state of every cell of the notebook in front. `prompt` is "[*]"
# while a cell waits or runs.
_CELL_STATES = """() => {
  const widgets = window.jupyterapp.shell.currentWidget.content.widgets;
  return widgets.map((cell, index) => ({
    index,
    type: cell.model.type,
    source: cell.model.sharedModel.getSource(),
    state: cell.model.type === 'code' ? cell.model.executionState ?? null : null,
    prompt: cell.node.querySelector('.jp-InputPrompt')?.textContent ?? '',
    number: cell.model.type === 'code' ? cell.model.executionCount : null,
    outputs: cell.model.type === 'code' ? cell.model.outputs.toJSON() : [],
  }));
}"""

_KERNEL_STATUS = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  return panel?.sessionContext?.session?.kernel?.status ?? 'none';
}"""


def kept_states(notebook: dict[str, Any]) -> dict[str, Any]:
    """The states of widgets that a saved notebook holds, by model; without the library, which is
    kept once for all of them (155 kB as text).
    """
    bundle = notebook["metadata"].get("widgets", {})
    states = bundle.get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    return {key: m for key, m in states.items() if m["state"].get("kind") != "library"}


def leaves_loopback(url: str) -> bool:
    """Whether a request for this URL would leave the machine."""
    parts = urlsplit(url)
    return parts.scheme not in _IN_PAGE_SCHEMES and (parts.hostname or "") not in LOOPBACK


class LabPage:
    """One JupyterLab page. `page` is Playwright's own, for everything not wrapped here.

    Attributes:
        outside_requests: URLs of requests that would leave loopback; the browser finds no such host.
        page_errors: uncaught exceptions of the page, as text.
        console_errors: what the page wrote to the console at level error.
        failed: a test of this page has failed.
    """

    def __init__(self, page: Page, server: JupyterServer, screenshot_folder: Path) -> None:
        self.page = page
        self.server = server
        self.outside_requests: list[str] = []
        self.page_errors: list[str] = []
        self.console_errors: list[str] = []
        self.failed = False
        self._screenshot_folder = screenshot_folder
        page.context.on("request", self._record_request)
        page.on("pageerror", self._record_page_error)
        page.on("console", self._record_console)
        page.on("websocket", self._record_websocket)

    def _record_request(self, request: Request) -> None:
        if leaves_loopback(request.url):
            self.outside_requests.append(request.url)

    def _record_page_error(self, error: Any) -> None:
        if not any(known in str(error) for known in KNOWN_JUPYTER_ERRORS):
            # With the places in the scripts: whose error it is can be seen there.
            self.page_errors.append(getattr(error, "stack", None) or str(error))

    def _record_websocket(self, socket: Any) -> None:
        if leaves_loopback(socket.url):
            self.outside_requests.append(socket.url)

    def _record_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.console_errors.append(message.text)

    def reset(self) -> None:
        """Make the page as a new one is: nothing open, the light theme, 1280 x 900, motion allowed."""
        self.page.set_viewport_size({"width": 1280, "height": 900})
        self.page.emulate_media(reduced_motion="no-preference")
        self.console_errors.clear()
        if self._has_jupyterlab():
            self._close_documents()
            self.set_theme("JupyterLab Light")

    def _has_jupyterlab(self) -> bool:
        return bool(self.page.evaluate("() => Boolean(window.jupyterapp)"))

    def _close_documents(self) -> None:
        """Close what is open, without saving it."""
        self.page.evaluate(
            "() => [...window.jupyterapp.shell.widgets('main')].forEach((w) => w.dispose())"
        )

    def open_notebook(
        self, name: str, *, reload: bool = False, timeout_seconds: float = 90
    ) -> None:
        """Open a notebook of the served folder with a fresh kernel, and wait for that kernel: in place
        of what is open, which is not saved; in a new JupyterLab where there is none yet, or with
        `reload`, as on the next day.
        """
        if self._has_jupyterlab() and not reload:
            self._close_documents()
            self.server.delete_sessions()
            self.command("docmanager:open", path=name, factory="Notebook")
        else:
            self.server.delete_sessions()
            url = f"{self.server.url}lab/tree/{quote(name)}?reset&token={self.server.token}"
            self.page.goto(url, timeout=timeout_seconds * 1000)
            self.page.wait_for_selector(
                ".jp-NotebookPanel .jp-Cell", timeout=timeout_seconds * 1000
            )
        self.page.wait_for_function(
            "(name) => window.jupyterapp.shell.currentWidget?.context?.path === name"
            f" && ({_KERNEL_STATUS})() === 'idle'",
            arg=name,
            timeout=timeout_seconds * 1000,
        )

    def run_all_in_notebook_7(self, name: str, *, timeout_seconds: float = 180) -> Locator:
        """Open a notebook in Notebook 7 and run all its cells; returns the notebook's element once
        each has ended.

        The cells may run twice, and have to be made for that. There is no JupyterLab application in
        that page: of the other methods only `screenshot` and `page` are of use.
        """
        self.server.delete_sessions()
        page = self.page
        url = f"{self.server.url}notebooks/{quote(name)}?token={self.server.token}"
        page.goto(url, timeout=timeout_seconds * 1000)
        notebook = page.locator(".jp-NotebookPanel")
        notebook.locator(".jp-Cell").first.wait_for()
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
        prompts = notebook.locator(".jp-CodeCell .jp-InputPrompt")
        # The status says idle before the kernel is there. What is run until then is lost, even
        # after its prompt has become [*], or after the first cell has run; or Notebook asks which
        # kernel shall run it.
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            dialog = page.locator(".jp-Dialog")
            if dialog.count():
                assert "Select Kernel" in dialog.first.inner_text(), dialog.first.inner_text()
                dialog.first.locator("button.jp-mod-accept").click()
                page.wait_for_timeout(500)
                continue  # Asked twice, it shows the second question as soon as the first is answered.
            page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
            page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
            clicked = progress = time.monotonic()
            waits, num_done = False, 0
            while time.monotonic() < min(deadline, progress + timeout_seconds / 6):
                page.wait_for_timeout(100)
                texts = prompts.all_inner_texts()
                done = sum(bool(re.match(r"\[\d", text)) for text in texts)
                if texts and done == len(texts):
                    return notebook
                if done > num_done:
                    num_done, progress = done, time.monotonic()
                # A busy page takes seconds until the first [*]: to click again would run the cells twice.
                waited, waits = waits, any("*" in text for text in texts)
                lost = not waits and (waited or time.monotonic() > clicked + 3)
                if lost or page.locator(".jp-Dialog").count():
                    break
        raise TimeoutError(f"Notebook 7 did not run the cells: {prompts.all_inner_texts()}")

    def report(self) -> str:
        """What may explain a failure: where the page stands, what it said, and its server's log."""
        prompts = self.page.locator(".jp-CodeCell .jp-InputPrompt").all_inner_texts()
        outputs = self.page.locator(".jp-OutputArea-output").all_inner_texts()
        log = self.server.log.read_text(errors="replace").splitlines()
        return "\n".join(
            [
                f"page {self.page.url.partition('?')[0]}",
                f"prompts {' '.join(prompts)}",
                *(f"output {i}: {text[:200]!r}" for i, text in enumerate(outputs)),
                *(f"console: {text[:500]}" for text in self.console_errors[-10:]),
                *(f"error: {text[:500]}" for text in self.page_errors[-10:]),
                *(f"server: {line[:300]}" for line in log[-15:]),
            ]
        )

    def command(self, command: str, **arguments: Any) -> Any:
        """Execute a command of JupyterLab, as its menus do; waits for it to end."""
        return self.page.evaluate(
            "([command, args]) => window.jupyterapp.commands.execute(command, args)"
            ".then(() => null)",
            [command, arguments],
        )

    def start_command(self, command: str) -> None:
        """Execute a command of JupyterLab without waiting for it to end."""
        self.page.evaluate(
            "(command) => { window.jupyterapp.commands.execute(command); return null; }", command
        )

    def run_all_cells(self, *, timeout_seconds: float = 120, allow_errors: bool = False) -> None:
        """Run every cell and wait until the kernel is idle again.

        Raises:
            AssertionError: a cell failed (unless `allow_errors`), with its traceback.
        """
        self.start_command("notebook:run-all-cells")
        self.wait_until_idle(timeout_seconds=timeout_seconds)
        if not allow_errors:
            self.assert_no_cell_failed()

    def run_cell(self, index: int, *, timeout_seconds: float = 60) -> None:
        """Run one cell (counted from 0, Markdown cells included) and wait for it."""
        self.select_cell(index)
        self.start_command("notebook:run-cell")
        self.wait_until_idle(timeout_seconds=timeout_seconds)

    def run_code(self, source: str, *, timeout_seconds: float = 60) -> int:
        """Add a code cell at the end, run it, wait for it; returns the new cell's index."""
        index = len(self.cells()) - 1
        self.select_cell(index)
        self.command("notebook:insert-cell-below")
        self.page.evaluate(
            "(source) => window.jupyterapp.shell.currentWidget.content.activeCell"
            ".model.sharedModel.setSource(source)",
            source,
        )
        self.start_command("notebook:run-cell")
        self.wait_until_idle(timeout_seconds=timeout_seconds)
        return index + 1

    def select_cell(self, index: int) -> None:
        """Make a cell the active one, in command mode."""
        self.page.evaluate(
            "(index) => { const notebook = window.jupyterapp.shell.currentWidget.content;"
            " notebook.deselectAll(); notebook.activeCellIndex = index;"
            " notebook.mode = 'command'; }",
            index,
        )

    def wait_until_idle(self, *, timeout_seconds: float = 120) -> None:
        """Wait until no cell waits or runs and the kernel is idle."""
        self.page.wait_for_function(
            f"() => ({_KERNEL_STATUS})() === 'idle' && !({_CELL_STATES})()"
            ".some((cell) => cell.prompt.includes('*') || cell.state === 'running')",
            timeout=timeout_seconds * 1000,
        )

    def cells(self) -> list[dict[str, Any]]:
        """Every cell: index, type, source, state, prompt, outputs (in notebook format)."""
        cells: list[dict[str, Any]] = self.page.evaluate(_CELL_STATES)
        return cells

    def cell(self, index: int) -> Locator:
        """The cell's element in the page."""
        return self.page.locator(".jp-NotebookPanel:visible .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        """The element that holds the outputs of a code cell."""
        return self.cell(index).locator(".jp-OutputArea").first

    def output_text(self, index: int) -> str:
        """What a cell printed or returned as text/plain, joined."""
        parts = []
        for output in self.cells()[index]["outputs"]:
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            parts.append(text if isinstance(text, str) else "".join(text))
        return "".join(parts)

    def failures(self) -> list[str]:
        """One text per failed cell: its index, and the error without terminal colors."""
        found = []
        for cell in self.cells():
            for output in cell["outputs"]:
                if output["output_type"] == "error":
                    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output["traceback"]))
                    found.append(f"cell {cell['index']}:\n{trace}")
        return found

    def assert_no_cell_failed(self) -> None:
        """Fail with the tracebacks of the cells that raised."""
        failures = self.failures()
        assert not failures, "\n\n".join(failures)

    def set_theme(self, theme: str) -> None:
        """ "JupyterLab Light" or "JupyterLab Dark"."""
        self.command("apputils:change-theme", theme=theme)
        expected = "false" if "Dark" in theme else "true"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{expected}']", state="attached")

    def screenshot(self, name: str, element: Locator | None = None) -> Path:
        """Save a picture of the page, or of one element; returns where (git-ignored)."""
        self._screenshot_folder.mkdir(parents=True, exist_ok=True)
        path = self._screenshot_folder / f"{name}.png"
        if element is None:
            self.page.screenshot(path=path)
        else:
            element.scroll_into_view_if_needed()
            element.screenshot(path=path)
        return path

    def wait_for(self, condition: str, *, timeout_seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a JavaScript function of no arguments returns something true."""
        self.page.wait_for_function(condition, timeout=timeout_seconds * 1000)

    def run_until(self, condition: str) -> None:
        """Ask the kernel, in a cell at the end, until a Python expression is true: between two runs of
        the cell the kernel hears what widgets say.
        """
        index = self.run_code(f"print(bool({condition}))")
        end = time.monotonic() + PATIENCE_SECONDS
        while self.output_text(index).strip() != "True":
            if time.monotonic() > end:
                raise TimeoutError(f"{condition}: {self.output_text(index)}")
            self.page.wait_for_timeout(200)
            self.run_cell(index)

    def wait_until_kept(self, index: int, text: str = "data:image/svg+xml") -> None:
        """Until the static picture of a cell's widget has ``text``: it is renewed when things have been
        quiet for a moment.
        """
        self.page.wait_for_function(
            """([index, text]) => window.jupyterapp.shell.currentWidget.content.widgets[index].model.outputs
              .toJSON().some((output) => [output.data?.["text/html"]].flat().join("").includes(text))""",
            arg=[index, text],
        )


def screenshot_folder(environment: dict[str, str] | os._Environ[str] = os.environ) -> Path:
    """Where pictures go: `DATAFLOW_SCREENSHOTS`, else tests/browser/screenshots."""
    chosen = environment.get("DATAFLOW_SCREENSHOTS")
    return Path(chosen) if chosen else Path(__file__).resolve().parent / "screenshots"
