"""Every lesson and capstone, opened in JupyterLab and run from top to bottom, as a learner would:
one after the other, in the same page. axe-core then looks at what the notebook shows.

Three that train on clusters are left out, as they take longest: their cells run in `test_lessons`, and the others
show each kind of widget that they have. Here lessons get the larger data of `DATAFLOW_DATA`, where it is, and what their texts say has to hold for that, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat.v4 as v4
import pytest

from tests.browser.axe import serious_findings
from tests.lessons.notebooks import CAPSTONES, LESSONS, checks_of, read, widgets_of
from tests.lessons.right_answers import ASK
from tests.lessons.stated_numbers import with_probes
from tests.lessons.test_lessons import contradictions
from tools.lesson import role_of

#: Lessons that take larger data where it is found.
LARGER_DATA = frozenset({"lesson08", "lesson10", "lesson11", "lesson16"})
LEFT_OUT = frozenset({"lesson18", "lesson19", "lesson20"})
RUN = [path for path in [*LESSONS, *CAPSTONES] if checks_of(path) not in LEFT_OUT]
# What is ours in a page of JupyterLab: texts, outputs and widgets. Its own editors and prompts are not.
OURS = ".jp-RenderedMarkdown, .jp-OutputArea-output .jp-RenderedHTMLCommon, .df-widget"
# The manager says so in place of a widget that it cannot make.
BROKEN_WIDGET_WORDS = ["Error displaying widget", "Error creating widget", "Loading widget..."]


def parameters() -> list:
    return [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.cluster] if "cluster.launch" in path.read_text("utf-8") else [],
        )
        for path in RUN
    ]


def test_each_kind_of_widget_is_shown():
    shown = {kind for path in RUN for kind in widgets_of(read(path))}
    assert {"ClusterView", "StalenessExplorer", "predict.stale_read"} <= shown
    every = {kind for path in LESSONS for kind in widgets_of(read(path))}
    assert every - shown == set(), "only in lessons that are left out"


def as_a_learner(path: Path) -> Any:
    """The stored notebook; where it takes larger data, with each question answered and each number probed."""
    notebook = read(path)
    if checks_of(path) in LARGER_DATA:
        cells = []
        for cell in with_probes(notebook.cells):
            cells.append(cell)
            if role_of(cell) == "predict":
                cells.append(v4.new_code_cell(ASK, metadata={"asked": True}))
        notebook.cells = cells
    return notebook


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", parameters())
def test_lesson_runs_in_jupyterlab(path: Path, lab_page, jupyter_server):
    notebook = as_a_learner(path)
    jupyter_server.write(path.name, notebook)
    lab_page.open_notebook(path.name)
    lab_page.run_all_cells(timeout_seconds=400)
    cells = lab_page.cells()
    ran = [cell for cell in cells if cell["type"] == "code" and cell["source"].strip()]
    hidden = {i for i, cell in enumerate(notebook.cells) if role_of(cell) == "solution"}
    assert ran, "a lesson without a code cell"
    # A collapsed solution shows no prompt; its number says that it ran.
    assert not [cell["index"] for cell in ran if not cell["number"]]
    widgets = [
        cell["index"]
        for cell in ran
        for output in cell["outputs"]
        if cell["index"] not in hidden
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]
    for index in widgets:
        output = lab_page.output(index)
        output.scroll_into_view_if_needed()
        # An empty box is not a widget that drew.
        lab_page.page.wait_for_function(
            "([element, words]) => element.getBoundingClientRect().height > 10"
            " && !words.some((word) => element.innerText.includes(word))",
            arg=[output.element_handle(), BROKEN_WIDGET_WORDS],
        )
    for cell, shown in zip(notebook.cells, cells, strict=True):
        cell.outputs = shown["outputs"]
    assert contradictions(notebook) == []
    for index in hidden:  # collapsed: the learner opens it
        assert not lab_page.cell(index).locator(".cm-content").is_visible()
    lab_page.screenshot(f"lesson-{path.stem}")
    assert lab_page.page.locator(OURS).count() >= len(widgets)
    assert serious_findings(lab_page.page, OURS) == []
