"""Pictures that are larger or smaller than their panes: rewrites of wide graphs, the small map, timelines of one lane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from dataflow_widgets import GraphView, RewritePlayer, Timeline
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.patience import eventually
from tests.browser.test_explain_widgets import traits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.browser

#: Which way most edges of a drawing lead.
_LIES = """(pane) => {
  const lines = [...pane.querySelectorAll('.df-line')].map((line) => line.getBBox());
  return lines.filter((box) => box.width > box.height).length > lines.length / 2;
}"""
#: How many nodes lie under the map of a pane.
_UNDER_MAP = """(pane) => {
  const map = pane.querySelector('.df-minimap').getBoundingClientRect();
  return [...pane.querySelectorAll('.df-shape')].map((shape) => shape.getBoundingClientRect())
    .filter((box) => box.left < map.right && map.left < box.right && box.top < map.bottom && map.top < box.bottom).length;
}"""


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    page.page.set_viewport_size({"width": 1000, "height": 1200})
    yield page
    assert page.failures() == [] and page.outside == []
    page.close()


def training_step() -> dict[str, Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        y = tf.placeholder(tf.int64, [None], name="y")
        hidden = tf.layers.dense(x, 128, tf.nn.relu, name="hidden")
        logits = tf.layers.dense(hidden, 10, name="logits")
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        train = tf.train.AdamOptimizer().minimize(loss)
        session.run(tf.global_variables_initializer())
        return traits(RewritePlayer(session, train, [x, y]))


def shown(bare: BarePage) -> Locator:
    bare.show(training_step())
    bare.page.locator(".df-body[data-arrange=stacked]").wait_for()
    player = bare.page.locator(".df-rewrite-player")
    panes = player.locator(".df-pane")
    eventually(bare.page, lambda: [pane.evaluate(_LIES) for pane in panes.all()], [True, True])
    return player


def test_graphs_too_wide_to_stand_beside_each_other_lie_one_above_the_other(bare: BarePage) -> None:
    player = shown(bare)
    boxes = [pane.bounding_box() for pane in player.locator(".df-pane").all()]
    assert boxes[0] and boxes[1]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"] + 1
    whole = player.bounding_box()
    assert whole and whole["height"] < 1000, "both and the list of rewrites are in sight"


def test_a_rewrite_of_a_graph_that_lies_is_in_sight(bare: BarePage) -> None:
    player = shown(bare)
    player.get_by_role("button", name="Relu . BiasAdd -> one kernel").click()
    for side, name in (("before", ".df-goes"), ("after", ".df-comes")):
        column = player.locator(f".df-column[aria-label={side}]")
        changed, scroller = column.locator(name).first, column.locator(".df-scroller")
        changed.wait_for()

        def is_seen(changed: Locator = changed, pane: Locator = scroller) -> bool:
            one, box = changed.bounding_box(), pane.bounding_box()
            if not one or not box:
                return False  # it is being drawn anew
            return box["y"] - 1 <= one["y"] and one["y"] + one["height"] <= box["y"] + box["height"]

        eventually(bare.page, is_seen, True)


def test_the_map_takes_the_corner_where_it_hides_least(bare: BarePage) -> None:
    player = shown(bare)
    panes = player.locator(".df-pane", has=bare.page.locator(".df-minimap:not([hidden])"))
    panes.first.wait_for()
    for pane in panes.all():
        eventually(bare.page, lambda pane=pane: pane.evaluate(_UNDER_MAP), 0)
    corner = panes.first.locator(".df-minimap")
    # Under the pointer it stays where it is, whatever comes into sight.
    box = corner.locator("svg").bounding_box()
    assert box
    before = corner.get_attribute("data-corner")
    bare.page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] - 2)
    assert corner.get_attribute("data-corner") == before


def test_a_timeline_of_one_lane_has_the_whole_width(bare: BarePage) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.layers.dense(tf.ones([4, 8]), 3, name="logits")
        loss = tf.losses.sparse_softmax_cross_entropy(tf.constant([0, 1, 2, 0]), logits)
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(loss, options=options, run_metadata=metadata)
        bare.show(traits(Timeline(metadata)))
    lane = bare.page.locator(".df-flame").bounding_box()
    side = bare.page.locator(".df-timeline .df-side").bounding_box()
    whole = bare.page.locator(".df-timeline").bounding_box()
    assert lane and side and whole
    assert lane["width"] > 0.95 * whole["width"] and side["y"] >= lane["y"] + lane["height"] - 1
    # While JupyterLab changes its theme it is hidden for some frames: it is not drawn for that.
    width = """() => document.querySelector(".df-flame-svg").getBoundingClientRect().width"""
    drawn = """() => new Promise((tell) => {
      const root = document.getElementById("root");
      root.style.display = "none";
      const look = () => tell(Number(document.querySelector(".df-flame-svg").getAttribute("width")));
      const after = (frames) => (frames ? requestAnimationFrame(() => after(frames - 1)) : look());
      after(5);
    })"""
    before = bare.page.evaluate(width)
    assert bare.page.evaluate(drawn) == pytest.approx(before, abs=1)
    bare.page.evaluate("() => { document.getElementById('root').style.display = ''; }")
    # A color stands beside its type, however long that is.
    for row in bare.page.locator(".df-type").all():
        color, name = row.locator("i").bounding_box(), row.locator("span").bounding_box()
        assert color and name
        assert name["y"] <= color["y"] + color["height"] / 2 <= name["y"] + name["height"]
        assert color["x"] + color["width"] <= name["x"] + 1


def test_the_inspector_says_no_more_of_a_closed_scope_than_it_knows(bare: BarePage) -> None:
    with tf.Graph().as_default() as graph:
        for name in ("first", "second"):
            with tf.name_scope(name):
                for _ in range(3):
                    tf.tanh(tf.constant(1.0))
    bare.show(traits(GraphView(graph)))
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Close all").click()
    bare.page.locator('.df-node[data-id="s:first"]').click()
    inspector = bare.page.locator(".df-inspector")
    inspector.get_by_text("6 operations, closed.").wait_for()
    assert not {"false", "undefined", "null"} & set((inspector.inner_text()).split())
    assert inspector.get_by_role("button", name="Open scope").is_visible()


def test_a_name_is_copied(bare: BarePage) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="outer/inner")
    bare.show(traits(GraphView(graph)))
    bare.page.evaluate("""() => {
      window.copied = [];
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied.push(text); } } });
    }""")
    bare.page.locator(".df-node").first.click()
    button = bare.page.locator(".df-inspector button", has_text="Copy name")
    button.click()
    bare.page.locator(".df-inspector button", has_text="Copied").wait_for()
    assert bare.page.evaluate("copied") == ["outer/inner"]
    # Where a page may not write to the clipboard, as over plain http, the old way is taken.
    bare.page.evaluate("""() => {
      navigator.clipboard.writeText = async () => { throw new Error("no"); };
      document.execCommand = (what) => copied.push(what) > 0;
    }""")
    bare.page.locator(".df-inspector button", has_text="Copied").click()
    eventually(bare.page, lambda: bare.page.evaluate("copied.at(-1)"), "copy")


def test_a_page_that_will_stand_still_says_so_before(bare: BarePage) -> None:
    """Thousands of operations without a scope are drawn in the page's own thread, for seconds."""
    names = [f"n{i}" for i in range(3100)]
    nodes = [{"name": name, "op": "Neg", "inputs": []} for name in names]
    bare.page.evaluate(
        """() => {
          window.said = [];
          new MutationObserver(() => {
            const busy = document.querySelector('.df-busy:not([hidden])');
            if (busy) window.said.push([busy.textContent, document.querySelectorAll('.df-node').length]);
          }).observe(document, { childList: true, subtree: true, attributes: true });
        }"""
    )
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    words, num_drawn = bare.page.evaluate("() => window.said[0]")
    assert words == "Drawing 3100 operations takes some seconds…" and num_drawn == 0
    assert bare.page.locator(".df-busy").is_hidden()
