"""Stepper in a real JupyterLab: forward, back, play, run to a node, values, a busy kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.patience import at_rest
from tests.browser.test_graph_view import BUILD, node, wait_class

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

SHOW = "sess = tf.Session()\nstepper = Stepper(sess, pow_op)\nstepper"


def open_stepper(
    lab_page: LabPage, jupyter_server: JupyterServer, show: str = SHOW, build: str = BUILD
) -> Locator:
    lab_page.open_notebook(jupyter_server.write_notebook("stepper.ipynb", [build, show]))
    lab_page.run_cell(0)
    lab_page.select_cell(1)
    lab_page.start_command("notebook:run-cell")
    inside = lab_page.output(1)
    inside.locator('.df-pane[data-attempt="graphviz"]').wait_for()
    inside.locator('.df-widget[data-step="0"]').wait_for()
    return inside


def step(inside: Locator) -> int:
    return int(inside.locator(".df-widget").get_attribute("data-step") or -1)


def at_step(inside: Locator, number: int) -> None:
    inside.locator(f'.df-widget[data-step="{number}"]').wait_for()


def test_forward_and_back(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_stepper(lab_page, jupyter_server)
    forward = inside.get_by_role("button", name="One step forward")
    back = inside.get_by_role("button", name="One step back")
    assert back.is_disabled()
    forward.click()
    at_step(inside, 1)
    assert inside.locator(".df-node.df-current").count() == 1
    for number in (2, 3, 4, 5):
        forward.click()
        at_step(inside, number)
    assert forward.is_disabled()
    wait_class(inside, "pow_op", "df-current")
    assert inside.locator(".df-now .df-number").text_content() == "15625"
    assert "The run is complete" in inside.locator(".df-status").text_content()
    assert inside.locator(".df-node.df-done").count() == 5
    assert "df-pruned" in node(inside, "useless").get_attribute("class")
    at_rest(lab_page.page)
    lab_page.screenshot("stepper_light")
    back.click()
    at_step(inside, 4)
    assert "df-done" not in node(inside, "pow_op").get_attribute("class")
    assert inside.locator(".df-now .df-number").text_content() in ("5", "6")
    lab_page.run_code("assert stepper.result == sess.run(pow_op) == 15625")
    lab_page.assert_no_cell_failed()


def test_play_run_to_node_and_slider(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_stepper(lab_page, jupyter_server)
    inside.get_by_label("speed").select_option("50")
    inside.get_by_role("button", name="Play").click()
    at_step(inside, 5)
    assert inside.get_by_role("button", name="Play").is_visible()
    inside.get_by_role("button", name="To the start").click()
    at_step(inside, 0)
    node(inside, "add_op").click()
    inside.get_by_role("button", name="Run to node").click()
    wait_class(inside, "add_op", "df-current")
    assert inside.locator(".df-now .df-number").text_content() == "5"
    node(inside, "useless").click()
    inside.get_by_role("button", name="Run to node").click()
    assert "does not run" in inside.locator(".df-status").text_content()
    inside.get_by_role("slider", name="step").fill("2")
    at_step(inside, 2)


def test_breakpoints_and_watches(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_stepper(lab_page, jupyter_server)
    inside.locator(".df-break-box > summary").click()
    box = inside.get_by_role("textbox", name="new breakpoint")
    box.fill("type:Mul")
    inside.get_by_role("button", name="Add", exact=True).click()
    inside.get_by_role("button", name="Run to break").click()
    wait_class(inside, "mul_op", "df-current")
    assert "Stopped: type Mul" in inside.locator(".df-status").text_content()
    box.fill("no_such_op")
    box.press("Enter")
    assert "no_such_op" in inside.locator(".df-status").text_content()
    inside.locator(".df-now").get_by_role("button", name="Watch").click()
    inside.get_by_role("button", name="To the end").click()
    assert inside.locator(".df-watches .df-number").text_content() == "6"


def test_stepping_while_the_kernel_is_busy(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    show = "sess = tf.Session()\nstepper = Stepper(sess, pow_op)\ndisplay(stepper)"
    inside = open_stepper(lab_page, jupyter_server, show + jupyter_server.busy())
    assert lab_page.cells()[1]["prompt"] == "[*]:"
    forward = inside.get_by_role("button", name="One step forward")
    for number in (1, 2, 3):
        forward.click()
        at_step(inside, number)
    assert lab_page.cells()[1]["prompt"] == "[*]:"
    jupyter_server.go_on()
    lab_page.wait_until_idle()


def test_heat_map_table_and_whole_value(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    build = """import numpy as np
import dataflow as tf
from dataflow_widgets import Stepper
big = tf.placeholder(tf.float32, [30, 40], name="big")
small = tf.constant([[1.0, 2.0], [3.0, float("nan")]], name="small")
out = tf.negative(big, name="out")
both = [out, tf.negative(small, name="few")]"""
    show = """feed = {big: np.linspace(-1, 1, 1200).reshape(30, 40)}
