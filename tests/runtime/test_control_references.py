"""Loops and conditionals over references to variables; the values are those of TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def variable(name: str, value: Any) -> Any:
    """A variable by reference."""
    start = np.array(value, np.float32)
    return tf.get_variable(name, initializer=start, use_resource=False)


def started() -> Any:
    """A session whose variables have their first values."""
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_a_simulation_updates_rows_of_variables_that_its_loop_carries() -> None:
    rows = variable("rows", np.arange(12).reshape(6, 2))
    total = variable("total", np.ones((3, 2)))
    num_steps = tf.placeholder(tf.int32, [])
    probes = tf.TensorArray(tf.float32, size=num_steps, clear_after_read=False)

    def step(i: Any, probes: Any, variables: Any) -> Any:
        state, total = variables
        assert state.dtype._is_ref_dtype
        state = tf.scatter_update(state, [2, 3], tf.gather(state, [0, 1]) + 1.0)
        with tf.control_dependencies([state]):
            moved = tf.gather(state, [2, 3])
        state = tf.scatter_add(state, [0, 1], moved)
        probes = probes.write(i, tf.gather(state, [0, 1]))
        with tf.control_dependencies([state]):
            total = tf.assign(total, total + tf.reduce_sum(moved))
        with tf.control_dependencies([total]):
            return i + 1, probes, (state, total)

    loop = tf.while_loop(
        lambda i, *_: i < num_steps,
        step,
        (tf.constant(0), probes, (rows._ref(), total._ref())),
        parallel_iterations=1,
        back_prop=False,
    )
    fetches = [loop[1].stack(), loop[2]]
    with started() as session:
        probed, (end, _) = session.run(fetches, {num_steps: 2})
        assert probed.tolist() == [[[1, 3], [5, 7]], [[3, 7], [11, 15]]]
        assert end.tolist() == [[3, 7], [11, 15], [2, 4], [6, 8], [8, 9], [10, 11]]
        probed, (end, sums) = session.run(fetches, {num_steps: 3})
        assert probed[-1].tolist() == end[:2].tolist() == [[31, 63], [95, 127]]
        assert sums.tolist() == [[311, 311]] * 3
        session.run(fetches, {num_steps: 0})
        probed, (end, _) = session.run(fetches, {num_steps: 1})
        assert probed.tolist() == [[[63, 127], [191, 255]]]
        assert session.run(rows).tolist() == end.tolist()


def test_a_loop_may_exchange_references() -> None:
    a, b = variable("a", 1.0), variable("b", 2.0)

    def body(i: Any, x: Any, y: Any) -> Any:
        x = tf.assign_add(x, 10.0)
        with tf.control_dependencies([x]):
            return i + 1, y, x

    _, x, y = tf.while_loop(lambda i, *_: i < 3, body, [0, a._ref(), b._ref()])
    with started() as session:
        assert session.run([x, y]) == [12.0, 21.0]
        assert session.run([a, b]) == [21.0, 12.0]
        assert session.run(tf.assign(x, 0.0)) == 0.0  # after three more exchanges
        assert session.run([a, b]) == [41.0, 0.0]


def test_a_conditional_passes_on_the_variable_that_it_chooses() -> None:
    a, b = variable("a", 1.0), variable("b", 2.0)
    pred = tf.placeholder(tf.bool, [])
    chosen = tf.cond(pred, a._ref, b._ref)
    assert chosen.dtype._is_ref_dtype
    change = tf.assign_add(chosen, 5.0)
    with started() as session:
        assert session.run(change, {pred: True}) == 6.0
        assert session.run([a, b]) == [6.0, 2.0]
        assert session.run(change, {pred: False}) == 7.0
        assert session.run([a, b]) == [6.0, 7.0]
        assert session.run(chosen, {pred: False}) == 7.0


def test_a_loop_carries_what_a_conditional_updates() -> None:
    a = variable("a", np.zeros((3, 2)))

    def body(i: Any, x: Any) -> Any:
        x = tf.cond(
            tf.equal(i % 2, 0),
            lambda: tf.scatter_update(x, [0], [[1.0, 1.0]]),
            lambda: tf.scatter_add(x, [1], [[2.0, 2.0]]),
        )
        with tf.control_dependencies([x]):
            return i + 1, x

    _, x = tf.while_loop(lambda i, _: i < 5, body, [0, a._ref()], parallel_iterations=1)
    with started() as session:
        assert session.run(x).tolist() == [[1, 1], [4, 4], [0, 0]]


def test_loops_in_loops_change_one_variable() -> None:
    a = variable("a", [1.0, 2.0, 3.0])

    def inner(j: Any, x: Any) -> Any:
        x = tf.scatter_add(x, [j], [10.0])
        with tf.control_dependencies([x]):
            return j + 1, x

    def outer(i: Any, x: Any) -> Any:
        _, x = tf.while_loop(lambda j, _: j < 3, inner, [0, x], parallel_iterations=1)
        with tf.control_dependencies([x]):
            return i + 1, x

    _, x = tf.while_loop(lambda i, _: i < 2, outer, [0, a._ref()], parallel_iterations=1)
    with started() as session:
        assert session.run(x).tolist() == [21.0, 22.0, 23.0]


def test_a_condition_reads_the_reference_anew() -> None:
    a = variable("a", 0.0)
    x = tf.while_loop(lambda x: x < 3.5, lambda x: [tf.assign_add(x, 1.0)], [a._ref()])
    with started() as session:
        assert session.run(x) == 4.0
        assert session.run(a) == 4.0


def test_the_gradient_by_a_reference_that_a_loop_carries() -> None:
    a = variable("a", 2.0)
    _, _, product = tf.while_loop(
        lambda i, *_: i < 3, lambda i, x, p: (i + 1, x, p * x), [0, a._ref(), 1.0]
    )
    (gradient,) = tf.gradients(product, a)
    with started() as session:
        assert session.run([product, gradient]) == [8.0, 12.0]


def test_a_reference_that_becomes_a_value_is_refused() -> None:
    a = variable("a", 1.0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="incompatible with expected float32_ref"
    ):
        tf.while_loop(lambda x: x < 5.0, lambda x: [x + 1.0], [a._ref()])


def test_a_fed_reference_cannot_be_assigned_to() -> None:
    a = variable("a", 1.0)
    reference = a._ref()
    x = tf.while_loop(lambda x: x < 5.0, lambda x: [tf.assign_add(x, 1.0)], [reference])
    with started() as session, pytest.raises(tf.errors.InvalidArgumentError, match="is fed"):
        session.run(x, {reference: 0.0})


def test_a_trace_of_a_loop_over_references() -> None:
    a = variable("a", 1.0)
    x = tf.while_loop(lambda x: x < 5.0, lambda x: [tf.assign_add(x, 1.0)], [a._ref()])
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with started() as session:
        assert session.run(x, options=options, run_metadata=tf.RunMetadata()) == 5.0
