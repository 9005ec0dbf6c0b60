"""`tf.train.background`: jobs that pause, stop, change their learning rate, fail and end."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.train import background_jobs as module

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    tf.reset_default_graph()
    yield
    for job in list(module._active):
        job.stop(wait=True)


def descent(rate: Any) -> tuple[Any, Any, Any]:
    """w goes from 4 towards 0: each step multiplies it by (1 - 2 rate)."""
    w = tf.Variable(4.0, name="w")
    loss = tf.square(w, name="loss")
    return w, loss, tf.train.GradientDescentOptimizer(rate).minimize(loss)


def started(*variables: Any) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


class Gate:
    """A step function that takes one step at each `allow`, so that tests need no clock."""

    def __init__(self) -> None:
        self.allowed = threading.Semaphore(0)
        self.entered = threading.Semaphore(0)

    def __call__(self, job: Any) -> dict[str, float]:
        self.entered.release()
        assert self.allowed.acquire(timeout=PATIENCE)
        return {"step": float(job.step)}

    def allow(self, count: int = 1) -> None:
        self.allowed.release(count)

    def wait_entered(self) -> None:
        assert self.entered.acquire(timeout=PATIENCE)


def statuses(job: Any) -> tuple[list[str], threading.Event]:
    seen: list[str] = []
    paused = threading.Event()

    def hear(event: Any) -> None:
        if event.kind == "status":
            seen.append(job.status)
            if job.status == "paused":
                paused.set()

    job.listen(hear)
    return seen, paused


def test_a_training_op_runs_its_steps() -> None:
    w, loss, train = descent(0.25)
    with started() as session:
        job = tf.train.background(train, session=session, steps=3, fetches={"loss": loss})
        assert job.result(PATIENCE).keys() == {"loss"}
        assert job.status == "done"
        assert job.step == 3
        assert session.run(w) == 0.5
        assert job.seconds_left == 0
        assert job.step_seconds > 0


def test_values_are_those_of_each_step() -> None:
    # The fetch and the update are in one run, so the loss may be from before or after it: a loss
    # that depends on the feed alone is certain.
    x = tf.placeholder(tf.float32, [2], name="x")
    total = tf.reduce_sum(x, name="total")
    heard: list[Any] = []
    gate = threading.Event()

    def feed(step: int) -> dict[Any, Any]:
        gate.wait(PATIENCE)
        return {x: [step, 1.0]}

    with tf.Session() as session:
        job = tf.train.background(total, session=session, steps=3, feed=feed, fetches=total)
        forget = job.listen(lambda e: heard.append((e.kind, e.step, dict(e.values))))
        gate.set()
        assert job.result(PATIENCE) == {"total": 3.0}
        forget()
    assert [h for h in heard if h[0] == "step"] == [
        ("step", 1, {"total": 1.0}),
        ("step", 2, {"total": 2.0}),
        ("step", 3, {"total": 3.0}),
    ]


def test_the_end_of_the_feed_is_the_end_of_the_job() -> None:
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session() as session:
        batches = ({x: float(i)} for i in range(4))
        job = tf.train.background(y, session=session, feed=batches, fetches=[y])
        assert list(job.result(PATIENCE).values()) == [4.0]
        assert (job.status, job.step) == ("done", 4)


def test_the_end_of_a_dataset_is_the_end_of_the_job() -> None:
    item = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        job = tf.train.background(item, session=session, fetches={"item": item})
        assert job.result(PATIENCE) == {"item": 4}
        assert job.status == "done"


def test_the_default_session_and_graph_are_the_threads_too() -> None:
    with tf.Graph().as_default() as graph, tf.Session():
        c = tf.constant(5.0)
        seen = []

        def step(_job: Any) -> float:
            seen.append(tf.get_default_graph() is graph)
            return float(c.eval())

        assert tf.train.background(step, steps=1).result(PATIENCE) == {"value": 5.0}
    assert seen == [True]


@pytest.mark.threads
def test_pause_resume_and_stop() -> None:
    gate = Gate()
    job = tf.train.background(gate)
    seen, paused = statuses(job)
    gate.wait_entered()
    job.pause()
    gate.allow()
    assert paused.wait(PATIENCE)
    assert (job.status, job.step) == ("paused", 1)
    job.resume()
    gate.wait_entered()
    assert job.status == "running"
    job.stop()
    gate.allow()
    assert job.wait(PATIENCE)
    assert job.result() == {"step": 1.0}
    assert seen == ["paused", "running", "stopped"]


@pytest.mark.threads
def test_a_paused_job_stops() -> None:
    gate = Gate()
    job = tf.train.background(gate)
    seen, paused = statuses(job)
    job.pause()
    gate.allow(2)
    assert paused.wait(PATIENCE)
    job.stop(wait=True)
    assert seen == ["paused", "stopped"]


def test_pause_waits_for_the_step_under_way() -> None:
    _, _, train = descent(0.001)
    with started() as session:
        job = tf.train.background(train, session=session)
        job.pause(wait=True)
        assert job.status == "paused"
        before = job.step
        assert session.run(tf.constant(1)) == 1
        assert job.step == before
        job.stop(wait=True)


@pytest.mark.threads
def test_a_variable_learning_rate() -> None:
    rate = tf.Variable(0.0, name="rate", trainable=False)
    w, _, train = descent(rate)
    with started() as session:
        job = tf.train.background(train, session=session, learning_rate=rate)
        heard = threading.Event()
        job.listen(lambda e: heard.set() if e.kind == "learning_rate" else None)
        job.pause(wait=True)
        assert job.learning_rate == 0.0
        assert session.run(w) == 4.0
        job.set_learning_rate(0.5)  # one step with it takes w to 0
        assert heard.wait(PATIENCE), "a paused job takes a new rate too"
        assert session.run(rate) == 0.5
        moved = threading.Event()
        job.listen(lambda e: moved.set() if e.kind == "step" else None)
        job.resume()
        assert moved.wait(PATIENCE)
        job.stop(wait=True)
        assert session.run(w) == 0.0
    assert job.learning_rate == 0.5
    with pytest.raises(RuntimeError, match="has ended"):
        job.set_learning_rate(1.0)


def test_a_placeholder_learning_rate() -> None:
    rate = tf.placeholder(tf.float32, [], name="rate")
    w, _, train = descent(rate)
    with started() as session:
        job = tf.train.background(train, session=session, steps=1, learning_rate=(rate, 0.25))
        job.result(PATIENCE)
        assert session.run(w) == 2.0
        # Without a first value the feed gives it.
        job = tf.train.background(
            train, session=session, steps=1, learning_rate=rate, feed={rate: 0.5}
        )
        job.result(PATIENCE)
        assert session.run(w) == 0.0


@pytest.mark.threads
def test_a_function_reads_the_learning_rate() -> None:
    gate = Gate()

    def step(job: Any) -> float:
        gate(job)
        return float(job.learning_rate)

    job = tf.train.background(step, steps=2, learning_rate=0.1)
    gate.wait_entered()
    job.learning_rate = 0.02
    gate.allow(2)
    assert job.result(PATIENCE) == {"value": 0.02}


def test_a_failure_is_kept_and_raised() -> None:
    def step(job: Any) -> None:
        if job.step == 2:
            raise ZeroDivisionError("no luck")

    job = tf.train.background(step, name="unlucky")
    with pytest.raises(ZeroDivisionError, match="no luck"):
        job.result(PATIENCE)
    assert isinstance(job.exception(), ZeroDivisionError)
    assert (job.status, job.step) == ("failed", 2)
    assert "unlucky" in repr(job)
    assert "failed" in repr(job)


def test_an_engine_error_names_the_node() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        job = tf.train.background(tf.reduce_sum(x), session=session, steps=2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="x"):
            job.result(PATIENCE)


@pytest.mark.threads
def test_an_interrupt_ends_the_waiting_and_not_the_job() -> None:
    gate = Gate()
    job = tf.train.background(gate, steps=1)
    gate.wait_entered()
    main = threading.main_thread().ident
    assert main is not None
    if hasattr(signal, "pthread_kill"):
        timer = threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT))
    else:
        timer = threading.Timer(0.05, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        job.result(PATIENCE)
    timer.join()
    assert job.status == "running"
    gate.allow()
    assert job.result(PATIENCE) == {"step": 0.0}


@pytest.mark.threads
def test_result_in_time_or_not() -> None:
    gate = Gate()
    job = tf.train.background(gate, steps=1)
    with pytest.raises(TimeoutError, match="goes on"):
        job.result(0.01)
    assert not job.wait(0)
    gate.allow()
    assert job.wait(PATIENCE)


def test_several_jobs_in_one_session() -> None:
    counters = [tf.Variable(0, name=f"c{i}") for i in range(4)]
    ups = [tf.assign_add(c, 1) for c in counters]
    with started() as session:
        jobs = [tf.train.background(up, session=session, steps=200) for up in ups]
        for job in jobs:
            job.result(PATIENCE)
        assert session.run(counters) == [200] * 4
    names = [job.name for job in jobs]
    assert len(set(names)) == 4


def test_a_failing_listener_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    job = tf.train.background(gate, steps=2)
    calls = []

    def bad(event: Any) -> None:
        calls.append(event.kind)
        raise RuntimeError("broken view")

    job.listen(bad)
    gate.allow(2)
    job.result(PATIENCE)
    assert calls == ["step"]


def test_nobody_listening_makes_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JobEvent", None)  # making one would fail
    assert tf.train.background(lambda job: job.step, steps=5).result(PATIENCE) == {"value": 4}


@pytest.mark.threads
def test_time_left_is_the_median_step_times_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.accumulate([0, 1, 0, 2, 0, 90, 0, 2])  # starts and ends of steps
    gate = Gate()
    monkeypatch.setattr(module.time, "perf_counter", lambda: float(next(clock)))
    job = tf.train.background(gate, steps=10)
    assert job.seconds_left is None
    gate.allow(3)
    for _ in range(4):
        gate.wait_entered()
    job.pause()
    assert job.step_seconds == 2.0
    assert job.seconds_left == 14.0
    assert "14 s left" in repr(job)
    gate.allow()
    job.stop(wait=True)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"steps": 0}, ValueError, "at least 1"),
        ({"steps": 1.5}, ValueError, "at least 1"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate"),
        ({"learning_rate": float("nan")}, ValueError, "finite"),
        ({"learning_rate": (0.1, 0.2)}, TypeError, "placeholder"),
        ({"learning_rate": (0.1,)}, ValueError, "pair"),
        ({"feed": 3}, ValueError, "step function"),
    ],
)
def test_bad_arguments_of_a_function(arguments: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        tf.train.background(lambda job: None, **arguments)
    assert not list(module._active)


def test_bad_arguments_of_an_op() -> None:
    op = tf.no_op()
    with pytest.raises(ValueError, match="needs session="):
        tf.train.background(op)
    with tf.Session() as session:
        with pytest.raises(TypeError, match="got None"):
            tf.train.background(None, session=session)
        with pytest.raises(TypeError, match="feed must be"):
            tf.train.background(op, session=session, feed=3)
        with pytest.raises((KeyError, ValueError), match="nothing"):
            tf.train.background("nothing", session=session)
        many = tf.Variable(np.zeros(3))
        with pytest.raises(ValueError, match="one number"):
            tf.train.background(op, session=session, learning_rate=many)
        job = tf.train.background(op, session=session, steps=1)
        with pytest.raises(ValueError, match="without learning_rate="):
            job.set_learning_rate(0.1)
        job.wait(PATIENCE)
    assert not list(module._active)


def test_the_end_of_the_process_ends_the_job() -> None:
    code = (
        "import dataflow as tf; x = tf.constant(1.0);"
        "job = tf.train.background(x, session=tf.Session()); print(job.status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "running", "")
