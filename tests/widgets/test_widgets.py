"""The widgets' traits and messages, with the real engine and no browser."""

from __future__ import annotations

import gc
import json
import struct
import warnings
import zlib
from base64 import b64encode
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from IPython.core.events import EventManager, available_events

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime import events
from dataflow_widgets import GraphView, Stepper, live
from dataflow_widgets.base import Delivery, pack_payload, packed
from dataflow_widgets.display import behind, mimebundle
from dataflow_widgets.stepper.trace_json import place_words, run_to_dict
from tests.widgets import graphs
from tests.widgets.waiting import wait_until


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    tf.reset_default_graph()
    Delivery.begun = True
    yield
    for view in list(live._views):
        view.close()
    assert events.listeners == [], "a closed view still listens to runs"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Every custom message that a widget sends."""
    messages: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        GraphView, "send", lambda self, content, buffers=None: messages.append((content, buffers))
    )
    monkeypatch.setattr(
        Stepper, "send", lambda self, content, buffers=None: messages.append((content, buffers))
    )
    return messages


def lesson() -> dict[str, Any]:
    x, y = tf.constant(2, name="x"), tf.constant(3, name="y")
    add_op = tf.add(x, y, name="add_op")
    mul_op = tf.multiply(x, y, name="mul_op")
    useless = tf.multiply(x, add_op, name="useless")
    pow_op = tf.pow(add_op, mul_op, name="pow_op")
    return {"x": x, "add_op": add_op, "mul_op": mul_op, "useless": useless, "pow_op": pow_op}


def names(view: Any, key: str) -> set[str]:
    return {view._nodes[i]["name"] for i in view.marks[key]}


def test_the_payload_is_the_graph() -> None:
    lesson()
    view = GraphView()
    assert [n["name"] for n in view.payload["nodes"]] == [
        "x", "y", "add_op", "mul_op", "useless", "pow_op",
    ]  # fmt: skip
    node = view.payload["nodes"][2]
    assert node["inputs"] == ["x:0", "y:0"]
    assert node["outputs"] == [{"dtype": "int32", "shape": "()"}]
    assert node["source"]["file"].endswith("test_widgets.py")
    assert view.payload["nodes"][0]["value"] == "2"


def test_highlight_marks_needed_and_pruned() -> None:
    ops = lesson()
    view = GraphView(tf.get_default_graph())
    words = view.highlight(ops["pow_op"])
    assert words == "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    assert names(view, "fetched") == {"pow_op"}
    assert names(view, "needed") == {"x", "y", "add_op", "mul_op", "pow_op"}
    assert "useless: Mul" in view.describe()
    assert "[pruned]" in view.describe()


def test_highlight_takes_names_nests_and_feeds() -> None:
    ops = lesson()
    view = GraphView()
    view.highlight({"a": ["pow_op:0", "useless"]}, {ops["add_op"]: 7})
    assert names(view, "fetched") == {"pow_op", "useless"}
    assert names(view, "fed") == {"add_op"}
    assert names(view, "needed") == {"x", "y", "mul_op", "pow_op", "useless"}


@pytest.mark.parametrize("bad", ["nothing:0", "no_such_op"])
def test_a_bad_fetch_leaves_the_view_as_it_was(bad: str) -> None:
    ops = lesson()
    view = GraphView()
    view.highlight(ops["add_op"])
    before = dict(view.marks)
    with pytest.raises((KeyError, ValueError), match=bad.partition(":")[0]):
        view.highlight(bad)
    assert view.marks == before


def test_a_fetch_from_another_graph_is_refused() -> None:
    view = GraphView()
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="graph"):
        view.highlight(other)


def test_every_run_is_marked(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataflow_widgets.graph_view._MIN_SECONDS_BETWEEN_HIGHLIGHTS", 0.0)
    ops = lesson()
    view = GraphView()
    with tf.Session() as session:
        assert session.run(ops["pow_op"]) == 15625
        assert names(view, "needed") == {"x", "y", "add_op", "mul_op", "pow_op"}
        session.run(ops["useless"])
        assert names(view, "fetched") == {"useless"}
        session.run(ops["add_op"], {ops["x"]: 10})
        assert names(view, "fed") == {"x"}
    assert view.marks["words"] == "6 operations: 1 fetched, 1 fed, 2 needed, 3 pruned"


def test_a_run_of_another_graph_is_not_marked() -> None:
    lesson()
    view = GraphView()
    with tf.Graph().as_default():
        other = tf.constant(1)
        with tf.Session() as session:
            session.run(other)
    assert view.marks == {}


def test_a_loop_of_runs_does_not_flood_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataflow_widgets.graph_view._MIN_SECONDS_BETWEEN_HIGHLIGHTS", 1000.0)
    ops = lesson()
    view = GraphView()
    changes = []
    view.observe(lambda change: changes.append(change["new"]), "marks")
    with tf.Session() as session:
        for i in range(50):
            session.run(ops["add_op"] if i % 2 else ops["mul_op"])
    assert len(changes) == 1
    view.refresh()  # as after the cell: the last run is what shows
    assert names(view, "fetched") == {"add_op"}
    assert len(changes) == 2


def test_the_same_run_again_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = lesson()
    view = GraphView()
    with tf.Session() as session:
        session.run(ops["add_op"])
        monkeypatch.setattr(view, "_set_marks", lambda *a: pytest.fail("marked again"))
        for _ in range(10):
            session.run(ops["add_op"])


def test_later_operations_are_sent(sent: list[Any]) -> None:
    ops = lesson()
    view = GraphView()
    view.refresh()
    assert sent == []
    tf.negative(ops["pow_op"], name="late")
    view.refresh()
    ((content, _),) = sent
    assert content["kind"] == "ops"
    assert [n["name"] for n in content["nodes"]] == ["late"]
    assert content["fresh"] == [6]
    view.refresh()
    assert len(sent) == 1


def test_a_run_sends_new_operations_before_their_marks(sent: list[Any]) -> None:
    ops = lesson()
    view = GraphView()
    late = tf.negative(ops["pow_op"], name="late")
    with tf.Session() as session:
        session.run(late)
    assert sent[0][0]["kind"] == "ops"
    assert "late" in names(view, "fetched")


def test_a_changed_operation_is_sent_again(sent: list[Any]) -> None:
    ops = lesson()
    view = GraphView()
    ops["pow_op"].op._set_device("/device:CPU:0")
    tf.get_default_graph().mutated()
    view.refresh()
    ((content, _),) = sent
    assert content["kind"] == "changed"
    assert [(n["name"], n["device"]) for n in content["nodes"]] == [("pow_op", "/device:CPU:0")]
    view.refresh()
    assert len(sent) == 1


def test_runs_in_threads_send_each_operation_once(sent: list[Any]) -> None:
    from threading import Thread

    ops = lesson()
    view = GraphView()
    late = [tf.negative(ops["x"], name=f"late{i}") for i in range(20)]
    with tf.Session() as session:
        threads = [Thread(target=session.run, args=(each,)) for each in late]
        for each in threads:
            each.start()
        for each in threads:
            each.join(timeout=30)
    view.refresh()
    arrived = [n["name"] for c, _ in sent if c["kind"] == "ops" for n in c["nodes"]]
    assert sorted(arrived) == sorted(t.op.name for t in late)
    assert [n["name"] for n in view._nodes] == [
        op.name for op in tf.get_default_graph().get_operations()
    ]


def test_later_cells_show_by_themselves(sent: list[Any]) -> None:
    """With a real IPython: its hook after each cell is what makes the view live."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        lesson()
        view = GraphView()
        result = shell.run_cell("import dataflow as tf\n_ = tf.constant(5, name='from_a_cell')")
        result.raise_error()
        assert [n["name"] for n in sent[-1][0]["nodes"]] == ["from_a_cell"]
        view.close()
        count = len(sent)
        shell.run_cell("_ = tf.constant(5, name='after_closing')").raise_error()
        assert len(sent) == count
    finally:
        for each in list(live._views):
            each.close()
        InteractiveShell.clear_instance()


