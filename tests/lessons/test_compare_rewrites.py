"""The comparison that lessons run under finds what it is there to find, and changes nothing."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.plan import Plan
from tests.lessons import compare_rewrites


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Plan, "run", compare_rewrites._compared_run)
    monkeypatch.setattr(compare_rewrites, "num_plans", 0)
    monkeypatch.setattr(compare_rewrites, "num_rewritten", 0)
    compare_rewrites.differences.clear()
    compare_rewrites.skipped.clear()
    with tf.Graph().as_default():
        yield compare_rewrites
    compare_rewrites.differences.clear()
    compare_rewrites.skipped.clear()


def test_values_that_agree(compared: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.log(1.0 + tf.exp(x * 1.0))
    with tf.Session() as sess:
        values = sess.run({"y": y}, {x: [0.5, 100.0]})
    # What the lesson gets is the value of the graph as it was built, which overflows.
    assert values["y"][0] == pytest.approx(np.log1p(np.exp(0.5)), rel=1e-6)
    assert (compared.num_plans, compared.num_rewritten) == (1, 1)


def test_a_rewrite_that_changes_a_value_is_found(
    compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Plan.rewrite

    def wrong(plan: Plan, watch: Any = None) -> None:
        real(plan, watch)
        function = plan.function
        plan.function = lambda *values: tuple(v * np.float32(1.01) for v in function(*values))

    monkeypatch.setattr(Plan, "rewrite", wrong)
    with tf.Session() as sess:
        assert sess.run(tf.constant(2.0) * 3.0) == 6.0
    assert len(compared.differences) == 1
    assert "differs by 0.06" in compared.differences[0]


def test_a_wrong_variable_is_found(compared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    w = tf.Variable(1.0, name="w")
    step = w.assign_add(2.0).op
    real = Plan.rewrite

    def twice(plan: Plan, watch: Any = None) -> None:
        real(plan, watch)
        function = plan.function
        plan.function = lambda *values: (function(*values), function(*values))[1]

    monkeypatch.setattr(Plan, "rewrite", twice)
    with tf.Session() as sess:
        sess.run(w.initializer)
        sess.run(step)
        monkeypatch.undo()
        assert sess.run(w) == 3.0
    assert compared.differences == ["variable w: differs by 2, values up to 3"]


@pytest.mark.parametrize(
    ("count", "other", "found"),
    [
        (1, -0.1, False),  # the other way, as the sign of a gradient near zero says
        (3, -0.1, True),  # too many for that
        (1, 0.5, True),  # a larger step than any
        (1, None, True),  # of no trained variable
    ],
)
def test_a_few_numbers_may_take_the_step_of_a_gradient_that_is_rounding(
    compared: Any, count: int, other: float | None, found: bool
) -> None:
    before = np.ones(400, np.float32)
    off, on = before + np.float32(0.1), before + np.float32(0.1)
    on[:count] = 1 - 0.1 if other is None else 1 + other
    compared._differ("variable w", off, on, None if other is None else before)
    assert bool(compared.differences) == found


def test_nothing_is_drawn_twice(compared: Any) -> None:
    tf.set_random_seed(1)
    drawn = tf.random_uniform([3], name="drawn")
    following = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    w = tf.Variable([0.0, 0.0, 0.0])
    step = w.assign_add(drawn)
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert [sess.run(following) for _ in range(3)] == [0, 1, 2]
        first, second = sess.run(step), sess.run(step)
        assert (first != second).all()
        total = sess.run(w)
    assert compared.num_plans == 4
    assert compared.differences == []
    np.testing.assert_array_equal(total, second)


def test_effects_that_cannot_be_repeated_happen_once(compared: Any) -> None:
    queue = tf.FIFOQueue(5, [tf.int32])
    with tf.Session() as sess:
        sess.run(queue.enqueue(1))
        assert sess.run(queue.size()) == 1
    assert list(compared.skipped) == ["FIFOQueueV2"]
    assert compared.skipped["FIFOQueueV2"] == 2


def test_an_assignment_behind_a_python_function_happens(compared: Any) -> None:
    w = tf.Variable(1.0)
    passed_on = tf.py_func(lambda value: value, [w.assign_add(1.0)], tf.float32)
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert sess.run(passed_on) == 2.0
        assert sess.run(w) == 2.0
    assert compared.differences == []
    assert list(compared.skipped) == ["an assignment before what changes"]


def test_other_threads_are_waited_for_and_not_compared(
    compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another test's import of it would make any other thread a task, which nothing waits for.
    monkeypatch.delitem(sys.modules, "dataflow.cluster.management.thread_backend", raising=False)
    began, go_on = threading.Event(), threading.Event()

    def wait(value: Any) -> Any:
        began.set()
        assert go_on.wait(20)
        return value

    slow = tf.py_func(wait, [tf.constant(1.0)], tf.float32)
    with tf.Session() as sess:
        compared._seen.add(sess.plan_for(slow, None)[0])  # it runs outside of any comparison
        thread = threading.Thread(target=sess.run, args=(slow,))
        thread.start()
        assert began.wait(20)
        other = tf.constant(2.0) * 3.0
        before = compared.num_plans
        assert sess.run(other) == 6.0
        assert compared.num_plans == before
        go_on.set()
        thread.join(20)
        assert sess.run(other) == 6.0
        assert compared.num_plans == before + 1
