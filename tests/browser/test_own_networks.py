"""Graphs that a learner writes without scopes: an unrolled loop, a long chain, one a little too high."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.patience import eventually
from tests.browser.test_legible import measure, nodes_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

ROWS = """() => new Set([...document.querySelectorAll(".df-node .df-shape")]
  .map((e) => Math.round(e.getBoundingClientRect().top / 40))).size"""


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    yield page
    assert page.outside == [] and page.failures() == []
    page.close()


def unrolled() -> None:
    """A recurrent network by hand, six steps of it."""
    xs = tf.placeholder(tf.float32, [6, 4, 5], name="xs")
    weights = tf.get_variable("W", [11, 6])
    bias = tf.get_variable("b", [6])
    h = tf.zeros([4, 6], name="h0")
    for t in range(6):
        z = tf.matmul(tf.concat([xs[t], h], 1), weights) + bias
        h = tf.sigmoid(z) * tf.tanh(z) + h
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(h, name="loss"))


def chain() -> None:
    """220 ops of five kinds, one after the other."""
    value = tf.placeholder(tf.float32, [8], name="x")
    for i in range(220):
        value = (tf.sin, tf.exp, tf.tanh, tf.abs, tf.square)[i * i * 7 % 11 % 5](value)


def show(bare: BarePage, build: Callable[[], None], **more: Any) -> dict[str, Any]:
    state = graph_state(nodes_of(build), direction="auto", **more)
    bare.show(state)
    bare.wait_drawn(attempt="graphviz")
    return measure(bare)


def test_what_all_steps_read_stands_beside_each(bare: BarePage) -> None:
    found = show(bare, unrolled)
    assert found["smallest"] >= 11
    for name in ("xs", "W", "b"):
        assert found["names"].count(name) == 6
    assert not {"df-more-left", "df-more-right"} & set(found["more"]), "in rows, none too wide"
    # One is selected: it is the same variable wherever it is drawn.
    bare.page.locator('.df-node[aria-label*=" W,"]').nth(3).click()
    assert bare.page.locator(".df-node.df-selected").count() == 6
    bare.page.locator(".df-inspector h4", has_text="W").wait_for()
    bare.page.locator(".df-search").fill("b")
    eventually(bare.page, lambda: bare.page.locator(".df-node.df-match").count() >= 6, True)


def test_a_long_chain_of_many_kinds_is_read_as_text_is(bare: BarePage) -> None:
    found = show(bare, chain)
    assert len(found["names"]) == 221
    assert found["smallest"] >= 11
    assert not {"df-more-left", "df-more-right"} & set(found["more"])


def test_rows_are_set_anew_for_another_width(bare: BarePage) -> None:
    show(bare, unrolled)
    before = bare.page.evaluate(ROWS)
    bare.page.set_viewport_size({"width": 640, "height": 800})
    eventually(bare.page, lambda: bare.page.evaluate(ROWS) > before, True)
    sides = {"df-more-left", "df-more-right"}
    eventually(bare.page, lambda: bool(sides & set(measure(bare)["more"])), False)
    narrow = bare.page.evaluate(ROWS)
    # The inspector takes of the width, and that is no reason.
    bare.page.locator('.df-node[aria-label*=" b,"]').first.click()
    bare.page.locator(".df-inspector h4").wait_for()
    bare.page.wait_for_timeout(600)
    assert bare.page.evaluate(ROWS) == narrow


def deep_q_network() -> None:
    """Two networks of one form, the loss between them, and a copy of the weights: five inputs."""
    state, following = (
        tf.placeholder(tf.float32, [None, 8], name=n) for n in ("state", "next_state")
    )
    action = tf.placeholder(tf.int32, [None], name="action")
    reward, done = (tf.placeholder(tf.float32, [None], name=name) for name in ("reward", "done"))
    values = []
    for inputs, name in ((state, "online"), (following, "target")):
        with tf.variable_scope(name):
            hidden = tf.layers.dense(tf.layers.dense(inputs, 64, tf.nn.relu), 64, tf.nn.relu)
            values.append(tf.layers.dense(hidden, 4))
    best = tf.reduce_max(values[1], axis=1)
    goal = tf.stop_gradient(reward + 0.99 * (1 - done) * best)
    chosen = tf.reduce_sum(values[0] * tf.one_hot(action, 4), axis=1)
    loss = tf.losses.huber_loss(goal, chosen)
    online, target = (tf.trainable_variables(name) for name in ("online", "target"))
    tf.train.AdamOptimizer(1e-3).minimize(loss, var_list=online)
    tf.group(*[to.assign(value) for value, to in zip(online, target, strict=True)])


def test_a_network_of_many_inputs_is_not_cut_at_the_side_of_a_projector(bare: BarePage) -> None:
    bare.page.set_viewport_size({"width": 680, "height": 480})
    found = show(bare, deep_q_network)
    assert {"state", "next_state", "action", "reward", "done"} <= set(found["names"])
    assert not {"df-more-left", "df-more-right"} & set(found["more"])
    assert found["smallest"] >= 11


def test_a_pane_that_is_a_little_too_low_is_as_high_as_the_drawing(bare: BarePage) -> None:
    def ladder(num_steps: int) -> Callable[[], None]:
        def build() -> None:
            value = tf.placeholder(tf.float32, [2], name="x")
            for i in range(num_steps):
                value = tf.add(value, tf.sin(value), name=f"step{i}")

        return build

    nodes = nodes_of(ladder(3))
    bare.show(graph_state(nodes, height=420))
    bare.wait_drawn(attempt="graphviz")
    bare.show(graph_state(nodes, height=250))
    bare.wait_drawn(attempt="graphviz")
    high, low = bare.page.locator(".df-scroller").all()
    needed = high.locator("svg").bounding_box()["height"]  # type: ignore[index]
    cut = "(e) => e.scrollHeight > e.clientHeight + 2"
    assert needed > 250, "else nothing is tested"
    bare.show(graph_state(nodes, height=int(needed / 1.15)))
    bare.wait_drawn(attempt="graphviz")
    stretched = bare.page.locator(".df-scroller").last
    assert not stretched.evaluate(cut)
    assert low.evaluate(cut) == (needed > 1.3 * 250)
    bare.page.locator("#root > :last-child").get_by_role("button", name="Zoom in").click()
    eventually(bare.page, lambda: stretched.evaluate(cut), True)


def recurrent() -> None:
    """A cell that is called six times, whose steps stand in one scope."""
    x = tf.placeholder(tf.float32, [4, 6, 5], name="x")
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(outputs[-1], 1, name="out")), name="loss")
    tf.train.AdamOptimizer().minimize(loss)


def test_a_double_click_opens_what_it_began_on(bare: BarePage) -> None:
    show(bare, recurrent)
    steps = bare.page.locator(".df-node", has_text="step × 6")
    steps.dblclick()  # a click alone tells of it beside the graph, which makes the drawing narrower
    bare.page.locator(".df-node", has_text="step_5").wait_for()
    assert bare.page.locator(".df-node", has_text="step_").count() == 6
    assert bare.page.locator(".df-inspector").is_hidden()
    bare.page.locator(".df-node", has_text="step_2").click()
    bare.page.locator(".df-inspector h4", has_text="step_2").wait_for()


_PAPER = """() => {
  const pane = document.querySelector(".df-pane"), scroller = pane.querySelector(".df-scroller");
  const seen = (e, part) => getComputedStyle(e, part).display !== "none";
  const svg = scroller.querySelector("svg").getBoundingClientRect();
  return {
    controls: [...document.querySelectorAll(".df-toolbar, .df-roles, .df-pin, .df-minimap")].filter((e) => seen(e)).length,
    fades: ["::before", "::after"].filter((part) => seen(pane, part)),
    whole: scroller.scrollHeight <= scroller.clientHeight + 2 && svg.right <= innerWidth,
    paper: getComputedStyle(document.querySelector(".df-widget")).backgroundColor,
    ink: getComputedStyle(document.querySelector(".df-title")).fill,
  };
}"""


def test_on_paper_stands_the_drawing_alone(chromium: Browser) -> None:
    page = BarePage(chromium, dark=True)
    try:
        show(page, chain, height=300)
        before = page.page.evaluate(_PAPER)
        assert before["controls"] >= 3 and before["fades"] and not before["whole"]
        page.page.emulate_media(media="print")
        page.page.set_viewport_size({"width": 794, "height": 1123})  # A4
        wanted = {"controls": 0, "fades": [], "whole": True}
        white = {"paper": "rgb(255, 255, 255)", "ink": "rgb(31, 35, 40)"}
        eventually(page.page, lambda: page.page.evaluate(_PAPER), wanted | white)
    finally:
        page.close()
