"""An error of shapes in JupyterLab: the message, the learner's line, and the node drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

_BUILD = """import dataflow as tf
x = tf.placeholder(tf.float32, [None, 16], name="x")
w = tf.ones([3, 5], name="w")"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_node_is_drawn_under_the_error(
    lab_page: LabPage, jupyter_server: JupyterServer, dark: bool
) -> None:
    name = jupyter_server.write_notebook("wrong.ipynb", [_BUILD, "tf.matmul(x, w)"])
    lab_page.open_notebook(name)
    if dark:
        lab_page.command("apputils:change-theme", theme="JupyterLab Dark")
        lab_page.page.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
    lab_page.run_cell(0)
    lab_page.select_cell(1)
    lab_page.start_command("notebook:run-cell")
    picture = lab_page.output(1).locator("svg[role=img]")
    picture.wait_for()
    lab_page.screenshot(f"error_picture_{'dark' if dark else 'light'}")
    assert "b w:0: float32 [3, 5], which does not fit" in (
        picture.get_attribute("aria-label") or ""
    )
    strokes = picture.locator("rect").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e).stroke)"
    )
    assert strokes[0] != strokes[1] == strokes[2], (
        "the input that does not fit and the node are red"
    )
    inside = picture.evaluate(
        """(svg) => { const outer = svg.getBoundingClientRect();
          return [...svg.querySelectorAll("text")].every((t) => {
            const b = t.getBoundingClientRect();
            return b.left >= outer.left && b.right <= outer.right; }); }"""
    )
    assert inside
