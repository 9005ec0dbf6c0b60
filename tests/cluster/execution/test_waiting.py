"""Steps that wait for a queue or an accumulator: no thread waits for them, and none is forgotten."""

import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import worker_threads


@pytest.fixture
def queue():
    """A queue of two places on the parameter server; taking one, and putting a fed one in."""
    with tf.device("/job:ps/task:0"):
        made = tf.FIFOQueue(2, [tf.float32], shapes=[[]], shared_name="places")
        value = tf.placeholder(tf.float32, [])
        return made.dequeue(), made.enqueue([value]), value


def run_in_threads(session, fetches, count, feeds=None):
    """Run ``fetches`` in that many threads; their results and errors come into the list."""
    outcomes = []

    def run():
        try:
            outcomes.append(session.run(fetches, feeds))
        except tf.errors.OpError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, outcomes


def watchers(cluster):
    return len(dict(cluster["ps:0"].resources.items("queue"))["places"].condition._watchers)


def segment_threads():
    return sum(thread.name == "dataflow segment" for thread in threading.enumerate())


def test_many_wait_without_a_thread_each_and_all_are_served(cluster, queue, eventually):
    take, put, value = queue
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(put, {value: 0.0})
        session.run(take)
        before = segment_threads()
        threads, outcomes = run_in_threads(session, take, 12)
        eventually(lambda: watchers(cluster) == 12)
        assert segment_threads() <= before
        for number in range(12):
            session.run(put, {value: float(number)})
        for thread in threads:
            thread.join(60)
        assert sorted(outcomes) == [float(number) for number in range(12)]
        assert watchers(cluster) == 0


def test_a_step_that_is_given_up_takes_nothing_and_is_forgotten(cluster, queue, eventually):
    take, put, value = queue
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(take, options=tf.RunOptions(timeout_in_ms=100))
        eventually(lambda: watchers(cluster) == 0)
        session.run(put, {value: 5.0})
        assert session.run(take) == 5.0


def test_who_finds_no_room_waits_and_goes_on(cluster, queue, eventually):
    take, put, value = queue
    with tf.Session(cluster["worker:0"].target) as session:
        threads, outcomes = run_in_threads(session, put, 5, {value: 1.0})
        eventually(lambda: len(outcomes) == 2)
        assert [session.run(take) for _ in range(5)] == [1.0] * 5
        for thread in threads:
            thread.join(60)
        assert outcomes == [None] * 5


@pytest.mark.parametrize("up_to", [True, False])
def test_who_waits_for_many_gets_what_a_closed_queue_has_left(cluster, up_to, eventually):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(9, [tf.float32], shapes=[[]], shared_name="places")
        take = queue.dequeue_up_to(5) if up_to else queue.dequeue_many(5)
        put, close = queue.enqueue_many([[1.0, 2.0]]), queue.close()
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(put)
        threads, outcomes = run_in_threads(session, take, 1)
        eventually(lambda: watchers(cluster) == 1)
        session.run(close)
        threads[0].join(60)
        assert not threads[0].is_alive()
        if up_to:
            assert outcomes[0].tolist() == [1.0, 2.0]
        else:
            assert isinstance(outcomes[0], tf.errors.OutOfRangeError)
        assert watchers(cluster) == 0


def test_an_average_is_taken_when_the_last_gradient_arrives(cluster, eventually):
    with tf.device("/job:ps/task:0"):
        accumulator = tf.ConditionalAccumulator(tf.float32, [100_000], shared_name="gradients")
        gradient = tf.placeholder(tf.float32, [100_000])
        give = accumulator.apply_grad(gradient, local_step=0)
        average = accumulator.take_grad(2)
    with tf.device("/job:worker/task:1"):
        doubled = tf.multiply(average, 2.0)
    with tf.Session(cluster["worker:0"].target) as session:
        (thread,), outcomes = run_in_threads(session, doubled, 1)
        for number in (1.0, 3.0):
            assert not outcomes
            session.run(give, {gradient: np.full(100_000, number)})
        thread.join(60)
        assert np.all(outcomes[0] == 4.0)


def test_a_step_in_another_process_is_woken(processes, queue):
    take, put, value = queue
    with (
        tf.Session(processes.target("worker:0")) as first,
        tf.Session(processes.target("worker:1")) as second,
    ):
        threads, outcomes = run_in_threads(first, take, 4)
        for number in range(4):
            second.run(put, {value: float(number)})
        for thread in threads:
            thread.join(60)
        assert sorted(outcomes) == [0.0, 1.0, 2.0, 3.0]


