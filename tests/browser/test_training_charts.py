"""TrainingMonitor in a page without Jupyter: its charts, in both themes and at three widths."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dataflow_widgets import TrainingMonitor
from dataflow_widgets.base import Delivery
from dataflow_widgets.training_monitor.updates import update
from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage
from tests.browser.lab_page import screenshot_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def send(bare: BarePage, monitor: Any) -> None:
    """What the kernel would send of all that was logged."""
    message, *buffers = update(list(monitor._runs.values()), True)
    packed = [base64.b64encode(buffer).decode() for buffer in buffers]
    bare.page.evaluate(
        """([message, packed]) => models[0].custom(JSON.parse(message), packed.map((text) =>
            new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer)))""",
        [json.dumps(message), packed],
    )
    bare.page.locator(".df-line-of .df-curve").first.wait_for(state="attached")


def trained() -> Any:
    Delivery.begun = True
    monitor = TrainingMonitor(title="Digits", height=190)
    for k, run in enumerate(["plain", "with dropout"]):
        for step in range(0, 400, 10):
            loss = 2.3 * math.exp(-step / (90 + 40 * k)) + 0.05
            bad = run == "plain" and step >= 300
            gap = 0.002 * step / (k + 1)
            monitor.log(
                step,
                {"loss": math.nan if bad else loss, "val_loss": loss + gap, "rate": 0.1},
                run=run,
            )
        monitor.finish(run=run)
    images = np.zeros((3, 8, 8))
    monitor.samples(images, [1, 2, 3], [7, 8, 9], [str(i) for i in range(10)], run="plain")
    return monitor


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [620, 1280, 1700])
def test_training_and_validation_share_a_chart(chromium: Browser, width: int, dark: bool) -> None:
    bare = BarePage(chromium, dark=dark)
    bare.page.set_viewport_size({"width": width, "height": 900})
    monitor = trained()
    names = [n for n in monitor.keys if not n.startswith("_") and n not in ("layout", "bundle")]
    bare.show(monitor.get_state(names))
    bare.page.locator(".df-training-monitor").wait_for()
    send(bare, monitor)
    panels = bare.page.locator(".df-grid-wide .df-panel")
    bare.page.wait_for_function("document.querySelectorAll('.df-grid-wide .df-panel').length === 2")
    assert panels.locator("h4").all_text_contents() == ["loss", "rate"]
    first = panels.first
    assert first.locator(".df-chart-key .df-key").all_text_contents() == ["training", "validation"]
    dashes = first.locator(".df-line-of > .df-curve").evaluate_all(
        "(all) => all.map((e) => [e.parentElement.dataset.side, e.getAttribute('stroke-dasharray')])"
    )
    assert dashes == [["training", None]] * 2 + [["validation", "6 4"]] * 2
    assert first.locator(".df-axis-title").all_text_contents() == ["step", "loss"]
    assert first.locator(".df-nan-flag").text_content().endswith("first NaN, step 300")
    assert panels.nth(1).locator(".df-nan-flag").count() == 0
    assert "validation" in first.locator(".df-chart-stage").get_attribute("aria-label")
    assert "3 mistakes" in bare.page.locator(".df-samples").text_content()
    assert "0 right" not in bare.page.locator(".df-samples").text_content()
    overlaps = first.evaluate(
        """(panel) => { const boxes = [...panel.querySelectorAll('svg.df-chart-svg > .df-axis')]
            .map((e) => e.getBoundingClientRect());
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right - 1 &&
                b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)).length; }"""
    )
    assert overlaps == 0, "no text of the axes over another"
    bare.page.wait_for_timeout(300)  # until colors have settled
    bare.page.screenshot(
        path=str(screenshot_folder() / f"monitor_{width}_{'dark' if dark else 'light'}.png"),
        full_page=True,
    )
    assert serious_findings(bare.page, "main") == []
    assert bare.failures() == []
    bare.close()
