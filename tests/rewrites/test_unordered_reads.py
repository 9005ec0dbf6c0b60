"""A value read beside a change of its variable is the same in every run, before rewrites and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING
from tests.rewrites.rewritten import rewritten, types

START = np.linspace(0.1, 1, 90 * 400, dtype=np.float32).reshape(90, 400)


def always(fetches: Any, feeds: Any = None) -> list[Any]:
    """The first of the fetched values, which is the same in runs before the plan is rewritten and after."""
    with tf.Session() as session:
        found = []
        for _ in range(RUNS_BEFORE_REWRITING + 3):
            session.run(tf.global_variables_initializer())
            found.append(session.run(fetches, feeds)[0])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    return found[0]  # type: ignore[no-any-return]


READS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda v: tf.exp(tf.tanh(v * 2.0)),
    "rows": lambda v: tf.reduce_sum(tf.square(v), -1),
    "softmax": lambda v: tf.exp(v) / tf.reduce_sum(tf.exp(v), -1, keepdims=True),
    "share": lambda v: tf.exp(v / tf.reduce_sum(v, -1, keepdims=True)),
    "bias": lambda v: tf.nn.relu(tf.nn.bias_add(v, np.ones(400, np.float32))),
    "value": lambda v: v.value() + 0.0,
    "passed on": lambda v: tf.exp(tf.tanh(tf.identity(tf.identity(v)) * 2.0)),
    "product": lambda v: tf.matmul(v, v, transpose_b=True) + 1.0,
}


@pytest.mark.parametrize("name", READS)
def test_a_read_before_a_change(name: str) -> None:
    """Values are those of `START`: the change comes after, as it was built."""
    v, w = tf.Variable(START), tf.Variable(START)
    read, same = READS[name](v), READS[name](w)
    change = tf.assign_add(v, tf.ones([90, 400]))
    first = always([read, change.op])
    np.testing.assert_array_equal(first, always([same, same]))


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("by_handle", [False, True])
def test_a_shallow_read_beside_a_training_step_comes_first(name: str, by_handle: bool) -> None:
    """As in TensorFlow, where it has run when the gradient is there."""
    v, w = (tf.Variable(START, use_resource=by_handle) for _ in range(2))
    loss = tf.reduce_sum(v) + tf.reduce_sum(w)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    before = always([READS[name](v), train])
    np.testing.assert_array_equal(before, always([READS[name](w), loss]))


@pytest.mark.parametrize("by_handle", [False, True])
def test_a_read_that_is_as_deep_as_the_change_before_it_comes_after_it(by_handle: bool) -> None:
    v = tf.Variable(START, use_resource=by_handle)
    change = tf.assign_add(v, tf.ones([90, 400]))
    x = tf.constant(1.0)
    for _ in range(8):
        x = tf.tanh(x)
    with tf.control_dependencies([x] if by_handle else []):
        after = always([tf.multiply(v, x), change.op])
    with tf.Session() as session:
        factor = session.run(x)
    np.testing.assert_allclose(after, (START + 1.0) * factor, rtol=1e-6)


@pytest.mark.parametrize("by_handle", [False, True])
def test_two_uses_of_a_vector_that_both_replace_it(by_handle: bool) -> None:
    """Spectral normalization of two copies of a layer: both start from the same vector."""
    matrix = np.random.RandomState(1).randn(7, 7).astype(np.float32)
    v = tf.Variable(np.ones([7, 1], np.float32), use_resource=by_handle)

    def power() -> Any:
        found = tf.matmul(matrix, v, transpose_a=True)
        for _ in range(3):
            found = tf.matmul(found, [[1.0]])
        with tf.control_dependencies([v.assign(found)]):
            return tf.identity(found)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = [power(), power()]
        for n in range(1, RUNS_BEFORE_REWRITING + 4):
            first, second = session.run(values)
            np.testing.assert_array_equal(first, second)
            power_of_n = np.linalg.matrix_power(matrix.T, n) @ np.ones([7, 1])
            np.testing.assert_allclose(first, power_of_n, rtol=1e-4)


def test_reads_that_would_go_round_in_a_circle_stay_as_they_were_built() -> None:
    """Each of two changes would have to come after a read that waits for the other."""
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    deep = tf.tanh(tf.tanh(tf.tanh(tf.tanh(tf.constant(0.5)))))
    change_w = tf.assign(w, deep * 0.0 + 5.0)
    with tf.control_dependencies([change_w]):
        read_v = tf.tanh(v) * 1.0  # deeper than the next change
    change_v = tf.assign(v, 7.0)
    with tf.control_dependencies([change_v]):
        read_w = w * 2.0  # less deep than the change of w
    found = always([tf.stack([read_v, read_w])])
    np.testing.assert_allclose(found, [np.tanh(1.0), 10.0], rtol=1e-6)


def test_a_value_is_taken_where_it_is_passed_on() -> None:
    v, w = tf.Variable(START), tf.Variable(START)
    taken = tf.identity(tf.identity(v))
    change = tf.assign_add(v, tf.ones([90, 400]))
    used = always([tf.exp(tf.tanh(taken * 2.0)), change.op])
    np.testing.assert_array_equal(used, always([READS["chain"](w), w]))


def test_what_edges_order_already_gets_no_more() -> None:
    x = tf.placeholder(tf.float32, [8, 400])
    v = tf.Variable(START.T[:, :90])
    loss = tf.reduce_sum(tf.square(tf.nn.relu(tf.matmul(x, v))))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    with tf.Session() as session:
        plan = rewritten(session, [loss, train], [x])
    waits = [op for op in plan.compiled_ops if op.control_inputs]
    assert {op.type for op in waits} <= {"NoOp", "ApplyMomentum"}
    assert sum(len(op.control_inputs) for op in waits) <= 2


@pytest.mark.parametrize("slot", ["m", "v"])
def test_a_read_of_an_optimizer_s_slot_beside_the_step_that_changes_it(slot: str) -> None:
    """A summary of Adam's moments next to the training step: those from before it, as in TensorFlow."""
    v = tf.Variable(START)
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(tf.square(v)))
    read = tf.exp(tf.tanh(optimizer.get_slot(v, slot) * 2.0))
    assert (always([read, train]) == 1.0).all()


