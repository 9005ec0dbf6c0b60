"""Updates by one call list: the bits of the other way, and nothing changed that somebody else holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import listed_updates
from dataflow.kernels.jit.call_list_code import is_available
from dataflow.kernels.listed_updates import ListedUpdates
from dataflow.kernels.optimizer_rules import gradient_descent
from dataflow.runtime.resources import VariableResource
from tests.compiling import MOST_RUNS, wait_for_compiler

pytestmark = pytest.mark.skipif(not is_available(), reason="this machine runs no machine code")

OPTIMIZERS = {
    "descent": lambda rate: tf.train.GradientDescentOptimizer(rate),
    "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    "adam": lambda rate: tf.train.AdamOptimizer(rate),
    "rms_prop": lambda rate: tf.train.RMSPropOptimizer(rate, centered=True),
    "adagrad": lambda rate: tf.train.AdagradOptimizer(rate),
    "adadelta": lambda rate: tf.train.AdadeltaOptimizer(rate),
}


#: The variables and slots of the last run.
last_refs: list[Any] = []


@pytest.fixture(autouse=True)
def outcomes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Lists are written after three runs; what each run of `ListedUpdates` said."""
    found: list[bool] = []
    whole = ListedUpdates.run

    def run(self: ListedUpdates, *arguments: Any) -> bool:
        last_refs[:] = arguments[0]
        found.append(whole(self, *arguments))
        return found[-1]

    monkeypatch.setattr(listed_updates, "_RUNS_BEFORE", 3)
    monkeypatch.setattr(ListedUpdates, "run", run)
    with tf.Graph().as_default():
        yield found


def train(optimizer: Any) -> tuple[Any, Any, Any]:
    """A step that depends on a fed rate, its feed of a rate, and the variables."""
    rate = tf.placeholder(tf.float32, [])
    random = np.random.RandomState(1)
    shapes: list[tuple[int, ...]] = [(3, 4), (4,), (), (4, 2), (1, 1)]
    variables: list[Any] = [tf.Variable(np.float32(random.normal(size=s))) for s in shapes]
    loss = tf.add_n([tf.reduce_sum(tf.sin(v * 3.0) * v) for v in variables])
    return optimizer(rate).minimize(loss), rate, variables


def run_until_listed(session: Any, step: Any, feed: Any, outcomes: list[bool]) -> int:
    """Runs until the updates are made by a list; how many runs that took."""
    for count in range(1, MOST_RUNS):
        session.run(step, feed)
        if outcomes[-1]:
            return count
        wait_for_compiler(count)
    raise AssertionError("no list was written")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_have_the_same_bits(
    name: str, outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    step, rate, variables = train(OPTIMIZERS[name])
    rates = [0.01, 0.02, 0.005, 0.01]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        count = run_until_listed(session, step, {rate: 0.01}, outcomes)
        for r in rates:
            session.run(step, {rate: r})
        assert outcomes[-len(rates) :] == [True] * len(rates)
        listed = session.run(variables)
    monkeypatch.setattr(ListedUpdates, "run", lambda *_: False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for r in [*[0.01] * count, *rates]:
            session.run(step, {rate: r})
        for a, b in zip(listed, session.run(variables), strict=True):
            assert a.tobytes() == b.tobytes()


def test_an_array_that_somebody_holds_stays(outcomes: list[bool]) -> None:
    step, rate, _ = train(OPTIMIZERS["adam"])
    feed = {rate: 0.01}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run_until_listed(session, step, feed, outcomes)
        values = [ref.array for ref in last_refs]
        before = [np.array(x) for x in values]
        session.run(step, feed)
        assert not outcomes[-1]  # the arrays were shared
        session.run(step, feed)
        assert outcomes[-1]  # and are not any more
        for value, same, ref in zip(values, before, last_refs, strict=True):
            assert value.tobytes() == same.tobytes() != ref.array.tobytes()


def test_another_shape_is_refused_as_without_a_list(outcomes: list[bool]) -> None:
    gradient = tf.placeholder(tf.float32)
    v = tf.Variable(np.ones(3, np.float32))
    step = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run_until_listed(session, step, {gradient: np.zeros(3)}, outcomes)
        with pytest.raises(tf.errors.InvalidArgumentError, match="do not have the same shape"):
            session.run(step, {gradient: np.ones(4)})
        session.run(v.initializer)
        session.run(step, {gradient: np.arange(6.0)[::2]})  # not contiguous
        assert session.run(v).tolist() == [1.0, 0.0, -1.0]


def test_a_list_that_keeps_refusing_is_given_up(outcomes: list[bool]) -> None:
    step, rate, _ = train(OPTIMIZERS["momentum"])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run_until_listed(session, step, {rate: 0.01}, outcomes)
        for _ in range(20):
            held = [ref.array for ref in last_refs]
            session.run(step, {rate: 0.01})
        assert not any(outcomes[-20:])
        del held
        run_until_listed(session, step, {rate: 0.01}, outcomes)


def test_scalars_that_are_constants_and_others_take_turns() -> None:
    """The numbers of the same constants stand there already; those of a variable may have changed."""
    ref = VariableResource("v", tf.float32)
    ref.array = np.zeros(2, np.float32)
    updates, gradient, same = ListedUpdates(), np.ones(2, np.float32), np.float32(0.5)
    for count in range(MOST_RUNS):
        if updates.run((ref,), (gradient,), gradient_descent, (same,)):
            break
        wait_for_compiler(count)
    rate = np.array(1.0, np.float32)
    for scalar, number in ((same, 0.5), (rate, 1.0), (rate, 2.0), (same, 0.5), (same, 0.5)):
        rate[()] = number
        before = ref.array[0]
        assert updates.run((ref,), (gradient,), gradient_descent, (scalar,))
        assert ref.array[0] == before - number
    assert not updates.run((ref,), (gradient,), gradient_descent, (None,))


def test_large_updates_need_no_machine_code_for_lists(
    outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_updates, "is_available", lambda: pytest.fail("compiled"))
    v: Any = tf.Variable(tf.zeros([1 << 18]))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(10):
            session.run(step)
    assert not any(outcomes)
