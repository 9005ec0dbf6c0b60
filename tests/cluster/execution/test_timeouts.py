"""A task that is stopped in the middle: a step's time-out covers all that the step waits for.

Reaching the task, connecting, preparing the step there, sending and waiting. The session goes on
when the task does, and nothing is done twice.
"""

import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import combination
from dataflow.cluster.transport import connection_pool
from tests.cluster.management.test_deaths import result_of

HALF = tf.RunOptions(timeout_in_ms=500)


@pytest.fixture(params=["general", "straight", "remote"])
def program(request, processes, stopped):
    """A session whose parameter server can be stopped: how its steps run, and from where."""
    in_process = request.param != "remote"
    target = processes.target("worker:0")
    if in_process:  # the master is here
        processes.kill("worker:0")
        server = tf.train.Server(processes.spec, "worker", 0, key="a key for tests")
        target = server.target
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(np.zeros(4, np.float32), name="w")
    with tf.device("/job:worker/task:0" if request.param == "straight" else "/job:ps/task:0"):
        one = tf.add(tf.multiply(w, 0.0), 1.0)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(w, one).op
    with tf.Session(target) as session:
        session.run(w.initializer)
        for _ in range(5):
            session.run(step)
        yield session, w, step, lambda: stopped(processes.processes["ps:0"])
    if in_process:
        server.stop()


def is_late(run):
    """Whether its time-out ends it, and not the patience with a silent task (30 s: Unavailable)."""
    return isinstance(result_of(run, 25), tf.errors.DeadlineExceededError)


def test_a_stopped_server(program):
    session, w, step, stop = program
    with stop():
        # The first time the connection is there, and what is sent arrives; then a new one is needed.
        assert is_late(lambda: session.run(step, options=HALF))
        assert is_late(lambda: session.run(step, options=HALF))
        assert is_late(lambda: session.run(w, options=HALF))  # has been prepared nowhere
    for _ in range(3):
        session.run(step)
    (value,) = set(session.run(w).tolist())
    assert 8 <= value <= 10, "a step was lost, or done twice"


def test_closing_does_not_wait_for_a_stopped_server(program):
    session, _, _, stop = program
    with stop():
        assert result_of(lambda: (session.close(), "closed"))[1] == "closed"


@pytest.mark.parametrize("local", [True, False])
def test_a_large_feed_to_a_stopped_server(processes, stopped, monkeypatch, local):
    """More than a socket takes is sent, or its memory is shared."""
    if not local:

        def no_local_socket(name):
            raise ConnectionRefusedError

        monkeypatch.setattr(connection_pool, "_local_socket", no_local_socket)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(np.zeros(3_000_000, np.float32))
        x = tf.placeholder(tf.float32, [3_000_000])
        step = tf.assign_add(v, x).op
    processes.kill("worker:0")
    server = tf.train.Server(processes.spec, "worker", 0, key="a key for tests")
    ones = np.ones(3_000_000, np.float32)
    with tf.Session(server.target) as session:
        session.run(v.initializer)
        session.run(step, {x: ones})
        with stopped(processes.processes["ps:0"]):
            assert is_late(lambda: session.run(step, {x: ones}, options=HALF))
        session.run(step, {x: ones})
        (value,) = set(session.run(v[::1000]).tolist())
        assert 2 <= value <= 3
    server.stop()


def test_a_step_that_repeats_itself_on_a_stopped_server(processes, stopped):
    """As a synchronous chief's."""
    with tf.device("/job:ps/task:0"):
        counter = tf.Variable(0.0)
        step = tf.assign_add(counter, 1.0).op
    processes.kill("worker:0")
    server = tf.train.Server(processes.spec, "worker", 0, key="a key for tests")
    config = tf.ConfigProto(operation_timeout_in_ms=3000)
    began, errors = threading.Event(), []

    def run():
        try:
            session.make_repeated_callable(step, lambda: bool(began.set()))()
        except tf.errors.OpError as error:
            errors.append(error)

    with tf.Session(server.target, config=config) as session:
        session.run(counter.initializer)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert began.wait(60)
        with stopped(processes.processes["ps:0"]):
            thread.join(60)
            assert not thread.is_alive()
            assert [type(error) for error in errors] == [tf.errors.DeadlineExceededError]
        assert session.run(counter) > 0
    server.stop()


def test_a_stopped_master(processes, stopped):
    """The client's own wait ends, for the session's making and for a step."""
    config = tf.ConfigProto(operation_timeout_in_ms=3000)
    c = tf.constant(2.0)
    with tf.Session(processes.target("worker:0"), config=config) as session:
        assert session.run(c) == 2.0
        with stopped(processes.processes["worker:0"]):
            assert is_late(lambda: session.run(c))
            assert is_late(lambda: session.run(c + 1.0))
            assert is_late(lambda: tf.Session(processes.target("worker:0"), config=config))
        assert session.run(c + 2.0) == 4.0


def test_a_task_that_never_comes(make_spec):
    """Nobody listens: the step's time-out is shorter than the ten seconds of a first contact."""
    spec = make_spec(ps=1, worker=1)
    server = tf.train.Server(spec, "worker", 0, key="a key for tests")
    with tf.device("/job:ps/task:0"):
        c = tf.constant(1.0) + tf.constant(2.0)
    with (
        tf.Session(server.target) as session,
        pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/task:0 cannot be reached"),
    ):
        session.run(c, options=HALF)
    server.stop()


def test_a_queue_of_the_masters_own_task(cluster):
    """Nothing else is waited for, so it would wait on the caller's own thread."""
    with tf.device("/job:worker/task:0"):
        take = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="own").dequeue()
    with tf.Session(cluster["worker:0"].target) as session:
        assert is_late(lambda: session.run(take, options=HALF))


def is_held(lock):
    """Whether another thread has the lock."""
    is_free = lock.acquire(blocking=False)
    if is_free:
        lock.release()
    return not is_free


def test_closing_ends_what_another_thread_asks_of_a_stopped_master(processes, stopped, eventually):
    session = tf.Session(processes.target("worker:0"))
    c = tf.constant(2.0)
    raised = []

    def ask():
        try:
            session.run(c)
        except tf.errors.OpError as error:
            raised.append(error)

    with stopped(processes.processes["worker:0"]):
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        eventually(lambda: is_held(session.remote.backend._lock))
        assert result_of(lambda: (session.close(), "closed"), 25)[1] == "closed"
        thread.join(60)
        assert not thread.is_alive() and raised


def test_a_limit_is_given_in_milliseconds_and_zero_is_none():
    assert combination.timeout_of(tf.ConfigProto(operation_timeout_in_ms=1500)) == 1.5
    assert combination.timeout_of(tf.ConfigProto(operation_timeout_in_ms=0)) is None
    assert combination.timeout_of(tf.ConfigProto()) is combination.timeout_of(None) is None
