"""ClusterPanel in a real JupyterLab, on a real Ray: launch, disturb, train, and stop a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import serious_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.cluster, pytest.mark.timeout(300)]

PANEL = """import dataflow as tf
from dataflow_widgets import ClusterPanel
panel = ClusterPanel()
panel"""


@pytest.fixture
def panel(lab_page: LabPage, jupyter_server: JupyterServer) -> Iterator[Locator]:
    """A panel without a cluster; whatever is launched is stopped."""
    lab_page.page.set_viewport_size({"width": 1400, "height": 1500})
    lab_page.open_notebook(jupyter_server.write_notebook("panel.ipynb", [PANEL]))
    lab_page.run_all_cells()
    widget = lab_page.output(0).locator(".df-cluster-panel")
    widget.locator(".df-cluster-form").wait_for()
    yield widget
    lab_page.run_code("tf.cluster.shutdown()")


def until(lab_page: LabPage, task: str, state: str, seconds: float = 60) -> None:
    lab_page.wait_for(
        f"() => document.querySelector('.df-cluster-table tr[data-task=\"{task}\"]')"
        f"?.dataset.state === '{state}'",
        timeout_seconds=seconds,
    )


def launch(lab_page: LabPage, widget: Locator) -> None:
    widget.get_by_role("button", name="Launch").click()
    widget.locator(".df-cluster-pending").wait_for()
    assert "launching 1 ps and 2 workers" in widget.locator(".df-cluster-pending").text_content()
    for task in ("ps:0", "worker:0", "worker:1"):
        until(lab_page, task, "running", 90)


def test_a_cluster_is_launched_disturbed_trained_and_stopped(
    lab_page: LabPage, panel: Locator
) -> None:
    lab_page.screenshot("cluster_panel_empty", panel)
    launch(lab_page, panel)
    assert panel.locator(".df-cluster-table tbody tr[data-task]").count() == 3
    lab_page.run_code("assert panel.cluster.tasks == list(panel.cluster.targets), panel.cluster")
    # The demo trains on both workers; the mode is switched while it runs.
    panel.get_by_role("button", name="Train a demo").click()
    step = "Number(document.querySelector('.df-cluster-training')?.dataset.step)"
    lab_page.wait_for(f"() => {step} > 10", timeout_seconds=60)
    panel.locator(".df-cluster-graph[data-drawn]").wait_for()
    assert panel.locator(".df-node").count() > 10
    panel.get_by_role("button", name="worker:1", exact=True).click()
    panel.get_by_role("region", name="log of worker:1").get_by_text("loss").wait_for()
    panel.get_by_label("Slow down worker:1").select_option("0.2")
    lab_page.wait_for(
        "() => document.querySelector('tr[data-task=\"worker:1\"]').dataset.delay === '0.2'"
    )
    lab_page.page.wait_for_timeout(6000)
    for theme in ("Light", "Dark"):
        lab_page.set_theme(f"JupyterLab {theme}")
        lab_page.page.wait_for_timeout(500)
        lab_page.screenshot(f"cluster_panel_{theme.lower()}", panel)
        assert serious_findings(lab_page.page, ".df-cluster-panel") == []
    panel.get_by_label("synchronous", exact=True).check()
    lab_page.wait_for(
        "() => document.querySelector('.df-cluster-training').dataset.mode === 'synchronous'"
    )
    at = lab_page.page.evaluate(step)
    lab_page.wait_for(f"() => {step} > {at} + 10", timeout_seconds=60)
