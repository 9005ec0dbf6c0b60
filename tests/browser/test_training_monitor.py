"""TrainingMonitor in a real JupyterLab: live curves, control of a background job, a busy kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import serious_findings
from tests.browser.lab_page import kept_states
from tests.browser.patience import at_rest, eventually, width_of_image

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

IMPORT = """import numpy as np
import dataflow as tf
from dataflow_widgets import TrainingMonitor
rng = np.random.default_rng(0)"""

# Three finished runs with everything that can be shown.
FULL = """names = ["cat", "dog", "fox", "<img src=x onerror=hacked=1>"]
monitor = TrainingMonitor(title="Three optimizers")
for k, run in enumerate(["sgd", "momentum", "adam"]):
    monitor.start(run, steps=1500)
    for step in range(1500):
        noise = rng.normal() * 0.03
        loss = 2.3 * np.exp(-step * (k + 1) / 900) + 0.05 + abs(noise)
        monitor.log(step, loss=loss, accuracy=1 - loss / 3 + noise, run=run)
        if step % 60 == 0:
            w = rng.normal(size=2000) * (0.05 + step / 3000)
            monitor.log(step, {"weights/dense": w, "gradients/dense": w / (1 + step)}, run=run)
    monitor.finish(run)
true = rng.integers(0, 4, 200)
guess = np.where(rng.random(200) < 0.8, true, rng.integers(0, 4, 200))
monitor.confusion(true, guess, names, run="adam", step=1500)
images = rng.random((8, 14, 14)) * np.linspace(0, 1, 14)
monitor.samples(images, guess[:8], true[:8], names, run="adam", step=1500)
monitor"""

JOB = """w = tf.Variable(np.full(50, 4.0, np.float32), name="w")
rate = tf.Variable(0.001, trainable=False, name="rate")
loss = tf.reduce_mean(tf.square(w))
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
import time
def feed(step):
    time.sleep(0.005)
job = tf.train.background(train, session=sess, steps=100000, feed=feed,
                          fetches={"loss": loss, "w": w}, learning_rate=rate, name="descent")
