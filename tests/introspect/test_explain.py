"""`Session.explain`: what it tells of a run, and that it runs nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_journal_names_the_equation_and_the_place() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.tanh(x * 1.0, name="y")
    with tf.Session() as s:
        told = s.explain(y, {x: [1.0, 2.0]})
    assert told.fetches == ["y:0"]
    assert told.feeds == ["x:0"]
    (hit,) = [h for h in told.journal if h["rule"] == "times_one"]
    assert hit["equation"] == "x * 1 -> x"
    assert hit["before"] == "mul:0"
    assert {n["op"] for n in told.before} >= {"Mul", "Tanh", "Const"}
    assert {n["op"] for n in told.after} == {"Tanh"}
    assert told.order == ["y"]
    assert "x * 1 -> x" in repr(told)


def test_source_of_a_fused_kernel_is_shown() -> None:
    x = tf.placeholder(tf.float32, [512, 512], name="x")
    y = tf.exp(-tf.square(x))
    with tf.Session() as s:
        told = s.explain(y, [x])
    (source,) = told.kernels.values()
    assert "xp.exp(" in source
    assert "def block(" in source
    assert "def run(x):" in told.source
    assert "_Fused" in {n["op"] for n in told.after}


def test_a_plan_names_what_is_fed_as_the_graph_does() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    total = tf.add(x * 2.0, 1.0, name="total")
    with tf.Session() as s:
        assert s.explain(total, [x]).source.startswith("def run(x):\n    t1 = x * c0\n")
        unfed = s.explain(total).source
    assert '    x = feed("x")\n' in unfed
    assert "x * c" in unfed
    assert "None" not in unfed and "unfed" not in unfed


def test_a_name_that_a_plan_needs_itself_is_not_that_of_a_feed() -> None:
    """Scopes that end alike, names that are no Python, and names of the plan's own lines."""
    names = ["x", "a/x", "lambda", "t3", "c1", "k2", "feed", "min", "x-y", "hook", "v0", "f1"]
    fed = {tf.placeholder(tf.float32, [], name=name): 2.0**i for i, name in enumerate(names)}
    (x, *_), variable = fed, tf.Variable(1.0, name="v")
    terms = [tf.tanh(t) * 0.0 + t for t in fed]
    y = tf.cond(x > 0.0, lambda: tf.add_n(terms) + variable, lambda: variable + 1.0)
    with tf.Session() as s:
        s.run(variable.initializer)
        assert s.run(y, fed) == 4096.0
        assert s.explain(y, list(fed)).source.startswith("def run(x, f1, f2, f3, f4, f5, f6,")
        stats = tf.RunMetadata()
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert s.run(y, fed, options=full, run_metadata=stats) == 4096.0
        some = {t: v for t, v in fed.items() if t.op.name not in ("t3", "a/x")}
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor '(t3|a/x)'"):
            s.run(y, some)


def test_lifetimes() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    v = tf.Variable([1.0, 2.0, 3.0], name="v")
    y = tf.add(tf.tanh(x, name="t") * v, 2.0, name="y")
    with tf.Session() as s:
        told = s.explain(y, [x])
    values = {v.tensor: v for v in told.lifetimes}
    assert values["v:0"].buffer.startswith("the variable's own")
    assert values["t:0"].made == told.order.index("t")
    assert values["t:0"].dropped == told.order.index("mul")
    assert values["t:0"].num_bytes == 12
    assert values["y:0"].dropped is None
    assert values["y:0"].buffer.endswith("handed to the caller")


def test_explaining_runs_nothing() -> None:
    v = tf.Variable(1.0)
    add = tf.assign_add(v, 1.0)
    with tf.Session() as s:
        s.run(v.initializer)
        s.explain(add)
        assert s.run(v) == 1.0
        assert s.run(add) == 2.0


def test_dict_is_json_and_html_is_escaped() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.less(tf.reduce_sum(x), 3.0)
    with tf.Session() as s:
        told = s.explain({"y": y}, {x: np.zeros((1, 3))})
    again = json.loads(json.dumps(told.to_dict()))
    assert again["order"] == told.order
    assert again["lifetimes"][0].keys() >= {"tensor", "made", "dropped", "buffer"}
    page = told.to_html()
    assert "&lt;" in page
    assert " < " not in page


def test_switched_off_rewrites_leave_the_graph() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = x * 1.0
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(config=config) as s:
        told = s.explain(y, [x])
    assert told.journal == []
    assert told.after == told.before


def test_loops_and_branches_are_explained() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda v: v < 10.0, lambda v: [v * 2.0], [x])
    with tf.Session() as s:
        told = s.explain(y, [x])
    assert "while " in told.source


def test_a_closed_session_refuses() -> None:
    x = tf.constant(1.0)
    s = tf.Session()
    s.close()
    with pytest.raises(RuntimeError, match="closed"):
        s.explain(x)


def test_a_plan_is_told_without_its_checks_for_nan() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    loss = tf.reduce_sum(tf.log(x) * tf.sqrt(x + 2.0) / tf.exp(x - 1.0), name="loss")
    with tf.Session() as s:
        s.run(loss, {x: [1.0]})
        (plan,) = s._plans.values()
        assert "isfinite" in plan.source, "a scalar of a plan of this size is watched"
        source = s.explain(loss, [x]).source
    assert "isfinite" not in source and "nonfinite" not in source
    assert source.splitlines()[-1].startswith("    return ")
