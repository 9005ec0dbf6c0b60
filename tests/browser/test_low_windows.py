"""A window that is low, or zoomed to 200 %: what steers a graph is in sight together with it."""

from __future__ import annotations

import pytest

import dataflow as tf
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.patience import eventually
from tests.browser.test_legible import nodes_of

pytestmark = pytest.mark.browser


def tall() -> None:
    """Forty ops, one below the other."""
    value = tf.placeholder(tf.float32, [8], name="x")
    for _ in range(20):
        value = tf.sin(tf.exp(value))


HEIGHT_OF_PANE = "() => document.querySelector('.df-scroller').getBoundingClientRect().height"


@pytest.mark.parametrize(
    ("window", "least", "most"), [(900, 470, 490), (600, 420, 440), (384, 270, 300)]
)
def test_a_pane_is_no_higher_than_most_of_the_window(
    bare: BarePage, window: int, least: int, most: int
) -> None:
    bare.page.set_viewport_size({"width": 700, "height": window})
    bare.show(graph_state(nodes_of(tall), height=480, direction="down"))
    bare.wait_drawn(attempt="graphviz")
    eventually(bare.page, lambda: least <= bare.page.evaluate(HEIGHT_OF_PANE) <= most, True)
    whole = bare.page.evaluate(
        "() => document.querySelector('.df-toolbar').getBoundingClientRect().height"
    )
    assert whole + bare.page.evaluate(HEIGHT_OF_PANE) < window
    bare.page.set_viewport_size({"width": 700, "height": 900})  # and zoomed out again
    eventually(bare.page, lambda: bare.page.evaluate(HEIGHT_OF_PANE) >= 470, True)
