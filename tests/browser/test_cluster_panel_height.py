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
LEFTS = """() => [...document.querySelectorAll(".df-cluster-table tr:not(.df-cluster-more)")]
    .map((row) => Math.round(row.children[4].getBoundingClientRect().left))"""
DOTS = "() => Number(document.querySelector('.df-cv-live').dataset.dots) > 0"


@pytest.mark.usefixtures("no_gpus")
@pytest.mark.parametrize(("workers", "dark"), [(2, False), (3, True)])
def test_a_training_cluster_fits_900_pixels(chromium: Browser, workers: int, dark: bool) -> None:
    with tf.cluster.launch(ps=1, workers=workers, backend="threads", logs=False) as cluster:
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
                assert len(set(page.page.evaluate(LEFTS))) == 1, "columns stand below their heads"
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


@pytest.mark.usefixtures("no_gpus")
def test_the_ring_of_seven_workers_is_seen_whole(chromium: Browser) -> None:
    """It is as high as there is room for, and no name is covered by a figure."""
    with tf.cluster.launch(ps=1, workers=7, backend="threads", logs=False) as cluster:
        training = digits_training(cluster)
        training.start()
        panel = ClusterPanel(cluster)
        page = LivePage(chromium)
        page.show_widget(panel)
        try:
            page.page.set_viewport_size({"width": 1280, "height": 1200})
            page.until("() => document.querySelectorAll('.df-cv-part').length > 10")
            page.until("() => document.querySelector('.df-cluster-modes')")
            page.page.get_by_label("all-reduce").check()
            page.until("() => document.querySelectorAll('.df-cv-arrow').length === 7")
            page.until("() => document.querySelector('.df-cv-middle > text')")
            page.page.screenshot(path=str(screenshot_folder() / "cluster_panel_ring_of_7.png"))
            cut = """() => { const box = document.querySelector(".df-cv-picture");
                return box.scrollHeight - box.clientHeight; }"""
            assert page.page.evaluate(cut) <= 1
            covered = """() => [...document.querySelectorAll(".df-cv-card")].filter((card) => {
                const [name, figure] = [".df-title", ".df-cv-badge"].map((one) =>
                    card.querySelector(one).getBoundingClientRect());
                return name.right > figure.left && figure.top < name.top + 6;
            }).length"""
            assert page.page.evaluate(covered) == 0
        finally:
            page.close()
            panel.close()
            training.stop()
