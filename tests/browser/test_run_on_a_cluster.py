"""Stepper and Timeline of a step on a real cluster: lanes, waiting, Sends and Recvs, values on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import dataflow as tf
from dataflow_widgets import Stepper, Timeline
from tests.browser.axe import serious_findings
from tests.browser.lab_page import screenshot_folder
from tests.browser.live_page import LivePage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_gpus")]


@pytest.fixture(params=["threads", pytest.param("ray", marks=pytest.mark.cluster)])
def step(request: pytest.FixtureRequest) -> Iterator[tuple[str, tf.Session, list[object]]]:
    """Which backend; a session; and what a step of training with one server and two workers fetches."""
    with (
        tf.cluster.launch(ps=1, workers=2, backend=request.param, logs=False) as cluster,
        tf.Graph().as_default(),
    ):
        with tf.device("/job:ps/task:0"):
            weights = tf.Variable(np.ones([64, 10], np.float32), name="weights")
        losses = []
        for i in range(2):
            with tf.device(f"/job:worker/task:{i}"):
                x = tf.constant(np.random.RandomState(i).randn(400, 64).astype(np.float32))
                product = tf.matmul(x, weights, name=f"product{i}")
                losses.append(tf.reduce_mean(tf.square(product), name=f"loss{i}"))
        with tf.device("/job:ps/task:0"):
            loss = tf.add_n(losses, name="loss")
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session(cluster.target) as session:
            session.run(weights.initializer)
            session.run([train, loss])
            yield request.param, session, [train, loss]


def _timeline_of_a_step_that_waited(session: tf.Session, fetches: list[object]) -> Timeline:
    """A step in which a task waited for another's value. On a busy machine there are steps in which
    none did: a task got its processor so late that the value was there."""
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    for _ in range(30):
        metadata = tf.RunMetadata()
        session.run(fetches, options=options, run_metadata=metadata)
        timeline = Timeline(metadata)
        times = timeline.times
        if any(
            wait.source is not None and times.ops[wait.source].name.startswith("send_")
            for wait in times.waits
        ):
            return timeline
    raise AssertionError("in 30 steps no task waited for what another sent")


def test_a_lane_for_each_task_with_waiting_and_messages(
    chromium: Browser, step: tuple[str, tf.Session, list[object]]
) -> None:
    backend, session, fetches = step
    timeline = _timeline_of_a_step_that_waited(session, fetches)
    page = LivePage(chromium)
    try:
        page.show_widget(timeline)
        page.until("() => document.querySelector('.df-timeline svg text')")
        page.page.screenshot(path=str(screenshot_folder() / f"timeline_of_a_cluster_{backend}.png"))
        written = page.page.locator(".df-timeline").text_content() or ""
        assert all(lane in written for lane in ("ps:0", "worker:0", "worker:1"))
        assert "_Send" in written and "_Recv" in written
        titles = page.page.locator(".df-timeline svg title").all_text_contents()
        assert any(words.startswith("waits for send_") for words in titles)
        copies = [words for words in titles if words.startswith("Send ")]
        assert any("from ps:0, Recv on worker:1: 2.5 KB" in words for words in copies)
        assert page.failures() == []
    finally:
        page.close()


def test_what_is_on_the_wire_is_seen_on_its_way(
    chromium: Browser, step: tuple[str, tf.Session, list[object]]
) -> None:
    backend, session, fetches = step
    stepper = Stepper(session, fetches)
    names = [s.op_name for s in stepper.trace.steps]
    sent = next(name for name in names if name.startswith("send_product0"))
    received = sent.replace("send", "recv")
    page = LivePage(chromium)
    try:
        page.show_widget(stepper)
        page.until("() => document.querySelectorAll('.df-stepper .df-node').length > 10")
        number = page.page.locator(".df-stepper input[type=range]").first

        def go(position: int) -> None:
            number.fill(str(position))
            page.until(f"() => document.querySelector('.df-stepper').dataset.step === '{position}'")

        wires = page.page.locator(".df-on-wire")
        go(names.index(sent) + 1)
        assert wires.count() >= 1
        words = page.page.locator(".df-stepper").text_content() or ""
        assert f"{sent}, 16 KB" in words and "on the wire: sent, not received yet" in words
        assert "on worker 0" in (page.page.locator(".df-status").text_content() or "")
        page.page.wait_for_timeout(1200)  # its value has come to rest on the edge: for the picture
        page.page.screenshot(path=str(screenshot_folder() / f"stepper_of_a_cluster_{backend}.png"))
        assert serious_findings(page.page, ".df-stepper") == []
        go(names.index(received))
        assert f"{sent}, 16 KB" in (page.page.locator(".df-stepper").text_content() or "")
        go(names.index(received) + 1)
        assert f"{sent}, 16 KB" not in (page.page.locator(".df-stepper").text_content() or "")
        assert "Recv" in (page.page.locator(".df-travel").first.text_content() or "")
        go(len(names))
        assert wires.count() == 0
        assert page.failures() == []
    finally:
        page.close()