def test_a_closed_session_leaves_nobody_waiting_for_a_lock(cluster, eventually):
    with tf.device("/job:ps/task:0"):
        section = tf.CriticalSection(shared_name="lock")
        inside = section.execute(lambda: tf.constant(1.0) + 1.0)
        lock = tf.get_default_graph().get_operation_by_name("critical_section_execute/MutexLock")
    target = cluster["worker:0"].target
    mutex = None
    with tf.Session(target) as session:
        assert session.run(inside) == 2.0  # its threads are there now
        (_, mutex), *_ = cluster["ps:0"].resources.items("mutex")
        idle = len(worker_threads.idle)
        session.run(lock)  # never given back
        waiting = tf.Session(target)
        (thread,), outcomes = run_in_threads(waiting, inside, 1)
        eventually(lambda: len(mutex.condition._waiters) == 1)
        waiting.close()
        thread.join(60)
        assert isinstance(outcomes[0], tf.errors.OpError)
        eventually(lambda: not mutex.condition._waiters)
        eventually(lambda: len(worker_threads.idle) >= idle)


def test_a_step_that_fails_in_a_critical_section_gives_the_lock_back(cluster):
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:ps/task:0"):
        section = tf.CriticalSection()
        checked = section.execute(lambda: tf.check_numerics(tf.log(x), "bad"))
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(checked, {x: -1.0})
            outcomes = []
            thread = threading.Thread(
                target=lambda: outcomes.append(session.run(checked, {x: 1.0}))  # noqa: B023
            )
            thread.start()
            thread.join(60)
            assert outcomes == [0.0]


@pytest.mark.parametrize("call", [tf.py_func, lambda f, x, t: tf.py_function(f, x, t)])
def test_critical_sections_of_steps_and_of_one_step_exclude_each_other(cluster, call):
    inside, most = [0], [0]
    pause = threading.Event()

    def note(x):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        pause.wait(0.002)
        inside[0] -= 1
        return np.float32(x)

    with tf.device("/job:ps/task:0"):
        section = tf.CriticalSection()
        both = [
            section.execute(lambda: call(note, [tf.constant(1.0)], tf.float32)) for _ in range(2)
        ]
    with tf.Session(cluster["worker:0"].target) as session:
        threads = [
            threading.Thread(target=lambda: [session.run(both) for _ in range(5)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert most == [1]


@pytest.mark.parametrize("call", [tf.py_func, lambda f, x, t: tf.py_function(f, x, t)])
def test_a_python_function_may_wait_for_another_of_the_same_step(cluster, call):
    arrived = threading.Event()

    def wait(x):
        return np.float32(arrived.wait(60))

    def arrive(x):
        arrived.set()
        return np.float32(x)

    with tf.device("/job:ps/task:0"):
        waits = call(wait, [tf.constant(0.0)], tf.float32)
        goes = call(arrive, [tf.constant(2.0)], tf.float32)
    with tf.Session(cluster["worker:0"].target) as session:
        assert session.run([waits, goes]) == [1.0, 2.0]


def test_what_waits_does_not_hold_up_what_else_its_task_computes(cluster, queue, eventually):
    take, put, value = queue
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
        more = v.assign_add(1.0)
    with tf.device("/job:worker/task:0"):
        doubled = more * 2.0
    for target in ("ps:0", "worker:0"):  # where the queue is, and elsewhere
        with (
            tf.Session(cluster[target].target) as session,
            tf.Session(cluster["worker:1"].target) as other,
        ):
            other.run(v.initializer)
            (thread,), outcomes = run_in_threads(session, [take, doubled], 1)
            eventually(lambda other=other: other.run(v) == 2)
            assert thread.is_alive()
            other.run(put, {value: 5.0})
            thread.join(60)
            assert outcomes == [[5.0, 4.0]]


def test_what_need_not_wait_goes_before_what_waits_on_the_callers_thread(cluster):
    target = cluster["worker:0"].target
    with tf.device("/job:worker/task:0"):
        seen = tf.py_func(lambda: other.run(v), [], tf.float32)
        v = tf.Variable(1.0)
        more = v.assign_add(1.0)
    with tf.Session(target) as session, tf.Session(target) as other:
        session.run(v.initializer)
        assert session.run([seen, more]) == [2.0, 2.0]
