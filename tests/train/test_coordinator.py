"""`Coordinator` and `LooperThread`."""

from __future__ import annotations

import threading

import pytest

import dataflow as tf


def started(coord: tf.train.Coordinator, function: object) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)  # type: ignore[arg-type]
    coord.register_thread(thread)
    thread.start()
    return thread


@pytest.mark.threads
def test_a_request_stops_all_threads() -> None:
    coord = tf.train.Coordinator()
    threads = [started(coord, coord.wait_for_stop) for _ in range(3)]
    assert not coord.should_stop()
    coord.request_stop()
    assert coord.should_stop()
    coord.join(threads)
    assert coord.joined
    assert not any(t.is_alive() for t in threads)


@pytest.mark.threads
def test_join_raises_what_a_thread_reported() -> None:
    coord = tf.train.Coordinator()

    def fail() -> None:
        with coord.stop_on_exception():
            raise RuntimeError("first")

    thread = started(coord, fail)
    with pytest.raises(RuntimeError, match="first"):
        coord.join([thread])
    with pytest.raises(RuntimeError, match="first"):
        coord.raise_requested_exception()
    coord.clear_stop()
    assert not coord.should_stop()


def test_the_end_of_the_input_is_an_ordinary_end() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "done"))
    coord.join([])
    strict = tf.train.Coordinator(clean_stop_exception_types=())
    strict.request_stop(tf.errors.OutOfRangeError(None, None, "done"))
    with pytest.raises(tf.errors.OutOfRangeError):
        strict.join([])


def test_the_first_error_counts() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop(ValueError("one"))
    coord.request_stop(ValueError("two"))
    with pytest.raises(ValueError, match="one"):
        coord.join()


@pytest.mark.threads
def test_threads_that_do_not_stop_are_named() -> None:
    coord = tf.train.Coordinator()
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="stubborn", daemon=True)
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coord.join([thread], stop_grace_period_secs=0.01)
    coord.clear_stop()
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
    release.set()
    thread.join(60)


def test_a_looper_calls_until_it_is_stopped() -> None:
    coord = tf.train.Coordinator()
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        if len(calls) == 5:
            coord.request_stop()

    looper = tf.train.LooperThread(coord, None, target=call)
    looper.start()
    coord.join()
    assert len(calls) == 5
    assert not looper.is_alive()


def test_only_exceptions_are_raised_by_join() -> None:
    coordinator = tf.train.Coordinator()
    with pytest.raises(TypeError, match="takes an exception.*got str 'no'"):
        coordinator.request_stop("no")
    assert not coordinator.should_stop()


def test_a_thread_that_was_never_started_is_not_waited_for() -> None:
    coord = tf.train.Coordinator()
    thread = threading.Thread(target=coord.request_stop)
    coord.join([thread])
    thread.run()
    assert coord.should_stop()
