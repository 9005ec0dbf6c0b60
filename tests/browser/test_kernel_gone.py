"""Widgets whose kernel was restarted, was shut down or died, in a real JupyterLab: each says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

CELLS = [
    "import dataflow as tf\nfrom dataflow_widgets import GraphView, TrainingMonitor\n"
    "tf.constant(1, name='one')\nGraphView()",
    "monitor = TrainingMonitor()\nmonitor.log(0, {'loss': 1.0})\nmonitor",
    "from dataflow_widgets import ClusterPanel\nClusterPanel()",
]
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
NOTE = ".df-gone"


@pytest.mark.parametrize("end", ["restart", "shutdown"])
def test_every_widget_says_that_its_kernel_is_gone(
    lab_page: LabPage, jupyter_server: JupyterServer, end: str
) -> None:
    lab_page.open_notebook(jupyter_server.write_notebook("gone.ipynb", CELLS))
    lab_page.run_all_cells()
    lab_page.output(0).locator(".df-widget[data-drawn='1']").wait_for()
    lab_page.output(1).locator(".df-widget").get_by_text("run: idle").wait_for()
    launch = lab_page.output(2).locator(".df-cluster-launch")
    assert launch.is_enabled()
    assert lab_page.page.locator(NOTE).count() == 0
    lab_page.page.evaluate(f"() => {KERNEL}.{end}()")
    for index in range(3):
        lab_page.output(index).locator(NOTE).wait_for()
        assert "Run its cell again" in lab_page.output(index).locator(NOTE).inner_text()
    assert lab_page.output(0).locator(".df-node").is_visible(), "what was drawn stays"
    assert launch.is_disabled(), "nobody is there to do it"
    if end == "restart":
        lab_page.run_cell(0)
        lab_page.output(0).locator(".df-widget[data-drawn='1']").wait_for()
        assert lab_page.output(0).locator(NOTE).count() == 0, "the new widget has a kernel"


def test_a_kernel_that_died_is_gone_too(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    die = "import os\nos._exit(1)"
    lab_page.open_notebook(jupyter_server.write_notebook("died.ipynb", [*CELLS, die]))
    for index in range(2):
        lab_page.run_cell(index)
    lab_page.output(0).locator(".df-widget[data-drawn='1']").wait_for()
    lab_page.select_cell(3)
    lab_page.start_command("notebook:run-cell")
    lab_page.output(0).locator(NOTE).wait_for()
    lab_page.output(1).locator(NOTE).wait_for()
    dialog = lab_page.page.locator(".jp-Dialog")
    dialog.wait_for()  # JupyterLab's own: the kernel appears to have died
    dialog.locator("button.jp-mod-accept").click()
    dialog.wait_for(state="detached")
