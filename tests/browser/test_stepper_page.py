"""Stepper in a page without Jupyter: other tasks, branches, a run that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import CONTRAST
from tests.browser.lesson_page import node_locator, stepper_state

if TYPE_CHECKING:
    from tests.browser.bare_page import BarePage

pytestmark = pytest.mark.browser


def test_a_step_on_another_task_says_who_waited_for_whom(bare: BarePage) -> None:
    state = stepper_state()
    steps = state["payload"]["trace"]["runs"][0]["steps"]
    for step in steps:
        step["on"] = "ps 0"
    steps[2] |= {"on": "worker 0", "recv": [[0, "ps 0", 4, 1e-4]], "wait": [2e-4, 0]}
    bare.show(state)
    bare.wait_drawn()
    for _ in range(3):
        bare.page.get_by_role("button", name="One step forward").click()
    assert "'add_op' on worker 0" in bare.page.locator(".df-status").text_content()
    told = bare.page.locator(".df-travel").all_text_contents()
    assert told == [
        "Recv x from ps 0: 4 B, under way for at most 100 µs.",
        "worker 0 waited 200 µs for x.",
    ]
    assert node_locator(bare, "add_op").locator(".df-tag").text_content() == "worker 0"
    assert node_locator(bare, "add_op").get_attribute("aria-label").count(", worker 0") == 1
    assert bare.page.evaluate(CONTRAST) == []


def test_the_branch_taken_and_the_iteration_are_said(bare: BarePage) -> None:
    state = stepper_state()
    state["payload"]["nodes"][2] |= {"op": "Merge"}
    steps = state["payload"]["trace"]["runs"][0]["steps"]
    taken = steps[2]["out"][0] | {"data": [1]}
    steps[2] |= {"type": "Merge", "out": [steps[2]["out"][0], taken]}
    steps.insert(3, dict(steps[1]))
    bare.show(state)
    bare.wait_drawn()
    for words in (
        "",
        "iteration 1 of 2",
        "Branch taken: the value comes from y:0",
        "iteration 2 of 2",
    ):
        bare.page.get_by_role("button", name="One step forward").click()
        assert words in bare.page.locator(".df-status").text_content()


def test_every_focusable_element_of_the_stepper_is_guarded(bare: BarePage) -> None:
    bare.show(stepper_state())
    bare.wait_drawn()
    bare.page.get_by_role("button", name="One step forward").click()
    bare.page.locator(".df-node").first.click()
    unguarded = bare.page.evaluate(
        """() => [...document.querySelectorAll(
                 '.df-widget :is(button, input, select, textarea, summary, [tabindex])')]
             .filter((e) => e.dataset.lmSuppressShortcuts !== 'true').map((e) => e.outerHTML)"""
    )
    assert unguarded == []
    assert bare.page.evaluate(CONTRAST) == []


def test_a_run_that_failed_shows_where(bare: BarePage) -> None:
    state = stepper_state()
    run = state["payload"]["trace"]["runs"][0]
    run |= {"steps": run["steps"][:4], "error": "<b>overflow</b>", "failed": 5}
    bare.show(state)
    bare.wait_drawn()
    # It begins where it failed; a step back, and all is as before.
    assert "df-failed" in node_locator(bare, "pow_op").get_attribute("class")
    status = bare.page.locator(".df-status")
    assert "Then it failed: <b>overflow</b>" in status.text_content()
    bare.page.get_by_role("button", name="One step back").click()
    assert "df-failed" not in node_locator(bare, "pow_op").get_attribute("class")
    assert "failed" not in status.text_content()


def test_a_run_whose_first_operation_failed_says_so(bare: BarePage) -> None:
    state = stepper_state()
    state["payload"]["trace"]["runs"][0] |= {"steps": [], "error": "not fed", "failed": 0}
    bare.show(state)
    bare.wait_drawn()
    assert "Then it failed: not fed" in bare.page.locator(".df-status").text_content()
