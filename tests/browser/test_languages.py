"""Checks and widgets in German, in a real JupyterLab: said in full, and within their boxes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import serious_findings

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

CELLS = [
    'from dataflow import course\nfrom dataflow.course import check\ncourse.language("de")',
    "import dataflow as tf\nfrom dataflow_widgets import (\n    GraphView, OptimizerExplorer, Stepper, "
    "TrainingMonitor, predict)\n"
    "Print = tf.add(3, 5, name='Print')\ntwice = tf.multiply(Print, 2, name='twice')\n"
    "sess = tf.Session()",
    "check.lesson04.ex3(tf.constant(100))",
    'predict.pruned(Print, session=sess, name="languages.q1")',
    "GraphView(sess)",
    "Stepper(sess, twice)",
    "OptimizerExplorer()",
    "monitor = TrainingMonitor()\nfor i in range(9):\n    monitor.log(i, {'loss': 1 / (i + 1)})\nmonitor",
    "predict.choice('How often is it printed?', ['three times', 'step and loss', 'step'], 0, name='languages.q2')",
]
#: Wider than its box: a button, a label or a heading whose words are cut or run over what is beside it.
CUT = """() => [...document.querySelectorAll('.df-widget button, .df-widget label, .df-widget h4')]
  .filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 2 && getComputedStyle(e).display !== 'inline')
  .map((e) => e.textContent)"""
OUTSIDE = """() => [...document.querySelectorAll('.df-widget')].flatMap((widget) => {
  const box = widget.getBoundingClientRect();
  return [...widget.querySelectorAll('button, label, h4, p')]
    .filter((e) => e.offsetParent && e.getBoundingClientRect().right > box.right + 1)
    .map((e) => e.textContent);
})"""


def test_a_check_and_widgets_speak_german(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    lab_page.open_notebook(jupyter_server.write_notebook("german.ipynb", CELLS))
    lab_page.run_all_cells()
    page = lab_page.page
    assert "Noch nicht: jeder Lauf druckt dasselbe Ticket: 100" in lab_page.output_text(2)
    question = lab_page.output(3).locator(".df-widget")
    question.get_by_text("Ein Lauf holt Print. Welche Knoten werden beschnitten").wait_for()
    question.get_by_role("button", name="Prüfen", exact=True).click()
    question.get_by_text("Du hast nichts markiert.").wait_for()
    question.get_by_text("Hinweis:").wait_for()
    question.get_by_role("button", name="Antwort zeigen").click()
    question.get_by_text("Beschnitten: twice").wait_for()
    for index, words in (
        (4, "6 Operationen"),
        (5, "Am Anfang (5 Schritte)"),
        (6, "Wege der Optimierer"),
    ):
        lab_page.output(index).scroll_into_view_if_needed()
        lab_page.output(index).locator(".df-widget").get_by_text(words).first.wait_for()
    lab_page.output(7).scroll_into_view_if_needed()
    lab_page.output(7).locator(".df-widget").get_by_text("Glättung").wait_for()
    # What an author wrote is said as it was written; what the widget says of it is German.
    choice = lab_page.output(8).locator(".df-widget")
    choice.scroll_into_view_if_needed()
    choice.get_by_role("button", name="Prüfen", exact=True).click()
    choice.get_by_text("Wähle zuerst eins aus.").wait_for()
    assert choice.locator(".df-pick").all_inner_texts() == ["three times", "step and loss", "step"]
    assert choice.locator(".df-heading").inner_text() == "Vorhersage"
    choice.get_by_label("three times").check()
    choice.get_by_text("“three times” gewählt.").wait_for()
    explorer = lab_page.output(6).locator(".df-widget")
    assert {"Fläche", "Momentum"} <= set(explorer.locator("label").all_inner_texts())
    assert "Schlucht" in explorer.locator("option").all_text_contents()
    explorer.get_by_role("button", name=re.compile("Prüfen.*Momentum")).click()
    explorer.get_by_text("Noch nicht. Hier gilt: der einfache Abstieg").wait_for()
    assert lab_page.output(4).locator(".df-widget").get_attribute("lang") == "de"
    # Words of the pictures, and what a screen reader says of a node.
    stepped = lab_page.output(5).locator(".df-widget")
    stepped.locator(".df-tag", has_text="geholt").wait_for()
    stepped.locator('.df-node[aria-label*="geholt, gebraucht"]').wait_for()
    stepped.locator(".df-key", has_text="lebend").wait_for()
    assert lab_page.output(4).get_by_text("Print", exact=True).count() >= 1, "a name stays a name"
    for index in range(2, len(CELLS)):
        lab_page.output(index).scroll_into_view_if_needed()
        lab_page.screenshot(f"german-{index}")
    assert page.evaluate(CUT) == []
    assert page.evaluate(OUTSIDE) == []
    assert serious_findings(page, ".df-widget") == []


def test_a_page_that_showed_english_widgets_learns_german(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    view = (
        "import dataflow as tf\ntf.constant(1)\nfrom dataflow_widgets import GraphView\nGraphView()"
    )
    english = jupyter_server.write_notebook("english.ipynb", [view])
    german = jupyter_server.write_notebook("german.ipynb", [CELLS[0], view])
    lab_page.open_notebook(english, reload=True)
    lab_page.run_all_cells()
    lab_page.output(0).locator(".df-status").get_by_text("1 operation").wait_for()
    lab_page.open_notebook(german)
    lab_page.run_all_cells()
    lab_page.output(1).locator(".df-status").get_by_text("1 Operation", exact=True).wait_for()
    lab_page.output(1).get_by_role("button", name="Alle öffnen").wait_for()
    lab_page.open_notebook(english)
    lab_page.run_all_cells()
    lab_page.output(0).get_by_role("button", name="Open all").wait_for()
