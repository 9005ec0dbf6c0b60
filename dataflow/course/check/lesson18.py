"""Checks of lesson 18: data parallelism, its staleness and its stragglers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_type, expect_whole
from dataflow.course.variants import drawn


def _spec(num_ps: int) -> Any:
    return tf.train.ClusterSpec(
        {"ps": [f"a:{2200 + i}" for i in range(num_ps)], "worker": ["b:2222", "b:2223"]}
    )


@exercise(
    "tf.train.replica_device_setter(cluster=spec, worker_device=...) inside tf.device.",
    "The setter is the argument of tf.device. What is made in its block is placed by it: "
    "variables in turn, all else on the worker.",
    "Make the variables in that block, and return tf.add_n of them, made there as well.",
)
def ex1(build: Callable[[Any], Any]) -> str:
    """Some variables on however many parameter servers, their sum on worker 1."""
    num = drawn("lesson18.ex1").num
    told = ""
    for num_ps in (2, 4):
        with tf.Graph().as_default() as graph:
            total = build(_spec(num_ps))
            expect_type(
                isinstance(total, tf.Tensor),
                f"build returned {type(total).__name__}, needed the sum, a tensor",
            )
            variables = tf.global_variables()
            expect(len(variables) == num, f"build made {len(variables)} variables, needed {num}")
            homes = [v.op.device or "no task in particular" for v in variables]
            servers = {f"/job:ps/task:{i}" for i in range(num_ps)}
            used = {server for server in servers if any(home.startswith(server) for home in homes)}
            expect(
                used == servers,
                f"with {num_ps} parameter servers the variables live on "
                f"{', '.join(sorted(set(homes)))}; each of the servers is needed",
            )
            where = total.op.device or "no task in particular"
            expect(
                where.startswith("/job:worker/task:1"),
                f"the sum is computed on {where}, needed /job:worker/task:1",
            )
            numbers = 10.0 ** np.arange(num)
            with tf.Session(graph=graph, config=_ANYWHERE) as session:
                for variable, number in zip(variables, numbers, strict=True):
                    variable.load(np.full(variable.shape.as_list(), number), session)
                value = np.sum(session.run(total))
            expect(
                np.isclose(
                    value, sum(n * _size(v) for n, v in zip(numbers, variables, strict=True))
                ),
                f"with the variables set to 1, 10, 100 and so on the sum is {value:g}",
            )
            told = f"{len(variables)} variables on {num_ps} servers"
    return f"Right: {told}, and the sum on worker 1. The function does not say how many there are."


#: The devices of the cluster do not exist here: only the arithmetic is tried.
_ANYWHERE = tf.ConfigProto(allow_soft_placement=True)


def _size(variable: Any) -> int:
    return int(np.prod(variable.shape.as_list()))


@exercise(
    "What is the gradient of an average? Make the average a tensor first.",
    "The gradient of an average is the average of the gradients. So minimize an average.",
    "optimizer.minimize takes a loss: tf.add_n(losses), divided by how many there are.",
)
def ex2(in_step: Callable[[Any, Any], Any]) -> str:
    """One step with the average of several workers' gradients."""
    for numbers in ([3.0], [1.0, 5.0, -3.0], [2.0, 2.0, 4.0, 8.0]):
        with tf.Graph().as_default() as graph:
            v = tf.Variable(10.0, name="v")
            losses = [number * v for number in numbers]
            step = in_step(losses, tf.train.GradientDescentOptimizer(1.0))
            expect_type(
                step is not None and hasattr(step, "graph"),
                f"in_step returned {type(step).__name__}, needed an operation",
            )
            with tf.Session(graph=graph) as session:
                session.run(v.initializer)
                session.run(step)
                moved = 10.0 - float(session.run(v))
        average = float(np.mean(numbers))
        expect(
            np.isclose(moved, average),
            f"for workers whose gradients are {', '.join(f'{n:g}' for n in numbers)} a step of "
            f"rate 1 moves by {moved:g}, needed their average, {average:g}",
        )
    return "Right: one, three and four workers' gradients were averaged."


@exercise(
    "With 0.5 it diverges. With a rate that is too small it does not arrive. Print take_turns(8, "
    "rate, 200)[-8:] for a few.",
    "Both ends fail: a rate above the limit for 7 updates of delay, and one so small that "
    "200 updates do not suffice.",
    "The limit for eight workers is 2 * sin(pi / 30), about 0.21; a quarter of it is safe.",
)
def ex3(rate: Any) -> str:
    """A learning rate that stands gradients that are seven updates old."""
    rate = expect_number("rate", rate)
    expect(0 < rate < math.inf, f"a rate of {rate:g} goes nowhere: it must be above 0, and finite")
    path = [1.0]
    have = [1.0] * 8
    for turn in range(200):
        path.append(path[-1] - rate * have[turn % 8])
        have[turn % 8] = path[-1]
    far = max(abs(x) for x in path[-8:])
    if far > 1:
        expect(False, f"with {rate:g} it diverges: w is {far:.2g} away after 200 updates")
    widest = min(path)
    why = "it is still on its way" if widest > -0.01 else "it still swings"
    expect(far <= 0.01, f"with {rate:g} w is {far:.2g} away from 0 after 200 updates: {why}")
    return f"Right: {far:.2g} away from the bottom after 200 updates, each of them 7 late."


@exercise(
    "tf.cluster.simulate(100, 4).median_step_seconds is the step with four backups.",
    "The simulation gives the median step for any number of backups. Try them in order, and "
    "stop at the first that is quick enough.",
    lambda v: (
        f"Begin with 0 backups and go up by one while the median step is {v.limit} s or longer."
    ),
)
def ex4(backups: Any) -> str:
    """The fewest backup workers for steps that are quick enough."""
    limit = float(drawn("lesson18.ex4").limit)
    backups = expect_whole("backups", backups)
    expect(backups >= 0, f"there cannot be {backups} backups")
    expect(backups <= 100, f"{backups} backups for 100 workers are more than this check simulates")
    seconds = tf.cluster.simulate(100, backups).median_step_seconds
    expect(seconds < limit, f"with {backups} the median step takes {seconds:.2f} s")
    for fewer in range(
        backups
    ):  # More backups also take from the network: the time falls, then rises.
        found = tf.cluster.simulate(100, fewer).median_step_seconds
        expect(
            found >= limit,
            f"with {backups} it takes {seconds:.2f} s, but fewer are enough",
        )
    alone = tf.cluster.simulate(100, 0).median_step_seconds
    return f"Right: {backups} backups take the step from {alone:.2f} s to {seconds:.2f} s."