monitor = TrainingMonitor(job)
monitor"""


def open_monitor(lab_page: LabPage, jupyter_server: JupyterServer, show: str) -> Locator:
    name = jupyter_server.write_notebook("monitor.ipynb", [IMPORT, show])
    lab_page.open_notebook(name)
    lab_page.run_all_cells()
    inside = lab_page.output(1)
    inside.locator(".df-training-monitor .df-panel .df-spot").first.wait_for()
    return inside


def until(lab_page: LabPage, row: str, value: str) -> None:
    lab_page.wait_for(f"() => document.querySelector('.df-run-row')?.dataset.{row} === '{value}'")


def points(inside: Locator) -> int:
    return int(inside.locator(".df-training-monitor").get_attribute("data-points") or 0)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_everything_is_drawn(lab_page: LabPage, jupyter_server: JupyterServer, theme: str) -> None:
    lab_page.page.set_viewport_size({"width": 1280, "height": 1750})
    inside = open_monitor(lab_page, jupyter_server, FULL)
    lab_page.set_theme(f"JupyterLab {theme}")
    widget = inside.locator(".df-training-monitor")
    assert widget.get_attribute("data-runs") == "3"
    assert widget.locator(".df-panel:visible h4").all_text_contents() == [
        "loss", "accuracy", "weights/dense", "gradients/dense", "Confusion matrix",
        "Sample predictions",
    ]  # fmt: skip
    assert widget.locator(".df-panel").first.locator(".df-line-of").count() == 3
    assert widget.locator(".df-ridge").count() >= 40
    assert widget.locator(".df-sample canvas").count() == 8
    assert "<img src=x onerror=hacked=1>" in widget.locator(".df-matrix").text_content()
    assert lab_page.page.evaluate("window.hacked") is None
    widget.scroll_into_view_if_needed()
    stage = widget.locator(".df-chart-stage").first
    stage.hover(position={"x": 180, "y": 60})
    assert stage.locator(".df-tip-row").count() == 3
    at_rest(lab_page.page)
    lab_page.screenshot(f"training_monitor_{theme.lower()}", widget)
    assert serious_findings(lab_page.page, ".df-training-monitor") == []


def test_a_job_is_steered(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_monitor(lab_page, jupyter_server, JOB)
    until(lab_page, "status", "running")
    before = points(inside)
    lab_page.wait_for(
        "() => Number(document.querySelector('.df-training-monitor').dataset.points) > "
        f"{before + 5}"
    )
    assert "left" in inside.locator(".df-run-text").text_content()
    # A learning rate typed in: it reaches the variable of the session.
    box = inside.get_by_role("textbox", name="learning rate of descent")
    assert box.input_value() == "0.001"
    box.fill("0.25")
    box.press("Enter")
    until(lab_page, "rate", "0.25")
    inside.get_by_role("button", name="Halve the learning rate of descent").click()
    until(lab_page, "rate", "0.125")
    lab_page.run_until("sess.run(rate) == 0.125")  # from the next step on
    # A nonsense rate is refused in words, in the widget.
    box.fill("fast")
    inside.get_by_role("button", name="Use this learning rate").click()
    assert "such as 0.01" in inside.locator(".df-failure").text_content()
    lab_page.screenshot("training_monitor_job", inside.locator(".df-training-monitor"))
    inside.get_by_role("button", name="Pause descent").click()
    until(lab_page, "status", "paused")
    lab_page.run_code("assert job.status == 'paused'; at = job.step")
    lab_page.run_code("assert job.step == at")
    inside.get_by_role("button", name="Resume descent").click()
    until(lab_page, "status", "running")
    inside.get_by_role("button", name="Stop descent").click()
    until(lab_page, "status", "stopped")
    assert inside.locator(".df-steer").is_hidden()
    lab_page.run_code("assert job.done and job.status == 'stopped' and job.step > at")
    lab_page.assert_no_cell_failed()


def test_a_failing_job_says_why(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    show = """def step(job):
    if job.step == 3:
        raise ValueError("<script>hacked=1</script> at step 3")
    return {"loss": 1.0 / (job.step + 1)}
