"""ClusterPanel of a training cluster fits a screen: table, chart and graph within 900 pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dataflow as tf
from dataflow_widgets import ClusterPanel
from dataflow_widgets.cluster_panel.demo import digits_training
from tests.browser.lab_page import screenshot_folder
from tests.browser.live_page import LivePage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
HEIGHT = "() => document.querySelector('.df-cluster-panel').getBoundingClientRect().height"


@pytest.mark.usefixtures("no_gpus")
def test_a_training_cluster_fits_900_pixels(chromium: Browser) -> None:
    with tf.cluster.launch(ps=1, workers=2, backend="threads", logs=False) as cluster:
        training = digits_training(cluster)
        training.start()
        panel = ClusterPanel(cluster)
        page = LivePage(chromium)
        page.show_widget(panel)
        try:
            for width in (1280, 800):
                page.page.set_viewport_size({"width": width, "height": 1100})
                page.until("() => document.querySelector('.df-cluster-graph[data-drawn]')")
                page.until("() => document.querySelector('.df-cluster-chart path')")
                page.page.screenshot(path=str(screenshot_folder() / f"cluster_panel_{width}.png"))
                assert page.page.evaluate(HEIGHT) <= 900, width
                wide = page.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, "nothing is cut off at the right"
        finally:
            page.close()
            panel.close()
            training.stop()
