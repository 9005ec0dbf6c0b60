"""Static pictures: every way of laying out, hostile names, sizes, and words."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import dataflow as tf
from dataflow_widgets.graph_view import graph_and_nodes
from dataflow_widgets.static import control, layout as layout_module
from dataflow_widgets.static.dot import graph_dot, quoted
from dataflow_widgets.static.draw import TooLargeError, graph_svg
from dataflow_widgets.static.html import MAX_PICTURE_CHARS, picture_html
from dataflow_widgets.static.layered import main_path
from dataflow_widgets.static.layout import STRAIGHT, layout_dot, place, weights
from dataflow_widgets.static.visible import MOST_BOXES, Visible, scope_of, visible
from dataflow_widgets.text_description import count_words, describe_nodes
from tests.widgets import graphs

WIDGETS = Path(control.__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)  # makes the import fail


def test_lesson_is_drawn_with_marks() -> None:
    nodes = graphs.lesson()
    svg = graph_svg(nodes, graphs.marks_of(nodes, ["pow_op"]))
    assert {"x", "y", "add_op", "mul_op", "useless", "pow_op", "pruned", "fetched"} <= set(
        texts(svg)
    )
    assert svg.count("stroke-dasharray='4 3'") == 1


@pytest.mark.parametrize("make", [graphs.lesson, graphs.layers, graphs.hostile])
def test_own_layers_draw_everything_without_graphviz(
    monkeypatch: pytest.MonkeyPatch, make: object
) -> None:
    no_graphviz(monkeypatch)
    nodes = make()  # type: ignore[operator]
    shown = visible(nodes)
    assert place(shown) == "layered"
    assert all(item.x > 0 and item.y > 0 for item in shown.items)
    boxes = [(i.x, i.y, i.width) for i in shown.items]
    for n, (x, y, w) in enumerate(boxes):
        for x2, y2, w2 in boxes[n + 1 :]:
            assert y != y2 or abs(x - x2) >= (w + w2) / 2
    ElementTree.fromstring(graph_svg(nodes))


def test_pygraphviz_is_used_where_dot_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the wheel, which asks the real dot when there is one."""
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("no Graphviz on this machine: install Debian's graphviz")
    calls = []

    class AGraph:
        def __init__(self, string: str) -> None:
            self.text = string

        def draw(self, format: str, prog: str) -> bytes:
            calls.append((format, prog))
            return subprocess.run(
                [dot, f"-T{format}"], input=self.text.encode(), capture_output=True, check=True
            ).stdout

    no_graphviz(monkeypatch)
    monkeypatch.setitem(sys.modules, "pygraphviz", types.SimpleNamespace(AGraph=AGraph))
    assert place(visible(graphs.lesson())) == "pygraphviz"
    assert calls == [("json0", "dot")]


