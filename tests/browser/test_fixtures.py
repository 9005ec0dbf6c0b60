"""The fixtures themselves: a page runs cells, sees failures, and cannot leave loopback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser import patience
from tests.browser.lab_page import leaves_loopback
from tests.browser.patience import at_rest, eventually

pytestmark = pytest.mark.browser


def test_cells_run_and_their_output_is_seen(lab_page, jupyter_server):
    name = jupyter_server.write_notebook("arithmetic.ipynb", ["print(6 * 7)", "'a' + 'b'"])
    lab_page.open_notebook(name)
    lab_page.run_all_cells()
    assert lab_page.output_text(0) == "42\n"
    assert lab_page.output_text(1) == "'ab'"
    index = lab_page.run_code("print('added')")
    assert index == 2
    assert lab_page.output_text(index) == "added\n"
    assert "added" in lab_page.output(index).inner_text()
    picture = lab_page.screenshot("fixtures-arithmetic")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_failing_cell_fails_the_test_with_its_traceback(lab_page, jupyter_server):
    name = jupyter_server.write_notebook("failing.ipynb", ["1", "1 / 0", "print('never')"])
    lab_page.open_notebook(name)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab_page.run_all_cells()
    assert lab_page.output_text(2) == ""


def test_the_kernel_imports_the_checkout(lab_page, jupyter_server):
    source = "import dataflow.cli, pathlib; print(pathlib.Path(dataflow.cli.__file__).parents[2])"
    lab_page.open_notebook(jupyter_server.write_notebook("where.ipynb", [source]))
    lab_page.run_all_cells()
    from tests.browser.jupyter_server import ROOT

    assert lab_page.output_text(0).strip() == str(ROOT)


def test_a_request_that_leaves_loopback_is_stopped_and_recorded(lab_page, jupyter_server):
    lab_page.open_notebook(jupyter_server.write_notebook("outside.ipynb", ["1"]))
    answer = lab_page.page.evaluate(
        "() => fetch('http://outside.invalid/x').then(() => 'answered', () => 'stopped')"
    )
    assert answer == "stopped"
    assert lab_page.outside_requests == ["http://outside.invalid/x"]
    lab_page.outside_requests.clear()


def test_the_overrides_of_dataflow_lab_reach_the_page(lab_page, jupyter_server):
    lab_page.open_notebook(jupyter_server.write_notebook("settings.ipynb", ["1"]))
    settings = jupyter_server.request("GET", "lab/api/settings")["settings"]
    by_id = {entry["id"]: entry["schema"].get("properties", {}) for entry in settings}
    manager = by_id["@jupyter-widgets/jupyterlab-manager:plugin"]
    assert manager["saveState"]["default"] is True
    notification = by_id["@jupyterlab/apputils-extension:notification"]
    assert notification["fetchNews"]["default"] == "false"
    assert lab_page.page.get_by_text("Jupyter news").count() == 0


def test_themes(lab_page, jupyter_server):
    lab_page.open_notebook(jupyter_server.write_notebook("theme.ipynb", ["1"]))
    lab_page.set_theme("JupyterLab Dark")
    lab_page.set_theme("JupyterLab Light")


def test_every_page_has_the_patience_of_all():
    """A context of Playwright's own waits 30 s, and `expect` 5 s."""
    hasty = re.compile(r"\.new_context\(|(chromium|browser)\.new_page\(")
    files = set(Path(__file__).parent.glob("*.py")) - {Path(patience.__file__), Path(__file__)}
    assert files
    assert [path.name for path in files if hasty.search(path.read_text(encoding="utf-8"))] == []


def test_a_condition_is_waited_for_and_what_was_found_instead_is_said(bare, monkeypatch):
    bare.page.evaluate("window.at = 0; setInterval(() => { at += 1; }, 20)")
    eventually(bare.page, lambda: bare.page.evaluate("at > 5"), True)
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.1)
    with pytest.raises(TimeoutError, match="found False, wanted True"):
        eventually(bare.page, lambda: bare.page.evaluate("at < 0"), True)


def test_at_rest_waits_for_what_moves_and_not_for_what_turns_for_ever(bare):
    bare.page.evaluate(
        """() => { const root = document.getElementById("root");
            const change = [{ opacity: 0 }, { opacity: 1 }];
            root.animate(change, { duration: 400, fill: "forwards" });
            document.body.animate(change, { duration: 400, iterations: Infinity }); }"""
    )
    at_rest(bare.page)
    assert bare.page.evaluate("getComputedStyle(document.getElementById('root')).opacity") == "1"


@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("http://127.0.0.1:8888/lab", False),
        ("http://localhost/x", False),
        ("http://[::1]:1/x", False),
        ("data:text/plain,x", False),
        ("blob:http://127.0.0.1/1", False),
        ("https://example.org/", True),
        ("http://127.0.0.1.example.org/", True),
        ("ws://example.org/", True),
    ],
)
def test_leaves_loopback(url, leaves):
    assert leaves_loopback(url) is leaves
