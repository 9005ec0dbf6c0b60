"""Every lesson and capstone, opened in JupyterLab and run from top to bottom, as a learner would:
one after the other, in the same page. axe-core then looks at what the notebook shows.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tests.browser.axe import serious_findings
from tests.browser.jupyter_server import ROOT
from tools.lesson import role_of

LESSONS = [
    *sorted((ROOT / "lessons").glob("[0-9]*.ipynb")),
    *sorted((ROOT / "lessons").glob("capstone_*.ipynb")),
]
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
        for path in LESSONS
    ]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", parameters())
def test_lesson_runs_in_jupyterlab(path: Path, lab_page, jupyter_server):
    jupyter_server.restore_lesson(path.name)
    lab_page.open_notebook(path.name)
    lab_page.run_all_cells(timeout_seconds=400)
    cells = lab_page.cells()
    ran = [cell for cell in cells if cell["type"] == "code" and cell["source"].strip()]
    stored = nbformat.read(path, as_version=4).cells
    hidden = {index for index, cell in enumerate(stored) if role_of(cell) == "solution"}
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
    for index in hidden:  # collapsed: the learner opens it
        assert not lab_page.cell(index).locator(".cm-content").is_visible()
    lab_page.screenshot(f"lesson-{path.stem}")
    assert lab_page.page.locator(OURS).count() >= len(widgets)
    assert serious_findings(lab_page.page, OURS) == []


def test_there_are_lessons():
    assert LESSONS
