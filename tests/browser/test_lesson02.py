"""Lesson 02 as a learner runs it: the graph, the pruned node before and after a run, the stepper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_graph_view import classes, node, wait_class, wait_drawn
from tests.browser.test_stepper import at_step

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser


def code_cell(lab_page: LabPage, text: str) -> int:
    """The first code cell that holds ``text``."""
    return next(c["index"] for c in lab_page.cells() if c["type"] == "code" and text in c["source"])


def test_lesson_02(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    lab_page.open_notebook("02_sessions.ipynb")
    drawing = code_cell(lab_page, "view = GraphView(")
    run = code_cell(lab_page, "z = sess.run(pow_op)")
    useless_run = code_cell(lab_page, "sess.run(useless)")
    for index in range(drawing + 1):
        if lab_page.cells()[index]["type"] == "code":
            lab_page.run_cell(index)
    view = lab_page.output(drawing)
    wait_drawn(view, 6)
    names = set(view.locator(".df-node > title").all_text_contents())
    assert names == {"x", "y", "add_op", "mul_op", "useless", "pow_op"}
    assert "df-pruned" not in classes(view, "useless"), "nothing has run yet"

    lab_page.run_cell(run)
    assert lab_page.output_text(run).strip() == "15625"
    wait_class(view, "useless", "df-pruned")
    assert "df-fetched" in classes(view, "pow_op")
    assert "1 pruned" in view.locator(".df-status").text_content()
    view.scroll_into_view_if_needed()
    lab_page.page.wait_for_timeout(1200)  # until colours have settled
    lab_page.screenshot("lesson_02_pruned")

    lab_page.run_cell(useless_run)
    wait_class(view, "mul_op", "df-pruned")
    assert "df-fetched" in classes(view, "useless")

    stepping = code_cell(lab_page, "stepper = Stepper(sess, pow_op)")
    lab_page.run_cell(stepping)
    stepper = lab_page.output(stepping)
    wait_drawn(stepper, 6)
    forward = stepper.get_by_role("button", name="One step forward")
    forward.click()
    at_step(stepper, 1)
    forward.click()
    at_step(stepper, 2)
    assert stepper.locator(".df-node.df-current").count() == 1
    lit = stepper.locator(".df-node.df-current > title").text_content()
    stepper.get_by_role("button", name="One step back").click()
    at_step(stepper, 1)
    assert "df-current" not in classes(stepper, lit)
    assert stepper.locator(".df-number").count() >= 1
    node(stepper, "pow_op").click()
    stepper.get_by_role("button", name="Run to node").click()
    wait_class(stepper, "pow_op", "df-current")
    assert stepper.locator(".df-now .df-number").text_content() == "15625"
    stepper.scroll_into_view_if_needed()
    lab_page.page.wait_for_timeout(1200)  # until colours have settled
    lab_page.screenshot("lesson_02_stepper")


def test_all_of_lesson_02_runs(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    lab_page.open_notebook("02_sessions.ipynb")
    lab_page.run_all_cells()
