"""Checks of capstone 1: a transformer trained on a cluster that is killed while it trains."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type, wrong

#: The task: HALF symbols out of NUM, then the same ones again.
NUM, HALF = 6, 4
_PATIENCE_SECONDS = 80
_KILL_AFTER = 40
_LAST_STEP = 100


def examples(rng: Any, num: int = 16) -> Any:
    """``num`` rows of ``HALF`` random symbols below ``NUM``, each row twice in a row: int [num, 2 * HALF]."""
    half = rng.integers(NUM, size=(num, HALF))
    return np.concatenate([half, half], axis=1)


def _expect_causal(guesses: Callable[[Any], Any]) -> None:
    """``guesses(symbols)``: they change with earlier symbols and their order, and with no later one."""
    row = np.array([[0, 1, 2, 3, 0, 1, 2, 3]])
    base = guesses(row)
    for place in (3, 5):
        other = row.copy()
        other[0, place] = 5
        moved = np.abs(guesses(other) - base).max(1)
        expect(
            moved[:place].max() < 1e-5,
            f"the guesses before position {place} change with a later symbol: "
            "what is to be guessed can be seen",
        )
        expect(
            moved[-1] > 1e-6,
            f"the last guess does not change with the symbol at position {place}: "
            "it cannot look back",
        )
    swapped = row[:, [1, 0, 2, 3, 4, 5, 6, 7]]
    expect(
        np.abs(guesses(swapped)[-1] - base[-1]).max() > 1e-6,
        "the last guess is the same when two earlier symbols change places: "
        "nothing tells the model their order",
    )


@exercise(
    "Lesson 22 built one: two tables, a mask, an attention, two dense layers.",
    "What must each position see, and what not? The mask hides what comes later, the table of positions tells "
    "the order.",
    "Embed the symbols and add position vectors; softmax(q k^T / sqrt(size) + mask) v with -1e9 above the diagonal; "
    "a residual connection, a dense layer, and tf.layers.dense(x, 6) at the end.",
)
def ex1(model: Callable[[Any], Any]) -> str:
    """A causal model: graded by what it may see, and by whether it learns."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        symbols = tf.placeholder(tf.int32, [None, 2 * HALF])
        given, wanted = symbols[:, :-1], symbols[:, 1:]
        try:
            logits = model(given)
        except ValueError as error:
            if "another graph" not in str(error):
                raise
            wrong(
                "model uses layers or variables that were made outside of it, in another graph than the one in which it "
                "is called now: make them within the function"
            )
        expect_type(
            isinstance(logits, tf.Tensor),
            f"model returned {type(logits).__name__}, needed a tensor of logits",
        )
        shape = logits.shape.as_list() if logits.shape.ndims is not None else None
        expect(
            shape == [None, 2 * HALF - 1, NUM],
            f"for symbols of shape [?, {2 * HALF - 1}] the logits have shape {logits.shape}, "
            f"needed [?, {2 * HALF - 1}, {NUM}]",
        )
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
        loss = tf.reduce_mean(losses[:, HALF - 1 :])
        variables = tf.trainable_variables()
        idle = [
            v.op.name
            for v, g in zip(variables, tf.gradients(loss, variables), strict=True)
            if g is None
        ]
        expect(variables and not idle, f"no gradient reaches {', '.join(idle) or 'any variable'}")
        train = tf.train.AdamOptimizer(0.02).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            _expect_causal(lambda row: session.run(logits, {symbols: row})[0])
            for _ in range(120):
                session.run(train, {symbols: examples(rng)})
            cost = session.run(loss, {symbols: examples(rng, 200)})
    chance = np.log(NUM)
    expect(
        cost < 0.5 * chance,
        f"after 120 steps of Adam the loss of the second half is {cost:.2f}; a guess by chance has {chance:.2f}",
    )
    return f"Right: it sees the past alone, knows the order, and copies with a loss of {cost:.3f} after 120 steps."


