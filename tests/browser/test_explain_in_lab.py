"""RewritePlayer and Timeline in a real JupyterLab: displayed, busy kernel, saved and reopened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab_page import kept_states
from tests.browser.patience import width_of_image

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

BUILD = """import dataflow as tf
x = tf.placeholder(tf.float32, [None, 256], name="x")
tf.square(x, name="unused")
y = tf.pow(tf.multiply(x, 1.0, name="once"), 2.0, name="squared")
z = tf.square(tf.tanh(y) * 2.0 + 1.0, name="z")
sess = tf.Session()"""
EXPLAIN = "sess.explain(z, [x])"
TRACE = """import numpy as np
from dataflow_widgets import Timeline
metadata = tf.RunMetadata()
sess.run(z, {x: np.ones((64, 256))}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
         run_metadata=metadata)
timeline = Timeline(metadata)
display(timeline)"""
KEPT = "len(timeline.picture) > 300 and timeline.payload == {}"


def test_both_in_a_notebook(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    name, busy = "explain.ipynb", TRACE + jupyter_server.busy()
    lab_page.open_notebook(jupyter_server.write_notebook(name, [BUILD, EXPLAIN, busy]))
    lab_page.run_cell(0)
    lab_page.run_cell(1)
    player = lab_page.output(1)
    player.locator('.df-widget[data-step="1"]').wait_for()
    player.locator(".df-column[aria-label=after] .df-pane[data-attempt=graphviz]").wait_for()
    player.get_by_role("button", name="x ** 2 -> square(x)").click()
    player.locator(".df-node.df-comes").wait_for()
    assert "square" in player.locator(".df-status").text_content()
    # About asks the kernel for the source of the new op.
    player.locator(".df-node.df-comes").click()
    player.get_by_role("button", name="About").click()
    player.locator(".df-more summary", has_text="Kernel").wait_for()

    lab_page.select_cell(2)
    lab_page.start_command("notebook:run-cell")
    timeline = lab_page.output(2)
    timeline.locator(".df-bar").first.wait_for()
    assert lab_page.cells()[2]["prompt"] == "[*]:", "drawn, and answers, while the kernel is busy"
    timeline.locator('.df-bar[tabindex="0"]').focus()
    for key in ("ArrowRight", "Enter", "c", "+", "d", "d"):
        lab_page.page.keyboard.press(key)
    timeline.locator(".df-op h4").wait_for()
    player.get_by_role("button", name="To the end").click()
    assert "one kernel" in player.locator(".df-status").text_content()
    assert lab_page.cells()[2]["prompt"] == "[*]:"
    jupyter_server.go_on()
    lab_page.wait_until_idle()
    assert len(lab_page.cells()) == 3, "d d in a widget deletes no cell"
    timeline.get_by_role("button", name="Fit").click()
    lab_page.run_until(KEPT)  # the page sends its picture when it has been quiet
    lab_page.assert_no_cell_failed()

    lab_page.command("docmanager:save")
    notebook = json.loads((jupyter_server.folder / name).read_text(encoding="utf-8"))
    for cell, words in ((1, "Run of z:0"), (2, "Run of ")):
        data, _ = [o["data"] for o in notebook["cells"][cell]["outputs"] if "data" in o]
        assert f'<img alt="{words}' in "".join(data["text/html"])
        assert len(json.dumps(data)) < 60_000
    assert len(json.dumps(kept_states(notebook))) < 2 * 60_000
    lab_page.open_notebook(name, reload=True)  # a new kernel, which knows nothing of these widgets
    for cell in (1, 2):
        # The one beside the widget, or, once the widget knows that no kernel answers, the one in it.
        image = lab_page.output(cell).locator("img:visible").first
        image.wait_for()
        assert width_of_image(image) > 50
        assert image.get_attribute("alt").startswith("Run of")
