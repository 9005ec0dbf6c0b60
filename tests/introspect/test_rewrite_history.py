"""The steps of an explanation: replayed, they end at the graph that the plan was made from."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dataflow as tf
from dataflow.introspect import rewrite_history
from dataflow.introspect.rewrite_history import replay

pytestmark = pytest.mark.usefixtures("graph")


def training() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None, 300], name="x")
    hidden = tf.layers.dense(x, 200, activation=tf.nn.relu, name="hidden")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden * 1.0, 1) - 3.0))
    tf.negative(loss, name="unused")
    return x, [loss, tf.train.AdamOptimizer().minimize(loss)]


def as_drawn(nodes: list[dict[str, Any]], feeds: list[str]) -> dict[str, Any]:
    """The plan's nodes with fed tensors under the user's names."""
    names = {f"_fed_{i}:0": name for i, name in enumerate(feeds)}
    return {
        node["name"]: {**node, "inputs": [names.get(n, n) for n in node["inputs"]]}
        for node in nodes
    }


def test_the_last_step_ends_at_the_plan() -> None:
    x, fetches = training()
    with tf.Session() as session:
        told = session.explain(fetches, [x])
    assert len(told.steps) == len(told.journal) + 1
    end = replay(told.graph, told.steps, len(told.steps))
    fed = end.pop("x")
    assert fed["op"] == "Placeholder"
    assert end == as_drawn(told.after, told.feeds)


def test_pruning_is_the_first_step() -> None:
    x, fetches = training()
    with tf.Session() as session:
        told = session.explain(fetches[0], [x])
    assert told.steps[0].rule == "pruning"
    assert "unused" in told.steps[0].removed
    left = replay(told.graph, told.steps, 1)
    assert set(left) == {node["name"] for node in told.before} | {"x"}


def test_each_step_is_what_its_rewrite_did() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.tanh(tf.multiply(x, 1.0, name="once"), name="y")
    with tf.Session() as session:
        told = session.explain(y, [x])
    pruning, times_one = told.steps
    assert pruning.removed == []
    assert times_one.equation == "x * 1 -> x"
    assert (times_one.at, times_one.after) == ("once:0", "x:0")
    assert set(times_one.removed) == {"once", "once/y"}
    (node,) = times_one.put
    assert (node["name"], node["inputs"]) == ("y", ["x:0"])


def test_a_fused_kernel_comes_with_its_source() -> None:
    x = tf.placeholder(tf.float32, [512, 512], name="x")
    with tf.Session() as session:
        told = session.explain(tf.exp(-tf.square(x)), [x])
    assert "def block(" in told.steps[-1].kernel
    assert [n["op"] for n in told.steps[-1].put] == ["_Fused"]


def test_very_large_graphs_share_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    x, fetches = training()
    with tf.Session() as session:
        alone = session.explain(fetches, [x])
        monkeypatch.setattr(rewrite_history, "_BUDGET_NODES", 200)
        shared = session.explain(fetches, [x])
    assert len(shared.steps) < len(alone.steps) / 2
    assert sum(step.num_hits for step in shared.steps) == len(alone.steps)
    count = len(shared.steps)
    assert replay(shared.graph, shared.steps, count) == replay(
        alone.graph, alone.steps, len(alone.steps)
    )


def test_everything_is_json() -> None:
    x, fetches = training()
    with tf.Session() as session:
        told = session.explain(fetches, [x])
    assert json.loads(json.dumps(told.to_dict()))["steps"][0]["rule"] == "pruning"


def test_a_session_that_rewrites_nothing() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.multiply(x, 1.0, name="y")
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=config) as session:
        told = session.explain(y, [x])
    assert [step.rule for step in told.steps] == ["pruning"]
