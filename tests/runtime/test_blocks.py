"""Loops and branches in which an op waits for another op of the same step."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.introspect import explain

RUNS = 5  # the plan is rewritten in between
WAIT_SECONDS = 30

pytestmark = [pytest.mark.threads, pytest.mark.usefixtures("graph")]


def in_time(function: Any) -> Any:
    """What ``function`` returns or raises; fails where it hangs."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append((function(), None))
        except BaseException as e:
            outcome.append((None, e))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    assert outcome, "the step hangs"
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


def queue_of(capacity: int) -> Any:
    return tf.FIFOQueue(capacity, tf.int32, shapes=[[]])


def total(queue: Any, number: int) -> Any:
    """The sum of so many elements, in a loop."""
    return tf.while_loop(
        lambda i, t: i < number,
        lambda i, t: (i + 1, t + queue.dequeue()),
        [tf.constant(0), tf.constant(0)],
    )[1]


def after(op: Any, value: Any) -> Any:
    with tf.control_dependencies([op]):
        return tf.identity(value)


@pytest.mark.parametrize("first", ["loop", "enqueue"])
def test_a_loop_that_dequeues_what_the_step_enqueues(first: str) -> None:
    queue = queue_of(2)
    fetches: dict[str, Any] = {
        "loop": total(queue, 3) * 10,
        "enqueue": queue.enqueue_many([[1, 2, 3]]),
    }
    order = ["loop", "enqueue"] if first == "loop" else ["enqueue", "loop"]
    with tf.Session() as session:
        for _ in range(RUNS):
            values = in_time(lambda: session.run([fetches[name] for name in order]))
            assert values[order.index("loop")] == 60


def test_two_loops_that_wait_for_each_other() -> None:
    queue = queue_of(1)
    producer = tf.while_loop(
        lambda i: i < 40,
        lambda i: after(queue.enqueue(i), i + 1),
        [tf.constant(0)],
    )
    consumer = total(queue, 40)
    with tf.Session() as session:
        for _ in range(RUNS):
            assert in_time(lambda: session.run([producer, consumer])) == [40, 780]
            assert in_time(lambda: session.run([consumer, producer])) == [780, 40]


def test_a_loop_in_a_branch_beside_a_loop_that_waits_for_nothing() -> None:
    queue, which = queue_of(9), tf.placeholder(bool, name="block0")
    chosen = tf.cond(which, lambda: total(queue, 2), lambda: tf.constant(-1))
    plain = tf.while_loop(lambda i: i < 7, lambda i: i + 2, [tf.constant(0)])
    late = tf.cond(which, lambda: chosen + plain, lambda: chosen - plain)
    fetches, left = [late, chosen, queue.enqueue_many([[3, 4]])], queue.size()
    with tf.Session() as session:
        for _ in range(RUNS):
            assert in_time(lambda: session.run(fetches, {which: True}))[:2] == [15, 7]
            assert in_time(lambda: session.run([late, left], {which: False})) == [-9, 0]


def test_a_branch_that_dequeues_and_the_other_one() -> None:
    queue, which = queue_of(9), tf.placeholder(bool)
    chosen = tf.cond(which, lambda: [queue.dequeue()] * 2, lambda: [tf.constant(-1)] * 2)
    fetches = [chosen[0] + chosen[1], queue.enqueue(4)]
    with tf.Session() as session:
        for _ in range(RUNS):
            assert in_time(lambda: session.run(fetches, {which: True}))[0] == 8
        assert in_time(lambda: session.run(fetches, {which: False}))[0] == -2


def test_the_loop_ends_when_another_op_fails_and_the_error_is_its() -> None:
    queue = queue_of(3)
    x = tf.placeholder(tf.float32, [None])
    fails = tf.Print(tf.check_numerics(x, "not a number"), [x])
    fetches = [total(queue, 3), fails]
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
            in_time(lambda: session.run(fetches, {x: [np.nan]}))


def test_an_error_in_a_loop_after_it_has_waited_names_the_node() -> None:
    queue = queue_of(3)
    result = tf.while_loop(
        lambda i: i < 3, lambda i: tf.floordiv(6, queue.dequeue(), name="divide"), [tf.constant(0)]
    )
    fetches = [result, queue.enqueue(0)]
    with tf.Session() as session:
        for _ in range(RUNS):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                in_time(lambda: session.run(fetches))
            assert caught.value.op.name.endswith("divide")


def test_a_loop_that_waits_ends_with_its_session_and_its_time() -> None:
    queue = queue_of(3)
    fetches = [total(queue, 3), tf.Variable(1).initializer]
    session = tf.Session()
    with pytest.raises(tf.errors.DeadlineExceededError):
        in_time(lambda: session.run(fetches, options=tf.RunOptions(timeout_in_ms=50)))
    threading.Timer(0.2, session.close).start()
    with pytest.raises(tf.errors.CancelledError):
        in_time(lambda: session.run(fetches))


def test_control_edges_into_and_out_of_a_loop_that_waits() -> None:
    queue, variable = queue_of(9), tf.Variable(0)
    with tf.control_dependencies([variable.assign(5)]):
        result = total(queue, 2)
    with tf.control_dependencies([result]):
        last = variable.assign_add(100)
    fetches = [last, result, queue.enqueue_many([[1, 2]])]
    with tf.Session() as session:
        session.run(variable.initializer)
        for _ in range(RUNS):
            assert in_time(lambda: session.run(fetches))[:2] == [105, 3]


def test_a_plan_with_such_a_loop_can_be_explained() -> None:
    queue = queue_of(9)
    with tf.Session() as session:
        explanation: Any = explain.explain(session, [total(queue, 2), queue.enqueue(1)])
    assert "block" in explanation.source