job = tf.train.background(step, name="bad <b>job</b>")
monitor = TrainingMonitor(job)
monitor"""
    inside = open_monitor(lab_page, jupyter_server, show)
    until(lab_page, "status", "failed")
    assert inside.locator(".df-run-error").text_content() == (
        "ValueError: <script>hacked=1</script> at step 3"
    )
    assert inside.locator(".df-run-toggle").text_content() == "bad <b>job</b>"
    assert lab_page.page.evaluate("window.hacked") is None


def test_a_loop_in_a_cell_shows_points_while_it_runs(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    show = """import time
monitor = TrainingMonitor()
display(monitor)
for step in range(1500):
    monitor.log(step, loss=1 / (1 + step))
    time.sleep(0.01)"""
    name = jupyter_server.write_notebook("monitor.ipynb", [IMPORT, show])
    lab_page.open_notebook(name)
    lab_page.run_cell(0)
    lab_page.select_cell(1)
    lab_page.start_command("notebook:run-cell")
    lab_page.wait_for(
        "() => Number(document.querySelector('.df-training-monitor')?.dataset.points) > 100"
    )
    first = points(lab_page.output(1))
    lab_page.wait_for(
        "() => Number(document.querySelector('.df-training-monitor').dataset.points) > "
        f"{first + 50}"
    )
    assert lab_page.cells()[1]["prompt"] == "[*]:", "the cell is still running"
    lab_page.wait_until_idle()


def test_keyboard_alone(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_monitor(lab_page, jupyter_server, FULL)
    widget = inside.locator(".df-training-monitor")
    keyboard = lab_page.page.keyboard
    status = widget.locator(".df-status")
    chart = widget.locator(".df-chart-stage").first
    chart.focus()
    keyboard.press("End")
    assert "loss, step 1499: " in status.text_content()
    assert "adam 0." in status.text_content()
    keyboard.press("ArrowLeft")
    assert "step 1497" in status.text_content()
    keyboard.press("+")
    assert widget.get_by_role("button", name="All steps").is_enabled()
    keyboard.press("0")
    lab_page.wait_for("() => document.querySelector('.df-toolbar button[disabled]')")
    widget.locator(".df-ridge").first.wait_for()
    widget.locator("[aria-roledescription='histograms over time']").first.focus()
    keyboard.press("Home")
    assert "weights/dense, step 0: " in status.text_content()
    widget.get_by_role("button", name="Log scale").focus()
    keyboard.press("Enter")
    assert widget.get_by_role("button", name="Log scale").get_attribute("aria-pressed") == "true"
    widget.get_by_role("button", name="sgd").focus()
    keyboard.press("Space")
    lab_page.wait_for(
        "() => document.querySelectorAll('.df-panel')[0].querySelectorAll('.df-line-of').length === 2"
    )
    widget.get_by_role("button", name="Table").focus()
    keyboard.press("Enter")
    widget.locator(".df-values").wait_for()
    assert "momentum" in widget.locator(".df-values").text_content()
    # Jupyter's own shortcuts stay out: d d deletes a cell.
    count = len(lab_page.cells())
    keyboard.press("d")
    keyboard.press("d")
    assert len(lab_page.cells()) == count
    quiet = widget.evaluate(
        "(w) => [...w.querySelectorAll('button, input, select, [tabindex=\"0\"]')]"
        ".filter((e) => !e.closest('[data-lm-suppress-shortcuts]')).length"
    )
    assert quiet == 0


def test_zoom_by_dragging_and_four_hundred_percent(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    inside = open_monitor(lab_page, jupyter_server, FULL)
    widget = inside.locator(".df-training-monitor")
    chart = widget.locator(".df-chart-stage").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    mouse = lab_page.page.mouse
    mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 60, steps=4)
    mouse.up()
    lab_page.wait_for("() => !document.querySelector('.df-toolbar button[disabled]')")
    chart.dblclick(position={"x": 200, "y": 60})
    lab_page.wait_for("() => document.querySelector('.df-toolbar button[disabled]')")
    # 1280 px at 400 % is 320 CSS px: nothing is cut off at the side.
    widget.evaluate("(w) => { w.style.width = '320px'; }")
    wide = (
        "(w) => [...w.querySelectorAll('*')].filter((e) => !e.closest('.df-wide, svg, .df-tip') &&"
        " e.getBoundingClientRect().right > w.getBoundingClientRect().right + 1)"
        ".map((e) => e.className)"
    )
    eventually(lab_page.page, lambda: widget.evaluate(wide), [])
    lab_page.page.set_viewport_size({"width": 1280, "height": 2600})
    lab_page.screenshot("training_monitor_narrow", widget)


def test_reopened_without_a_kernel(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_monitor(lab_page, jupyter_server, FULL)
    assert inside.count() == 1
    lab_page.wait_until_kept(1, "Training monitor of 3 runs")
    lab_page.command("docmanager:save")
    saved = json.loads((jupyter_server.folder / "monitor.ipynb").read_text(encoding="utf-8"))
    output = saved["cells"][1]["outputs"][0]["data"]
    assert "data:image/svg+xml" in "".join(output["text/html"])
    kept = json.dumps(output) + json.dumps(kept_states(saved))
    assert len(kept) < 60_000
    lab_page.open_notebook(
        "monitor.ipynb", reload=True
    )  # a new kernel knows nothing of this widget
    image = lab_page.output(1).locator("img:visible").first
    image.wait_for()
    assert width_of_image(image) > 300
    assert "Training monitor of 3 runs" in image.get_attribute("alt")
