"""Steps that their task begins again by itself: how they go on, and every way in which they end."""

import threading
import time

import pytest

import dataflow as tf
from dataflow.cluster.execution import worker_service
from dataflow.cluster.management.server import Server
from tests.cluster.conftest import KEY


@pytest.fixture
def pump():
    """On the parameter server: a step that takes a token and counts it; putting many tokens in."""
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(-1, [tf.float32], shapes=[[]], shared_name="tokens")
        counter = tf.get_variable("counter", initializer=0.0)
        step = tf.assign_add(counter, queue.dequeue()).op
        amount = tf.placeholder(tf.int32, [])
        put = queue.enqueue_many([tf.fill([amount], 1.0)])
    return queue, counter, step, put, amount


@pytest.fixture
def begun(monkeypatch):
    """The steps that masters asked tasks to begin, with their flags."""
    found = []
    real = worker_service.WorkerService._run

    def counted(self, connection, message):
        found.append(message.flags)
        real(self, connection, message)

    monkeypatch.setattr(worker_service.WorkerService, "_run", counted)
    return found


def start(session, step, until):
    """Run ``step`` in a thread until ``until()``; its error, if any, comes into the list."""
    errors = []

    def run():
        try:
            call = session.make_repeated_callable(step, until)
            while not until():
                call()
        except (tf.errors.OpError, RuntimeError) as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


def test_it_is_begun_once_and_ends_when_it_is_told(cluster, pump, begun, eventually):
    _, counter, step, put, amount = pump
    stop = threading.Event()
    with (
        tf.Session(cluster["worker:0"].target) as session,
        tf.Session(cluster["worker:1"].target) as other,
    ):
        session.run(counter.initializer)
        thread, errors = start(session, step, stop.is_set)
        # Tokens that lie there already: the step comes to its end at once, 3000 times in a row.
        for count in (1, 3000, 2):
            other.run(put, {amount: count})
        eventually(lambda: other.run(counter) == 3003.0)
        assert sum(flags == worker_service.REPEAT for flags in begun) == 1
        service = cluster["ps:0"].service
        assert service.num_steps >= 3003
        eventually(lambda: session.remote.backend.master.num_steps >= 3003)
        stop.set()
        (repeated,) = service._repeated.values()
        eventually(lambda: repeated._finishing)
        other.run(put, {amount: 2})  # what it waited for; the second is left where it is
        thread.join(60)
        assert not thread.is_alive()
        assert not errors
        assert other.run(counter) == 3004.0
        assert not service._repeated
        assert not service.runs


def test_the_time_out_is_for_each_time(cluster, pump, eventually):
    _, counter, step, put, amount = pump
    config = tf.ConfigProto(operation_timeout_in_ms=4000)
    with (
        tf.Session(cluster["worker:0"].target, config=config) as session,
        tf.Session(cluster["worker:1"].target) as other,
    ):
        session.run(counter.initializer)
        thread, errors = start(session, step, lambda: False)
        since = time.monotonic()
        while time.monotonic() - since < 5:
            other.run(put, {amount: 1})
            time.sleep(0.02)
        assert not errors, "it went on, and was given up"
        thread.join(60)
        assert [type(error) for error in errors] == [tf.errors.DeadlineExceededError]
        assert "/job:ps/task:0" in str(errors[0])
        eventually(lambda: not cluster["ps:0"].service.runs)


def test_an_error_ends_it_and_names_the_node(cluster, pump):
    queue, counter, step, put, amount = pump
    with (
        tf.Session(cluster["worker:0"].target) as session,
        tf.Session(cluster["worker:1"].target) as other,
    ):
        session.run(counter.initializer)
        thread, errors = start(session, step, lambda: False)
        other.run(put, {amount: 5})
        other.run(queue.close())
        thread.join(60)
        assert [type(error) for error in errors] == [tf.errors.OutOfRangeError]
        assert errors[0].op.type.startswith("QueueDequeue")
        assert not cluster["ps:0"].service._repeated


@pytest.mark.parametrize("end", ["session", "ps"])
def test_it_ends_with_its_session_and_with_its_task(cluster, pump, end, eventually):
    _, counter, step, _, _ = pump
    service = cluster["ps:0"].service
    session = tf.Session(cluster["worker:0"].target)
    session.run(counter.initializer)
    thread, errors = start(session, step, lambda: False)
    eventually(lambda: service._repeated)
    if end == "session":
        session.close()
    else:
        cluster["ps:0"].stop()
    thread.join(60)
    assert not thread.is_alive()
    wanted = (tf.errors.CancelledError, RuntimeError) if end == "session" else tf.errors.OpError
    assert isinstance(errors[0], wanted)
    if end == "ps":
        assert "/job:ps/task:0" in str(errors[0])
    eventually(lambda: not service.runs and not service._repeated)
    session.close()


def test_one_that_ran_before_a_restart_runs_after_it(make_spec, start_servers, pump, eventually):
    _, counter, step, put, amount = pump
    spec = make_spec(ps=1, worker=1)
    tasks = start_servers(spec, "ps")
    server = Server(spec, "worker", 0, key=KEY)
    try:
        with tf.Session(server.target) as session, tf.Session(server.target) as other:
            session.run(counter.initializer)
            thread, errors = start(session, step, lambda: False)
            other.run(put, {amount: 2})
            eventually(lambda: other.run(counter) == 2.0)
            tasks.kill("ps:0")
            thread.join(60)
            assert [type(error) for error in errors] == [tf.errors.UnavailableError]
            tasks.start("ps:0")
            session.run(counter.initializer)
            thread, errors = start(session, step, lambda: False)
            other.run(put, {amount: 3})
            eventually(lambda: other.run(counter) == 3.0)
            assert not errors
            session.close()
            thread.join(60)
            assert not thread.is_alive()
    finally:
        server.stop()


def test_what_has_more_than_one_task_or_a_result_is_not_repeated(cluster, begun):
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)
    with tf.device("/job:worker/task:1"):
        gradient = tf.negative(w)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(w, gradient)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        for fetches in (step.op, w):
            calls = []
            call = session.make_repeated_callable(fetches, lambda: False)
            for _ in range(3):
                call()
                calls.append(True)
            assert len(calls) == 3
    assert not any(flags & worker_service.REPEAT for flags in begun)


def test_synchronous_training_begins_each_step_with_what_the_token_brought(
    cluster, begun, used_reads
):
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)
        global_step = tf.train.get_or_create_global_step()
    with tf.device("/job:worker/task:0"):
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 1)
        train = optimizer.apply_gradients([(tf.multiply(w, 1.0), w)], global_step)
        hook = optimizer.make_session_run_hook(is_chief=True, num_tokens=0)
    with tf.train.MonitoredTrainingSession(
        cluster["worker:0"].target, hooks=[hook], stop_grace_period_secs=1
    ) as session:
        del used_reads[:]
        for _ in range(20):
            session.run(train)
        assert sum(used_reads) > 15
        assert session.run([w, global_step]) == [0.5**20, 20]
    assert sum(flags == worker_service.REPEAT for flags in begun) == 1
