"""Queues: order, shapes, waiting, closing and cancelling."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

WAIT_SECONDS = 20


pytestmark = pytest.mark.usefixtures("graph")


class Background:
    """Runs a function in a thread; `result` waits for it and raises what it raised."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.value: Any = None
        self.error: BaseException | None = None

        def run() -> None:
            try:
                self.value = function()
            except BaseException as e:
                self.error = e

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def result(self) -> Any:
        self.thread.join(WAIT_SECONDS)
        assert not self.thread.is_alive(), "still waiting"
        if self.error is not None:
            raise self.error
        return self.value


def until(condition: Callable[[], bool]) -> None:
    """Waits for something that another thread does."""
    pause = threading.Event()
    for _ in range(WAIT_SECONDS * 200):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it did not happen")


def waiting(session: Any, kind: str) -> int:
    """How many operations wait at the session's queues."""
    return sum(len(getattr(q, kind)) for _, q in session.resources.items("queue"))


def test_a_fifo_queue_keeps_the_order() -> None:
    q = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], []])
    put = q.enqueue_many([[1, 2, 3], ["a", "b", "c"]])
    one = q.dequeue()
    many = q.dequeue_many(2)
    with tf.Session() as session:
        session.run(put)
        assert session.run(q.size()) == 3
        assert session.run(one) == [1, b"a"]
        numbers, texts = session.run(many)
    np.testing.assert_array_equal(numbers, [2, 3])
    assert texts.tolist() == [b"b", b"c"]


def test_names_of_operations() -> None:
    q = tf.FIFOQueue(3, tf.float32)
    assert q.enqueue(1.0).name == "fifo_queue_enqueue"
    assert q.dequeue().name == "fifo_queue_Dequeue:0"
    assert q.size().name == "fifo_queue_Size:0"
    assert q.close().name == "fifo_queue_Close"
    assert q.queue_ref.op.type == "FIFOQueueV2"


def test_components_by_name() -> None:
    q = tf.FIFOQueue(3, [tf.float32, tf.int32], shapes=[[], []], names=["x", "n"])
    put = q.enqueue({"n": 2, "x": 1.5})
    take = q.dequeue()
    assert set(take) == {"x", "n"}
    with tf.Session() as session:
        session.run(put)
        assert session.run(take) == {"x": 1.5, "n": 2}
    with pytest.raises(ValueError, match="dictionary"):
        q.enqueue([1.5, 2])
    with pytest.raises(ValueError, match="Keys"):
        q.enqueue({"x": 1.5})


def test_a_full_queue_makes_an_enqueue_wait() -> None:
    q = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    put = q.enqueue_many([[1, 2, 3, 4, 5]])
    take = q.dequeue()
    with tf.Session() as session:
        background = Background(lambda: session.run(put))
        assert [session.run(take) for _ in range(5)] == [1, 2, 3, 4, 5]
        background.result()


def test_an_empty_queue_makes_a_dequeue_wait() -> None:
    q = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    x = tf.placeholder(tf.int32, [])
    put, take = q.enqueue(x), q.dequeue_many(3)
    with tf.Session() as session:
        background = Background(lambda: session.run(take))
        for i in range(3):
            session.run(put, {x: i})
        np.testing.assert_array_equal(background.result(), [0, 1, 2])


def test_more_may_be_asked_for_than_the_queue_holds() -> None:
    q = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    put, take = q.enqueue_many([list(range(7))]), q.dequeue_many(7)
    with tf.Session() as session:
        background = Background(lambda: session.run(put))
        np.testing.assert_array_equal(session.run(take), range(7))
        background.result()


def test_a_closed_queue_gives_what_is_left() -> None:
    q = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    put, many, up_to = q.enqueue_many([[1, 2, 3]]), q.dequeue_many(2), q.dequeue_up_to(5)
    with tf.Session() as session:
        session.run(put)
        assert not session.run(q.is_closed())
        session.run(q.close())
        assert session.run(q.is_closed())
        with pytest.raises(tf.errors.CancelledError, match="closed"):
            session.run(put)
        session.run(many)
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
            session.run(many)
        assert session.run(q.size()) == 1  # a failed dequeue takes nothing
        np.testing.assert_array_equal(session.run(up_to), [3])
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(up_to)


def test_closing_wakes_a_waiting_dequeue() -> None:
    q = tf.FIFOQueue(10, tf.int32)
    take, close = q.dequeue(), q.close()
    with tf.Session() as session:
        background = Background(lambda: session.run(take))
        until(lambda: waiting(session, "dequeuers") == 1)
        session.run(close)
        with pytest.raises(tf.errors.OutOfRangeError):
            background.result()