def test_a_view_without_pages_stops_listening(sent: list[Any]) -> None:
    lesson()
    view = GraphView()
    view._receive(view, {"kind": "opened"}, [])
    assert len(events.listeners) == 1
    view._receive(view, {"kind": "closed"}, [])
    assert events.listeners == []
    late = tf.constant(1, name="late")
    with tf.Session() as session:
        session.run(late)
    assert sent == []
    view._receive(view, {"kind": "opened"}, [])  # shown again: it catches up
    assert [n["name"] for n in sent[-1][0]["nodes"]] == ["late"]


def test_views_that_are_gone_listen_no_more() -> None:
    """Nobody closed them, and nothing else holds them."""

    class View:
        def refresh(self) -> None: ...
        def on_run(self, event: Any) -> None: ...

    live.watch(View())
    gc.collect()
    with tf.Session() as session:
        session.run(tf.constant(1))
    assert events.listeners == []


def test_an_error_in_a_view_breaks_no_run_and_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = lesson()
    view = GraphView()
    monkeypatch.setattr(view, "_set_marks", lambda *a: 1 / 0)
    with tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.run(ops["add_op"]) == 5
    assert "ZeroDivisionError" in view.failure


def test_an_error_in_a_message_goes_back_to_the_page(sent: list[Any]) -> None:
    view = GraphView(graphs.lesson())
    view._receive(view, {"kind": "about", "op": "NoSuchOp", "id": 7}, [])
    assert sent[-1][0]["kind"] == "answer"
    assert "NoSuchOp" in sent[-1][0]["error"]
    view._receive(view, {"kind": "nonsense"}, [])
    assert sent[-1][0]["kind"] == "error"


