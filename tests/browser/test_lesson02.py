"""Lesson 02 as a learner runs it: the graph, the pruned node before and after a run, the stepper."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.patience import at_rest
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
    at_rest(lab_page.page)
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
    at_rest(lab_page.page)
    lab_page.screenshot("lesson_02_stepper")


def test_all_of_lesson_02_runs(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    lab_page.open_notebook("02_sessions.ipynb")
    lab_page.run_all_cells()


def answer(lab_page: LabPage, index: int, source: str) -> None:
    """Puts ``source`` into a cell, runs it and the check after it."""
    lab_page.select_cell(index)
    lab_page.page.evaluate(
        "(source) => window.jupyterapp.shell.currentWidget.content.activeCell"
        ".model.sharedModel.setSource(source)",
        source,
    )
    lab_page.run_cell(index)
    lab_page.run_cell(index + 1)


def test_what_a_teacher_sees_of_it(
    lab_page: LabPage, jupyter_server: JupyterServer, tmp_path: Path
) -> None:
    jupyter_server.restore_lesson("02_sessions.ipynb")
    lab_page.open_notebook("02_sessions.ipynb")
    lab_page.run_all_cells()
    first, second = code_cell(lab_page, "names = ..."), code_cell(lab_page, "useful = ...")
    answer(lab_page, first, "names = {'x'}")
    assert "Hint: Start at each" in lab_page.output_text(first + 1)
    answer(lab_page, first, "names = {'x', 'y', 'add_op'}")
    assert lab_page.output_text(first + 1).startswith("✓ Right: ")
    answer(lab_page, second, "useful = add_op")
    question = lab_page.output(code_cell(lab_page, "predict.pruned(pow_op"))
    node(question, "useless").click()
    question.get_by_role("button", name="Check", exact=True).click()
    question.locator('.df-predict[data-state="right"]').wait_for()
    lab_page.command("docmanager:save")

    from dataflow.course import report

    (tmp_path / "ada").mkdir()
    shutil.copy(jupyter_server.folder / "02_sessions.ipynb", tmp_path / "ada")
    rows = {task: (state, tries) for _, _, task, state, tries, *_ in report(tmp_path).rows()}
    assert rows == {
        "lesson02.q1": ("not tried", 0),
        "lesson02.q2": ("right", 1),
        "lesson02.q3": ("not tried", 0),
        "lesson02.q4": ("not tried", 0),
        "lesson02.ex1": ("right", 2),
        "lesson02.ex2": ("not yet", 1),
        "lesson02.ex3": ("not tried", 0),
        "lesson02.ex4": ("not tried", 0),
    }
    # A second run of everything, in a new kernel, knows what was tried before.
    lab_page.open_notebook("02_sessions.ipynb")
    lab_page.run_all_cells()
    assert "Hint: The new node is what" in lab_page.output_text(second + 1), "the second hint"
    jupyter_server.restore_lesson("02_sessions.ipynb")
