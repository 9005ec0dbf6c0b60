"""A graph as a ``graphviz.Digraph``: what a teacher puts on a slide."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dataflow as tf
from dataflow_widgets import to_graphviz
from tests.widgets import graphs

pytestmark = pytest.mark.usefixtures("graph")


def _lesson() -> tuple[tf.Tensor, tf.Tensor]:
    x = tf.constant(2, name="x")
    y = tf.constant(3, name="y")
    useless = tf.multiply(x, y, name="useless")
    return tf.add(x, y, name="add_op"), useless


def test_one_line_makes_a_pdf_and_an_svg(tmp_path: Path) -> None:
    _lesson()
    path = to_graphviz().render("lesson", directory=tmp_path, format="pdf", cleanup=True)
    assert Path(path).read_bytes().startswith(b"%PDF")
    svg = to_graphviz().pipe("svg", encoding="utf-8")
    assert ">add_op<" in svg
    assert "<polygon" in svg


def test_a_session_a_graph_and_nodes_are_drawn(graph: tf.Graph) -> None:
    _lesson()
    with tf.Session() as session:
        assert to_graphviz(session).source == to_graphviz(graph).source
    assert "layer0" in to_graphviz(graphs.layers(2)).source


def test_a_run_is_marked_and_nothing_is_run() -> None:
    add, _ = _lesson()
    source = to_graphviz(fetches=add).source
    assert re.search(r'label="add_op\\nAdd\\nfetched"[^\]]*color="#0a7d33"', source), source
    assert re.search(r'label="useless\\nMul\\npruned"[^\]]*style="dashed,filled"', source), source


def test_scopes_are_clusters_and_close_until_it_fits() -> None:
    nodes = graphs.layers(3)
    open_source = to_graphviz(nodes, whole=True, limit=1000).source
    assert "subgraph cluster_" in open_source
    closed = to_graphviz(nodes, limit=8).source
    assert "subgraph cluster_" not in closed
    assert 'label="layer0\\n11 ops"' in closed


def test_the_model_alone_unless_the_whole_is_asked_for() -> None:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    for i in range(3):
        x = tf.layers.dense(x, 4, name=f"dense{i}")
    tf.train.AdamOptimizer().minimize(tf.reduce_mean(x, name="loss"))
    assert "Adam" not in to_graphviz().source
    assert "Adam" in to_graphviz(whole=True).source


@pytest.mark.parametrize("name", ['a"];evil', "tab\\l", "<b>bold</b>"])
def test_names_are_text(name: str) -> None:
    nodes = [{"name": name, "op": "Neg", "inputs": [], "outputs": []}]
    svg = to_graphviz(nodes).pipe("svg", encoding="utf-8")
    assert svg.count('class="node"') == 1
    assert "<b>" not in svg


def test_without_dot_svg_is_our_own_and_others_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lesson()
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = to_graphviz()
    assert "add_op" in picture.pipe("svg", encoding="utf-8")
    assert b"add_op" in picture.pipe("svg")
    assert "image/svg+xml" in picture._repr_mimebundle_()
    path = picture.render("lesson", directory=tmp_path, format="svg")
    assert "add_op" in Path(path).read_text(encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"Cannot make pdf: .* apt install graphviz"):
        picture.render("lesson", directory=tmp_path)
    with pytest.raises(RuntimeError, match="Cannot make png"):
        picture.pipe("png")


def test_bad_arguments_are_refused() -> None:
    _lesson()
    with pytest.raises(ValueError, match=r'direction is "down", "up" or "right", got .sideways.'):
        to_graphviz(direction="sideways")
    with pytest.raises(ValueError, match=r"only= names 'nothing'"):
        to_graphviz(only=["nothing"])
    with pytest.raises(TypeError, match="GraphView draws a Graph, a Session or a list of nodes"):
        to_graphviz(3)
    with pytest.raises(ValueError, match="A list of nodes has no fetches"):
        to_graphviz(graphs.layers(1), fetches="x")


def test_without_the_package_the_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['graphviz'] = None\n"
        "try:\n    from dataflow_widgets import to_graphviz\n"
        "except ImportError as error: print(error)\n"
        "import dataflow_widgets.graph_view\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True
    )
    assert "pip install 'dataflow-learn[widgets]'" in done.stdout


def test_our_own_layout_is_made_only_where_dot_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: object) -> str:
        raise AssertionError("drawn without need")

    monkeypatch.setattr("dataflow_widgets.static.digraph.graph_svg", unexpected)
    _lesson()
    assert "add_op" in to_graphviz().pipe("svg", encoding="utf-8")