def test_library_and_engine_travel_on_request(sent: list[Any]) -> None:
    view = GraphView(graphs.lesson())
    assert view.bundle == b""
    view._receive(view, {"kind": "library"}, [])
    view._receive(view, {"kind": "engine"}, [])
    assert [(c["kind"], len(b[0])) for c, b in sent] == [
        ("library", len(packed("library.js"))),
        ("engine", len(packed("graphviz.js"))),
    ]


def test_only_the_first_widget_of_a_kernel_brings_library_and_engine(
    sent: list[Any],
) -> None:
    Delivery.begun = False
    first = GraphView(graphs.lesson())
    assert GraphView(graphs.lesson()).bundle == b""
    (length,) = struct.unpack("<I", first.bundle[:4])
    assert length == 0, "a model of its own brings the library"
    assert first.bundle[4:] == packed("graphviz.js")
    first._receive(first, {"kind": "hello", "version": 6, "engine": True}, [])
    assert first.bundle == b""
    assert first.payload == {}, "a saved notebook must not carry the graph"


def test_a_page_that_knows_less_gets_the_rest(sent: list[Any]) -> None:
    view = GraphView(graphs.lesson())
    view._receive(view, {"kind": "hello", "version": 4, "engine": True}, [])
    assert [n["name"] for n in sent[-1][0]["nodes"]] == ["useless", "pow_op"]


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
    assert len(state["library"]) < 124_000  # every notebook with a widget carries it


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


# ---- Stepper ------------------------------------------------------------------------------------


def test_stepper_result_is_the_runs() -> None:
    ops = lesson()
    with tf.Session() as session:
        stepper = Stepper(session, {"p": ops["pow_op"], "s": [ops["add_op"], "mul_op:0"]})
        assert stepper.result == session.run({"p": ops["pow_op"], "s": [ops["add_op"], "mul_op:0"]})


def test_the_words_of_a_switch_say_which_output_is_dead() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0.0, lambda: tf.sqrt(x), lambda: -x, name="choose")
    with tf.Session() as session:
        assert "choose/Neg/Switch: dead, 9" in Stepper(session, y, {x: 9.0}).describe()
        assert "choose/Neg/Switch: -9.0, dead" in Stepper(session, y, {x: -9.0}).describe()


