"""Checks of lesson 20: training that survives failures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import (
    exercise,
    expect,
    expect_number,
    expect_type,
    expect_whole,
    limited,
)
from dataflow.course.variants import drawn


@exercise(
    "Who remembers the step between two calls? Only what is in the folder does.",
    "The global step is a variable, and the session restores it. So the number of runs is "
    "what is missing from it to last_step.",
    "MonitoredTrainingSession(checkpoint_dir=folder) restores the step; read it once before the "
    "loop, and leave the loop when it is last_step.",
)
def ex1(train_until: Callable[[str, int], Any]) -> str:
    """A counter that goes on from its checkpoint."""
    told = []
    with tempfile.TemporaryDirectory() as folder:
        done = 0
        for last_step in (7, 12, 12, 20):
            with tf.Graph().as_default(), limited(20):
                runs = expect_whole("what train_until returned", train_until(folder, last_step))
            what = f"train_until(folder, {last_step}) says that it made {runs} runs"
            expect(
                runs == last_step - done,
                f"{what}; after {done} steps in that folder, there must be {last_step - done}",
            )
            saved = tf.train.latest_checkpoint(folder)
            expect(saved is not None, f"{what}, but there is no checkpoint in the folder")
            step = int(str(saved).rpartition("-")[2])
            expect(step == last_step, f"{what}, but the last checkpoint is of step {step}")
            done = last_step
            told.append(str(runs))
    return f"Right: calls to 7, 12, 12 and 20 made {', '.join(told)} runs."


def _wasted(v: Any, n: float) -> float:
    """Seconds that are lost in 10,000 steps by saving every ``n``."""
    return float(10_000 / n * v.save + n / 2 * float(v.step))


@exercise(
    "Write the sum of both costs as a function of n, and try some n.",
    "Saving more often costs more writing, saving less often loses more. The best n is where "
    "both cost about the same.",
    lambda v: (
        f"wasted(n) = 10_000 / n * {v.save} + n / 2 * {v.step} is {_wasted(v, 100):.0f} at n = 100 and "
        f"{_wasted(v, 1000):.0f} at n = 1,000. Try others."
    ),
)
def ex2(n: Any) -> str:
    """How often to save."""
    n = expect_number("n", n)
    expect(1 <= n < np.inf, f"nobody can save every {n:g} steps")
    v = drawn("lesson20.ex2")
    best = min(range(1, 10_000), key=lambda n: _wasted(v, n))
    why = "written too often" if n < best else "too much is done again"
    expect(
        abs(n - best) <= 100,
        f"saving every {n:,.0f} steps wastes {_wasted(v, n):,.1f} s in 10,000 steps: {why}",
    )
    return f"Right: {_wasted(v, n):.1f} s in 10,000 steps; the least is at {best}."


@exercise(
    "The variable and the lookup both go inside tf.device(tf.train.replica_device_setter(...)).",
    "The partitioner cuts the table, the setter places the parts in turn. The lookup has to "
    "know how the rows were cut.",
    'tf.get_variable("table", [6, 4], partitioner=tf.fixed_size_partitioner(2)), then '
    'tf.nn.embedding_lookup(table, words, partition_strategy="div").',
)
def ex3(lookup: Callable[[Any, Any], Any]) -> str:
    """A table in two halves, on two parameter servers."""
    spec = tf.train.ClusterSpec({"ps": ["a:2220", "b:2220"], "worker": ["a:2222", "b:2222"]})
    asked = [5, 0, 3, 3, 1]
    numbers = np.arange(24, dtype=np.float32).reshape(6, 4)
    with tf.Graph().as_default() as graph:
        rows = lookup(spec, tf.constant(asked))
        expect_type(
            isinstance(rows, tf.Tensor), f"lookup returned {type(rows).__name__}, needed a tensor"
        )
        parts = tf.global_variables()
        shapes = [part.shape.as_list() for part in parts]
        expect(
            shapes == [[3, 4], [3, 4]],
            f"the variables have the shapes {', '.join(map(str, shapes)) or 'of nothing'}; needed "
            "are two of [3, 4]",
        )
        homes = [part.op.device or "no task in particular" for part in parts]
        expect(
            {home[:14] for home in homes} == {"/job:ps/task:0", "/job:ps/task:1"},
            f"the halves live on {' and '.join(homes)}; there must be one on each parameter server",
        )
        # The cluster does not exist: only the arithmetic is tried.
        anywhere = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(graph=graph, config=anywhere) as session:
            for part, value in zip(parts, (numbers[:3], numbers[3:]), strict=True):
                part.load(value, session)
            found = session.run(rows)
    expect(
        np.array_equal(found, numbers[asked]),
        f"for the words {asked} come rows that begin with {np.ravel(found)[::4][:5]}, needed "
        f"{numbers[asked][:, 0]}",
    )
    return f"Right: rows {asked} come from {' and '.join(homes)}."


@exercise(
    "Which errors go away by themselves, and which stay however often you try?",
    "A loop with try and except. What has to happen in the last round, and for all other errors?",
    "for i in range(num_tries): try: return action(); except (the two): if i == num_tries - 1: raise.",
)
def ex4(stubborn: Callable[[Any, int], Any]) -> str:
    """Any loop that tries what passes, and nothing else."""
    errors = {
        "UnavailableError": tf.errors.UnavailableError(None, None, "gone"),
        "AbortedError": tf.errors.AbortedError(None, None, "again"),
        "InvalidArgumentError": tf.errors.InvalidArgumentError(None, None, "wrong"),
    }
    passing = {"UnavailableError", "AbortedError"}
    for fails in (
        [],
        ["UnavailableError"],
        ["AbortedError", "UnavailableError"],
        ["AbortedError"] * 4,
    ):
        for last in (None, "InvalidArgumentError"):
            for num_tries in (1, 3, 6):
                plan = [*fails, *([last] if last else [])]
                calls: list[int] = []

                def action(plan: Any = plan, calls: Any = calls) -> str:
                    calls.append(1)
                    if len(calls) <= len(plan):
                        raise errors[plan[len(calls) - 1]]
                    return "done"

                told = f"failing with {', '.join(plan) or 'nothing'}, {num_tries} tries allowed"
                stop = next((i for i, name in enumerate(plan) if name not in passing), len(plan))
                needed = min(stop + 1, num_tries)
                wanted = "done" if needed > len(plan) else plan[needed - 1]
                try:
                    with limited(20):
                        got: Any = stubborn(action, num_tries)
                except tf.errors.OpError as e:
                    got = type(e).__name__
                expect(len(calls) == needed, f"{told}: it made {len(calls)} calls, needed {needed}")
                expect(got == wanted, f"{told}: it gave {got!r}, needed {wanted!r}")
    return "Right: it tries what passes, gives up in time, and hides no real error."
