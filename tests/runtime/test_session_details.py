"""Sessions: arguments of other kinds, what they print, and their cache of plans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime import base_session as module, events

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"graph": 3}, "graph must be a tf.Graph, but got <class 'int'>"),
        ({"target": 3}, "target must be a string, but got <class 'int'>"),
        ({"config": "grpc://a:1"}, "config must be a tf.ConfigProto.*Did you mean"),
    ],
)
def test_arguments_of_another_kind(arguments: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        tf.Session(**arguments)


def test_a_target_may_be_bytes(graph: Any) -> None:
    assert tf.Session(b"").run(tf.constant(3)) == 3
    with pytest.raises(tf.errors.NotFoundError, match="'nowhere'"):
        tf.Session(b"nowhere")


def test_what_it_prints(graph: Any) -> None:
    x = tf.constant(1.0)
    session = tf.Session()
    assert repr(session) == "<tf.Session: 1 nodes, 0 plans>"
    session.run(x)
    assert repr(session) == "<tf.Session: 1 nodes, 1 plans>"
    assert session.graph_def.node[0].name == "Const"
    session.close()
    assert repr(session) == "<tf.Session: 1 nodes, closed>"
    interactive = tf.InteractiveSession()
    try:
        assert repr(interactive).startswith("<tf.InteractiveSession: 1 nodes, 0 plans")
    finally:
        interactive.close()


def test_a_plan_is_kept_for_each_combination_and_the_oldest_goes(
    graph: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_PLANS", 3)
    x = tf.placeholder(tf.float32, [])
    values = [x + float(i) for i in range(5)]
    with tf.Session() as session:
        for _ in range(2):
            assert session.run(values[0], {x: 1.0}) == 1.0
        assert len(session._plans) == 1
        for i, value in enumerate(values):
            assert session.run(value, {x: 1.0}) == 1.0 + i
            assert len(session._plans) == min(3, i + 1)
        assert session.run(values[0], {x: 2.0}) == 2.0


def test_fetches_without_a_key_are_run_as_well(graph: Any) -> None:
    class Unhashable(list[Any]):
        __hash__ = None  # type: ignore[assignment]

    a, b = tf.constant(1.0), tf.constant(2.0)
    with tf.Session() as session:
        for _ in range(3):
            assert session.run({"a": [a], "b": Unhashable([b])}) == {"a": [1.0], "b": [2.0]}


def test_a_callable_says_what_it_takes(graph: Any) -> None:
    x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="y")
    with tf.Session() as session:
        for wrong in ("xy", {x}, 3):
            with pytest.raises(TypeError, match="`feed_list` must be a list or tuple"):
                session.make_callable(x + y, wrong)
        call = session.make_callable(x + y, (x, "y:0"))
        assert call(1.0, 2.0) == 3.0
        for values in ((), (1.0,), (1.0, 2.0, 3.0)):
            with pytest.raises(TypeError, match=f"takes 2 values to feed, got {len(values)}"):
                call(*values)
        assert session.make_callable(tf.constant(7.0))() == 7.0


def test_an_inner_block_would_close_the_session(graph: Any) -> None:
    with tf.Session() as session:
        with pytest.raises(RuntimeError, match="not re-entrant"):
            session.__enter__()
        with session.as_default():
            assert tf.get_default_session() is session
        assert session.run(tf.constant(1)) == 1


def test_an_interactive_session_brings_its_graph_along(graph: Any) -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(5.0)
    session = tf.InteractiveSession(graph=other)
    try:
        assert tf.get_default_graph() is other and tf.get_default_session() is session
        assert x.eval() == 5.0
    finally:
        session.close()
    session.close()
    assert tf.get_default_graph() is graph and tf.get_default_session() is None


def test_a_run_that_is_repeated_finds_its_plan(graph: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(events, "listeners", [])  # where somebody listens, runs take the longer way
    x = tf.placeholder(tf.float32, [], name="x")
    y = x + 1.0
    with tf.Session() as session:
        cases: list[Any] = [y, y.op, "add:0", [y, {"x": x}], (y, [x])]
        wanted = [session.run(fetches, {x: 1.0}) for fetches in cases]
        plans = len(cases)
        assert f"{plans} plans" in repr(session)
        monkeypatch.setattr(session, "plan_for", None)
        assert [session.run(fetches, {x: 1.0}) for fetches in cases] == wanted
        monkeypatch.undo()
        z = y * 2.0  # a graph that grew makes them anew
        assert session.run(z, {x: 1.0}) == 4.0


def test_partial_runs_take_their_own_handle_fetches_and_feeds(graph: Any) -> None:
    x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="y")
    v = tf.Variable(1.0, name="v")
    a, b = tf.add(x, v, name="a"), tf.multiply(x + v, y, name="b")
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.partial_run("no handle", a)
        handle = session.partial_run_setup([a, b.op, b], [x, y])
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="'c:0' was not given to partial_run_setup as a fetch",
        ):
            session.partial_run(handle, tf.identity(a, name="c"))
        assert session.partial_run(handle, a, {x: 2.0}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="'x:0' was fed already"):
            session.partial_run(handle, b, {x: 2.0})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="'a:0' was not given .* as a feed"
        ):
            session.partial_run(handle, b, {a: 2.0})
        assert session.partial_run(handle, b, {y: np.float32(4.0)}) == 12.0


def test_a_variable_that_is_fed_cannot_be_assigned_to(graph: Any) -> None:
    v = tf.Variable(1.0, name="v")
    change = tf.assign_add(v, 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="'v:0' is fed in this run"):
                session.run(change, {v: 5.0})
            assert session.run(v * 2.0, {v: 5.0}) == 10.0
        assert session.run(v) == 1.0


def test_one_of_several_outputs_may_be_fed(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    a, b = tf.split(x, 2)
    with tf.Session() as session:
        for _ in range(4):
            got = session.run([a + 0.0, b + 0.0], {x: [1, 2, 3, 4], a: [7, 8]})
            assert [part.tolist() for part in got] == [[7, 8], [3, 4]]
            both = session.run([a + 0.0, b + 0.0], {a: [7, 8], b: [9, 0]})
            assert [part.tolist() for part in both] == [[7, 8], [9, 0]]


def test_equal_fetches_of_different_kinds_keep_their_plans_apart(graph: Any) -> None:
    class Mine(list[Any]):
        pass

    a, b = tf.constant(1.0), tf.constant(2.0)
    fetches: list[Any] = [[a, b], (a, b), {"x": a, "y": b}, {"x": b, "y": a}, {"u": a, "v": b}]
    with tf.Session() as session:
        for _ in range(2):
            got = [session.run(f) for f in fetches]
            assert got == [
                [1.0, 2.0],
                (1.0, 2.0),
                {"x": 1.0, "y": 2.0},
                {"x": 2.0, "y": 1.0},
                {"u": 1.0, "v": 2.0},
            ]
            assert [type(g) for g in got] == [list, tuple, dict, dict, dict]
            assert session.run(Mine([a, b])) == [1.0, 2.0]
        assert "6 plans" in repr(session)


def test_a_session_shows_its_graph_in_a_notebook(graph: Any) -> None:
    tf.constant(1.0, name="one")
    with tf.Session() as session:
        shown = session._repr_mimebundle_()
        assert repr(session) in str(shown)


def test_waking_blocked_ops_leaves_the_session_usable(graph: Any) -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    taken, put = queue.dequeue(), queue.enqueue(3.0)
    with tf.Session() as session:
        session.run([put, taken])
        before = session.cancellation
        session.interrupt_blocked()
        assert before.cancelled and not session.cancellation.cancelled
        session.run(put)
        assert session.run(taken) == 3.0


def test_a_tensor_that_is_fed_twice_has_the_last_value(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    sparse = tf.sparse_placeholder(tf.float32, [2, 2])
    total = tf.sparse_reduce_sum(sparse)
    value = tf.SparseTensorValue([[0, 1]], [3.0], [2, 2])
    with tf.Session() as session:
        for _ in range(4):
            assert session.run(x + 1.0, {x: 1.0, "x:0": 2.0}) == 3.0
            assert session.run(total, {sparse: value}) == 3.0  # three tensors for one key
            assert session.run(x * 2.0, {"x:0": 4.0}) == 8.0
