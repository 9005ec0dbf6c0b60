"""Loops and conditions as a learner opens them: what their nodes do, and where the picture goes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.patience import eventually
from tests.browser.test_legible import nodes_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    page.page.set_viewport_size({"width": 760, "height": 900})
    yield page
    assert page.outside == [] and page.failures() == []
    page.close()


def recurrent() -> None:
    x = tf.placeholder(tf.float32, [None, 12, 4], name="x")
    _, state = tf.nn.dynamic_rnn(tf.contrib.rnn.LSTMCell(16), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(state[1], 1, name="pred")), name="loss")
    tf.train.AdamOptimizer(0.01).minimize(loss)


def counting() -> None:
    n = tf.placeholder(tf.int32, [], name="n")
    tf.while_loop(
        lambda i, a: i < n,
        lambda i, a: (i + 1, a + tf.cond(i < 2, lambda: i, lambda: -i)),
        [tf.constant(0), tf.constant(1)],
        name="loop",
    )


def show(bare: BarePage, state: dict[str, Any]) -> None:
    bare.show(state)
    bare.wait_drawn(attempt="graphviz")


def test_nodes_of_loops_and_conditions_say_what_they_do(bare: BarePage) -> None:
    show(bare, graph_state(nodes_of(counting)))
    bare.page.get_by_role("button", name="Open all").click()
    enter = bare.page.locator('.df-node:has(> title:text-is("loop/Enter"))')
    enter.wait_for()
    words = bare.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.df-kind-control')].map((e) =>
             [e.querySelector('title').textContent, e.querySelector('.df-detail')?.textContent]))"""
    )
    wanted = {
        "loop/Enter": "comes in",
        "loop/Less/Enter": "always the same",
        "loop/Merge": "first or next",
        "loop/LoopCond": "once more?",
        "loop/Switch": "on or out",
        "loop/NextIteration": "next iteration",
        "loop/Exit": "goes out",
        "loop/cond/Merge": "from one branch",
    }
    assert wanted.items() <= words.items()
    assert None not in words.values()
    merge = bare.page.locator('.df-node:has(> title:text-is("loop/Merge"))')
    merge.click()
    bare.page.locator(".df-inspector .df-hint", has_text="the one from NextIteration").wait_for()


_PLACES = """() => {
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  return { pane: box(document.querySelector(".df-scroller")),
    title: box(document.querySelector('.df-cluster[data-scope="%s"] .df-cluster-label')) };
}"""


def is_in_sight(bare: BarePage, scope: str) -> bool:
    places = bare.page.evaluate(_PLACES % scope)
    (left, top, right, bottom), (a, b, c, d) = places["pane"], places["title"]
    return bool(left <= a and top <= b and c <= right and d <= bottom)


def test_a_scope_that_is_opened_is_seen_from_its_title_on(bare: BarePage) -> None:
    show(bare, graph_state(nodes_of(recurrent), direction="auto"))
    for scope, text in (("rnn", "rnn"), ("rnn/while", "while")):
        # Half out of sight it does not move away under the second click.
        bare.page.locator(".df-node", has_text=text).first.dblclick()
        bare.page.locator(f'.df-cluster[data-scope="{scope}"]').wait_for(state="attached")
        eventually(bare.page, functools.partial(is_in_sight, bare, scope), True)


def test_what_tells_of_a_node_does_not_hide_it(bare: BarePage) -> None:
    show(bare, graph_state(nodes_of(counting)))
    bare.page.get_by_role("button", name="Open all").click()
    node = bare.page.locator('.df-node:has(> title:text-is("loop/NextIteration"))')
    node.wait_for(state="attached")
    node.click()
    bare.page.locator(".df-inspector h4", has_text="loop/NextIteration").wait_for()
    seen = """(e) => { const p = e.closest(".df-scroller").getBoundingClientRect(), b = e.getBoundingClientRect();
      return b.left >= p.left && b.right <= p.right && b.top >= p.top && b.bottom <= p.bottom; }"""
    eventually(bare.page, lambda: node.evaluate(seen), True)


def test_titles_of_open_scopes_stand_above_edges(bare: BarePage) -> None:
    show(bare, graph_state(nodes_of(recurrent), direction="auto"))
    bare.page.locator(".df-node", has_text="rnn").first.dblclick()
    label = bare.page.locator('.df-cluster[data-scope="rnn"] .df-cluster-label')
    label.wait_for()
    order = bare.page.evaluate(
        "() => [...document.querySelector('.df-svg').children].map((e) => e.getAttribute('class'))"
    )
    assert order.index("df-clusters") < order.index("df-edges") < order.index("df-heads")
    assert label.evaluate("(e) => getComputedStyle(e).paintOrder.startsWith('stroke')")
    # A press on the frame alone does nothing; on the title, or twice on the frame, it closes.
    frame = bare.page.locator('.df-frame[data-scope="rnn"]')
    corner = frame.evaluate(
        "(e) => { const b = e.getBoundingClientRect(); return [b.left, b.bottom]; }"
    )
    bare.page.mouse.click(corner[0] + 8, corner[1] - 8)
    assert frame.count() == 1
    bare.page.mouse.dblclick(corner[0] + 8, corner[1] - 8)
    frame.wait_for(state="detached")


def test_a_closed_scope_says_what_is_put_aside(bare: BarePage) -> None:
    nodes = nodes_of(recurrent)
    show(bare, graph_state(nodes, direction="auto"))
    bare.page.locator(".df-node", has_text="rnn").first.click()
    text = bare.page.locator(".df-inspector").inner_text
    bare.page.locator(".df-inspector h4", has_text="rnn").wait_for()
    count = sum(node["name"].startswith("rnn/") for node in nodes)
    drawn, more = (
        int(line.split()[0])
        for line in text().splitlines()
        if " closed" in line or " more " in line
    )
    assert drawn + more == count and more > 0
