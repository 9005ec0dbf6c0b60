"""Operations that wait use no processor meanwhile, and wake when what they wait for is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import dataflow as tf

WAIT_SECONDS = 20


pytestmark = pytest.mark.usefixtures("graph")


class Waiter(threading.Thread):
    """Runs a fetch; keeps the error, and the processor time that its thread took."""

    def __init__(self, session: Any, fetch: Any) -> None:
        super().__init__(daemon=True)
        self.session, self.fetch = session, fetch
        self.value: Any = None
        self.error: BaseException | None = None
        self.processor_seconds = 0.0

    def run(self) -> None:
        start = time.thread_time()
        try:
            self.value = self.session.run(self.fetch)
        except BaseException as e:
            self.error = e
        self.processor_seconds = time.thread_time() - start

    def finish(self) -> None:
        self.join(WAIT_SECONDS)
        assert not self.is_alive(), "still waiting"


def fifo_empty() -> tuple[Any, Any]:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    return queue.dequeue(), queue.enqueue(1)


def fifo_full() -> tuple[Any, Any]:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    return tf.group(queue.enqueue_many([[1, 2]])), queue.dequeue()


def dequeue_many() -> tuple[Any, Any]:
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    return queue.dequeue_many(3), queue.enqueue_many([[1, 2, 3]])


def shuffle() -> tuple[Any, Any]:
    queue = tf.RandomShuffleQueue(5, 1, tf.int32, shapes=[[]])
    return queue.dequeue(), queue.enqueue_many([[1, 2]])


def padding() -> tuple[Any, Any]:
    queue = tf.PaddingFIFOQueue(5, tf.int32, shapes=[[None]])
    return queue.dequeue_many(1), queue.enqueue(tf.constant([1]))


def priority() -> tuple[Any, Any]:
    queue = tf.PriorityQueue(5, [tf.int32], [[]])
    return queue.dequeue(), queue.enqueue((1, 2))


def accumulator() -> tuple[Any, Any]:
    total = tf.ConditionalAccumulator(tf.float32, [])
    return total.take_grad(1), total.apply_grad(1.0)


KINDS = (fifo_empty, fifo_full, dequeue_many, shuffle, padding, priority, accumulator)


@pytest.mark.parametrize("build", KINDS)
def test_waiting_takes_no_processor_time(build: Callable[[], tuple[Any, Any]]) -> None:
    wait, release = build()
    with tf.Session() as session:
        waiter = Waiter(session, wait)
        start = time.process_time()
        waiter.start()
        waiter.join(1.0)
        spent = time.process_time() - start
        assert waiter.is_alive(), "it should wait"
        session.run(release)
        waiter.finish()
        assert waiter.error is None
        # One that polls without a pause would take most of the second; a compiler may be at work beside it.
        assert spent < 0.6
        assert waiter.processor_seconds < 0.3


@pytest.mark.parametrize("build", KINDS)
def test_closing_the_session_cancels(build: Callable[[], tuple[Any, Any]]) -> None:
    wait, _ = build()
    session = tf.Session()
    waiter = Waiter(session, wait)
    waiter.start()
    waiter.join(0.05)
    session.close()
    waiter.finish()
    assert isinstance(waiter.error, (tf.errors.CancelledError, RuntimeError)), waiter.error


def test_many_waiters_on_one_session_each_get_one_element() -> None:
    queue = tf.FIFOQueue(100, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue_many([list(range(16))])
    with tf.Session() as session:
        waiters = [Waiter(session, take) for _ in range(16)]
        for waiter in waiters:
            waiter.start()
        session.run(put)
        for waiter in waiters:
            waiter.finish()
        assert sorted(w.value for w in waiters) == list(range(16))


def test_waiting_for_a_critical_section_takes_no_processor_time() -> None:
    section = tf.CriticalSection()
    gate = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    slow = section.execute(lambda: gate.dequeue() + 1)
    quick = section.execute(lambda: tf.constant(7) + 0)
    open_gate = gate.enqueue(1)
    with tf.Session() as session:
        first = Waiter(session, slow)
        first.start()
        first.join(0.2)
        second = Waiter(session, quick)
        start = time.process_time()
        second.start()
        second.join(0.8)
        spent = time.process_time() - start
        assert second.is_alive(), "the section is taken"
        session.run(open_gate)
        first.finish()
        second.finish()
        assert (first.value, second.value) == (2, 7)
        assert spent < 0.3
