"""TrainingMonitor in a page without Jupyter: its charts, in both themes and at three widths."""

from __future__ import annotations

import base64
import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dataflow as tf
from dataflow_widgets import TrainingMonitor
from dataflow_widgets.base import Delivery
from dataflow_widgets.training_monitor.updates import update
from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage
from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import at_rest

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


@pytest.mark.parametrize(("width", "dark"), [(620, True), (1280, False), (1700, True)])
def test_training_and_validation_share_a_chart(chromium: Browser, width: int, dark: bool) -> None:
    bare = BarePage(chromium, dark=dark)
    bare.page.set_viewport_size({"width": width, "height": 900})
    monitor = trained()
    names = [n for n in monitor.keys if not n.startswith("_") and n not in ("layout", "bundle")]
    bare.show(monitor.get_state(names))
    bare.page.locator(".df-training-monitor").wait_for()
    send(bare, monitor)
    panels = bare.page.locator(".df-grid-wide .df-panel")
    bare.page.wait_for_function(
        "() => document.querySelectorAll('.df-grid-wide .df-panel').length === 2"
    )
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
    at_rest(bare.page)
    bare.page.screenshot(
        path=str(screenshot_folder() / f"monitor_{width}_{'dark' if dark else 'light'}.png"),
        full_page=True,
    )
    assert serious_findings(bare.page, "main") == []
    assert bare.failures() == []
    bare.close()


def test_a_recorded_step_opens_in_the_stepper(chromium: Browser) -> None:
    bare = BarePage(chromium)
    Delivery.begun = True
    monitor = TrainingMonitor(height=190)
    with tf.Graph().as_default():
        w = tf.Variable(1.0, name="w")
        loss = tf.square(w * 2.0 - 1.0, name="loss")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for step in range(50):
                run = sess.run if step % 20 else partial(monitor.record, step, sess)
                monitor.log(step, loss=run([train, loss])[1])
    (stepper,) = monitor.steppers
    assert stepper.labels == ["step 0", "step 20", "step 40"]
    stepper.payload = stepper._payload()  # as the kernel answers a page that knows no run
    hidden = ("layout", "bundle")
    for widget in (monitor, stepper):
        names = [n for n in widget.keys if not n.startswith("_") and n not in hidden]
        state = widget.get_state(names) | {"payload": widget.payload}
        bare.show(json.loads(json.dumps(state, default=str)))
    bare.page.locator(".df-stepper").wait_for()
    bare.page.evaluate("models[0].widget_manager = { get_model: async (id) => models[1] }")
    send(bare, monitor)
    page = bare.page
    opened = page.locator(".df-opened")
    marks = page.locator(".df-recorded-mark")
    marks.nth(2).wait_for()
    assert marks.count() == 3
    box = None
    while box is None:  # a mark that is being drawn anew has none
        marks.nth(1).wait_for()
        box = marks.nth(1).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] - 40)  # the curve there will do
    opened.locator(".df-stepper .df-node").first.wait_for()
    assert opened.locator("> h4").text_content().startswith("Step 20 of run")
    assert opened.locator(".df-run-name").text_content() == "step 20"
    stage = page.locator(".df-chart-stage")
    stage.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.get_by_text("Step 49 was not recorded.").wait_for()
    assert "monitor.record(step, session, fetches, feed_dict)" in opened.text_content()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    opened.locator(".df-run-name", has_text="step 0").wait_for(state="attached")
    assert serious_findings(page, "main") == []
    opened.get_by_role("button", name="Close this step").click()
    opened.wait_for(state="hidden")
    assert bare.failures() == []
    bare.close()
