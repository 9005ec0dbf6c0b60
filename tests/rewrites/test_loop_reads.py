"""Reads of resource variables in loops: made once, and never where that would be another value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.rewrites.rewritten import rewritten

ONES = np.ones([2, 2], np.float32)


@pytest.fixture
def v() -> Any:
    return tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)


def equations(plan: Any) -> list[str]:
    return [hit.equation for hit in plan.journal if hit.rule == "loop_read"]


def powers(v: Any, x: Any) -> Any:
    return tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.matmul(x, v)), [tf.constant(0), x]
    )[1]


def test_weights_are_read_before_the_loop_and_its_gradient(v: Any) -> None:
    """Values of TensorFlow 1.15.5."""
    x = tf.placeholder(tf.float32, [2, 2])
    y = powers(v, x)
    step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(y))
    with tf.Session() as session:
        session.run(v.initializer)
        plan = rewritten(session, [y, step], [x])
        assert equations(plan) == [
            "read(v) in each round -> v is read once, before the loop",
            "pop what is the same in each round -> the value itself",
        ]
        assert plan.run([ONES])[0].tolist() == [[118.0, 172.0], [118.0, 172.0]]
        expected = [[1.0 - 1.02, 2.0 - 1.74], [3.0 - 1.34, 4.0 - 2.22]]
        np.testing.assert_allclose(session.run(v), expected, rtol=1e-5)


def test_a_variable_that_the_loop_changes_is_read_in_each_round(v: Any) -> None:
    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([v.assign_add(ONES, read_value=False)]):
            return i + 1, total + v.read_value()

    total = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.zeros([2, 2])])[1]
    with tf.Session() as session:
        session.run(v.initializer)
        plan = rewritten(session, total, [])
        assert equations(plan) == []
        assert plan.run([]).tolist() == [[9.0, 12.0], [15.0, 18.0]]


def test_a_change_that_need_not_come_after_the_loop_leaves_the_reads_there(v: Any) -> None:
    y = powers(v, tf.ones([1, 2]))
    with tf.Session() as session:
        session.run(v.initializer)
        assert equations(rewritten(session, [y, v.assign_add(ONES).op], [])) == []
        assert len(equations(rewritten(session, y, []))) == 1


def test_equal_reads_are_one_unless_a_change_lies_between(v: Any) -> None:
    first = v.value() * 2.0
    same = v.value() * 2.0
    with tf.control_dependencies([first]):
        change = v.assign_add(ONES, read_value=False)
    with tf.control_dependencies([change]):
        after = v.value() * 2.0
    with tf.Session() as session:
        session.run(v.initializer)
        plan = rewritten(session, [first, same, after], [])
        merged = [h.removed for h in plan.journal if h.rule == "common_subexpression"]
        assert ("ReadVariableOp_1",) in merged and ("ReadVariableOp_2",) not in merged
        values = [value[0, 0] for value in plan.run([])]
        assert values == [2.0, 2.0, 4.0]


def test_a_read_that_stays_does_not_keep_another_in_the_loop(v: Any) -> None:
    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([tf.square(total)]):
            late = v.read_value()
        return i + 1, total + late + other.value()

    other = tf.get_variable("other", initializer=ONES, use_resource=True)
    total = tf.while_loop(lambda i, _: i < 2, body, [tf.constant(0), tf.zeros([2, 2])])[1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plan = rewritten(session, total, [])
        assert len(equations(plan)) == 1
        assert plan.run([]).tolist() == [[4.0, 6.0], [8.0, 10.0]]