def test_stepper_trace() -> None:
    ops = lesson()
    with tf.Session() as session:
        stepper = Stepper(session, ops["pow_op"])
    trace = stepper.payload["trace"]["runs"][0]
    order = [stepper._nodes[s["i"]]["name"] for s in trace["steps"]]
    assert sorted(order) == ["add_op", "mul_op", "pow_op", "x", "y"]
    assert order[-1] == "pow_op"
    values = {stepper._nodes[s["i"]]["name"]: s["out"][0]["data"] for s in trace["steps"]}
    assert values == {"x": [2], "y": [3], "add_op": [5], "mul_op": [6], "pow_op": [15625]}
    assert stepper.marks["words"] == "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    reads = {stepper._nodes[s["i"]]["name"]: s["in"] for s in trace["steps"]}
    assert reads["add_op"] == [0, 1]
    assert "pow_op: 15625" in stepper.describe()


def test_stepper_with_feeds() -> None:
    a = tf.placeholder(tf.float32, [None, 2], name="a")
    doubled = tf.add(a, a, name="doubled")
    with tf.Session() as session:
        stepper = Stepper(session, doubled, {a: [[1.0, 2.0]]})
    np.testing.assert_array_equal(stepper.result, [[2, 4]])
    trace = stepper.payload["trace"]["runs"][0]
    assert trace["fed"] == [0]
    assert trace["feed_values"]["0"][0]["data"] == [1.0, 2.0]


def test_stepper_assigns_variables_once() -> None:
    v = tf.Variable(1.0, name="v")
    bump = tf.assign_add(v, 1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        Stepper(session, bump)
        assert session.run(v) == 2.0


def test_stepper_raises_what_the_run_raises() -> None:
    a = tf.placeholder(tf.float32, [], name="a")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="a"):
        Stepper(session, tf.negative(a))


def test_whole_values_on_demand(sent: list[Any]) -> None:
    big = tf.constant(np.arange(5000, dtype=np.float32).reshape(50, 100), name="big")
    with tf.Session() as session:
        stepper = Stepper(session, tf.negative(big, name="minus"))
    summary = next(s for s in stepper.payload["trace"]["runs"][0]["steps"] if s["type"] == "Neg")[
        "out"
    ][0]
    assert summary["kind"] == "heat"
    stepper._receive(stepper, {"kind": "value", "op": "minus", "slot": 0, "id": 1}, [])
    content = sent[-1][0]["content"]
    assert content["size"] == 5000
    assert "-4.999e+03" in content["text"] or "-4999" in content["text"]
    stepper._receive(stepper, {"kind": "value", "op": "nothing", "slot": 0, "id": 2}, [])
    assert "nothing" in sent[-1][0]["error"]


def test_a_page_opened_later_gets_the_trace_again() -> None:
    ops = lesson()
    with tf.Session() as session:
        stepper = Stepper(session, ops["pow_op"])
    stepper._receive(stepper, {"kind": "hello", "version": 6, "engine": True}, [])
    assert stepper.payload == {}
    stepper._receive(stepper, {"kind": "hello", "version": 0, "engine": True}, [])
    assert len(stepper.payload["trace"]["runs"][0]["steps"]) == 5


def test_training_steps_are_recorded_one_after_the_other(sent: list[Any]) -> None:
    v = tf.Variable(1.0, name="v")
    bump = tf.assign_add(v, 1.0, name="bump")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        stepper = Stepper(session, bump)
        assert [stepper.record() for _ in range(3)] == [3.0, 4.0, 5.0]
    runs = [c["run"] for c, _ in sent if c["kind"] == "run"]
    assert [r["label"] for r in runs] == ["run 2", "run 3", "run 4"]
    assert [r["steps"][-1]["out"][0]["data"] for r in runs] == [[3.0], [4.0], [5.0]]


