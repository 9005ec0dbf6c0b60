"""What a cell shows and a notebook keeps of widgets: bundles, pictures, exports, the magic."""

from __future__ import annotations

import json
import warnings
import zlib
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from IPython.core.events import EventManager, available_events

import dataflow as tf
from dataflow_widgets import GraphView, Stepper
from dataflow_widgets.base import Delivery, pack_payload, packed
from dataflow_widgets.display import behind, mimebundle
from tests.widgets import graphs
from tests.widgets.lesson_graph import lesson, names
from tests.widgets.waiting import wait_until

pytestmark = pytest.mark.usefixtures("own_views")


def test_what_a_notebook_keeps_is_small() -> None:
    view = GraphView(graphs.layers(3))
    view._receive(view, {"kind": "hello", "version": len(view._nodes), "engine": True}, [])
    state = view.get_state()
    data, _ = view._repr_mimebundle_()
    kept = len(json.dumps(state, default=str)) + len(json.dumps(data))
    # The page adds a picture of at most 30 kB.
    assert kept + 30_000 < 60_000 + 12_000, kept
    assert len(json.dumps(state, default=str)) < 12_000


def test_the_bundle_for_where_no_widget_runs() -> None:
    lesson()
    data, _ = GraphView()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    html = data["text/html"]
    assert (
        html.startswith('<div class="df-static-') and '<img alt="Graph with 6 operations."' in html
    )
    assert "data:image/svg+xml" in data["text/html"]
    assert "pow_op: Pow" in data["text/plain"]


