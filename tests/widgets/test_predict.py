"""Predict questions: grades by the engine, partial credit, hints, explanations, kept answers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.course import attempts
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime import events
from dataflow_widgets import predict
from dataflow_widgets.base import Delivery
from dataflow_widgets.predict.question import brief
from dataflow_widgets.predict.stale import stale_reads
from tests.widgets.graphs import EVIL


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tf.reset_default_graph()
    Delivery.begun = True
    attempts.forget()
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    yield
    assert events.listeners == []


def lesson() -> dict[str, Any]:
    x, y = tf.constant(2, name="x"), tf.constant(3, name="y")
    add_op = tf.add(x, y, name="add_op")
    mul_op = tf.multiply(x, y, name="mul_op")
    useless = tf.multiply(x, add_op, name="useless")
    pow_op = tf.pow(add_op, mul_op, name="pow_op")
    return {"x": x, "add_op": add_op, "mul_op": mul_op, "useless": useless, "pow_op": pow_op}


def test_pruned_is_graded_by_the_engine() -> None:
    ops = lesson()
    with tf.Session() as sess:
        q = predict.pruned(ops["pow_op"], session=sess)
    assert q.explanation == "" and q.marks == {}
    first = q.answer(["useless", "mul_op"])
    assert "1 of the 2 that you marked is right" in first
    assert "walk back" in first
    assert "mul_op is not pruned" not in first, "the first wrong try names no node"
    second = q.answer(["useless", "mul_op"])
    assert "mul_op is not pruned: mul_op -> pow_op is a path" in second
    assert "Take each node in turn" in second
    third = q.answer(["useless"])
    assert third.startswith("Right: 1 pruned node, and no other.")
    assert "The real run took 5 steps" in third and "returned 15625" in third
    assert [a["right"] for a in q.answers] == [False, False, True]
    assert q.marks["needed"] == [0, 1, 2, 3, 5]


def test_pruned_under_a_feed_and_with_nothing_pruned() -> None:
    ops = lesson()
    q = predict.pruned(ops["pow_op"], {ops["add_op"]: 10})
    assert "is fed add_op" in q.question["text"]
    # x and y are still read by mul_op.
    assert q.answer(["useless", "add_op"]).startswith("1 of the 2")
    assert "its value is fed" in q.answer(["useless", "add_op"])
    assert q.answer(["useless"]).startswith("Right")
    everything = predict.pruned([ops["pow_op"], ops["useless"]])
    assert everything.answer([]).startswith("Right: there is no pruned node")


def test_a_question_can_be_about_a_part_of_the_graph() -> None:
    ops = lesson()
    q = predict.nodes("Which multiply?", ["mul_op"], show=ops["mul_op"], answer_color="type")
    assert [node["name"] for node in q._question.nodes] == ["x", "y", "mul_op"]
    q.answer(["x", "mul_op"])
    assert q.answers[0]["mistakes"] == ["x"]
    assert q.marks == {}, "what is right is told with the explanation"
    q.reveal()
    assert q.marks == {"solution": [2], "color": "type"}
    half = predict.pruned(ops["mul_op"], show=lambda op: op.name != "useless")
    assert half.answer(["add_op", "pow_op"]).startswith("Right: 2 pruned nodes")
    assert half.marks["needed"] == [0, 1, 3] and half.marks["solution"] == [2, 4]
    with pytest.raises(ValueError, match="show= leaves out useless, which the answer names"):
        predict.nodes("Which?", ["useless"], show=ops["mul_op"])
    with pytest.raises(ValueError, match="color= takes '', 'device' and 'type', got 'size'"):
        predict.nodes("Which?", ["x"], color="size")


def test_any_nodes_can_be_asked_for() -> None:
    ops = lesson()
    q = predict.nodes("Which nodes multiply?", lambda op: op.type == "Mul", explain="Type Mul.")
    assert "1 node is not marked yet" in q.answer(["mul_op"])
    assert "x does not belong to them" in q.answer(["mul_op", "x"])
    assert q.answer(["useless", "mul_op"]).endswith("meant: mul_op and useless. Type Mul.")
    assert predict.nodes("Which?", [ops["x"], "y"]).answer(["x", "y"]).startswith("Right: 2 nodes")
    with pytest.raises(ValueError, match="not in this graph: z"):
        predict.nodes("Which?", ["z"])


def test_public_traits_do_not_tell_the_answer() -> None:
    ops = lesson()
    with tf.Session() as sess:
        asked = [
            predict.value(sess, ops["pow_op"]),
            predict.choice("Which?", ["alpha", "beta"], 1),
        ]
    state = json.dumps(
        [q.get_state(["question", "answers", "explanation", "marks"]) for q in asked]
    )
    assert "15625" not in state
    assert '"answer"' not in state


def test_any_valid_order_is_right() -> None:
    ops = lesson()
    with tf.Session() as sess:
        q = predict.order(sess, ops["pow_op"])
    items = [item["id"] for item in q.question["items"]]
    assert sorted(items) == ["add_op", "mul_op", "pow_op", "x", "y"]
    assert "dependencies" in q.answer(items), "the order shown first is not a solution"
    assert q.answer(["y", "x", "mul_op", "add_op", "pow_op"]).startswith("Right")
    wrong = predict.order(tf.Session(), ops["pow_op"], name="lesson99.q2")
    assert "6 of 8 dependencies are respected" in wrong.answer(
        ["x", "add_op", "y", "pow_op", "mul_op"]
    )
    assert "add_op stands before y" in wrong.answer(["x", "add_op", "y", "pow_op", "mul_op"])


def test_every_order_that_the_engine_could_take_is_accepted() -> None:
    dice = random.Random(4)
    ops = lesson()
    with tf.Session() as sess:
        q = predict.order(sess, [ops["pow_op"], ops["useless"]])
    needs = {
        op.name: {t.op.name for t in op.inputs} for op in tf.get_default_graph().get_operations()
    }
    for _ in range(20):
        order: list[str] = []
        while len(order) < len(needs):
            ready = sorted(n for n in needs if n not in order and needs[n] <= set(order))
            order.append(dice.choice(ready))
        assert q._question.grade(order, 0).right
        assert not q._question.grade(order[::-1], 0).right


def test_order_of_some_ops_counts_paths_through_others() -> None:
    ops = lesson()
    with tf.Session() as sess:
        q = predict.order(sess, ops["pow_op"], ops=[ops["x"], ops["pow_op"]])
        assert not q._question.grade(["pow_op", "x"], 0).right
        assert q._question.grade(["x", "pow_op"], 0).right
        with pytest.raises(ValueError, match="does not compute"):
            predict.order(sess, ops["pow_op"], ops=[ops["useless"]])
        with pytest.raises(ValueError, match="2 to 12"):
            predict.order(sess, ops["x"])


def test_a_question_leaves_the_variables_as_they_were() -> None:
    v = tf.Variable(1.0, name="v")
    more = v.assign_add(1.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        q = predict.value(sess, more)
        assert sess.run(v) == 1.0
    assert q.answer("2.0").startswith("Right: 2.0.")


def test_a_value_that_no_node_computed_is_told_without_nodes() -> None:
    v = tf.Variable(3.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        told = predict.value(sess, v).answer("3")
    assert told == "Right: 3.0. The run returned 3.0."


def test_shape_and_dtype_are_two_answers() -> None:
    a = tf.zeros([5, 3])
    q = predict.shape(tf.matmul(a, tf.zeros([3, 7])), [(3, 3), (5, 7, 3)], dtypes=["int32"])
    groups = q.question["groups"]
    assert [g["label"] for g in groups] == ["shape", "dtype"]
    assert "(5, 7)" in groups[0]["options"] and "float32" in groups[1]["options"]
    assert q.answer(["(3, 3)", "float32"]).startswith(
        "The shape is not right and the dtype is right."
    )
    told = q.answer(["(5, 7)", "float32"])
    assert told.startswith("Right") and "shape rule of MatMul" in told


def test_a_shape_that_cannot_be() -> None:
    def build() -> Any:
        return tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5]))

    q = predict.shape(build, [(2, 5)], shown="tf.matmul(a, b)")
    assert "tf.matmul(a, b)" in q.question["text"]
    assert q.answer(["(2, 5)"]).startswith("Not (2, 5).")
    assert "inner dimensions differ" in q.answer(["none: it is an error"])


def test_value_in_part() -> None:
    t = tf.constant([1.0, 2.0, 3.0]) * 2.0
    q = predict.value(tf.Session(), t)
    assert q.answer("[2, 4, 5]").startswith("2 of 3 numbers are right")
    assert "shape is not right" in q.answer("2")
    with pytest.raises(ValueError, match="not a value"):
        q.answer("__import__('os')")
    assert len(q.answers) == 2, "what is no value is no try"
    assert q.answer("[2.0, 4.0, 6.0]").startswith("Right")
    assert predict.value(tf.Session(), tf.constant("ab")).answer("'ab'").startswith("Right")
    assert predict.value(tf.Session(), tf.constant(True)).answer("True").startswith("Right")


def test_choice_and_its_mistakes() -> None:
    q = predict.choice("Which?", ["alpha", "beta"], lambda: 1, explain="Because.")
    assert "Hint" in q.answer(["alpha"])
    assert q.answer(["beta"]) == "Right. The answer: beta. Because."
    for given in (["gamma"], "beta", [], None, [None]):
        with pytest.raises(ValueError):
            q.answer(given)
    with pytest.raises(ValueError, match="index"):
        predict.choice("Which?", ["a", "b"], 2)
    with pytest.raises(ValueError, match="different choices"):
        predict.choice("Which?", ["a", "a"], 0)


@pytest.mark.parametrize("num_gpus", [0, 1])
def test_recording_of_real_runs_finds_the_stale_read(num_gpus: int) -> None:
    with pretend_gpus(num_gpus):
        _record_runs()


def _record_runs() -> None:
    w = tf.Variable(1.0, name="w")
    new = tf.placeholder(tf.float32, [], name="new")
    write = tf.assign(w, new)
    step = w.assign_add(1.0)
    sess, other = tf.Session(), tf.Session()
    with predict.recording({sess: "worker 0"}) as record:
        sess.run(w.initializer)
        other.run(w.initializer)  # of nobody: not recorded
        sess.run(w)
        sess.run(write, {new: 5.0})
        sess.run(step)
        sess.run(w.read_value() * 2.0)
    told = [(a.worker, a.action, a.variable, float(brief(a.value))) for a in record]
    assert told == [
        ("worker 0", "write", "w", 1.0),
        ("worker 0", "read", "w", 1.0),
        ("worker 0", "write", "w", 5.0),
        ("worker 0", "write", "w", 6.0),
        ("worker 0", "read", "w", 6.0),
    ]


def test_recording_of_two_sessions_of_a_server_tells_values() -> None:
    w = tf.Variable(1.0, name="w")
    new = tf.placeholder(tf.float32, [], name="new")
    write = tf.assign(w, new)
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as ann, tf.Session(server.target) as bob:
        ann.run(w.initializer)
        with predict.recording({ann: "Ann", bob: "Bob"}) as record:
            seen = [s.run(w) for s in (ann, bob)]
            ann.run(write, {new: seen[0] + 1.0})
            bob.run(write, {new: seen[1] + 5.0})
            bob.run([w.read_value() * 2.0, w.assign_add(1.0)])
    told = [(a.worker, a.action, a.value if a.value is None else float(a.value)) for a in record]
    assert told[:4] == [
        *(("Ann", "read", 1.0), ("Bob", "read", 1.0)),
        *(("Ann", "write", 2.0), ("Bob", "write", 6.0)),
    ]
    assert told[4:] == [("Bob", "read", None), ("Bob", "write", 7.0)]
    assert list(stale_reads(list(record))) == [1]


A = predict.Access


@pytest.mark.parametrize(
    ("accesses", "stale"),
    [
        ([A("a", "read", "w"), A("b", "write", "w"), A("a", "write", "w")], {0: [1]}),
        ([A("a", "read", "w"), A("a", "write", "w"), A("b", "write", "w")], {}),
        ([A("a", "read", "w"), A("b", "write", "v"), A("a", "write", "w")], {}),
        (
            [A("a", "read", "w"), A("b", "write", "w"), A("a", "read", "w"), A("a", "write", "w")],
            {},
        ),
        (
            [
                *(A("a", "read", "w"), A("b", "read", "w")),
                *(A("a", "write", "w"), A("c", "write", "w"), A("b", "write", "w")),
            ],
            {1: [2, 3]},
        ),
        ([A("a", "read", "w"), A("b", "write", "w")], {}),
    ],
)
def test_stale_reads(accesses: list[Any], stale: dict[int, list[int]]) -> None:
    assert stale_reads(accesses) == stale


def test_stale_question_in_words() -> None:
    accesses = [
        *(A("w0", "read", "w", np.float32(1.0)), A("w1", "read", "w", np.float32(1.0))),
        *(A("w0", "write", "w", np.float32(2.0)), A("w1", "write", "w", np.float32(3.0))),
    ]
    q = predict.stale_read(accesses)
    assert "1. w0 reads w = 1.0" in q.describe()
    assert q.answer([0]).startswith("What you marked is not right")
    assert "Line 1 is fresh" in q.answer([0])
    assert "was stale by 1 update: line 3 came before its worker wrote" in q.answer([1])
    with pytest.raises(ValueError, match="reads"):
        q.answer([2])


def test_answers_come_back_when_the_cell_runs_again() -> None:
    ops = lesson()
    predict.pruned(ops["pow_op"], name="lesson02.q1").answer(["x"])
    again = predict.pruned(ops["pow_op"], name="lesson02.q1")
    assert [a["given"] for a in again.answers] == [["x"]]
    again.answer(["useless"])
    third = predict.pruned(ops["pow_op"], name="lesson02.q1")
    assert third.explanation
    # Another question under the same name: answers that fit are graded afresh.
    other = predict.pruned(ops["useless"], name="lesson02.q1")
    assert [a["right"] for a in other.answers] == [False, False]
    third.again()
    assert predict.pruned(ops["pow_op"], name="lesson02.q1").answers == []


def test_answers_come_back_from_the_saved_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ops = lesson()
    q = predict.pruned(ops["pow_op"], name="lesson02.q1")
    q.answer(["x"])
    state = {"m": {"state": json.loads(json.dumps(q.get_state(["kind", "name", "answers"])))}}
    widgets = {attempts.WIDGET_STATE_MIME: {"state": state}}
    path = tmp_path / "02_sessions.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": {"widgets": widgets}, "nbformat": 4}))
    attempts.forget()  # as a new kernel does
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    again = predict.pruned(ops["pow_op"], name="lesson02.q1")
    assert [a["given"] for a in again.answers] == [["x"]]
    assert "Answer 1: x." in again.describe()


def test_reveal_counts_as_shown() -> None:
    ops = lesson()
    q = predict.pruned(ops["pow_op"])
    q.answer(["x"])
    assert q.reveal().startswith("Pruned: useless.")
    assert q.answers[-1] == {"right": False, "words": "The answer was shown.", "shown": True}


def test_messages_of_the_page() -> None:
    ops = lesson()
    q = predict.pruned(ops["pow_op"])
    sent: list[Any] = []
    q.send = lambda content, buffers=None: sent.append(content)  # type: ignore[method-assign]
    q._receive(q, {"kind": "answer", "id": 1, "given": ["no such node"]}, [])
    assert "needed node names" in sent[-1]["content"]["refused"]
    q._receive(q, {"kind": "answer", "id": 2, "given": ["useless"]}, [])
    assert sent[-1] == {"kind": "answer", "id": 2, "content": {}}
    q._receive(q, {"kind": "again", "id": 3}, [])
    assert q.answers == []
    q._receive(q, {"kind": "reveal", "id": 4}, [])
    assert q.explanation
    q._receive(q, {"kind": "hello", "version": 0}, [])
    assert len(q.payload["nodes"]) == 6, "a page opened later gets the graph"


def test_what_stands_for_it_without_a_page() -> None:
    ops = lesson()
    data, _ = predict.pruned(ops["pow_op"])._repr_mimebundle_()
    assert "Which nodes will be pruned" in data["text/html"] and "<img" in data["text/html"]
    assert "useless: Mul" in data["text/plain"]
    data, _ = predict.choice(EVIL, [EVIL, "b"], 0)._repr_mimebundle_()
    assert "<img src=x" not in data["text/html"] and "&lt;img" in data["text/html"]


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Did you mean explain=\?"):
        predict.choice("Which?", ["a", "b"], 0, explian="x")
    with pytest.raises(ValueError, match="takes three"):
        predict.choice("Which?", ["a", "b"], 0, hints=["one", "two"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.9), "0.9"),
        (np.array([0.1, 2.0, np.inf], np.float16), "[0.1, 2.0, inf]"),
        (np.float64(0.1) * 3, "0.30000000000000004"),
        (np.array([[1, 2]], np.int32), "[[1, 2]]"),
        (np.zeros([3, 4], np.float32), "float32 (3, 4)"),
        (True, "True"),
    ],
)
def test_a_value_is_told_with_the_digits_of_its_own_type(value: Any, text: str) -> None:
    assert brief(value) == text
