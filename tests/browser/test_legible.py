"""What a learner's own network looks like at first: readable, whole, and nothing over anything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from dataflow.introspect.graph_json import graph_to_dict
from dataflow.introspect.node_roles import assign_roles
from dataflow_widgets import Stepper
from tests.browser.bare_page import BarePage, graph_state

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

# Geometry of the drawing, in px of the page.
_MEASURE = """() => {
  const pane = document.querySelector(".df-pane"), svg = pane.querySelector(".df-svg");
  const scroller = pane.querySelector(".df-scroller");
  const k = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent);
  return {
    smallest: Math.min(...texts.map((t) => parseFloat(getComputedStyle(t).fontSize) * k)),
    texts: texts.map((t) => [t.textContent, t.getAttribute("class") || "", ...box(t)]),
    tags: texts.filter((t) => t.classList.contains("df-tag")).map(box),
    arrows: [...svg.querySelectorAll(".df-arrow")].map(box),
    names: [...svg.querySelectorAll(".df-node > title")].map((t) => t.textContent),
    whole: scroller.scrollWidth <= scroller.clientWidth + 2 && scroller.scrollHeight <= scroller.clientHeight + 2,
    minimap: !pane.querySelector(".df-minimap").hidden,
    more: [...pane.classList].filter((c) => c.startsWith("df-more-")),
  };
}"""


def mlp() -> None:
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    hidden = tf.layers.dense(x, 100, tf.nn.relu, name="hidden")
    logits = tf.layers.dense(hidden, 10, name="logits")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss"
    )
    tf.train.AdamOptimizer().minimize(loss)
    tf.global_variables_initializer()


def cnn() -> None:
    x = tf.placeholder(tf.float32, [None, 28, 28, 1], name="x")
    value = x
    for i in (1, 2):
        value = tf.layers.conv2d(value, 8, 5, activation=tf.nn.relu, name=f"conv{i}")
        value = tf.layers.max_pooling2d(value, 2, 2, name=f"pool{i}")
    logits = tf.layers.dense(tf.layers.flatten(value), 10, name="logits")
    loss = tf.reduce_mean(tf.square(logits), name="loss")
    tf.train.AdamOptimizer().minimize(loss)
    tf.global_variables_initializer()
    tf.train.Saver()


def lstm() -> None:
    x = tf.placeholder(tf.float32, [8, 20, 4], name="x")
    outputs, _ = tf.nn.static_rnn(
        tf.nn.rnn_cell.LSTMCell(8), tf.unstack(x, axis=1), dtype=tf.float32
    )
    loss = tf.reduce_mean(tf.square(tf.layers.dense(outputs[-1], 1, name="out")), name="loss")
    tf.train.AdamOptimizer().minimize(loss)


def deep() -> None:
    value = tf.placeholder(tf.float32, [None, 8], name="x")
    for i in range(20):
        value = tf.layers.dense(value, 8, tf.nn.relu, name=f"layer_{i}")
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(value, name="loss"))


def nodes_of(build: Callable[[], None]) -> list[dict[str, Any]]:
    with tf.Graph().as_default() as graph:
        build()
        nodes = graph_to_dict(graph)["nodes"]
    assign_roles(nodes)
    nodes = json.loads(json.dumps(nodes))
    assert isinstance(nodes, list)
    return nodes


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    page.page.set_viewport_size({"width": 1280, "height": 900})
    yield page
    assert page.failures() == []
    assert page.outside == []
    page.close()


def show(bare: BarePage, build: Callable[[], None], **more: Any) -> dict[str, Any]:
    bare.show(graph_state(nodes_of(build), direction="auto", **more))
    bare.wait_drawn(attempt="graphviz")
    return measure(bare)


def measure(bare: BarePage) -> dict[str, Any]:
    drawn = bare.page.evaluate(_MEASURE)
    assert isinstance(drawn, dict)
    return drawn


def overlap(a: list[float], b: list[float]) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > 2 and min(a[3], b[3]) - max(a[1], b[1]) > 2


@pytest.mark.parametrize("build", [mlp, cnn, lstm, deep])
def test_the_first_picture_can_be_read(bare: BarePage, build: Callable[[], None]) -> None:
    drawn = show(bare, build)
    assert drawn["smallest"] >= 10.9
    assert drawn["whole"] != drawn["minimap"]
    assert drawn["whole"] == (drawn["more"] == [])
    assert not any(
        n.startswith(("gradients", "Adam", "save", "init", "beta")) for n in drawn["names"]
    )
    texts = [t for t in drawn["texts"] if "df-cluster-label" not in t[1]]
    for i, (text, _, *box) in enumerate(texts):
        over = [other[0] for other in texts[i + 1 :] if overlap(box, other[2:])]
        assert not over, f"{text!r} over {over}"


def thirteen() -> None:
    """Layers in a row whose sizes differ, so that they are not one block."""
    value = tf.placeholder(tf.float32, [None, 32, 32, 3], name="images")
    for i in range(8):
        value = tf.layers.conv2d(value, 8 * (i + 1), 3, activation=tf.nn.relu, name=f"conv{i}")
    for i in range(4):
        value = tf.layers.dense(value, 10 * (i + 1), tf.nn.relu, name=f"fc{i}")
    tf.train.AdamOptimizer().minimize(tf.reduce_mean(value, name="loss"))


def test_volumes_by_the_bar(bare: BarePage) -> None:
    show(bare, cnn)
    page = bare.page
    before = page.locator(".df-node").count()
    page.get_by_role("button", name="Volumes").click()
    page.locator(".df-window").first.wait_for()
    assert page.locator(".df-window.df-shape:not(.df-top):not(.df-end)").count() == 2  # kernels
    assert page.get_by_text("24 × 24 × 8").is_visible()
    texts = measure(bare)["texts"]
    for i, (text, _, *box) in enumerate(texts):
        assert not [t[0] for t in texts[i + 1 :] if overlap(box, t[2:])], text
    page.get_by_role("button", name="Volumes").click()
    page.locator(".df-window").first.wait_for(state="detached")
    assert page.locator(".df-node").count() == before


def test_volumes_are_offered_for_convolutions_alone(bare: BarePage) -> None:
    show(bare, mlp)
    assert not bare.page.get_by_role("button", name="Volumes").is_visible()


@pytest.mark.parametrize("build", [mlp, cnn, lstm, deep, thirteen])
def test_the_first_picture_is_whole(bare: BarePage, build: Callable[[], None]) -> None:
    assert show(bare, build)["whole"]


def test_a_variable_is_one_node_and_equal_layers_are_one(bare: BarePage) -> None:
    names = show(bare, mlp)["names"]
    assert [n for n in names if "kernel" in n] == ["hidden/kernel", "logits/kernel"]


def test_twenty_equal_layers_are_one_block(bare: BarePage) -> None:
    show(bare, deep)
    assert bare.page.get_by_text("layer × 20").count() == 1


def test_badges_stand_where_no_arrow_ends(bare: BarePage) -> None:
    nodes = nodes_of(mlp)
    index = {node["name"]: i for i, node in enumerate(nodes)}
    needed = [i for i, node in enumerate(nodes) if "role" not in node]
    marks = {"fetched": [index["loss"]], "fed": [index["x"], index["labels"]], "needed": needed}
    for direction in ("down", "right", "up"):
        bare.show(graph_state(nodes, direction=direction, marks=marks))
        bare.wait_drawn(attempt="graphviz")
        drawn = bare.page.evaluate(
            _MEASURE.replace(
                'document.querySelector(".df-pane")',
                '[...document.querySelectorAll(".df-pane")].at(-1)',
            )
        )
        assert len(drawn["tags"]) >= 3
        hidden = [(t, a) for t in drawn["tags"] for a in drawn["arrows"] if overlap(t, a)]
        assert not hidden, direction


def test_layers_by_the_bar_and_by_the_chips(bare: BarePage) -> None:
    show(bare, mlp)
    page = bare.page
    layer = page.get_by_label("layer of the graph that is shown")
    assert layer.input_value() == "model"
    chips = page.get_by_role("group", name="put aside")
    assert chips.get_by_role("button").all_inner_texts()[0].startswith("gradients ")
    chips.get_by_role("button", name="optimizer").press("Enter")
    page.locator('.df-node[aria-label*="Adam"]').first.wait_for()
    assert chips.get_by_role("button", name="optimizer").get_attribute("aria-pressed") == "true"
    chips.get_by_role("button", name="optimizer").press("Enter")
    page.locator('.df-node[aria-label*="Adam"]').first.wait_for(state="detached")
    layer.select_option("gradients")
    page.locator('.df-node[aria-label*="gradients"]').first.wait_for()
    layer.select_option("everything")
    page.locator('.df-node[aria-label*="Adam"]').first.wait_for()
    assert not chips.is_visible()


def test_search_brings_what_is_put_aside_into_the_picture(bare: BarePage) -> None:
    show(bare, mlp)
    box = bare.page.get_by_label("search operations")
    box.fill("beta1_power")
    box.press("Enter")
    bare.page.locator('.df-selected[aria-label*="beta1_power"]').wait_for()


def test_fit_shows_all_of_it(bare: BarePage) -> None:
    bare.page.set_viewport_size({"width": 700, "height": 900})  # too narrow for one row
    drawn = show(bare, cnn, height=120)
    assert not drawn["whole"]
    assert drawn["minimap"]
    bare.page.get_by_title("Show all of the graph").click()
    drawn = measure(bare)
    assert drawn["whole"]
    assert not drawn["minimap"]


def test_the_minimap_scrolls_there(bare: BarePage) -> None:
    bare.page.set_viewport_size({"width": 700, "height": 900})
    show(bare, cnn, height=120)

    def scrolled() -> float:
        return float(
            bare.page.evaluate(
                "(s => s.scrollLeft + s.scrollTop)(document.querySelector('.df-scroller'))"
            )
        )

    box = bare.page.locator(".df-minimap-picture").bounding_box()
    assert box
    # Where it begins depends on the fonts: where most of it is seen.
    bare.page.mouse.click(box["x"] + 2, box["y"] + 2)
    first = scrolled()
    bare.page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] - 2)
    assert scrolled() > first
    bare.page.mouse.click(box["x"] + 2, box["y"] + 2)
    assert scrolled() == first


def test_open_all_asks_before_it_opens_hundreds(bare: BarePage) -> None:
    def many() -> None:
        value = tf.placeholder(tf.float32, [2], name="x")
        for i in range(40):
            with tf.name_scope(f"block_{i}"):
                for _ in range(20):
                    value = tf.tanh(value)

    show(bare, many)
    shown = bare.page.locator(".df-node").count()
    bare.page.get_by_role("button", name="Open all").click()
    bare.page.get_by_text("press Open all again").wait_for()
    assert bare.page.locator(".df-node").count() == shown


def test_parts_without_an_edge_stand_in_rows(bare: BarePage) -> None:
    def parts() -> None:
        for i in range(30):
            tf.add(
                tf.constant(float(i), name=f"a{i}"), tf.constant(1.0, name=f"b{i}"), name=f"sum{i}"
            )

    drawn = show(bare, parts)
    assert drawn["smallest"] >= 10.9
    width = bare.page.evaluate("document.querySelector('.df-svg').getBoundingClientRect().width")
    assert width <= 1280


def test_a_tensor_that_is_read_twice_is_drawn_twice(bare: BarePage) -> None:
    def twice() -> None:
        left = tf.placeholder(tf.float32, [], name="left")
        tf.add(left, left, name="total")

    show(bare, twice)
    assert bare.page.locator(".df-edge .df-arrow").count() == 2


def test_only_what_was_added_since_a_cell(bare: BarePage) -> None:
    nodes = nodes_of(lambda: tf.negative(tf.placeholder(tf.float32, [], name="left"), name="right"))
    for cell, each in zip((3, 5), nodes, strict=True):
        each["source"] = {"file": "", "line": 1, "cell": cell}
    bare.show(graph_state(nodes))
    bare.wait_drawn(attempt="graphviz")
    since = bare.page.get_by_label("show what was added since a cell")
    assert since.locator("option").all_inner_texts() == ["All cells", "Since cell 5"]
    since.select_option("5")
    bare.page.locator('.df-widget[data-drawn="1"]').wait_for()
    assert measure(bare)["names"] == ["right"]
    since.select_option("")
    bare.page.locator('.df-widget[data-drawn="2"]').wait_for()


def test_a_drawing_too_wide_begins_where_most_of_its_upper_part_is(bare: BarePage) -> None:
    """Nodes in the lower left corner leave the upper left one empty."""
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.Variable(4.0, name="value")
        error = tf.square(value * 0.5 - 1.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(error)
        for i in range(50):
            tf.no_op(name=f"other_{i}")
        session.run(value.initializer)
        stepper = Stepper(session, [train, error])
    keys = ("kind", "title", "height", "payload", "marks", "failure")
    bare.page.set_viewport_size({"width": 620, "height": 800})
    bare.show({key: getattr(stepper, key) for key in keys} | {"picture": "", "words": ""})
    bare.wait_drawn(attempt="graphviz")
    seen, elsewhere = bare.page.evaluate(
        """() => {
          const scroller = document.querySelector('.df-scroller');
          const room = scroller.getBoundingClientRect();
          const boxes = [...document.querySelectorAll('.df-node > .df-shape')].map((e) => e.getBoundingClientRect());
          const upper = boxes.filter((b) => b.bottom <= room.bottom);
          const from = (x) => upper.filter((b) => b.left >= x && b.right <= x + room.width).length;
          const places = upper.map((b) => from(b.left));
          return [from(room.left), Math.max(...places)];
        }"""
    )
    assert elsewhere > 1 and seen == elsewhere
