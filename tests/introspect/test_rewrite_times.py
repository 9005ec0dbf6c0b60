"""What a rewrite saves, measured: with runs that change nothing, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.introspect import rewrite_times
from dataflow.introspect.rewrite_times import NotMeasured
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from tests.rewrites.random_graphs import draw
from tests.rewrites.test_same_bits import bits

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes what time it needs."""
    monkeypatch.setattr(rewrite_times, "BUDGET_SECONDS", 60.0)
    monkeypatch.setattr(rewrite_times, "_MOST_PAIRS", 10)


def step_of(told: Any, rule: str) -> int:
    (number,) = [i for i, step in enumerate(told.steps, start=1) if step.rule == rule]
    return number


def test_a_run_is_measured_with_and_without_the_rewrite(
    patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.tanh(x * 1.0, name="y")
    ran: list[list[str]] = []
    real = Plan.run_flat

    def run_flat(plan: Plan, arguments: list[Any]) -> list[Any]:
        ran.append(sorted(op.type for op in plan.compiled_ops))
        return real(plan, arguments)

    with tf.Session() as s:
        told = s.explain(y, {x: [1.0, 2.0, 3.0]})
        monkeypatch.setattr(Plan, "run_flat", run_flat)
        time = told.time_saved(step_of(told, "times_one"))
    assert time.num_pairs == 10
    assert time.before_seconds > 0 < time.after_seconds
    assert ran[:4] == [["Const", "Mul", "Tanh"], ["Tanh"], ["Tanh"], ["Const", "Mul", "Tanh"]], (
        "each is first as often as the other"
    )
    num = len(ran)
    assert told.time_saved(step_of(told, "times_one")) is time
    assert len(ran) == num, "measured once"


def test_a_difference_within_the_noise_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(before: list[float], after: list[float]) -> Any:
        given = {"before": iter(before), "after": iter(after)}
        monkeypatch.setattr(rewrite_times, "_seconds", lambda plan, _: next(given[plan]))
        monkeypatch.setattr(rewrite_times, "_MOST_PAIRS", 8)
        monkeypatch.setattr(rewrite_times, "_WARM_UP_PAIRS", 0)
        return rewrite_times._compare("before", "after", [], float("inf"))

    clear = measured([5.0, 5.1, 4.9, 5.0] * 2, [3.0] * 8)
    assert clear.saved_seconds == pytest.approx(2.0)
    noisy = measured([5.0, 9.0, 1.0, 5.0] * 2, [4.9, 1.0, 9.0, 5.1] * 2)
    assert noisy.saved_seconds is None


def test_pruning_is_no_rewrite() -> None:
    with tf.Session() as s:
        told = s.explain(tf.constant(1.0) * 2.0)
        with pytest.raises(NotMeasured, match="never run"):
            told.time_saved(1)
        with pytest.raises(ValueError, match=r"steps 1 to \d+, got 99"):
            told.time_saved(99)


def changing() -> dict[str, Any]:
    v = tf.Variable(1.0, name="v")
    queue = tf.FIFOQueue(9, [tf.float32], shapes=[[]])
    return {
        "AssignAdd": tf.assign_add(v, 1.0) * 1.0,
        "QueueDequeueV2": queue.dequeue() * 1.0,
        "Print": tf.Print(tf.constant(1.0), [v]) * 1.0,
        "PyFunc": tf.py_func(lambda: np.float32(1), [], tf.float32) * 1.0,
        "ApplyGradientDescent": tf.train.GradientDescentOptimizer(0.1).minimize(v * v * 1.0),
    }


@pytest.mark.parametrize(
    "what", ["AssignAdd", "QueueDequeueV2", "Print", "PyFunc", "ApplyGradientDescent"]
)
def test_what_changes_something_is_not_run(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = [changing()[what], tf.ones([2]) * 2.0]  # what is folded is a rewrite
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        told = s.explain(fetch)
        monkeypatch.setattr(Plan, "run_flat", lambda *_: pytest.fail("it ran"))
        with pytest.raises(NotMeasured, match=f"{what} .* changes something"):
            told.time_saved(2)


def test_the_numbers_that_later_runs_draw_stay_the_same(patient: None) -> None:
    tf.set_random_seed(3)
    drawn = tf.random_normal([4]) * 1.0

    def later(measuring: bool) -> Any:
        with tf.Session() as s:
            s.run(drawn)
            if measuring:
                s.explain(drawn).time_saved(2)
            return s.run(drawn)

    np.testing.assert_array_equal(later(True), later(False))


def test_what_is_missing_is_said(patient: None) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as s:
        with pytest.raises(NotMeasured, match="no value was given for x:0: call explain with"):
            s.explain(x * 1.0 + 2.0, [x]).time_saved(2)
        with pytest.raises(NotMeasured, match="the run fails: .*placeholder|fed"):
            s.explain(x * 1.0 + 2.0).time_saved(2)
        with pytest.raises(NotMeasured, match="the run fails: .*uninitialized"):
            s.explain(v * 1.0 + 2.0).time_saved(2)


def test_no_more_time_is_spent_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    monkeypatch.setattr(rewrite_times, "BUDGET_SECONDS", 0.0)
    with tf.Session() as s, pytest.raises(NotMeasured, match="takes longer than 0 s"):
        s.explain(x * 1.0 + 2.0, {x: [1.0, 2.0]}).time_saved(2)


def test_an_explanation_stays_data() -> None:
    with tf.Session() as s:
        assert "times" not in s.explain(tf.constant(1.0) * 2.0).to_dict()


@pytest.mark.parametrize("kind", ["expression", "dense"])
def test_the_graph_after_each_rewrite_gives_the_same_bits(kind: str) -> None:
    """What is measured is a whole plan, also where a pass has been stopped in its middle."""
    drawn = draw(kind, 1)
    feeds = list(drawn.feeds)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())

        def plan(num_hits: int | None) -> Plan:
            made = Plan(s, FetchPlan(s.graph, drawn.fetches), feeds, {})
            made.told_of_nan = True
            made.rewrite(num_hits=num_hits)
            return made

        def values(made: Plan) -> list[Any]:
            return [bits(v) for v in made.run(made.convert_feeds([drawn.feeds[f] for f in feeds]))]

        full = plan(None)
        want = values(full)
        assert len(full.journal) > 5
        for num_hits in range(len(full.journal)):
            made = plan(num_hits)
            assert [h.equation for h in made.journal] == [
                h.equation for h in full.journal[:num_hits]
            ]
            assert values(made) == want
