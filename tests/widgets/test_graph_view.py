"""GraphView's traits and messages, with the real engine and no browser."""

from __future__ import annotations

import gc
import struct
import warnings
from typing import Any

import pytest

import dataflow as tf
from dataflow.runtime import events
from dataflow_widgets import GraphView, live
from dataflow_widgets.base import Delivery, packed
from tests.widgets import graphs
from tests.widgets.lesson_graph import lesson, names

pytestmark = pytest.mark.usefixtures("own_views")


def test_the_payload_is_the_graph() -> None:
    lesson()
    view = GraphView()
    assert [n["name"] for n in view.payload["nodes"]] == [
        "x", "y", "add_op", "mul_op", "useless", "pow_op",
    ]  # fmt: skip
    node = view.payload["nodes"][2]
    assert node["inputs"] == ["x:0", "y:0"]
    assert node["outputs"] == [{"dtype": "int32", "shape": "()"}]
    assert node["source"]["file"].endswith("lesson_graph.py")
    assert view.payload["nodes"][0]["value"] == "2"


def test_a_graph_too_large_for_a_picture_keeps_words_that_the_page_can_hide() -> None:
    total = tf.constant(0.0)
    for i in range(400):
        total = tf.add(total, tf.exp(total), name=f"n{i}")
    view = GraphView()
    kept = view._static()
    assert (
        "800 more" not in kept["text/plain"] and "Graph with 801 operations" in kept["text/plain"]
    )
    assert f"df-static-{view.token}" in kept["text/html"] and "<pre>" in kept["text/html"]


def test_a_page_asks_for_a_table_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    view = GraphView()
    view.language = "de"
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(view, "send", sent.append)
    view._handle({"kind": "language"}, [])
    assert sent[0]["language"] == "de" and sent[0]["table"]["{0} operations"] == "{0} Operationen"


def test_highlight_marks_needed_and_pruned() -> None:
    ops = lesson()
    view = GraphView(tf.get_default_graph())
    words = view.highlight(ops["pow_op"])
    assert words == "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    assert names(view, "fetched") == {"pow_op"}
    assert names(view, "needed") == {"x", "y", "add_op", "mul_op", "pow_op"}
    assert "useless: Mul" in view.describe()
    assert "[pruned]" in view.describe()


def test_a_highlight_is_removed_with_its_words() -> None:
    ops = lesson()
    view = GraphView()
    before = view.describe()
    view.highlight(ops["pow_op"])
    assert view.describe() != before
    view.clear_highlight()
    assert view.marks == {} and view.describe() == before


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


def test_a_run_that_fails_is_marked_where_it_failed(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow_widgets.graph_view._MIN_SECONDS_BETWEEN_HIGHLIGHTS", 0.0)
    rows = tf.constant([1.0, 2.0], name="rows")
    at = tf.placeholder(tf.int32, [], name="at")
    row = tf.negative(tf.gather(rows, at, name="row"), name="minus")
    view = GraphView()
    with tf.Session() as session:
        for _ in range(2):
            assert session.run(row, {at: 1}) == -2.0
            assert "failed" not in view.marks and "failed" not in view.words
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(row, {at: 7})
            assert names(view, "failed") == {"row"} and names(view, "fetched") == {"minus"}
    said = "5 operations: 1 fetched, 1 fed, 4 needed, 0 pruned. The run failed in 'row'."
    assert view.marks["words"] == said
    assert "from rows:0, at:0, row/axis:0  [needed, failed]" in view.describe()
    drawn = view._draw()
    assert drawn.count("#b3261e") == 2, "the outline and the word"
    tf.identity(row, name="later")  # more operations: the words stay
    view.refresh()
    assert view.marks["words"].endswith("1 pruned. The run failed in 'row'.")


def test_an_interrupted_run_is_said_to_be_one_and_the_end_of_data_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dataflow_widgets.graph_view._MIN_SECONDS_BETWEEN_HIGHLIGHTS", 0.0)
    number = tf.data.Dataset.range(1).make_one_shot_iterator().get_next()

    def interrupt() -> float:
        raise KeyboardInterrupt

    wait = tf.py_func(interrupt, [], tf.float32)
    view = GraphView()
    with tf.Session() as session:
        session.run(number)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(number)
        assert "failure" not in view.marks
        with pytest.raises(KeyboardInterrupt):
            session.run(wait)
    assert view.marks["failed"] == []
    assert view.marks["words"].endswith("pruned. The run was interrupted.")


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
            each.join(timeout=60)
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


def test_a_cell_that_ran_again_is_told() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    run: Any = shell.run_cell
    again = "v = tf.constant(5, name='v')"
    try:
        run("import dataflow as tf", store_history=True).raise_error()
        run(again, store_history=True).raise_error()
        run("w = tf.constant(6, name='w')", store_history=True).raise_error()
        view = GraphView()
        assert view.hint == ""
        run(f" \n{again}\n".lstrip(), store_history=True).raise_error()
        assert view.hint.startswith("Cell 4 ran 2 times, and each run added its nodes.")
        assert GraphView().hint == view.hint
        run(f"tf.reset_default_graph()\n{again}", store_history=True).raise_error()
        assert GraphView().hint == ""
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
