"""Nodes of loops and branches are fused where they stand, and results stay what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions, with_whole_loops
from tests.rewrites.rewritten import rewritten
from tests.rewrites.test_multi_output_fusion import both, same, types

VALUE = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


def _place_of(tensor: Any) -> Any:
    ops = tensor.graph.get_operations()
    return positions(ops, []).get(tensor.op, OUTSIDE)


def test_outside_there_are_no_places() -> None:
    x = tf.constant(1.0) * 2.0
    assert positions(x.graph.get_operations(), []) == {}


def test_places_of_loops_and_branches() -> None:
    seen: dict[str, Any] = {}
    before = tf.placeholder(tf.float32, [], name="before")

    def body(i: Any, v: Any) -> Any:
        seen["body"] = v * 2.0
        taken = tf.cond(v > 1.0, lambda: keep("then", v + 1.0), lambda: keep("else", v - 1.0))
        seen["merge"], seen["merged"] = taken, taken * 1.5
        return i + 1, seen["merged"]

    def keep(name: str, value: Any) -> Any:
        seen[name] = value
        return value

    _, after = tf.while_loop(lambda i, v: i < 3, body, [0, before])
    after = after + 1.0
    assert _place_of(before) == _place_of(after) == OUTSIDE
    inside = _place_of(seen["body"])
    assert len(inside.loops) == 1
    assert not inside.branches
    assert _place_of(seen["merge"]) == _place_of(seen["merged"]) == inside
    then, other = _place_of(seen["then"]), _place_of(seen["else"])
    assert then.loops == other.loops == inside.loops
    ((predicate, branch),), ((same_predicate, other_branch),) = then.branches, other.branches
    assert predicate is same_predicate
    assert (branch, other_branch) == (True, False)
    assert not then.is_dead
    assert then._replace(branches=then.branches | other.branches).is_dead


def test_an_exit_waits_for_all_that_enters_its_loop() -> None:
    x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="y")
    first = tf.while_loop(lambda v: v < 3.0, lambda v: v + y, [x])
    tf.while_loop(lambda v: v < 5.0, lambda v: v * 2.0, [first])
    ops = x.graph.get_operations()
    where = positions(ops, [])
    order, waits = with_whole_loops(ops, [], where)
    assert set(order) == set(ops)
    exits = [op for op in ops if op.type == "Exit"]
    assert sorted(waits, key=exits.index) == exits
    for op in exits:
        enters = [o for o in ops if o.type == "Enter" and where[o].loops == where[op].loops]
        assert enters and waits[op] == enters
        assert all(order.index(enter) < order.index(op) for enter in enters)


def test_what_has_one_operand_in_a_branch_is_in_that_branch() -> None:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    _, taken = tf.raw_ops.Switch(data=x, pred=p)
    both_operands, one = taken * taken, x + taken
    assert _place_of(both_operands) == _place_of(one) == _place_of(one * x)
    assert _place_of(one).branches == {(p, True)}
    assert _place_of(tf.raw_ops.Merge(inputs=[one, one])[0]).branches == {(p, True)}


def test_the_body_of_a_loop_is_fused() -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    _, y = tf.while_loop(
        lambda i, v: i < 5,
        lambda i, v: (i + 1, tf.tanh(v) * 0.5 + tf.sigmoid(v) * v - tf.square(v)),
        [0, x],
    )
    plan, got, wanted = both([y], {x: VALUE})
    same(got, wanted)
    assert "_FusedRegion" in types(plan)


def test_what_a_loop_tests_is_not_joined_with_its_body() -> None:
    x = tf.placeholder(tf.float32, [4, 6])

    def test(v: Any) -> Any:
        return tf.reduce_max(v * v + v) < 50.0

    y = tf.while_loop(test, lambda v: (v * v + v) * 1.5 + tf.abs(v) + 0.5, [x])
    _, got, wanted = both([y], {x: VALUE})
    same(got, wanted)


def test_gradients_of_a_recurrent_network() -> None:
    x = tf.placeholder(tf.float32, [4, 5, 6])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(8) for _ in range(2)])
    with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=1)):
        outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, sequence_length=[5, 3, 1, 4])
    loss = tf.reduce_sum(tf.square(outputs))
    fetches = [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]
    value = np.random.default_rng(0).standard_normal((4, 5, 6)).astype(np.float32)
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=off) as session:
        session.run(tf.global_variables_initializer())
        wanted = session.run(fetches, {x: value})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plan = rewritten(session, fetches, [x])
        same(plan.run([value]), wanted)
    counts = types(plan)
    assert counts.count("_FusedRegion") >= 4
    assert counts.count("SigmoidGrad") == 0


@pytest.mark.parametrize("taken", [True, False])
def test_branches_stay_apart(taken: bool) -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.exp(x) * 2.0 + x, lambda: x * x - 2.0 * x)
    z = tf.cond(p, lambda: y * 3.0 - x, lambda: tf.zeros([4, 6]) + y * 2.0)
    (gradient,) = tf.gradients(z * y, x)
    _, got, wanted = both([y, z * z + y, gradient], {x: VALUE, p: taken})
    same(got, wanted)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_branch_in_a_loop_in_a_branch(n: int) -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    p = tf.placeholder(tf.bool, [])

    def loop() -> Any:
        def body(i: Any, v: Any) -> Any:
            odd = tf.equal(i % 2, 1)
            return i + 1, tf.cond(odd, lambda: v * 0.5 + x, lambda: tf.tanh(v) - x * 2.0) + v

        return tf.while_loop(lambda i, v: i < n, body, [0, x])[1]

    y = tf.cond(p, loop, lambda: x * 2.0 + 1.0)
    (gradient,) = tf.gradients(tf.square(y) + y, x)
    for taken in (True, False):
        _, got, wanted = both([y, gradient], {x: VALUE, p: taken})
        same(got, wanted)


def test_a_loop_that_changes_a_variable() -> None:
    v = tf.Variable(np.zeros((4, 6), np.float32))
    x = tf.placeholder(tf.float32, [4, 6])

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, x * 2.0 + 1.0)]):
            return i + 1, tf.identity(total) + v.read_value() * 0.5 + x

    _, y = tf.while_loop(lambda i, t: i < 3, body, [0, x], parallel_iterations=1)
    expected = None
    for _ in range(5):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                got = session.run(y, {x: VALUE})
        expected = got if expected is None else expected
        np.testing.assert_allclose(got, expected)
    held = np.zeros_like(VALUE)
    for _ in range(2):  # runs
        total = VALUE.copy()
        for _ in range(3):
            held = held + VALUE * 2 + 1
            total = total + held * 0.5 + VALUE
    np.testing.assert_allclose(expected, total, rtol=1e-5)


def test_what_is_fed_comes_from_outside() -> None:
    inner: list[Any] = []

    def then() -> Any:
        inner.append(tf.constant(2.0) + 1.0)
        return inner[0] * 2.0

    tf.cond(tf.placeholder(tf.bool, []), then, lambda: tf.constant(0.0))
    ops = tf.get_default_graph().get_operations()
    after = next(op for op in ops if op.type == "Mul" and inner[0] in op.inputs)
    assert positions(ops, [])[after].branches
    fed = list(after.inputs)
    where = positions(ops, fed)[after]
    assert not where.loops
    assert where.branches == frozenset().union(
        *(positions(ops, fed)[c].branches for c in after.control_inputs)
    )
