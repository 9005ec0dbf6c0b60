"""GraphView in a real JupyterLab: live, highlighted by runs, small in a saved notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.lab_page import kept_states
from tests.browser.patience import at_rest, eventually, new_context, width_of_image

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

BUILD = """import dataflow as tf
from dataflow_widgets import GraphView, Stepper
x = tf.constant(2, name="x"); y = tf.constant(3, name="y")
add_op = tf.add(x, y, name="add_op"); mul_op = tf.multiply(x, y, name="mul_op")
useless = tf.multiply(x, add_op, name="useless")
pow_op = tf.pow(add_op, mul_op, name="pow_op")"""
AGAIN = BUILD.replace("\n", "\ntf.reset_default_graph()\n", 1)
SHOW = "view = GraphView(tf.get_default_graph())\nview"


def node(inside: Locator, name: str) -> Locator:
    """The drawn node of an operation."""
    return inside.locator(f'.df-node:has(> title:text-is("{name}"))')


def wait_drawn(inside: Locator, count: int) -> None:
    """Until ``count`` nodes are drawn by Graphviz."""
    inside.locator('.df-pane[data-attempt="graphviz"]').wait_for()
    inside.locator(f'.df-widget[data-drawn="{count}"]').wait_for()


def classes(inside: Locator, name: str) -> set[str]:
    return set((node(inside, name).get_attribute("class") or "").split())


def wait_class(inside: Locator, name: str, wanted: str) -> None:
    inside.locator(f'.df-node.{wanted}:has(> title:text-is("{name}"))').wait_for()


def open_lesson_graph(lab_page: LabPage, jupyter_server: JupyterServer, *more: str) -> Locator:
    """Runs BUILD and SHOW (cells 0 and 1) and ``more``; returns the view's output."""
    notebook = jupyter_server.write_notebook("graph_view.ipynb", [BUILD, SHOW, *more])
    lab_page.open_notebook(notebook)
    lab_page.run_cell(0)
    lab_page.run_cell(1)
    inside = lab_page.output(1)
    wait_drawn(inside, 6)
    return inside


