"""Stepper's traits and messages, with the real engine and no browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from dataflow_widgets import GraphView, Stepper
from dataflow_widgets.stepper.trace_json import place_words, run_to_dict
from tests.widgets.lesson_graph import lesson

pytestmark = pytest.mark.usefixtures("own_views")


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
        Stepper(session, tf.negative(a), catch=False)
    with tf.Session() as session, pytest.raises(ValueError, match="not an element"):
        with tf.Graph().as_default():
            elsewhere = tf.constant(1)
        Stepper(session, elsewhere)


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
        stepper = Stepper(session, picked, {a: 99})
        with pytest.raises(tf.errors.InvalidArgumentError):
            stepper.record({a: 99})
        caught = Stepper(session, picked, {a: 99}, catch=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="picked"):
        _ = stepper.result
    assert caught.result is None
    assert stepper.labels == ["run 1"]
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