@pytest.mark.parametrize("script", ["exit 1", "echo '{not json'", "sleep 30"])
def test_a_dot_program_that_fails_or_hangs_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    program = tmp_path / "dot"
    program.write_text(f"#!/bin/sh\nexec 2>&1\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(program))
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setattr(layout_module, "TIMEOUT_SECONDS", 0.2)
    assert place(visible(graphs.lesson())) == "layered"


def test_no_name_enters_the_layout() -> None:
    text = layout_dot(visible(graphs.hostile()))
    for bad in ("img", "evil", "script", "Bold", "float32"):
        assert bad not in text


def test_hostile_names_are_text_in_svg() -> None:
    svg = graph_svg(graphs.hostile())
    tree = ElementTree.fromstring(svg)
    assert {e.tag.removeprefix(SVG) for e in tree.iter()} <= {
        "svg",
        "style",
        "rect",
        "path",
        "text",
        "g",
    }
    assert any("<img" in t for t in texts(svg))


def test_hostile_names_are_text_in_html() -> None:
    html = picture_html(graph_svg(graphs.hostile()), f"{graphs.EVIL}\nmore")
    assert re.findall(r"<(\w+)", html) == ["img", "details", "summary", "pre"]
    svg = unquote(re.search(r'src="data:image/svg\+xml;charset=utf-8,([^"]*)"', html)[1])
    ElementTree.fromstring(svg.replace("&amp;", "&"))


def test_dot_export_is_read_by_graphviz_with_its_names() -> None:
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("no Graphviz on this machine: install Debian's graphviz")
    nodes = [*graphs.hostile(), graphs.node("end\\", "Neg"), graphs.node("line\nbreak", "Neg")]
    text = graph_dot(nodes)
    drawn = subprocess.run([dot, "-Tjson0"], input=text, capture_output=True, text=True, check=True)
    import json

    objects = [o for o in json.loads(drawn.stdout)["objects"] if "tooltip" in o]
    tips = {o["tooltip"].replace("\\\\", "\\").replace("\\n", "\n") for o in objects}
    assert {n["name"] for n in nodes} == tips
    assert drawn.stderr == ""


def test_quoted() -> None:
    assert quoted('a"b\\c') == '"a\\"b\\\\c"'


def test_an_image_that_is_too_big_becomes_words() -> None:
    html = picture_html("<svg>" + "x" * MAX_PICTURE_CHARS, "the words")
    assert html == "<pre>the words</pre>"


def test_large_graphs_are_closed_until_they_fit() -> None:
    shown = visible(graphs.layers(40), limit=60)
    assert len(shown.items) <= 60
    assert sum(len(i.members) for i in shown.items) == len(graphs.layers(40))
    assert any(i.detail.endswith("ops") for i in shown.items)


def test_a_flat_giant_is_refused_in_words() -> None:
    with pytest.raises(TooLargeError, match="1000 boxes"):
        graph_svg(graphs.chain(1000))


def test_a_picture_shows_the_model_and_dot_all_of_it() -> None:
    nodes = graphs.layers(6)
    for node in nodes:
        if node["name"].startswith(("gradients", "train")):
            node["role"] = "gradient"
        elif node["op"] in ("Assign", "Identity"):
            node["owner"] = node["name"].rpartition("/")[0]
    assert len(nodes) > 60
    shown = visible(nodes)
    assert not [item for item in shown.items if item.title in ("gradients", "train", "read")]
    weight = next(i for i, node in enumerate(nodes) if node["name"] == "layer0/W")
    box = next(item for item in shown.items if weight in item.members)
    assert {nodes[i]["op"] for i in box.members} >= {"VariableV2", "Assign", "Identity"}
    dot = graph_dot(nodes)
    assert all(quoted(node["name"]) in dot for node in nodes)


def model_of(make: Callable[[], object]) -> Visible:
    """What is shown of a network that is trained."""
    with tf.Graph().as_default() as graph:
        loss = tf.reduce_mean(tf.square(make()))  # type: ignore[arg-type]
        tf.train.AdamOptimizer().minimize(loss)
    return visible(graph_and_nodes(graph)[1])


def titles(shown: Visible) -> list[str]:
    return sorted(item.title for item in shown.items)


def test_a_scope_of_one_node_is_that_node_and_a_literal_is_its_value() -> None:
    def network() -> object:
        x = tf.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        pooled = tf.layers.max_pooling2d(tf.layers.conv2d(x, 2, 3, padding="same"), 2, 2)
        return pooled * 1.5

    shown = model_of(network)
    boxes = {item.title: item for item in shown.items}
    assert (boxes["max_pooling2d"].detail, boxes["max_pooling2d"].scope) == ("MaxPool", "")
    assert (boxes["kernel"].kind, boxes["kernel"].scope) == ("variable", "conv2d")
    assert (boxes["1.5"].kind, boxes["1.5"].detail) == ("const", "")
    assert shown.scopes == ["conv2d"]


def test_a_loop_stays_closed_in_a_picture_of_the_model() -> None:
    def network() -> object:
        x = tf.placeholder(tf.float32, [None, 5, 3], name="x")
        return tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32)[0]

    shown = model_of(network)
    loop = next(item for item in shown.items if item.title == "while")
    assert (loop.kind, loop.scope) == ("scope", "rnn")
    assert "LoopCond" not in titles(shown) and "kernel" in titles(shown)


def test_layers_that_are_alike_open_together_or_not_at_all() -> None:
    def network(num_blocks: int) -> Callable[[], object]:
        def make() -> object:
            x = tf.placeholder(tf.float32, [None, 4], name="x")
            for i in range(num_blocks):
                with tf.variable_scope(f"block{i}"):
                    x = tf.layers.dense(tf.layers.dense(x, 4, tf.nn.relu), 4) + x
            return x

        return make

    few, many = model_of(network(2)), model_of(network(20))
    assert {"block0/dense", "block1/dense_1"} <= set(few.scopes)
    assert not [scope for scope in many.scopes if scope.startswith("block")]
    assert len(many.items) <= MOST_BOXES


def chain_with_a_switch(num_steps: int) -> Visible:
    nodes = [
        graphs.node("default", "Const"),
        graphs.node("training", "PlaceholderWithDefault", ("default:0",), shape="(9,)"),
    ]
    for i in range(num_steps):
        before = f"step{i - 1}:0" if i else "training:0"
        nodes.append(graphs.node(f"step{i}", "Add", (before, "training:0")))
    return visible(nodes)


