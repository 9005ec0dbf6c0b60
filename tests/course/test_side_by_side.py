"""`together`: programs on one session, in threads and by turns (DATAFLOW_THREADS=0 runs this as well)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dataflow as tf
from dataflow.course import together


def _paying(locked: bool) -> float:
    """What three have paid together who each paid twenty times."""
    total = tf.Variable(0.0, use_resource=True)
    new = tf.placeholder(tf.float32, [])
    read, write = total.read_value(), total.assign(new)
    token = tf.FIFOQueue(1, [tf.bool], shapes=[[]])
    acquire, release = token.dequeue(), token.enqueue(True)

    def pay() -> Iterator[Any]:
        for _ in range(20):
            if locked:
                yield acquire, {}
            seen = yield read, {}  # type: ignore[misc]
            yield write, {new: seen + 1.0}
            if locked:
                yield release, {}

    with tf.Session() as session:
        session.run(total.initializer)
        session.run(release)
        together(session, pay(), pay(), pay())
        return float(session.run(total))


def test_with_a_lock_nothing_is_lost() -> None:
    assert _paying(locked=True) == 60


@pytest.mark.without_threads
def test_by_turns_two_payments_of_three_are_lost() -> None:
    assert _paying(locked=False) == 20


def test_an_error_is_raised_when_all_have_ended() -> None:
    count = tf.Variable(0)
    up = count.assign_add(1)

    def steps(number: int, fails: bool) -> Iterator[Any]:
        for _ in range(number):
            yield up, {}
        if fails:
            raise KeyError("gone")

    with tf.Session() as session:
        session.run(count.initializer)
        with pytest.raises(KeyError, match="gone"):
            together(session, steps(1, True), steps(30, False))
        assert session.run(count) >= 30