def test_runs_recorded_while_the_page_was_loading_are_sent_again(sent: list[Any]) -> None:
    ops = lesson()
    with tf.Session() as session:
        stepper = Stepper(session, ops["pow_op"])
        stepper.record()
        stepper.record()
    assert len(stepper.payload["trace"]["runs"]) == 1
    sent.clear()
    stepper._receive(stepper, {"kind": "hello", "version": 6, "runs": 1}, [])
    assert [c["number"] for c, _ in sent] == [1, 2]


def test_old_runs_keep_only_their_summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    v = tf.Variable([1.0] * 100, name="v")
    bump = tf.assign_add(v, [1.0] * 100)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        stepper = Stepper(session, bump)
        one_run = sum(v.nbytes for step in stepper.trace.steps for v in step.outputs)
        monkeypatch.setattr("dataflow_widgets.stepper._MOST_BYTES_KEPT", 5 * one_run)
        for _ in range(20):
            stepper.record()
    held = [any(s.outputs for s in r.steps) for r in stepper._recorded]
    assert held[0]
    assert held[-1]
    assert sum(held) == 5
    assert len(stepper._trace["runs"]) == 21
    with pytest.raises(ValueError, match="no longer kept"):
        stepper._answer({"kind": "value", "op": bump.op.name, "slot": 0, "run": 5})


def test_a_stepper_that_keeps_samples_alone() -> None:
    x = tf.placeholder(tf.float32, [200, 300], name="x")
    doubled = tf.multiply(x, 2.0, name="doubled")
    total = tf.reduce_sum(doubled, name="total")
    value = np.ones([200, 300], np.float32)
    value[17, 23] = np.nan
    with tf.Session() as session:
        stepper = Stepper(session, total, {x: value}, values="sampled")
        with pytest.raises(ValueError, match="values is True"):
            Stepper(session, total, {x: value}, values="some")
    out = {s["type"]: s["out"][0] for s in stepper.payload["trace"]["runs"][0]["steps"]}
    assert out["Mul"]["stats"]["nan"] == 1
    assert out["Mul"]["stats"]["of"] < 1000
    assert out["Mul"]["kind"] == "heat"
    assert out["Sum"]["data"] == ["nan"]
    assert not any(
        s.outputs[0].nbytes > 0 and hasattr(s.outputs[0], "base") for s in stepper.trace.steps
    )
    with pytest.raises(ValueError, match="Only a sample"):
        stepper._answer({"kind": "value", "op": "doubled", "slot": 0, "run": 0})
    assert "doubled: float32 (200, 300)" in stepper.describe()


def test_a_run_on_two_tasks_says_what_traveled() -> None:
    w = tf.constant([[1.0, 2.0]], name="w")
    product = tf.multiply(w, 3.0, name="product")
    total = tf.reduce_sum(product, name="total")
    with tf.Session() as session:
        stepper = Stepper(session, total)
    task = "/job:{}/replica:0/task:0/device:CPU:0"
    places = {"w": ("ps", 0.0), "product": ("worker", 0.004), "total": ("ps", 0.009)}
    steps = [
        step._replace(
            device=task.format(places.get(step.op_name, ("worker", 0))[0]),
            start_seconds=places.get(step.op_name, ("worker", 0.003))[1],
            seconds=0.001,
        )
        for step in stepper.trace.steps
    ]
    run = run_to_dict(stepper.trace._replace(steps=steps), stepper._nodes, "run")
    told = {stepper._nodes[step["i"]]["name"]: step for step in run["steps"]}
    index = {node["name"]: i for i, node in enumerate(stepper._nodes)}
    assert told["product"]["on"] == "worker 0"
    assert told["product"]["recv"] == [[index["w"], "ps 0", 8, 0.003]]
    assert told["w"]["send"] == [["worker 0", 8]]
    assert [index["product"], "worker 0", 8] in [came[:3] for came in told["total"]["recv"]]
    assert told["total"]["wait"] == [0.008, index["product"]]
    plain = run_to_dict(stepper.trace, stepper._nodes, "run")
    assert not any({"on", "recv", "wait"} & set(step) for step in plain["steps"])


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("/job:ps/replica:0/task:3/device:CPU:0", "ps 3"),
        ("/job:worker/replica:0/task:1/device:GPU:0", "worker 1 GPU 0"),
        ("/job:localhost/replica:0/task:0/device:CPU:0", "CPU 0"),
        ("/device:GPU:1", "GPU 1"),
    ],
)
def test_devices_in_words(device: str, words: str) -> None:
    assert place_words(device) == words


