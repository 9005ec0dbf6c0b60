"""Values that a run reads before it gives their variable another shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dataflow as tf


def grown(array: tf.Variable) -> Callable[[], Any]:
    """Doubles the array: its old elements, and zeros; as metrics do that keep all they saw."""

    def grow() -> Any:
        old = array.value()
        with tf.control_dependencies([old]):
            longer = tf.assign(array, tf.zeros(2 * tf.shape(old)), validate_shape=False)
        with tf.control_dependencies([longer]):
            copied = array[:2].assign(old[:2])
        with tf.control_dependencies([copied]):
            return tf.no_op()

    return grow


@pytest.mark.parametrize("in_cond", [False, True])
def test_a_read_before_another_shape_keeps_the_old_elements(in_cond: bool) -> None:
    with tf.Graph().as_default():
        array = tf.Variable([3.0, 4.0], validate_shape=False)
        grow = grown(array)
        step = tf.cond(tf.placeholder_with_default(True, []), grow, tf.no_op) if in_cond else grow()
        again = tf.assign(array, [5.0, 6.0], validate_shape=False)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            assert session.run(array).tolist() == [3, 4, 0, 0]
            for _ in range(4):  # by the plan that was rewritten, too
                session.run(again)
                session.run(step)
                assert session.run(array).tolist() == [5, 6, 0, 0]


def test_a_read_that_nothing_orders_sees_the_assignment_as_before() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([1.0], validate_shape=False)
        with tf.control_dependencies([tf.assign(v, [2.0], validate_shape=False)]):
            result = v + 1.0
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(result).tolist() == [3.0]


def test_a_read_outside_of_a_branch_comes_before_another_shape_in_it() -> None:
    with tf.Graph().as_default():
        array = tf.Variable([3.0, 4.0], validate_shape=False)
        other = tf.Variable([5.0])
        old, apart = array.value(), other.value()
        taken = tf.placeholder_with_default(True, [])

        def grow() -> Any:
            with tf.control_dependencies([tf.assign(array, tf.zeros(3), validate_shape=False)]):
                return tf.constant(3.0)

        step = tf.cond(taken, grow, lambda: 0.0)
        with tf.Session() as session:
            for _ in range(4):  # by the plan that was rewritten, too
                session.run(tf.global_variables_initializer())
                values = session.run([old, apart, step])
                assert [*map(list, values[:2]), values[2]] == [[3.0, 4.0], [5.0], 3.0]
                assert session.run(array).tolist() == [0, 0, 0]
                assert session.run(step, {taken: False}) == 0.0