def test_a_cell_has_the_picture_as_an_output_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both in one output, nbconvert of a notebook with saved widgets shows neither offline."""
    published: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        "IPython.display.publish_display_data",
        lambda data, metadata=None, **more: published.append((data, more)),
    )
    shell = SimpleNamespace()
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    lesson()
    view = GraphView()
    view._ipython_display_()
    (words, how), (widget, _) = published
    assert words.keys() == {"text/plain", "text/html"}
    assert f"df-static-{view.token}" in words["text/html"]
    assert widget.keys() == {"application/vnd.jupyter.widget-view+json"}
    assert "<img" not in words["text/html"], "the widget waits for no picture"
    shell.events.trigger("post_run_cell", None)
    static, more = published.pop()
    assert f"df-static-{view.token}" in static["text/html"] and "<img" in static["text/html"]
    assert more == how | {"update": True}
    shell.events.trigger("post_run_cell", None)
    assert len(published) == 2, "once"
    view._receive(view, {"kind": "opened"}, [])
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><text>seen last</text></svg>"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    view.picture = b64encode(packer.compress(svg) + packer.flush()).decode()
    wait_until(lambda: len(published) == 3)
    newer, more = published[2]
    assert "seen last" in newer["text/html"]
    assert more == how | {"update": True}


def test_the_payload_goes_as_one_buffer_of_json() -> None:
    view = GraphView(graphs.lesson())
    sent = view.get_state(["payload"])["payload"]
    assert json.loads(sent["packed"]) == view.payload
    assert pack_payload({}) == {}, "an emptied payload leaves nothing in a notebook"
    arrays = [b"\0\1", memoryview(b"\2")]
    told = pack_payload({"nodes": [], "step": np.int64(3), "arrays": arrays})
    assert told == {"packed": b'{"nodes":[],"step":3}', "arrays": arrays}
    with pytest.raises(TypeError, match="numbers, texts, lists"):
        pack_payload({"nodes": [object()]})


def test_the_library_is_a_model_that_the_notebook_keeps() -> None:
    Delivery.begun = False
    GraphView(graphs.lesson())
    assert Delivery.library is not None
    state = Delivery.library.get_state()
    assert state["library"] == packed("library.js")
    assert len(state["library"]) < 129_000  # every notebook with a widget carries it


def test_reserved_trait_names_are_not_used() -> None:
    ours = {name for cls in (GraphView, Stepper) for name in cls.class_own_traits()}
    assert not ours & {"log", "keys", "comm", "layout"}


def test_unknown_options_are_refused_with_a_hint() -> None:
    with pytest.raises(TypeError, match="Did you mean height="):
        GraphView(graphs.lesson(), heigth=3)
    with pytest.raises(ValueError, match='"down", "up" or "right"'):
        GraphView(graphs.lesson(), direction="sideways")
    with pytest.raises(TypeError, match="draws a Graph, a Session"):
        GraphView(3)
    with pytest.raises(ValueError, match="'nothing'"):
        GraphView(graphs.lesson(), only=["nothing"])


def test_displaying_things() -> None:
    ops = lesson()
    session = tf.Session()
    for obj in (tf.get_default_graph(), session, ops["useless"], ops["useless"].op):
        data, _ = mimebundle(obj)
        assert "application/vnd.jupyter.widget-view+json" in data
        assert data["text/plain"] == repr(obj)
        assert "data:image/svg+xml" in data["text/html"]
        own = obj._repr_mimebundle_()
        assert own[0].keys() == data.keys()
    session.close()
    only_text, _ = mimebundle(session, include=["text/plain"])
    assert only_text.keys() == {"text/plain"}


def test_a_tensor_shows_what_it_needs() -> None:
    ops = lesson()
    assert set(behind(ops["useless"])) == {"useless", "x", "add_op", "y"}


def test_displaying_without_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    lesson()
    for name in [n for n in sys.modules if n.startswith("dataflow_widgets.graph_view")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dataflow_widgets.base", None)
    data, _ = mimebundle(tf.get_default_graph())
    assert data.keys() == {"text/plain", "text/html"}
    assert "data:image/svg+xml" in data["text/html"]


def test_profile_colors_by_time_and_memory() -> None:
    ops = lesson()
    view = GraphView()
    with tf.Session() as session:
        assert view.profile(session, ops["pow_op"]) == 15625
    index = str(view._index()["pow_op"])
    assert view.profile_data["seconds"][index] >= 0
    assert view.profile_data["bytes"][index] == 4


def test_two_fetches_are_compared() -> None:
    ops = lesson()
    view = GraphView()
    words = view.compare(ops["pow_op"], "useless:0")
    assert words == ("A needs 5 operations, B needs 4: 3 both, 2 only A, 1 only B, 0 neither")
    assert names(view, "first") - names(view, "second") == {"pow_op", "mul_op"}
    assert names(view, "second") - names(view, "first") == {"useless"}
    with pytest.raises(KeyError):
        view.compare(ops["pow_op"], "nothing")
    box = GraphView.side_by_side(tf.get_default_graph(), ops["pow_op"], ops["useless"])
    assert [v.title for v in box.children] == ["fetching pow_op:0", "fetching useless:0"]
    assert [names(v, "fetched") for v in box.children] == [{"pow_op"}, {"useless"}]


def test_nbconvert_without_state_shows_the_picture() -> None:
    """`nbconvert --to html` of a notebook with widget state is blank offline; without it, this."""
    nbformat = pytest.importorskip("nbformat")
    nbconvert = pytest.importorskip("nbconvert")
    lesson()
    data, metadata = GraphView()._repr_mimebundle_()
    v4 = nbformat.v4
    output = v4.new_output("display_data", data=data, metadata=metadata)
    notebook = v4.new_notebook(cells=[v4.new_code_cell("view", outputs=[output])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert "data:image/svg+xml" in body
    assert "6 operations" in body


def test_dot_and_svg_export() -> None:
    lesson()
    view = GraphView()
    assert view.to_dot().startswith("digraph")
    assert view.to_svg().startswith("<svg")


def test_magic_shows_what_a_cell_added(capsys: pytest.CaptureFixture[str]) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shown: list[Any] = []
    shell = InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "dataflow_widgets")
        shell.run_cell("import dataflow as tf\na = tf.constant(1, name='a')").raise_error()
        shell.user_ns["__name__"] = "__main__"
        import dataflow_widgets.magics as magics

        original, magics.display = magics.display, shown.append
        try:
            shell.run_cell_magic("graph", "", "b = tf.negative(a, name='b')")
            (view,) = shown
            assert [view._nodes[i]["name"] for i in view.only] == ["a", "b"]
            assert view.title == "1 operation added by this cell"
            shell.run_cell_magic("graph", "", "1 + 1")
            assert "added no operations" in capsys.readouterr().out
            shell.run_cell_magic("graph", "", "raise ValueError('mine')")
            assert len(shown) == 1
        finally:
            magics.display = original
    finally:
        InteractiveShell.clear_instance()
