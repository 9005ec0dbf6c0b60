"""Graphs in a page without Jupyter: drawing, scopes, sizes, keyboard, and what is said of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.bare_page import graph_state
from tests.browser.lesson_page import lesson_marks, node_locator, shown_lesson
from tests.widgets import graphs

if TYPE_CHECKING:
    from tests.browser.bare_page import BarePage

pytestmark = pytest.mark.browser


def test_graph_is_drawn_by_graphviz_in_a_worker(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn(attempt="graphviz")
    assert bare.page.locator(".df-node").count() == 6
    assert bare.page.locator(".df-edge").count() == 8
    assert bare.page.locator(".df-edge > title").first.text_content() == "x:0  int32 ()"
    mode = bare.page.evaluate(
        "Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])"
        ".find((v) => v?.queue)?.mode"
    )
    assert mode == "worker"
    assert bare.failures() == []


def test_marks_are_classes_words_and_labels(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    assert "df-pruned" in node_locator(bare, "useless").get_attribute("class")
    assert "df-fetched" in node_locator(bare, "pow_op").get_attribute("class")
    assert "df-needed" in node_locator(bare, "x").get_attribute("class")
    assert node_locator(bare, "useless").locator(".df-tag").text_content() == "pruned"
    assert "pruned" in node_locator(bare, "useless").get_attribute("aria-label")
    status = bare.page.locator(".df-status")
    assert status.get_attribute("aria-live") == "polite"
    assert status.text_content() == lesson_marks()["words"]


def test_the_node_in_which_a_run_failed_is_red_and_says_so(bare: BarePage) -> None:
    marks = lesson_marks() | {"failed": [3], "failure": "The run failed in 'mul_op'."}
    bare.show(shown_lesson(marks=marks | {"words": f"{marks['words']}. {marks['failure']}"}))
    bare.wait_drawn()
    node, other = node_locator(bare, "mul_op"), node_locator(bare, "add_op")
    assert node.locator(".df-tag").text_content() == "failed"
    assert (node.get_attribute("aria-label") or "").endswith("needed, failed")
    strokes = [
        each.locator(".df-shape").first.evaluate("(e) => getComputedStyle(e).stroke")
        for each in (node, other)
    ]
    assert strokes[0] != strokes[1]
    assert bare.page.locator(".df-status").inner_text().endswith("The run failed in 'mul_op'.")
    bare.page.evaluate("(m) => models[0].update('marks', m)", lesson_marks())  # a run that works
    assert "df-failed" not in (node.get_attribute("class") or "")


def test_a_highlight_does_not_lay_out_again(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.evaluate("document.querySelector('.df-svg').dataset.same = 'yes'")
    bare.page.evaluate("(m) => models[0].update('marks', m)", lesson_marks())
    assert "df-pruned" in node_locator(bare, "useless").get_attribute("class")
    assert bare.page.locator(".df-svg").get_attribute("data-same") == "yes"
    bare.page.evaluate("models[0].update('marks', {})")
    assert "df-pruned" not in node_locator(bare, "useless").get_attribute("class")


def test_scopes_close_and_open(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(2)))
    bare.wait_drawn()
    before = bare.page.locator(".df-node").count()
    bare.page.locator('.df-cluster[data-scope="layer0"] > .df-cluster-label').click()
    closed = bare.page.locator('.df-node[data-id="s:layer0"]')
    closed.wait_for()
    assert closed.get_attribute("aria-expanded") == "false"
    assert bare.page.locator(".df-node").count() < before
    closed.locator(".df-toggle").click()
    bare.page.locator('.df-cluster[data-scope="layer0"]').wait_for()
    assert bare.page.locator(".df-node").count() == before


def test_large_graph_starts_closed(bare: BarePage) -> None:
    nodes = graphs.layers(60)
    assert len(nodes) > 1000
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    assert 1 < bare.page.locator(".df-node").count() <= 200
    # No transitions above 300 drawn nodes; here there are fewer.
    assert "df-still" not in bare.page.locator(".df-pane").get_attribute("class")


def test_no_transitions_on_a_large_drawing(bare: BarePage) -> None:
    nodes = graphs.layers(20)
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Open all").click()
    bare.page.locator(".df-pane.df-still").wait_for()
    duration = bare.page.locator(".df-shape").first.evaluate(
        "(e) => getComputedStyle(e).transitionDuration"
    )
    assert duration in ("0s", "")


def test_five_thousand_operations_stay_explorable(bare: BarePage) -> None:
    nodes = graphs.layers(300)
    assert len(nodes) > 5000
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    assert bare.page.locator(".df-node").count() < 400
    bare.page.locator(".df-search").fill("layer123/MatMul")
    bare.page.locator(".df-search").press("Enter")
    bare.page.locator(".df-node.df-selected").wait_for()
    assert bare.page.locator(".df-inspector h4").text_content() == "layer123/MatMul"


def test_flat_series_is_folded(bare: BarePage) -> None:
    nodes = [graphs.node("Add", "Add")]
    nodes += [graphs.node(f"Add_{i}", "Add", (nodes[-1]["name"] + ":0",)) for i in range(1, 1)]
    for i in range(1, 400):
        nodes.append(graphs.node(f"Add_{i}", "Add", (f"{nodes[-1]['name']}:0",)))
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    assert bare.page.locator(".df-node").count() == 1
    assert "400" in bare.page.locator(".df-title").text_content()


def test_keyboard_alone(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    page = bare.page
    assert page.locator('.df-node[tabindex="0"]').count() == 1
    page.locator('.df-node[tabindex="0"]').focus()
    seen = {page.evaluate("document.activeElement.dataset.id")}
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "End", "Home"):
        page.keyboard.press(key)
        seen.add(page.evaluate("document.activeElement.dataset.id"))
        assert page.locator('.df-node[tabindex="0"]').count() == 1
    assert len(seen) >= 3
    page.keyboard.press("Enter")
    assert page.locator(".df-inspector").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".df-inspector").is_visible()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "df-search"


def test_every_focusable_element_guards_jupyter_shortcuts(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(2), marks={}))
    bare.wait_drawn()
    bare.page.locator(".df-node").first.click()
    unguarded = bare.page.evaluate(
        """() => [...document.querySelectorAll('.df-widget :is(button, input, select, [tabindex])')]
             .filter((e) => e.dataset.lmSuppressShortcuts !== 'true').map((e) => e.outerHTML)"""
    )
    assert unguarded == []


def test_keys_do_not_reach_the_page(bare: BarePage) -> None:
    """Pressing d twice with focus in a widget deletes the cell unless the keys stop there."""
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.evaluate(
        "window.leaked = []; document.addEventListener('keydown', (e) => leaked.push(e.key))"
    )
    bare.page.locator('.df-node[tabindex="0"]').focus()
    bare.page.keyboard.press("d")
    bare.page.keyboard.press("d")
    bare.page.locator(".df-search").press("x")
    bare.page.get_by_role("button", name="Open all").press("b")
    assert bare.page.evaluate("leaked") == []


def test_operations_that_arrive_later_are_added(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    late = graphs.node("late", "Neg", ("pow_op:0",), dtype="int32")
    bare.page.evaluate("(n) => models[0].custom({kind: 'ops', nodes: [n], fresh: [6]})", late)
    node_locator(bare, "late").wait_for(state="attached")
    assert bare.page.locator(".df-node").count() == 7
    assert "df-new" in node_locator(bare, "late").get_attribute("class")
    assert "df-new" not in node_locator(bare, "x").get_attribute("class")


def test_python_error_is_shown_in_the_widget(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.evaluate("models[0].custom({kind: 'error', text: 'KeyError: <b>x</b>'})")
    assert "KeyError: <b>x</b>" in bare.page.get_by_role("alert").text_content()


def test_why_did_this_run(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    node_locator(bare, "x").click()
    bare.page.get_by_role("button", name="Why").click()
    assert "because 'pow_op' was fetched" in bare.page.locator(".df-answer").text_content()
    assert bare.page.locator(".df-node.df-path").count() == 3
    node_locator(bare, "useless").click()
    bare.page.get_by_role("button", name="Why").click()
    assert "Fetching 'useless' itself" in bare.page.locator(".df-answer").text_content()


def test_hover_pairs_forward_and_gradient(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(1)))
    bare.wait_drawn()
    node_locator(bare, "layer0/MatMul").hover()
    paired = bare.page.locator(".df-node.df-pair > title").all_text_contents()
    assert set(paired) == {
        "layer0/MatMul",
        "gradients/layer0/MatMul_grad/MatMul",
        "gradients/layer0/MatMul_grad/MatMul_1",
    }
    assert "dA = dC·Bᵀ" in bare.page.locator(".df-note").text_content()


def test_focus_shows_what_hovering_shows(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(1)))
    bare.wait_drawn()
    node_locator(bare, "layer0/MatMul").focus()
    assert bare.page.locator(".df-node.df-pair").count() == 3
    assert "dA = dC·Bᵀ" in bare.page.locator(".df-note").text_content()


def test_comparison_of_two_fetches(bare: BarePage) -> None:
    marks = {
        "fetched": [4, 5],
        "fed": [],
        "needed": [0, 1, 2, 3, 4, 5],
        "first": [0, 1, 2, 3, 5],
        "second": [0, 1, 2, 4],
        "words": "A needs 5, B needs 4",
    }
    bare.show(shown_lesson(marks=marks))
    bare.wait_drawn()
    tags = {
        name: node_locator(bare, name).locator(".df-tag").text_content()
        for name in ("x", "mul_op", "useless")
    }
    assert tags == {"x": "A and B", "mul_op": "only A", "useless": "only B"}
    assert "only B" in node_locator(bare, "useless").get_attribute("aria-label")


def test_isolate_and_back(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    node_locator(bare, "add_op").click()
    bare.page.get_by_role("button", name="Isolate").click()
    bare.page.locator('.df-widget[data-drawn="5"]').wait_for()
    bare.page.get_by_role("button", name="Whole graph").click()
    bare.page.locator('.df-widget[data-drawn="6"]').wait_for()