def test_pending_enqueues_survive_a_plain_close() -> None:
    q = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, close, take = q.enqueue_many([[1, 2]]), q.close(), q.dequeue()
    with tf.Session() as session:
        background = Background(lambda: session.run(put))
        until(lambda: waiting(session, "enqueuers") == 1)
        session.run(close)
        assert [session.run(take), session.run(take)] == [1, 2]
        background.result()


def test_pending_enqueues_are_cancelled_when_asked() -> None:
    q = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, close = q.enqueue_many([[1, 2]]), q.close(cancel_pending_enqueues=True)
    with tf.Session() as session:
        background = Background(lambda: session.run(put))
        until(lambda: waiting(session, "enqueuers") == 1)
        session.run(close)
        with pytest.raises(tf.errors.CancelledError):
            background.result()


@pytest.mark.parametrize("what", ["dequeue", "enqueue"])
def test_closing_the_session_wakes_what_waits(what: str) -> None:
    q = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    op = q.dequeue() if what == "dequeue" else q.enqueue_many([[1, 2]])
    session = tf.Session()
    background = Background(lambda: session.run(op))
    until(lambda: waiting(session, f"{what}rs") == 1)
    session.close()
    with pytest.raises(tf.errors.CancelledError):
        background.result()


def test_interrupting_the_cell_ends_the_wait_and_leaves_the_queue_usable() -> None:
    q = tf.FIFOQueue(1, tf.int32)
    take, put = q.dequeue(), q.enqueue(7)
    with tf.Session() as session:

        def interrupt() -> None:
            until(lambda: waiting(session, "dequeuers") == 1)
            # What Jupyter's stop button sends.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        background = Background(interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.run(take)
        background.result()
        session.run(put)
        assert session.run(take) == 7


def test_waiting_operations_are_served_in_order() -> None:
    q = tf.FIFOQueue(10, tf.int32)
    x = tf.placeholder(tf.int32, [])
    put, take = q.enqueue(x), q.dequeue()
    with tf.Session() as session:
        backgrounds = []
        for i in range(3):
            backgrounds.append(Background(lambda: session.run(take)))
            until(lambda i=i: waiting(session, "dequeuers") == i + 1)
        for i in range(3):
            session.run(put, {x: i})
        assert [b.result() for b in backgrounds] == [0, 1, 2]


def test_many_threads_on_one_session_lose_nothing() -> None:
    q = tf.FIFOQueue(5, tf.int32)
    x = tf.placeholder(tf.int32, [])
    put, take = q.enqueue(x), q.dequeue()
    with tf.Session() as session:

        def produce(first: int) -> None:
            for i in range(first, first + 50):
                session.run(put, {x: i})

        def consume() -> list[int]:
            return [int(session.run(take)) for _ in range(50)]

        producers = [Background(lambda k=k: produce(100 * k)) for k in range(4)]
        consumers = [Background(consume) for _ in range(4)]
        taken = [v for c in consumers for v in c.result()]
        for p in producers:
            p.result()
    assert sorted(taken) == sorted(100 * k + i for k in range(4) for i in range(50))


def test_what_was_put_in_does_not_change_with_the_callers_array() -> None:
    q = tf.FIFOQueue(5, tf.float32, shapes=[[2]])
    x = tf.placeholder(tf.float32, [2])
    value = np.array([1, 2], np.float32)
    with tf.Session() as session:
        session.run(q.enqueue(x), {x: value})
        value[:] = 9
        np.testing.assert_array_equal(session.run(q.dequeue()), [1, 2])


def test_padding_queue() -> None:
    q = tf.PaddingFIFOQueue(5, [tf.int32, tf.string], [[None], [2, None]])
    x, s = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.string, [2, None])
    put, take = q.enqueue([x, s]), q.dequeue_many(2)
    assert take[1].shape.as_list() == [2, 2, None]
    with tf.Session() as session:
        session.run(put, {x: [1], s: [["a"], ["b"]]})
        session.run(put, {x: [1, 2, 3], s: [["c", "d"], ["e", "f"]]})
        numbers, texts = session.run(take)
    np.testing.assert_array_equal(numbers, [[1, 0, 0], [1, 2, 3]])
    assert texts[0].tolist() == [[b"a", b""], [b"b", b""]]


