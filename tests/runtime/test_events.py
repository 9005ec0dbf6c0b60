"""Listeners of runs, and a runner that takes the runs of a thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from dataflow.runtime import events

pytestmark = pytest.mark.usefixtures("graph")


def test_a_listener_hears_what_was_run_until_it_leaves() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    tf.square(x, name="unused")
    heard: list[Any] = []
    with tf.Session() as session:
        session.run(y, {x: 1.0})  # so that there is a plan
        leave = events.subscribe(heard.append)
        try:
            assert session.run(y, {x: 1.0}) == 2.0
        finally:
            leave()
        leave()  # twice is once
        session.run(y, {x: 1.0})
        (event,) = heard
        assert event.session is session and event.graph is y.graph
        assert (list(event.fetches), list(event.feeds)) == (["y:0"], ["x:0"])
        assert "y" in event.needed and "unused" not in event.needed


def test_a_listener_that_fails_is_a_warning_and_the_others_hear() -> None:
    def broken(event: Any) -> None:
        raise ValueError("no picture")

    heard: list[Any] = []
    leave = [events.subscribe(broken), events.subscribe(heard.append)]
    try:
        with tf.Session() as session:
            with pytest.warns(RuntimeWarning, match="no picture") as told:
                assert session.run(tf.constant(3.0)) == 3.0
        assert [Path(w.filename).name for w in told] == ["base_session.py"]
    finally:
        for each in leave:
            each()
    assert len(heard) == 1


def test_a_run_that_fails_is_told_to_who_asks_for_failures() -> None:
    at = tf.placeholder(tf.int32, [])
    row = tf.gather([1.0, 2.0], at, name="row")
    results: list[Any] = []
    all_runs: list[Any] = []
    leave = [events.subscribe(results.append), events.subscribe(all_runs.append, failures=True)]
    try:
        with tf.Session() as session:
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(row, {at: 7})
            assert results == []
            (event,) = all_runs
            assert event.error is raised.value and event.fetches == ["row:0"]
            session.run(row, {at: 1})
            assert [len(results), len(all_runs), all_runs[1].error] == [1, 2, None]
            for each in leave:
                each()
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(row, {at: 7})
    finally:
        for each in leave:
            each()
    assert [len(results), len(all_runs)] == [1, 2]


@pytest.mark.threads
def test_a_runner_takes_the_runs_of_its_thread_only() -> None:
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    seen: list[Any] = []
    before = list(events.listeners)  # widgets of other tests may listen

    def runner(session: Any, fetches: Any, feed_dict: Any) -> Any:
        seen.append((fetches, dict(feed_dict or {})))
        return "taken"

    with tf.Session() as session:
        call = session.make_callable(y, [x])
        end = events.take_runs(runner)
        try:
            assert events.runner_here() is runner
            assert session.run(y, {x: 1.0}) == call(5.0) == "taken"
            with pytest.raises(RuntimeError, match="taken already"):
                events.take_runs(runner)
            elsewhere: list[Any] = []
            thread = threading.Thread(target=lambda: elsewhere.append(session.run(y, {x: 2.0})))
            thread.start()
            thread.join()
            assert elsewhere == [3.0]
        finally:
            end()
        end()
        assert events.runner_here() is None and events.listeners == before
        assert session.run(y, {x: 1.0}) == 2.0 and call(5.0) == 6.0
    assert seen == [(y, {x: 1.0}), (y, {x: 5.0})]
