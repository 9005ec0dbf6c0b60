"""Rewriting is done bit by bit, so many nodes in each run."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites import gradual
from dataflow.rewrites.gradual import Gradual, finish, in_steps, nodes_per_run
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING


def _steps(costs: list[int], done: list[int]) -> Iterator[int]:
    for cost in costs:
        done.append(cost)
        yield cost


def test_each_run_does_as_much_as_it_may_and_what_was_too_much_is_taken_off_the_next() -> None:
    done: list[int] = []
    work = Gradual(_steps([10, 10, 45, 10, 10], done), nodes_per_run=20)
    assert not work.go_on() and done == [10, 10]
    assert not work.go_on() and done == [10, 10, 45]  # 25 too much
    assert not work.go_on() and len(done) == 3
    assert not work.go_on() and len(done) == 5
    assert work.go_on() and work.go_on()


def test_an_error_is_raised_once() -> None:
    def steps() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    work = Gradual(steps(), 10)
    with pytest.raises(ValueError, match="no"):
        work.go_on()
    assert work.go_on()


def test_one_thread_at_a_time() -> None:
    inside, go = threading.Event(), threading.Event()

    def steps() -> Iterator[int]:
        inside.set()
        assert go.wait(30)
        yield 1

    work = Gradual(steps(), 10)
    thread = threading.Thread(target=work.go_on)
    thread.start()
    assert inside.wait(30)
    assert not work.go_on()  # at once, with nothing done
    go.set()
    thread.join()
    assert work.done


def test_the_collector_waits_and_is_as_it_was_afterwards() -> None:
    seen = []

    def steps() -> Iterator[int]:
        seen.append(gc.isenabled())
        yield 1

    Gradual(steps(), 10).go_on()
    assert seen == [False] and gc.isenabled()
    gc.disable()
    try:
        Gradual(steps(), 10).go_on()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_a_run_may_do_grows_with_the_plan() -> None:
    assert nodes_per_run(100) == gradual.LEAST_NODES_PER_RUN
    assert nodes_per_run(1_000_000) == 500_000


def test_slices_are_all_of_it() -> None:
    items = list(range(2 * gradual.NODES_PER_STEP + 1))
    parts = list(in_steps(items))
    assert [item for part in parts for item in part] == items and len(parts) == 3
    assert list(in_steps([])) == []


def _graph() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [3])
    y = x
    for i in range(60):
        y = tf.tanh(y * 1.0) + float(i) * x
    return x, y


def test_a_plan_is_rewritten_over_several_runs_and_gives_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gradual, "LEAST_NODES_PER_RUN", 500)
    monkeypatch.setattr(gradual, "NODES_PER_STEP", 50)
    x, y = _graph()
    feed = {x: np.array([0.1, -0.2, 3.0], np.float32)}
    with tf.Session() as session:
        first = session.run(y, feed)
        (plan,) = set(session._plans.values())
        lengths = [len(plan.journal)]
        while plan._runs_left >= 0:
            np.testing.assert_allclose(session.run(y, feed), first, rtol=1e-6)
            lengths.append(len(plan.journal))
        assert len(lengths) > RUNS_BEFORE_REWRITING + 4
        assert lengths[-1] > 100 and set(lengths[:-1]) == {0}
        np.testing.assert_allclose(session.run(y, feed), first, rtol=1e-6)


def test_the_same_rewrites_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _graph()
    feed = {x: np.ones(3, np.float32)}
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            session.run(y, feed)
        (plan,) = set(session._plans.values())
        at_once = list(plan.journal)
    monkeypatch.setattr(gradual, "LEAST_NODES_PER_RUN", 100)
    monkeypatch.setattr(gradual, "NODES_PER_STEP", 7)
    with tf.Session() as session:
        session.run(y, feed)
        (plan,) = set(session._plans.values())
        while plan._runs_left >= 0:
            session.run(y, feed)
        assert [hit.equation for hit in plan.journal] == [hit.equation for hit in at_once]


def test_other_nodes_are_built_between_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The working graph is nobody's default graph while the run goes on."""
    monkeypatch.setattr(gradual, "LEAST_NODES_PER_RUN", 1)
    monkeypatch.setattr(gradual, "NODES_PER_STEP", 10)
    x, y = _graph()
    feed = {x: np.ones(3, np.float32)}
    graph = tf.get_default_graph()
    with tf.Session() as session:
        session.run(y, feed)
        (plan,) = set(session._plans.values())
        while plan._runs_left >= 0:
            session.run(y, feed)
            assert tf.get_default_graph() is graph
            assert tf.constant(1.0).graph is graph


def test_sizes_that_differ_run_unrewritten_until_the_plan_fits_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    z = tf.gradients(x * y, [x])[0]
    same = {x: np.ones(2, np.float32), y: np.ones(2, np.float32)}
    other = {x: np.ones(1, np.float32), y: np.arange(3, dtype=np.float32)}
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            session.run(z, same)
        (plan,) = set(session._plans.values())
        assert plan.journal and plan._runs_left < 0
        monkeypatch.setattr(gradual, "LEAST_NODES_PER_RUN", 1)
        monkeypatch.setattr(gradual, "NODES_PER_STEP", 1)
        np.testing.assert_array_equal(session.run(z, other), [3.0])
        assert plan._runs_left == 0
        np.testing.assert_array_equal(session.run(z, same), [1.0, 1.0])
        while plan._runs_left >= 0:
            np.testing.assert_array_equal(session.run(z, other), [3.0])
        np.testing.assert_array_equal(session.run(z, other), [3.0])


def test_sums_of_very_many_terms_are_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of many inputs have their inputs replaced one by one."""
    x = tf.placeholder(tf.float32, [])
    terms = [(x + float(i)) * 1.0 for i in range(200)]
    total = tf.add_n([*terms, *terms])
    with tf.Session() as session:
        got = [session.run(total, {x: 1.0}) for _ in range(RUNS_BEFORE_REWRITING + 2)]
        (plan,) = set(session._plans.values())
        assert len(plan.journal) >= 200
    assert got == [2 * sum(1.0 + i for i in range(200))] * len(got)


def test_all_at_once_gives_the_result() -> None:
    def steps() -> Any:
        yield 1
        return "done"

    assert finish(steps()) == "done"