@exercise(
    "Lesson 20's `train` is such a program: setter, chief, MonitoredTrainingSession.",
    "What dies with a parameter server, and where else is it kept? Who writes it there, and how often?",
    "replica_device_setter around the model; MonitoredTrainingSession(server.target, is_chief=me == 0, "
    "checkpoint_dir=folder for the chief, save_checkpoint_steps=20, save_checkpoint_secs=None, "
    "hooks=[tf.train.StopAtStepHook(last_step=last_step)]).",
)
def ex2(program: Callable[[Any, str, int], Any]) -> str:
    """A training that survives the death of its parameter server, which is killed here."""
    cluster = tf.cluster.launch(ps=1, workers=2, backend="threads", logs=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _killed_once(cluster, program, folder)
    finally:
        cluster.stop()


def _saved(folder: str) -> int:
    """The step of the latest checkpoint; -1 where there is none."""
    latest = tf.train.latest_checkpoint(folder)
    return int(latest.rpartition("-")[2]) if latest else -1


def _killed_once(cluster: Any, program: Callable[[Any, str, int], Any], folder: str) -> str:
    calls = [cluster.submit(f"worker:{i}", program, folder, _LAST_STEP) for i in range(2)]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    is_shared = False
    while _saved(folder) < _KILL_AFTER:
        ended = [_ended(call) for call in calls]
        if all(ended) or time.monotonic() > deadline:
            wrong(
                f"the last checkpoint is of step {_saved(folder)}: needed one of step {_KILL_AFTER} "
                f"or later on the way, with {_LAST_STEP} steps to make"
                if _saved(folder) >= 0
                else "no checkpoint was ever written"
            )
        if not is_shared and _saved(folder) >= 0:
            expect(
                next(
                    row["variables"] for row in cluster.status() if row["task"] == "/job:ps/task:0"
                ),
                "the parameter server holds no variable: nothing is shared through it, and nothing "
                "would be lost with it",
            )
            is_shared = True
    killed_at = _saved(folder)
    cluster.kill("ps:0")
    reports = [call.result(timeout_seconds=_PATIENCE_SECONDS) for call in calls]
    for report in reports:
        good = isinstance(report, list) and all(
            isinstance(pair, tuple | list) and len(pair) == 2 for pair in report
        )
        expect_type(good, "program returned no list of (step, loss), one for each step made")
        expect(report, "a worker made no step at all")
    last = max(int(step) for report in reports for step, _ in report)
    expect(
        last >= _LAST_STEP - 2,
        f"the training ended at step {last}, asked for was {_LAST_STEP}",
    )
    expect(
        _saved(folder) > killed_at,
        f"the parameter server was killed after the checkpoint of step {killed_at}, and none was written after it",
    )
    first_half = np.mean([loss for _, loss in reports[0][:5]])
    cost = float(np.mean([loss for _, loss in reports[0][-5:]]))
    expect(
        cost < 0.6 * first_half,
        f"the loss began at {first_half:.2f} and ended at {cost:.2f}: it learned too little, or began anew",
    )
    fell = [
        (int(a), int(b))
        for (a, _), (b, _) in zip(reports[0], reports[0][1:], strict=False)
        if b < a
    ]
    again = f"; the chief went from step {fell[0][0]} back to {fell[0][1]}" if fell else ""
    return (
        f"Right: killed after the checkpoint of step {killed_at}{again}, at the end at step {last} "
        f"with a loss of {cost:.3f}."
    )


def _ended(call: Any) -> bool:
    """Whether a worker is at its end; waits a moment for it, and raises what it raised."""
    try:
        call.result(timeout_seconds=0.02)
    except TimeoutError:
        return False
    return True


@exercise(
    "Two kinds of time are wasted: writing, and doing again what was lost.",
    "In an hour without a death, how many checkpoints are written? At a death, how much is lost on average?",
    "Seconds per second: save / (n * step) + (n * step) / (2 * between). Its minimum is at "
    "n * step = sqrt(2 * save * between).",
)
def ex3(interval: Callable[[float, float, float], Any]) -> str:
    """How often to save: any answer that wastes hardly more than the best."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(40):
        step, save = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-1, 2)
        between = 10.0 ** rng.uniform(4, 7)
        n = interval(step, save, between)
        expect_type(
            isinstance(n, int | np.integer) and n >= 1,
            f"interval({step:.3g}, {save:.3g}, {between:.3g}) is {n!r}, needed a whole number of steps, at least 1",
        )

        def waste(
            n: float, step: float = step, save: float = save, between: float = between
        ) -> float:
            return save / (n * step) + n * step / (2 * between)

        best = max(1.0, float(np.sqrt(2 * save * between) / step))
        ratio = waste(float(n)) / min(waste(np.floor(best)), waste(np.ceil(best)))
        expect(
            ratio < 1.05,
            f"steps of {step:.3g} s, {save:.3g} s to save, a death every {between:,.0f} s: with {n:,} steps between "
            f"checkpoints {waste(float(n)):.1%} of the time is lost, {ratio:.2f} times the least",
        )
        worst = max(worst, ratio)
    return (
        f"Right: over forty clusters it wastes at most {worst:.3f} times the least (Young, 1974)."
    )