def test_random_shuffle_queue_keeps_some_back() -> None:
    q = tf.RandomShuffleQueue(100, 3, tf.int32, shapes=[[]], seed=1)
    put, take, rest = q.enqueue_many([list(range(10))]), q.dequeue_many(7), q.dequeue_many(3)
    with tf.Session() as session:
        session.run(put)
        first = session.run(take)
        background = Background(lambda: session.run(rest))
        until(lambda: waiting(session, "dequeuers") == 1)
        assert session.run(q.size()) == 3  # it waits: 3 must stay while the queue is open
        session.run(q.close())
        both = [*first.tolist(), *background.result().tolist()]
    assert sorted(both) == list(range(10))
    assert both != list(range(10))


def test_random_shuffle_queue_repeats_with_its_seed() -> None:
    q = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[[]], seed=1)
    put, take = q.enqueue_many([list(range(20))]), q.dequeue_many(20)
    orders = []
    for _ in range(2):
        with tf.Session() as session:
            session.run(put)
            orders.append(session.run(take).tolist())
    assert orders[0] == orders[1]


def test_priority_queue() -> None:
    q = tf.PriorityQueue(10, tf.string, [[]])
    put = q.enqueue_many([np.array([3, 1, 2, 1]), ["c", "a", "b", "a2"]])
    with tf.Session() as session:
        session.run(put)
        _, names = session.run(q.dequeue_many(4))
    assert names.tolist() == [b"a", b"a2", b"b", b"c"]


def test_a_queue_chosen_by_a_tensor() -> None:
    queues = [tf.FIFOQueue(3, tf.int32, shapes=[[]]) for _ in range(2)]
    i = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(i, queues)
    with tf.Session() as session:
        session.run([queues[0].enqueue(10), queues[1].enqueue(20)])
        take = chosen.dequeue()
        assert [session.run(take, {i: k}) for k in (1, 0)] == [20, 10]
    with pytest.raises(TypeError, match="dtypes"):
        tf.QueueBase.from_list(i, [queues[0], tf.FIFOQueue(3, tf.float32)])


def test_what_a_queue_refuses() -> None:
    q = tf.FIFOQueue(3, tf.float32, shapes=[[2]])
    with pytest.raises(ValueError, match="incompatible"):
        q.enqueue([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="components"):
        q.enqueue([[1.0, 2.0], 3.0])
    with pytest.raises(ValueError, match="same length"):
        tf.FIFOQueue(3, [tf.float32, tf.int32], shapes=[[2]])
    x = tf.placeholder(tf.float32, None)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
            session.run(q.enqueue(x), {x: [1.0, 2.0, 3.0]})
        shapeless = tf.FIFOQueue(3, tf.float32)
        session.run(shapeless.enqueue(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="specified shapes"):
            session.run(shapeless.dequeue_many(1))


def test_sessions_have_queues_of_their_own() -> None:
    q = tf.FIFOQueue(3, tf.int32)
    with tf.Session() as one, tf.Session() as two:
        one.run(q.enqueue(1))
        assert one.run(q.size()) == 1
        assert two.run(q.size()) == 0


@pytest.mark.parametrize(
    ("kind", "capacity", "types", "shapes"),
    [
        (tf.FIFOQueue, 5, [tf.float32], [[2]]),
        (tf.FIFOQueue, 3, [tf.int32], [[2]]),
        (tf.FIFOQueue, 3, [tf.float32], [[3]]),
        (tf.PaddingFIFOQueue, 3, [tf.float32], [[2]]),
    ],
)
def test_queues_of_one_name_have_to_be_made_alike(
    kind: Any, capacity: int, types: list[Any], shapes: list[Any]
) -> None:
    same = [tf.FIFOQueue(3, [tf.float32], [[2]], shared_name="one") for _ in range(2)]
    other = kind(capacity, types, shapes, shared_name="one")
    with tf.Session() as session:
        assert session.run([queue.size() for queue in same]) == [0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="have to be made alike"):
            session.run(other.size())


@pytest.mark.parametrize(
    "make",
    [
        lambda shape: tf.FIFOQueue(3, [tf.int32], [shape]),
        lambda shape: tf.RandomShuffleQueue(3, 1, [tf.int32], [shape]),
        lambda shape: tf.PriorityQueue(3, [tf.int32], [shape]),
        lambda shape: tf.contrib.slim.prefetch_queue.prefetch_queue(
            [tf.placeholder(tf.int32, shape)]
        ),
    ],
)
def test_queues_that_cannot_pad_need_all_sizes(make) -> None:
    for shape in ([None, 3], None):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="must be fully defined"):
            make(tf.TensorShape(shape))
    with tf.Graph().as_default():
        make(tf.TensorShape([2, 3]))


def test_a_padding_queue_needs_a_rank() -> None:
    with pytest.raises(ValueError, match="must have a defined rank"):
        tf.PaddingFIFOQueue(3, [tf.int32], [tf.TensorShape(None)])
