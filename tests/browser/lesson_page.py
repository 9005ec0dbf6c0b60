"""The graph of lesson 02 as a widget in a page without Jupyter, and its nodes there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.bare_page import graph_state
from tests.widgets import graphs

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.bare_page import BarePage


def shown_lesson(**more: Any) -> dict[str, Any]:
    return graph_state(graphs.lesson(), **more)


def lesson_marks() -> dict[str, Any]:
    nodes = graphs.lesson()
    words = "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    return graphs.marks_of(nodes, ["pow_op"]) | {"words": words}


def stepper_state() -> dict[str, Any]:
    """A stepper on the run of pow_op in lesson 02."""
    values = {0: 2, 1: 3, 2: 5, 3: 6, 5: 15625}
    summary = {"kind": "scalar", "dtype": "int32", "shape": [], "shape_text": "()", "size": 1}
    steps = [
        {"i": i, "type": "Op", "s": 1e-6, "in": reads, "out": [summary | {"bytes": 4, "data": [v]}]}
        for (i, v), reads in zip(values.items(), ([], [], [0, 1], [0, 1], [2, 3]), strict=True)
    ]
    run = {"label": "run 1", "steps": steps, "fetched": [5], "fed": [], "feed_values": {}}
    state = shown_lesson(kind="stepper", marks=lesson_marks())
    state["payload"]["trace"] = {"runs": [run | {"marks": lesson_marks()}], "only": []}
    return state


def node_locator(bare: BarePage, name: str) -> Locator:
    return bare.page.locator(f'.df-node:has(> title:text-is("{name}"))').last
