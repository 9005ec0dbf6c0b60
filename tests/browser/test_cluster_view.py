"""ClusterView in a page: played by mouse and keys, and a task that is hurt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from dataflow_widgets import ClusterView
from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage
from tests.widgets.fake_cluster import FakeCluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
PATIENCE_MS = 60_000


def shown(browser: Browser, view: ClusterView, **options: Any) -> BarePage:
    page = BarePage(browser, **options)
    traits = ("kind", "title", "height", "picture", "words", "failure")
    payload = json.loads(json.dumps(view._payload()))
    page.show({name: getattr(view, name) for name in traits} | {"marks": {}, "payload": payload})
    page.page.locator(".df-cluster-view[data-drawn]").wait_for(timeout=PATIENCE_MS)
    return page


@pytest.mark.parametrize("dark", [False, True])
def test_a_simulation_is_played_by_mouse_and_keys(chromium: Browser, dark: bool) -> None:
    view = ClusterView(
        tf.cluster.simulate(3, 1, steps=6, record=True, transfer_seconds=0.05, seed=1)
    )
    page = shown(chromium, view, dark=dark)
    root = page.page.locator(".df-cluster-view")
    assert root.locator(".df-cv-card").count() == 5
    assert root.locator(".df-cv-place").count() == 4
    page.page.get_by_role("button", name="One moment forward").click()
    root.locator(".df-cv-dot").first.wait_for(timeout=PATIENCE_MS)
    assert "parameters" in root.locator(".df-cv-telling").inner_text()
    # A machine has the focus: its keys play, and move to others.
    root.locator(".df-cv-card").first.focus()
    page.page.keyboard.press("n")
    page.page.locator('.df-cluster-view[data-moment="2"]').wait_for(timeout=PATIENCE_MS)
    page.page.keyboard.press("p")
    page.page.locator('.df-cluster-view[data-moment="1"]').wait_for(timeout=PATIENCE_MS)
    page.page.keyboard.press("ArrowDown")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "worker:"
    )
    # A worker that has sent its gradient waits, and its place at the barrier is filled.
    for _ in range(200):
        if root.locator(".df-cv-there").count():
            break
        page.page.keyboard.press("n")
    assert root.locator(".df-cv-there").count()
    assert "at the barrier" in root.locator(".df-status").inner_text()
    assert serious_findings(page.page, ".df-cluster-view") == []
    assert page.failures() == [] and page.outside == []
    page.close()


def test_a_task_is_hurt_by_mouse_and_keys_and_the_page_says_so(chromium: Browser) -> None:
    cluster = FakeCluster()
    view = ClusterView(cluster)
    page = shown(chromium, view)
    root = page.page.locator(".df-cluster-view")

    def tell() -> None:
        page.page.evaluate(
            "(s) => models.at(-1).custom(s, [])", json.loads(json.dumps(view._state()))
        )

    tell()
    root.locator('.df-cv-card[data-state="running"]').first.wait_for(timeout=PATIENCE_MS)
    card = root.locator(".df-cv-card").nth(2)
    card.click()
    root.get_by_role("button", name="Pause").click()
    wanted = "() => sent.some((m) => m.act?.do === 'pause' && m.act.task === 'worker:0')"
    page.page.wait_for_function(wanted, timeout=PATIENCE_MS)
    root.get_by_label("how slow worker:0 is").select_option("0.5")
    wanted = "() => sent.some((m) => m.act?.do === 'slow_down' && m.act.seconds === 0.5)"
    page.page.wait_for_function(wanted, timeout=PATIENCE_MS)
    card.focus()
    page.page.keyboard.press("k")
    wanted = "() => sent.some((m) => m.act?.do === 'kill' && m.act.task === 'worker:0')"
    page.page.wait_for_function(wanted, timeout=PATIENCE_MS)
    cluster.die("/job:worker/task:0", "killed by signal 9")
    tell()
    root.locator('.df-cv-card[data-state="dead"]').wait_for(timeout=PATIENCE_MS)
    assert root.locator(".df-cv-cut").count() >= 1
    line = root.locator(".df-cv-news li")
    assert "worker:0 is dead: killed by signal 9" in line.inner_text()
    tell()
    assert line.count() == 1, "said once, and it stays"
    line.get_by_role("button", name="Dismiss").click()
    tell()
    assert line.count() == 0
    assert root.get_by_role("button", name="Kill").is_disabled()
    assert root.get_by_role("button", name="Restart").is_enabled()
    assert page.failures() == [] and page.outside == []
    page.close()


def test_the_picture_fits_900_pixels_and_a_narrow_page(chromium: Browser) -> None:
    spec = {"ps": ["localhost:1"], "worker": [f"localhost:{i}" for i in range(2, 10)]}
    page = shown(chromium, ClusterView(tf.train.ClusterSpec(spec)))
    box = page.page.locator(".df-cluster-view").bounding_box()
    assert box is not None and box["height"] <= 900
    page.page.set_viewport_size({"width": 500, "height": 800})
    narrow = page.page.locator(".df-cv-svg").bounding_box()
    assert narrow is not None and narrow["width"] <= 500
    page.close()
