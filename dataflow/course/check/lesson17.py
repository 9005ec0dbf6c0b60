"""Checks of lesson 17: a cluster of processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_type
from dataflow.course.variants import drawn


@exercise(
    "Two blocks: the variable inside one tf.device, the sum inside another.",
    "Where a node lives is said by the block in which it is made. The variable and the sum "
    "are made in two.",
    lambda v: (
        f'with tf.device("/job:worker/task:{v.home}"): the variable; with '
        f'tf.device("/job:worker/task:{v.other}"): return tf.reduce_sum of it.'
    ),
)
def ex1(cluster: Any, build: Callable[[], Any]) -> str:
    """A variable of ones on one worker, its sum on the other."""
    v = drawn("lesson17.ex1")
    home, other = f"/job:worker/task:{v.home}", f"/job:worker/task:{v.other}"
    # An earlier answer's variable may have the same name and another shape.
    container = "lesson17.ex1"
    tf.Session.reset(cluster.target, [container])
    with tf.Graph().as_default() as graph, graph.container(container):
        total = build()
        expect_type(
            isinstance(total, tf.Tensor), f"build returned {type(total).__name__}, needed the sum"
        )
        variables = tf.global_variables()
        expect(variables, "build made no variable")
        homes = {x.op.device for x in variables}
        expect(
            all(home in where for where in homes),
            f"the variable lives on {', '.join(sorted(homes)) or 'no task in particular'}, needed "
            f"{home}",
        )
        where = total.op.device
        expect(
            other in where,
            f"the sum is computed on {where or 'no task in particular'}, needed {other}",
        )
        with tf.Session(cluster.target, graph=graph) as session:
            session.run(tf.global_variables_initializer())
            value = session.run(total)
    value = np.asarray(value)
    expect(value.size == 1, f"it returned {value.size} numbers, needed one: their sum")
    value = value.item()
    expect(value == float(v.num), f"the sum is {value}, needed that of {v.num} ones")
    return (
        f"Right: {value}. The result is the same as with everything on one task; what changes is "
        f"what travels: the variable's value goes from worker {v.home} to worker {v.other} in every run."
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
        not hasattr(loss_and_count, "result"),
        "that is the call, which begins the work; what work returns is its .result()",
    )
    expect_type(
        isinstance(loss_and_count, (list, tuple, np.ndarray)) and len(loss_and_count) == 2,
        f"needed what work returns, the loss and the count; got {type(loss_and_count).__name__}",
    )
    loss = expect_number("the loss", loss_and_count[0])
    count = expect_number("the count", loss_and_count[1])
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
    lambda v: (
        f'with tf.device("/job:worker/task:{v.task}"): lost = tf.constant(1.0); then run lost in '
        "tf.Session(cluster.target) inside a try."
    ),
)
def ex3(error: Any) -> str:
    """The error of a task that does not exist."""
    expect_type(
        isinstance(error, Exception),
        f"error is {type(error).__name__}, needed the exception that sess.run raises: let `except ... as e` catch it",
    )
    expect(
        isinstance(error, tf.errors.InvalidArgumentError),
        f"that is a {type(error).__name__}, needed the InvalidArgumentError of the cluster",
    )
    expect(
        f"task:{drawn('lesson17.ex3').task}" in str(error),
        f"this error is about something else: {error}",
    )
    expect(error.__traceback__, "nothing has raised this error: keep the one that sess.run raises")
    expect(
        "job:localhost" not in str(error),
        "this is the error of a session of its own; needed that of tf.Session(cluster.target)",
    )
    return "Right: the master looks for the task before anything runs, and says which there are."


#: What can square, or multiply each number with itself and add up at once.
_SQUARING = {
    *("Mul", "Square", "Pow", "L2Loss", "SquaredDifference"),
    *("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum"),
}


@exercise(
    "What must each worker be able to do without the other?",
    "If each adds up its own squares, what is left to be sent?",
    "On each worker: tf.range(500 * i, 500 * i + 500), squared and summed; on the parameter server, tf.add_n.",
)
def ex4(cluster: Any, squares: Callable[[], Any]) -> str:
    """Any division of the work with small messages."""
    with tf.Graph().as_default() as graph:
        total = squares()
        expect_type(isinstance(total, tf.Tensor), f"it returned {type(total).__name__}, no tensor")
        task = {op: str(op.device).lower().partition("/device")[0] for op in graph.get_operations()}
        for name in ("/job:worker/task:0", "/job:worker/task:1"):
            kinds = {op.type for op, device in task.items() if device.endswith(name)}
            expect(
                kinds & _SQUARING,
                f"{name} squares nothing; it has {', '.join(sorted(kinds)) or 'no node'}",
            )
        expect(
            task[total.op].endswith("/job:ps/task:0"),
            f"the result is computed on {task[total.op] or 'no task in particular'}, needed /job:ps/task:0",
        )
        for op in graph.get_operations():
            for tensor in op.inputs:
                size = tensor.shape.num_elements() if tensor.shape.is_fully_defined() else None
                expect(
                    task[tensor.op] == task[op] or (size is not None and size <= 8),
                    f"{tensor.name} goes from {task[tensor.op] or 'nowhere in particular'} to {task[op]} with "
                    f"{size if size is not None else 'an unknown number of'} numbers, at most 8 are allowed",
                )
        with tf.Session(cluster.target) as session:
            value = np.asarray(session.run(total))
        expect(value.size == 1, f"it returned {value.size} numbers, needed one: their sum")
        got = float(value.item())
    needed = sum(n * n for n in range(1000))
    expect(abs(got - needed) < 200, f"the sum is {got:,.0f}, needed {needed:,}")
    return f"Right: {needed:,}, by two workers and two small messages."