def test_branch_feeds_a_tensor_and_leaves_the_session_alone(sent: list[Any]) -> None:
    ops = lesson()
    with tf.Session() as session:
        stepper = Stepper(session, ops["pow_op"])
        assert stepper.branch({ops["add_op"]: 10}) == 1_000_000
        assert stepper.branch({"x": 3}) == 6**9
        assert session.run(ops["pow_op"]) == 15625
    run = sent[0][0]
    assert run["compare"] == 0
    assert run["run"]["label"] == "branch: add_op = 10"
    assert stepper.result == 15625


@pytest.mark.parametrize("num_gpus", [0, 1])
def test_branch_changes_a_variable_and_puts_it_back(num_gpus: int) -> None:
    with pretend_gpus(num_gpus):
        _branch_a_variable()


def _branch_a_variable() -> None:
    v = tf.Variable(2.0, name="v")
    bump = tf.assign_add(v, 1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        stepper = Stepper(session, bump)  # 2 -> 3
        assert stepper.branch({}) == 3.0  # from the state before the run
        assert stepper.branch({v: 10.0}) == 11.0
        assert session.run(v) == 3.0
        with pytest.raises(ValueError, match="shape"):
            stepper.branch({v: [1.0, 2.0]})
        with pytest.raises(KeyError):
            stepper.branch({"nothing": 1})
        assert session.run(v) == 3.0


def test_branch_from_the_page(sent: list[Any]) -> None:
    ops = lesson()
    with tf.Session() as session:
        stepper = Stepper(session, ops["pow_op"])
        ask = {"kind": "branch", "op": "add_op", "slot": 0, "run": 0}
        stepper._receive(stepper, ask | {"text": "7", "id": 1}, [])
        assert [c["kind"] for c, _ in sent] == ["run", "answer"]
        stepper._receive(stepper, ask | {"text": "__import__('os')", "id": 2}, [])
        assert "is not a number or a list" in sent[-1][0]["error"]
        stepper._receive(stepper, ask | {"text": "[1, 2]", "id": 3}, [])
        assert sent[-1][0]["kind"] == "answer"
        assert "error" in sent[-1][0]


def test_a_failing_run_is_shown_up_to_its_failure() -> None:
    a = tf.placeholder(tf.int32, [], name="a")
    table = tf.constant([1, 2, 3], name="table")
    picked = tf.gather(table, a, name="picked")
    with tf.Session() as session:
        stepper = Stepper(session, picked, {a: 99}, catch=True)
    run = stepper.payload["trace"]["runs"][0]
    assert stepper.error is not None
    assert run["error"]
    assert stepper._nodes[run["failed"]]["name"] == "picked"
    assert "failed:" in stepper.describe()


def test_about_an_op() -> None:
    from dataflow_widgets.op_reference import about_op

    titles = {title: text for title, text, _ in about_op("MatMul")}
    assert {"What it does", "Shape rule", "Gradient", "Kernel"} <= titles.keys()
    assert "def " in titles["Kernel"]


def test_a_frozen_view_stays_as_it_is() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0, name="x")
        view, other = GraphView(graph), GraphView(graph)
        view.freeze()
        y = tf.negative(x, name="y")
        tf.Session().run(y)
        view._receive(None, {"kind": "opened"}, [])
        view._receive(None, {"kind": "hello", "version": 1}, [])
    assert "y: Neg" in other.describe()
    assert other.marks["fetched"] == [1]
    assert view.describe().splitlines() == [
        "Graph with 1 operation.",
        "  x: Const = 1. -> float32 ()",
    ]
    assert view.marks == {}
    for one in (view, other):
        one.close()