def test_the_longest_path_stands_straight() -> None:
    """And what each of its steps reads does not."""
    shown = chain_with_a_switch(num_steps := 6)
    weight = weights(shown)
    path = main_path(shown)
    assert len(path) == num_steps + 2
    steps = {(tail, head) for head, tail in pairwise(path)}
    assert {weight(link) for link in shown.links if (link.tail, link.head) in steps} == {STRAIGHT}
    assert {weight(link) for link in shown.links if (link.tail, link.head) not in steps} == {1}


@pytest.mark.parametrize("num_steps, told", [(3, 3), (6, 1)])
def test_a_shape_is_not_written_on_each_of_many_arrows(num_steps: int, told: int) -> None:
    labels = [link.label for link in chain_with_a_switch(num_steps).links]
    assert labels.count("(9)") == told


def test_only_some_nodes() -> None:
    shown = visible(graphs.lesson(), only={0, 1, 2})
    assert [i.title for i in shown.items] == ["x", "y", "add_op"]
    assert len(shown.links) == 2


def test_scopes() -> None:
    nodes = [
        graphs.node("Add/x", "Const"),
        graphs.node("Add", "Add", ("Add/x:0",)),
        graphs.node("W", "VariableV2"),
        graphs.node("W/read", "Identity", ("W:0",)),
    ]
    assert scope_of(nodes) == ["", "", "W", "W"]


def test_an_empty_graph() -> None:
    ElementTree.fromstring(graph_svg([]))
    assert describe_nodes([]) == "Graph with 0 operations."


def test_a_loop_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    no_graphviz(monkeypatch)
    nodes = [
        graphs.node("Merge", "Merge", ("Next:0",)),
        graphs.node("Next", "NextIteration", ("Merge:0",)),
    ]
    assert len(texts(graph_svg(nodes))) >= 2


def test_words() -> None:
    nodes = graphs.lesson()
    marks = graphs.marks_of(nodes, ["pow_op"])
    assert count_words(6, marks) == "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    text = describe_nodes(nodes, marks)
    assert "useless: Mul -> int32 (), from x:0, add_op:0  [pruned]" in text
    assert "pow_op: Pow -> int32 (), from add_op:0, mul_op:0  [fetched, needed]" in text
    assert "... and 5 more" in describe_nodes(nodes, limit=1)


def test_loops_and_conditions_say_what_their_nodes_do() -> None:
    with tf.Graph().as_default() as graph:
        tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)], name="count")
        x = tf.placeholder(tf.float32, [], name="x")
        tf.cond(x > 0, lambda: x * 2, lambda: -x, name="choose")
    nodes = graph_and_nodes(graph)[1]
    svg = graph_svg(nodes)
    drawn = texts(svg)
    for words in (
        "comes in",
        "first or next",
        "on or out",
        "goes out",
        "once more?",
        "to one branch",
    ):
        assert words in drawn, words
    assert svg.count(">while loop<") == 1 and svg.count(">two branches<") == 1
    details = {item.title: item.detail for item in visible(nodes, limit=4).items}
    assert details["count"].endswith(" ops, while loop")
    assert details["choose"].endswith(" ops, two branches")


def test_what_a_variable_is_made_of_is_one_drum_in_all_but_small_pictures() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        tf.layers.dense(tf.layers.dense(x, 3, tf.nn.relu, name="hidden"), 2, name="scores")
    nodes = graph_and_nodes(graph)[1]
    boxes = {(item.scope, item.title): item for item in visible(nodes).items}
    for scope in ("hidden", "scores"):
        for name, count in (("kernel", 10), ("bias", 4)):
            item = boxes[scope, name]
            assert (item.kind, item.detail) == ("variable", f"{count} ops")
    assert len(boxes) == 10
    assert len(visible(nodes, whole=True, limit=1000).items) == len(nodes)

    with tf.Graph().as_default() as small:
        tf.get_variable("v", [2]) + 1.0
    assert "Assign" in titles(visible(graph_and_nodes(small)[1])), "few boxes: all are shown"


def test_the_page_says_the_same_of_loops() -> None:
    source = (WIDGETS / "shared" / "control.js").read_text(encoding="utf-8")
    assert dict(re.findall(r'^  (\w+): \["([^"]+)"', source, re.M)) == control.WORDS
    natures = re.search(r"NATURES = {(.*?)}", (WIDGETS / "shared" / "measure.js").read_text())
    assert natures and dict(re.findall(r'(\w+): "([^"]+)"', natures[1])) == control.NATURES
