"""Checks of lesson 17: a cluster of processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type


@exercise(
    "Two blocks: the variable inside one tf.device, the sum inside another.",
    "Where a node lives is said by the block in which it is made. The variable and the sum "
    "are made in two.",
    'with tf.device("/job:worker/task:1"): the variable; with tf.device("/job:worker/task:0"): '
    "return tf.reduce_sum of it.",
)
def ex1(cluster: Any, build: Callable[[], Any]) -> str:
    """A variable of ones on worker 1, its sum on worker 0."""
    with tf.Graph().as_default() as graph:
        total = build()
        expect_type(
            isinstance(total, tf.Tensor), f"build returned {type(total).__name__}, needed the sum"
        )
        variables = tf.global_variables()
        expect(variables, "build made no variable")
        homes = {v.op.device for v in variables}
        expect(
            all("/job:worker/task:1" in home for home in homes),
            f"the variable lives on {', '.join(sorted(homes)) or 'no task in particular'}, needed "
            "/job:worker/task:1",
        )
        where = total.op.device
        expect(
            "/job:worker/task:0" in where,
            f"the sum is computed on {where or 'no task in particular'}, needed /job:worker/task:0",
        )
        with tf.Session(cluster.target, graph=graph) as session:
            session.run(tf.global_variables_initializer())
            value = session.run(total)
    expect(value == 3.0, f"the sum is {value}, needed that of three ones")
    return (
        f"Right: {value}. The result is the same as with everything on one task; what changes is "
        "what travels: the variable's value goes from worker 1 to worker 0 in every run."
    )


@exercise(
    "cluster.submit(task, work, ...) sends the function; its result waits in the call.",
    "work has five arguments: the server comes by itself, then all flowers, their labels, "
    "how many steps, and whether it is the chief.",
    'call = cluster.submit("/job:worker/task:0", work, X_train, y_train, 300, True), then '
    "call.result(timeout_seconds=60).",
)
def ex2(loss_and_count: Any) -> str:
    """Loss and number of updates of one worker alone."""
    expect_type(
        isinstance(loss_and_count, (list, tuple)) and len(loss_and_count) == 2,
        f"needed what work returns, the loss and the count; got {type(loss_and_count).__name__}",
    )
    loss, count = (float(x) for x in loss_and_count)
    expect(math.isfinite(loss), f"the loss is {loss}")
    expect(
        count == 300,
        f"the variables have seen {count:.0f} updates, needed 300: as the chief, worker 0 begins "
        "afresh",
    )
    expect(loss < 0.5, f"the loss is {loss:.3f}; with all 120 flowers it falls below 0.5")
    return f"Right: loss {loss:.3f} after {count:.0f} updates by one worker, none of them stale."


@exercise(
    "Catch it: try: sess.run(...), except tf.errors.InvalidArgumentError as e: error = e.",
    "Building raises nothing: a graph may name any task. It is the run that fails, and the "
    "exception is what you keep.",
    'with tf.device("/job:worker/task:7"): lost = tf.constant(1.0); then run lost in '
    "tf.Session(cluster.target) inside a try.",
)
def ex3(error: Any) -> str:
    """The error of a task that does not exist."""
    expect_type(
        isinstance(error, Exception), f"error is {type(error).__name__}, needed the exception"
    )
    expect(
        isinstance(error, tf.errors.InvalidArgumentError),
        f"that is a {type(error).__name__}, needed the InvalidArgumentError of the cluster",
    )
    expect("task:7" in str(error), f"this error is about something else: {error}")
    return "Right: the master looks for the task before anything runs, and says which there are."