def test_two_changes_keep_their_order() -> None:
    v = tf.Variable(2.0)
    first, second = tf.assign_add(v, 1.0), tf.assign(v, v * 10.0)
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE_REWRITING + 3):
            session.run(v.initializer)
            session.run([second.op, first.op])
            assert session.run(v) == 30.0


def test_within_a_branch() -> None:
    v, taken = tf.Variable(START), tf.placeholder(tf.bool, [])
    result = tf.cond(
        taken,
        lambda: tf.tuple([tf.exp(tf.tanh(v * 2.0)), tf.assign_add(v, tf.ones([90, 400]))])[0],
        lambda: tf.zeros([90, 400]),
    )
    always([result, tf.no_op()], {taken: True})
    assert not always([result, tf.no_op()], {taken: False}).any()


def test_a_variable_that_a_loop_changes_is_left_as_it_is() -> None:
    v = tf.Variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, tf.exp(v * 0.0))]):
            return i + 1

    rounds = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE_REWRITING + 3):
            session.run(v.initializer)
            assert session.run(rounds) == 3 and session.run(v) == 4.0


def test_rows_of_a_variable_that_is_only_read_are_fused() -> None:
    v = tf.Variable(START)
    with tf.Session() as session:
        assert "_FusedRows" in types(rewritten(session, READS["share"](v), []))


def test_reads_of_a_resource_variable_before_and_after_a_change_are_two() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    before = v.read_value()
    change = v.assign(before + 1.0, read_value=False)
    after = v.read_value()
    assert always([tf.stack([before, after]), change]).tolist() == [1.0, 2.0]
