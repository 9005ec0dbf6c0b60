"""Conditionals whose predicate is a constant: what is left of the graph, and what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.registry import get_op
from dataflow.runtime.plan import Plan
from tests.rewrites.rewritten import rewritten

CONTROL_FLOW = {"Switch", "RefSwitch", "Merge", "RefMerge"}


def types(plan: Plan) -> set[str]:
    return {op.type for op in plan.compiled_ops} - {"Placeholder", "Const", "Identity", "NoOp"}


@pytest.mark.parametrize("predicate", [True, False])
def test_only_the_branch_taken_stays(predicate: bool) -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.cond(tf.constant(predicate), lambda: tf.exp(x), lambda: tf.sin(x))
    value = np.array([0.1, 0.2, 0.3], np.float32)
    with tf.Session() as s:
        plain = s.run(y, {x: value})
        plan = rewritten(s, tf.sqrt(y + 2.0), [x])
        np.testing.assert_allclose(plan.run([value]), np.sqrt(plain + 2), rtol=1e-6)
    assert ("Exp" in types(plan)) is predicate
    assert ("Sin" in types(plan)) is not predicate
    assert not types(plan) & CONTROL_FLOW
    assert {"switch_on_constant", "merge_of_one_branch"} <= {h.rule for h in plan.journal}


def test_a_predicate_that_folds_is_known() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    y = tf.cond(tf.equal(tf.shape(x)[1], 3), lambda: x * 2.0, lambda: tf.exp(x))
    with tf.Session() as s:
        plan = rewritten(s, y, [x])
        np.testing.assert_array_equal(plan.run([np.ones((4, 3))]), np.full((4, 3), 2))
    assert types(plan) == {"Mul"}


def test_nested_conditionals() -> None:
    x = tf.placeholder(tf.float32, [])
    yes, no = tf.constant(True), tf.constant(False)
    y = tf.cond(
        yes,
        lambda: tf.cond(no, lambda: tf.exp(x), lambda: x + 1.0),
        lambda: tf.cond(yes, lambda: tf.sin(x), lambda: tf.cos(x)),
    )
    with tf.Session() as s:
        plan = rewritten(s, y, [x])
        assert plan.run([2.0]) == 3.0
    assert not types(plan) & (CONTROL_FLOW | {"Exp", "Sin", "Cos"})


def test_a_fed_predicate_is_not_known() -> None:
    x = tf.placeholder(tf.float32, [])
    p = tf.constant(True)
    y = tf.cond(p, lambda: x + 1.0, lambda: x - 1.0)
    with tf.Session() as s:
        plan = rewritten(s, y, [x, p])
        assert plan.run([2.0, False]) == 1.0
        assert plan.run([2.0, True]) == 3.0


def test_effects_of_the_branch_happen_and_those_of_the_other_do_not() -> None:
    calls: list[str] = []

    def noting(name: str) -> Any:
        return tf.py_func(lambda: calls.append(name) or np.float32(1), [], tf.float32)

    y = tf.cond(tf.constant(True), lambda: noting("yes"), lambda: noting("no")) * 3.0
    with tf.Session() as s:
        assert rewritten(s, y, []).run([]) == 3.0
    assert calls == ["yes"]


def test_what_a_branch_and_its_predicate_wait_for_still_comes_first() -> None:
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign_add(v, 10.0)]):
        predicate = tf.identity(tf.constant(True))
        x = v.read_value()
    y = tf.cond(predicate, lambda: x * 2.0, lambda: x)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, y, [])
        assert plan.run([]) == 22.0
        assert plan.run([]) == 42.0


def test_assignments_inside_are_ordered_by_control_edges() -> None:
    v = tf.Variable(1.0)

    def change() -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return v.read_value()

    y = tf.cond(tf.constant(True), change, lambda: tf.constant(0.0))
    with tf.control_dependencies([y]):
        last = tf.assign(v, y * 10.0)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, [y, last.op], [])
        assert plan.run([])[0] == 2.0
        assert s.run(v) == 20.0


def test_the_value_of_a_merge_is_taken_before_later_assignments() -> None:
    v = tf.Variable(1.0)
    y = tf.cond(tf.constant(True), v.read_value, lambda: tf.constant(0.0))
    with tf.control_dependencies([y]):
        change = tf.assign(v, 5.0)
    with tf.control_dependencies([change]):
        after = y + 0.0
    with tf.Session() as s:
        s.run(v.initializer)
        plain = s.run(after)
        s.run(v.initializer)
        assert rewritten(s, after, []).run([]) == plain


def test_fetches_inside_branches() -> None:
    x = tf.placeholder(tf.float32, [])
    false, true = get_op("Switch")(x, tf.constant(True))
    dead, taken = tf.exp(false), tf.square(true)
    y = get_op("Merge")([dead, taken]).output + 1.0
    with tf.Session() as s:
        assert rewritten(s, [y, taken], [x]).run([3.0]) == [10.0, 9.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="not taken"):
            rewritten(s, [y, dead], [x]).run([3.0])
        assert rewritten(s, [y, dead.op], [x]).run([3.0]) == [10.0, None]


def test_the_number_of_the_branch() -> None:
    x = tf.placeholder(tf.float32, [])
    false, true = get_op("Switch")(x, tf.constant(True))
    merged = get_op("Merge")([tf.exp(false), tf.square(true)])
    with tf.Session() as s:
        plan = rewritten(s, [merged.output, merged.value_index], [x])
        value, index = plan.run([3.0])
    assert (value, index) == (9.0, 1)
    assert index.dtype == np.int32
    assert not types(plan) & CONTROL_FLOW


def test_a_constant_conditional_in_a_loop() -> None:
    x = tf.placeholder(tf.float32, [])
    flag = tf.constant(False)
    _, total = tf.while_loop(
        lambda i, _: i < 5,
        lambda i, t: (i + 1, tf.cond(flag, lambda: t * x, lambda: t + x)),
        [0, 0.0],
    )
    with tf.Session() as s:
        plan = rewritten(s, total, [x])
        assert plan.run([2.0]) == 10.0
    ran = {op.type for op in plan.generated.line_ops.values()}
    assert "Mul" not in ran
    assert "merge_of_one_branch" in {h.rule for h in plan.journal}


def test_gradients_of_a_constant_conditional() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(tf.constant(True), lambda: tf.square(x), lambda: tf.exp(x))
    (gradient,) = tf.gradients(y, x)
    with tf.Session() as s:
        plan = rewritten(s, [y, gradient], [x])
        assert plan.run([3.0]) == [9.0, 6.0]
    assert not types(plan) & CONTROL_FLOW


def test_case_and_the_switch_of_the_loop_optimizer() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.case(
        [(tf.constant(False), lambda: tf.exp(x)), (tf.constant(True), lambda: x * 4.0)],
        default=lambda: tf.sin(x),
    )
    with tf.Session() as s:
        plan = rewritten(s, y, [x])
        assert plan.run([2.0]) == 8.0
    assert not types(plan) & CONTROL_FLOW
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.loop_optimization = 2  # OFF
    with tf.Session(config=config) as s:
        plan = rewritten(s, y, [x])
        assert plan.run([2.0]) == 8.0
    assert types(plan) & CONTROL_FLOW


def test_variables_inside_conditionals() -> None:
    v = tf.Variable([1.0, 2.0])
    y = tf.cond(tf.constant(True), lambda: tf.reduce_sum(v), lambda: tf.reduce_prod(v))
    update = tf.cond(
        tf.constant(True), lambda: tf.assign(v, [3.0, 4.0]), lambda: tf.assign(v, [0.0, 0.0])
    )
    with tf.Session() as s:
        s.run(v.initializer)
        assert rewritten(s, y, []).run([]) == 3.0
        rewritten(s, update, []).run([])
        assert rewritten(s, y, []).run([]) == 7.0


@pytest.mark.parametrize("who", ["predicate", "switch", "both", "nobody"])
def test_what_a_predicate_or_its_switch_waits_for_still_happens(who: str) -> None:
    x, v = tf.placeholder(tf.float32, []), tf.Variable(0.0)
    waits = {"predicate": who in ("predicate", "both"), "switch": who in ("switch", "both")}

    def made(name: str, make: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1.0)] if waits[name] else []):
            return make()

    taken = made("predicate", lambda: tf.constant(True))
    on = made("switch", lambda: tf.raw_ops.Switch(data=x, pred=taken)[1])
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, tf.exp(on), [x])
        for count in (1, 2):
            assert plan.run([0.0]) == 1.0
            assert s.run(v) == count * sum(waits.values())
    assert "Switch" not in types(plan)


def test_switches_of_a_branch_that_never_runs_stay_as_they_are() -> None:
    """Nobody reads what they give, so nothing is said of them."""
    x = tf.placeholder(tf.float32, [])
    yes = tf.constant(True)
    y = tf.cond(
        yes, lambda: x + 1.0, lambda: tf.cond(yes, lambda: tf.sin(x), lambda: tf.cos(x), name="in")
    )
    with tf.Session() as s:
        plan = rewritten(s, y, [x])
        assert plan.run([2.0]) == 3.0
    replaced = {h.before for h in plan.journal if h.rule == "switch_on_constant"}
    assert replaced == {"cond/Switch:1", "cond/add/Switch:1"}