def test_live_graph_and_live_runs(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_lesson_graph(lab_page, jupyter_server)
    assert not {"df-pruned", "df-needed"} & classes(inside, "useless")
    assert inside.locator(".df-status").text_content() == "6 operations"
    # A run marks what it needed.
    lab_page.run_code("sess = tf.Session()\nsess.run(pow_op)")
    wait_class(inside, "useless", "df-pruned")
    wait_class(inside, "pow_op", "df-fetched")
    status = inside.locator(".df-status")
    assert status.text_content() == "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    # An operation made in a later cell appears without running the view's cell again.
    lab_page.run_code("late = tf.negative(useless, name='late')")
    wait_drawn(inside, 7)
    # A feed, and a highlight that runs nothing.
    lab_page.run_code("view.highlight(pow_op, {add_op: 10})")
    wait_class(inside, "add_op", "df-fed")
    assert "df-needed" in classes(inside, "x")
    lab_page.run_code("sess.run(late); None")
    wait_class(inside, "useless", "df-needed")
    wait_class(inside, "pow_op", "df-pruned")
    at_rest(lab_page.page)
    lab_page.screenshot("graph_view_light")


def test_selecting_a_node_tells_about_it(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_lesson_graph(lab_page, jupyter_server, "tf.Session().run(pow_op)")
    lab_page.run_cell(2)
    wait_class(inside, "useless", "df-pruned")
    node(inside, "useless").click()
    inspector = inside.locator(".df-inspector")
    text = inspector.text_content()
    assert "cell 1, line 5" in text
    assert "int32 ()" in text
    inspector.get_by_role("button", name="Why not run?").click()
    assert "Fetching 'useless' itself would run it" in inspector.text_content()
    inspector.get_by_role("button", name="About").click()
    inspector.locator("details").first.wait_for()
    assert "Kernel" in inspector.text_content()


def test_keys_in_a_widget_do_not_reach_the_notebook(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    inside = open_lesson_graph(lab_page, jupyter_server)
    count = len(lab_page.cells())
    node(inside, "x").click()
    for key in ("d", "d", "x", "a", "b", "Enter", "ArrowDown", "0", "0"):
        lab_page.page.keyboard.press(key)
    inside.get_by_role("button", name="Fit").focus()
    for key in ("d", "d", "x", "a", "b"):
        lab_page.page.keyboard.press(key)
    assert len(lab_page.cells()) == count
    assert inside.locator(".df-node").count() == 6


def test_a_hostile_graph_in_the_notebook(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    evil = "<img src=x onerror=window.hacked=1>"
    source = f"""from dataflow_widgets import GraphView
evil = {evil!r}
node = dict(name=evil, op="Const", device=evil, inputs=[], attrs={{evil: evil}}, source=None,
            outputs=[dict(dtype=evil, shape=evil)], value=evil)
other = dict(name='a"]; b [label="', op=evil, device="", inputs=[evil + ":0"], attrs={{}},
             source=None, outputs=[])
GraphView([node, other], title=evil)"""
    lab_page.open_notebook(jupyter_server.write_notebook("hostile.ipynb", [source]))
    lab_page.run_all_cells()
    inside = lab_page.output(0)
    wait_drawn(inside, 2)
    assert inside.locator(".df-node > title").first.text_content() == evil
    inside.locator(".df-node").first.click()
    assert inside.locator(".df-inspector h4").text_content() == evil
    assert lab_page.page.evaluate("window.hacked") is None
    assert inside.locator(".df-widget img").count() == 0


def test_drawn_while_the_kernel_is_busy(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    """The first widget of a kernel brings all it needs, so a cell that goes on does not delay it."""
    busy = SHOW.replace("\nview", "\ndisplay(view)") + jupyter_server.busy()
    lab_page.open_notebook(jupyter_server.write_notebook("busy.ipynb", [BUILD, busy]))
    lab_page.run_cell(0)
    lab_page.select_cell(1)
    lab_page.start_command("notebook:run-cell")
    inside = lab_page.output(1)
    inside.locator('.df-pane[data-attempt="graphviz"]').wait_for()
    assert lab_page.cells()[1]["prompt"] == "[*]:"
    node(inside, "x").click()
    assert inside.locator(".df-inspector h4").text_content() == "x"
    assert lab_page.cells()[1]["prompt"] == "[*]:"
    jupyter_server.go_on()
    lab_page.wait_until_idle()


def test_many_views_share_one_engine(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    cells = [BUILD, *[SHOW] * 4]
    lab_page.open_notebook(jupyter_server.write_notebook("many.ipynb", cells))
    lab_page.run_all_cells()
    lab_page.page.wait_for_function(
        "() => document.querySelectorAll('.df-widget[data-drawn=\"6\"]').length === 4"
    )
    loads = lab_page.page.evaluate(
        "Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])"
        ".filter((v) => v?.loads).map((v) => v.loads)"
    )
    assert loads == [1, 1]


def saved_notebook(jupyter_server: JupyterServer, lab_page: LabPage, name: str) -> dict[str, Any]:
    lab_page.command("docmanager:save")
    return dict(json.loads((jupyter_server.folder / name).read_text(encoding="utf-8")))


@pytest.mark.timeout(600)  # nbconvert alone took two minutes on a busy machine
def test_a_saved_notebook_stays_small_and_reopens_without_a_kernel(
    lab_page: LabPage, jupyter_server: JupyterServer, tmp_path: Path
) -> None:
    inside = open_lesson_graph(lab_page, jupyter_server, "Stepper(tf.Session(), pow_op)")
    lab_page.run_cell(2)
    lab_page.output(2).locator(".df-widget[data-drawn]").wait_for()
    lab_page.run_code("tf.Session().run(pow_op)")
    wait_class(inside, "useless", "df-pruned")
    assert inside.locator("img").count() == 1, "the static picture is there"
    assert not inside.locator("img").is_visible(), "and hidden"
    # The page sends its picture once it has been quiet for a moment; the cell's static one is renewed.
    lab_page.wait_until_kept(1, "%3Epruned%3C")
    notebook = saved_notebook(jupyter_server, lab_page, "graph_view.ipynb")
    static, widget = (output["data"] for output in notebook["cells"][1]["outputs"])
    assert "data:image/svg+xml" in "".join(static["text/html"])
    assert "text/html" not in widget
    widgets = notebook["metadata"].get("widgets", {})
    for bundle in widgets.values():
        assert "state" in bundle, "GitHub refuses widget metadata without state"
    assert len(json.dumps(static)) + len(json.dumps(kept_states(notebook))) < 60_000
    assert_nbconvert_shows_pictures(lab_page, jupyter_server.folder / "graph_view.ipynb", tmp_path)

    # A new kernel knows nothing of these widgets: what shows is what the notebook kept, and it works.
    lab_page.open_notebook("graph_view.ipynb", reload=True)
    kept = lab_page.output(1)
    kept.locator('.df-widget[data-drawn="6"]').wait_for()
    wait_class(kept, "useless", "df-pruned")
    wait_class(kept, "pow_op", "df-needed")
    kept.get_by_text("this is what the notebook kept").wait_for()
    host = kept.locator(".jupyter-widgets-disconnected")
    chain = host.first.evaluate("(e) => getComputedStyle(e, '::before').display")
    assert chain == "none", "a broken chain over the picture"
    stepper = lab_page.output(2)
    for _ in range(5):
        stepper.get_by_role("button", name="One step forward").click()
    assert stepper.locator(".df-now .df-number").text_content() == "15625"
    lab_page.screenshot("reopened_without_kernel")


def assert_nbconvert_shows_pictures(lab_page: LabPage, notebook: Path, folder: Path) -> None:
    """``jupyter nbconvert --to html`` of a notebook with saved widgets, opened without a network."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(folder)]
    subprocess.run([*command, str(notebook)], check=True, capture_output=True)
    browser = lab_page.page.context.browser
    assert browser is not None
    context = new_context(browser, offline=True)
    page = context.new_page()
    page.goto((folder / notebook.with_suffix(".html").name).as_uri(), wait_until="commit")
    for i in range(2):
        image = page.locator("img[src^='data:image/svg']").nth(i)
        image.wait_for()
        assert width_of_image(image) > 100
    context.close()


def test_an_empty_graph_says_so_and_then_fills(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    cells = ["import dataflow as tf\nfrom dataflow_widgets import GraphView", SHOW]
    lab_page.open_notebook(jupyter_server.write_notebook("empty.ipynb", cells))
    lab_page.run_all_cells()
    inside = lab_page.output(1)
    inside.get_by_text("The graph is empty").wait_for()
    lab_page.run_code("a = tf.add(3, 5)")
    wait_drawn(inside, 3)
    assert not inside.get_by_text("The graph is empty").is_visible()


def test_magic_and_rich_display(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    cells = [
        BUILD + "\n%load_ext dataflow_widgets",
        "%%graph\nwith tf.name_scope('new'):\n    z = tf.negative(pow_op, name='z')",
        "pow_op",
        "tf.get_default_graph()",
        "sess = tf.Session()\nsess",
    ]
    lab_page.open_notebook(jupyter_server.write_notebook("magic.ipynb", cells))
    lab_page.run_all_cells()
    wait_drawn(lab_page.output(1), 2)
    assert "1 operation added by this cell" in lab_page.output(1).text_content()
    wait_drawn(lab_page.output(2), 5)
    wait_drawn(lab_page.output(3), 7)
    wait_drawn(lab_page.output(4), 7)


def test_in_notebook_7(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    name = jupyter_server.write_notebook("classic.ipynb", [AGAIN, SHOW])
    notebook = lab_page.run_all_in_notebook_7(name)
    wait_drawn(notebook, 6)
    node(notebook, "useless").click()
    assert notebook.locator(".df-inspector h4").text_content() == "useless"
    at_rest(lab_page.page)
    lab_page.screenshot("graph_view_notebook_7")


def test_themes(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_lesson_graph(lab_page, jupyter_server, "tf.Session().run(pow_op)")
    lab_page.run_cell(2)
    wait_class(inside, "useless", "df-pruned")
    read = """() => {
      const w = document.querySelector('.df-widget');
      const t = w.querySelector('.df-title');
      return [getComputedStyle(w).backgroundColor, getComputedStyle(t).fill];
    }"""
    light = lab_page.page.evaluate(read)
    lab_page.command("apputils:change-theme", theme="JupyterLab Dark")
    lab_page.page.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")

    def is_dark() -> bool:
        background, text = lab_page.page.evaluate(read)
        return text != light[1] and sum(map(int, background[4:-1].split(","))) < 150

    eventually(lab_page.page, is_dark, True)
    at_rest(lab_page.page)
    lab_page.screenshot("graph_view_dark")


def test_a_cell_that_ran_again_is_told(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_lesson_graph(lab_page, jupyter_server)
    assert inside.locator(".df-foot .df-note").inner_text() == ""
    lab_page.run_cell(0)
    wait_drawn(inside, 12)
    inside.locator(".df-foot").get_by_text("ran 2 times, and each run added its nodes").wait_for()
