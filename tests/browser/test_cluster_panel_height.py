"""ClusterPanel of a training cluster fits a screen: picture, table and chart within 900 pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dataflow as tf
from dataflow_widgets import ClusterPanel
from dataflow_widgets.cluster_view.demo import digits_training
from tests.browser.axe import serious_findings
from tests.browser.lab_page import screenshot_folder
from tests.browser.live_page import LivePage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
HEIGHT = "() => document.querySelector('.df-cluster-panel').getBoundingClientRect().height"


DOTS = "() => Number(document.querySelector('.df-cv-live').dataset.dots) > 0"


@pytest.mark.usefixtures("no_gpus")
@pytest.mark.parametrize("dark", [False, True])
def test_a_training_cluster_fits_900_pixels(chromium: Browser, dark: bool) -> None:
    with tf.cluster.launch(ps=1, workers=2, backend="threads", logs=False) as cluster:
        training = digits_training(cluster)
        training.start()
        panel = ClusterPanel(cluster)
        page = LivePage(chromium, dark=dark)
        page.show_widget(panel)
        cluster.slow_down("worker:1", 0.02)  # an event, so that the list of them is there
        try:
            for width in (1280, 800):
                page.page.set_viewport_size({"width": width, "height": 1100})
                page.until("() => document.querySelectorAll('.df-cv-part').length > 10")
                page.until("() => document.querySelector('.df-cluster-chart path')")
                page.until("() => document.querySelector('.df-cluster-events li')")
                page.until(DOTS)
                name = f"cluster_panel_{width}_{'dark' if dark else 'light'}.png"
                page.page.screenshot(path=str(screenshot_folder() / name))
                assert page.page.evaluate(HEIGHT) <= 900, width
                wide = page.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, "nothing is cut off at the right"
            assert serious_findings(page.page, ".df-cluster-panel") == []
        finally:
            page.close()
            panel.close()
            training.stop()


@pytest.mark.usefixtures("no_gpus")
def test_a_machine_of_the_picture_is_hurt_by_mouse_and_keys(chromium: Browser) -> None:
    """The picture is ClusterView's own: what can be done there can be done here."""
    with tf.cluster.launch(ps=1, workers=2, backend="threads", logs=False) as cluster:
        training = digits_training(cluster)
        panel = ClusterPanel(cluster)
        page = LivePage(chromium)
        page.show_widget(panel)
        try:
            page.until("() => document.querySelectorAll('.df-cv-card').length === 3")
            assert not page.page.locator(".df-cv-part").count(), "nothing runs yet"
            training.start()
            page.until("() => document.querySelectorAll('.df-cv-part').length > 10")
            page.page.get_by_role("button", name="worker:1, running").click()
            page.page.get_by_role("button", name="Cut link").click()
            page.until(lambda: cluster.status()[2]["is_cut"])
            page.until("() => document.querySelector('.df-cv-cut')")
            page.page.get_by_role("button", name="Mend link").click()
            page.until(lambda: not cluster.status()[2]["is_cut"])
            page.page.get_by_role("button", name="worker:1, running").focus()
            page.page.keyboard.press("ArrowLeft")
            page.page.keyboard.press("p")
            row = "document.querySelector('tr[data-task=\"worker:0\"]').dataset.state"
            page.until(f"() => {row} === 'paused'", "the table says it, too")
            page.page.keyboard.press("p")
            page.until(f"() => {row} === 'running'")
            # Another mode is another picture of the same machines.
            page.page.get_by_label("synchronous", exact=True).check()
            page.until("() => document.querySelectorAll('.df-cv-place').length === 2")
            page.page.get_by_label("all-reduce").check()
            page.until("() => document.querySelectorAll('.df-cv-arrow').length === 2")
            assert page.failures() == [] and panel.failure == ""
        finally:
            page.close()
            panel.close()
            training.stop()