Stepper(tf.Session(), both, feed)"""
    inside = open_stepper(lab_page, jupyter_server, show, build)
    node(inside, "out").click()
    inside.get_by_role("button", name="Run to node").click()
    wait_class(inside, "out", "df-current")
    heat = inside.locator(".df-now canvas.df-heat")
    assert "min -1, max 1" in heat.get_attribute("aria-label")
    pixel = heat.evaluate("(c) => [...c.getContext('2d').getImageData(0, 0, 1, 1).data]")
    assert pixel[:3] == [178, 24, 43], "the first value is +1, the red end of a diverging map"
    at_rest(lab_page.page)
    lab_page.screenshot("stepper_heat")
    inside.locator(".df-now").get_by_role("button", name="All values").click()
    inside.locator(".df-all").wait_for()
    assert "1200 values" in inside.locator(".df-status").text_content()
    node(inside, "few").click()
    inside.get_by_role("button", name="Run to node").click()
    wait_class(inside, "few", "df-current")
    assert inside.locator(".df-now td").all_text_contents() == ["-1", "-2", "-3", "NaN"]
    assert inside.locator(".df-now td.df-bad").count() == 1


def test_keyboard_alone(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_stepper(lab_page, jupyter_server)
    inside.get_by_role("button", name="One step forward").focus()
    lab_page.page.keyboard.press("Enter")
    at_step(inside, 1)
    inside.get_by_role("slider", name="step").focus()
    lab_page.page.keyboard.press("ArrowRight")
    at_step(inside, 2)
    inside.locator('.df-node[tabindex="0"]').focus()
    lab_page.page.keyboard.press("n")
    at_step(inside, 3)
    lab_page.page.keyboard.press("p")
    at_step(inside, 2)
    text = inside.get_by_role("slider", name="step").get_attribute("aria-valuetext")
    assert text.startswith("Step 2 of 5")


def test_dark_theme(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_stepper(lab_page, jupyter_server)
    lab_page.wait_until_idle()
    lab_page.command("apputils:change-theme", theme="JupyterLab Dark")
    lab_page.page.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
    inside.get_by_role("slider", name="step").fill("4")
    at_step(inside, 4)
    at_rest(lab_page.page)
    lab_page.screenshot("stepper_dark")
    background = inside.locator(".df-now .df-card").evaluate(
        "(e) => getComputedStyle(e.closest('.df-widget')).backgroundColor"
    )
    assert sum(map(int, background[4:-1].split(","))) < 150


def test_branch_with_an_edited_value(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside = open_stepper(lab_page, jupyter_server)
    lab_page.wait_until_idle()
    inside.get_by_role("button", name="To the end").click()
    node(inside, "add_op").click()
    inside.locator(".df-branch > summary").click()
    box = inside.get_by_role("textbox", name="new value of add_op")
    assert box.input_value() == "5"
    box.fill("10")
    inside.get_by_role("button", name="Run with this value").click()
    inside.locator(".df-run-bar").get_by_text("branch: add_op = 10").first.wait_for()
    wait_class(inside, "pow_op", "df-differs")
    assert inside.locator(".df-now .df-number").all_text_contents() == ["1000000", "15625"]
    wait_class(inside, "add_op", "df-fed")
    at_rest(lab_page.page)
    lab_page.screenshot("stepper_branch")
    # The first run is still there.
    inside.get_by_role("slider", name="run").fill("0")
    assert inside.locator(".df-now .df-number").first.text_content() == "15625"
    box = inside.get_by_role("textbox", name="new value of add_op")
    inside.locator(".df-branch > summary").click()
    box.fill("[1,")
    inside.get_by_role("button", name="Run with this value").click()
    inside.get_by_text("is not a number or a list").first.wait_for()


def test_training_steps_are_scrubbed(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    build = """import dataflow as tf
from dataflow_widgets import Stepper
w = tf.Variable(4.0, name="w")
loss = tf.square(w, name="loss")
train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())"""
    show = "stepper = Stepper(sess, [loss, train])\nfor _ in range(3): stepper.record()\nstepper"
    inside = open_stepper(lab_page, jupyter_server, show, build)
    lab_page.wait_until_idle()
    inside.get_by_role("button", name="To the end").click()
    runs = inside.get_by_role("slider", name="run")
    assert runs.get_attribute("max") == "3"
    values = []
    for number in range(4):
        runs.fill(str(number))
        card = inside.locator('.df-card[data-op="loss"] .df-number').first
        values.append(card.text_content())
    assert values == ["16", "4", "1", "0.25"]
