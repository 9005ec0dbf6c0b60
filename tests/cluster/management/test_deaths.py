"""Real processes, killed at the worst moments: what the others notice, and that they go on.

Nothing here asserts how long something took; what never ends fails by the bound of `result_of`.
"""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.calls import call
from dataflow.cluster.management import launcher
from dataflow.cluster.management.server import Server
from tests.cluster.conftest import KEY


def build(size=4):
    """w on the ps; a step in which worker 0 gives a gradient of the same size."""
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(np.zeros(size, np.float32), name="w")
    with tf.device("/job:worker/task:0"):
        gradient = tf.add(w, 1.0, name="gradient")
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(w, gradient, name="step")
    return w, step


def result_of(function, seconds=60):
    """What a function that runs in a thread returned or raised; a hang is a failure."""
    outcome = []

    def run():
        try:
            outcome.append(function())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, "it hangs"
    return outcome[0]


@pytest.mark.parametrize("target", ["worker:0", "worker:1"])
def test_steps_through_processes(processes, target):
    w, step = build()
    with tf.Session(processes.target(target)) as session:
        session.run(w.initializer)
        for expected in (1.0, 3.0, 7.0):
            assert session.run(step).tolist() == [expected] * 4
        trace = session.remote.record(step)
        assert [s.op_name for s in trace.steps if s.op_name in ("gradient", "step")] == [
            "gradient",
            "step",
        ]
        assert trace.result.tolist() == [15.0] * 4


def test_a_killed_ps_is_named_and_its_restart_is_noticed(processes):
    w, step = build()
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)
        session.run(step)
        processes.kill("ps:0")
        for _ in range(2):
            error = result_of(lambda: session.run(step))
            assert isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError))
            assert "/job:ps/task:0" in str(error)
        processes.start("ps:0")
        error = result_of(lambda: session.run(step))
        assert isinstance(error, tf.errors.AbortedError)
        assert "restarted" in str(error)
        assert "uninitialized value w" in str(error)
        session.run(w.initializer)
        assert session.run(step).tolist() == [1.0] * 4


@pytest.mark.parametrize("target", ["a process", "this process"])
def test_after_a_restart_only_what_reads_a_lost_variable_fails(processes, target):
    _, step = build()
    with tf.device("/job:ps/task:0"):
        other = tf.get_variable("other", initializer=5.0)
        of_other = other + 1.0
        queue = tf.FIFOQueue(10, tf.float32, shapes=[], shared_name="numbers")
        through_queue = tf.group(queue.enqueue(2.0)), queue.size()
    with tf.device("/job:worker/task:1"):
        nothing_lost = tf.constant(1.0) + 2.0
    server = None
    address = processes.target("worker:0")
    if target == "this process":
        processes.kill("worker:0")
        server = Server(processes.spec, "worker", 0, key=KEY)
        address = server.target
    try:
        with tf.Session(address) as session, tf.Session(address) as second:
            fetches = [step, of_other, [of_other, nothing_lost], *through_queue]
            initializer = tf.global_variables_initializer()
            session.run(initializer)
            for fetch in fetches:
                session.run(fetch)
            second.run(of_other)
            processes.kill("ps:0")
            processes.start("ps:0")
            session.run(through_queue[0])
            assert session.run(through_queue[1]) == 1
            assert session.run(nothing_lost) == 3.0
            session.run(initializer)
            assert session.run(of_other) == 6.0
            assert session.run([of_other, nothing_lost]) == [6.0, 3.0]
            assert session.run(step).tolist() == [1.0] * 4
            assert second.run(of_other) == 6.0  # what was initialized by another session
            # Once more, and only one of the two comes back.
            processes.kill("ps:0")
            processes.start("ps:0")
            error = result_of(lambda: session.run(step))
            assert isinstance(error, tf.errors.AbortedError)
            session.run(other.initializer)
            assert session.run([of_other, nothing_lost]) == [6.0, 3.0]
            for _ in range(2):
                error = result_of(lambda: session.run(step))
                assert isinstance(error, tf.errors.AbortedError)
                assert "uninitialized value w" in str(error)
                assert "/job:ps/task:0 was restarted" in str(error)
    finally:
        if server is not None:
            server.stop()


def test_a_restarted_master_of_a_session_runs_what_it_ran(processes):
    w, step = build()
    with tf.device("/job:worker/task:0"):
        local = tf.get_variable("local", initializer=3.0)
        both = local + tf.reduce_sum(w)
    with tf.Session(processes.target("worker:0")) as session:
        session.run([w.initializer, local.initializer])
        session.run([step, both])
        processes.kill("worker:0")
        processes.start("worker:0")
        assert session.run(step).tolist() == [3.0] * 4
        error = result_of(lambda: session.run(both))
        assert isinstance(error, tf.errors.AbortedError)
        assert "uninitialized value local" in str(error)
        session.run(local.initializer)
        assert session.run(both) == 15.0


def test_a_ps_killed_in_the_middle_of_steps(processes):
    w, step = build(100_000)
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)

        def forever():
            while True:
                session.run(step.op)

        threading.Timer(0.3, processes.kill, ["ps:0"]).start()
        error = result_of(forever)
        assert isinstance(error, tf.errors.UnavailableError)
        assert "/job:ps/task:0" in str(error)


def test_a_worker_killed_in_the_middle_of_steps_does_not_stop_the_other(processes):
    w, step = build()
    with tf.device("/job:worker/task:1"):
        other = tf.add(w, 2.0)
    with tf.device("/job:ps/task:0"):
        other_step = tf.assign_add(w, other)
    first = tf.Session(processes.target("worker:0"))
    second = tf.Session(processes.target("worker:1"))
    first.run(w.initializer)
    second.run(other_step)

    def forever():
        while True:
            first.run(step.op)

    threading.Timer(0.2, processes.kill, ["worker:0"]).start()
    error = result_of(forever)
    assert isinstance(error, tf.errors.UnavailableError)
    assert "/job:worker/task:0" in str(error)
    before = second.run(w)
    assert np.all(second.run(other_step) == 2 * before + 2)
    second.close()
    first.close()


@pytest.mark.parametrize("target", ["worker:0", "worker:1"])
def test_a_worker_killed_in_the_middle_of_a_node(processes, eventually, target):
    w, _ = build()
    with tf.device("/job:worker/task:0"):
        for_ever = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0])
    with tf.device("/job:ps/task:0"):
        never = tf.assign_add(w, tf.cast(for_ever, tf.float32) * tf.ones([4]))
    watched = tf.cluster.attach(processes.spec)
    with (
        tf.Session(processes.target(target)) as session,
        tf.Session(processes.target("worker:1")) as other,
    ):
        session.run(w.initializer)
        before = watched.status()[1]["steps"]
        threading.Thread(
            target=lambda: (
                eventually(lambda: watched.status()[1]["steps"] > before),
                processes.kill("worker:0"),
            )
        ).start()
        error = result_of(lambda: session.run(never))
        assert isinstance(error, tf.errors.UnavailableError)
        assert "/job:worker/task:0" in str(error)
        assert other.run(w).tolist() == [0.0] * 4
    watched.stop()


@pytest.mark.parametrize("target", ["worker:0", "worker:1"])
def test_a_worker_killed_in_the_middle_of_a_message(processes, eventually, target):
    """The ps is stopped, so that the worker stands with the first part of a large message sent."""
    long = "x" * 20_000  # texts go through the socket and not through shared memory
    with tf.device("/job:ps/task:0"):
        table = tf.get_variable("table", initializer=tf.fill([300], "old"))
        size = tf.reduce_sum(tf.cast(tf.equal(table, "old"), tf.int32))
    with tf.device("/job:worker/task:0"):
        texts = tf.fill([300], tf.identity(tf.constant(long)))
    with tf.device("/job:ps/task:0"):
        send = tf.assign(table, texts).op
    with tf.device("/job:worker/task:1"):
        small = tf.fill([300], tf.identity(tf.constant("new")))
    with tf.device("/job:ps/task:0"):
        again = tf.assign(table, small).op
    watched = tf.cluster.attach(processes.spec)
    session = tf.Session(processes.target(target))
    other = tf.Session(processes.target("worker:1"))
    for part in (send, table.initializer):  # the partitions are registered before the ps is stopped
        session.run(part)
    other.run(size)
    outcome = []
    processes.pause("ps:0")
    counted: list[int | None] = []  # None while a task has no time to answer
    eventually(lambda: counted.append(watched.status()[1]["sent_bytes"]) or counted[-1] is not None)
    before = counted[-1]
    thread = threading.Thread(target=lambda: outcome.append(result_of(lambda: session.run(send))))
    thread.start()
    eventually(lambda: (watched.status()[1]["sent_bytes"] or 0) > before + 5_000_000)
    processes.kill("worker:0")
    thread.join(60)
    assert isinstance(outcome[0], tf.errors.UnavailableError)
    assert "/job:worker/task:0" in str(outcome[0])
    processes.resume("ps:0")
    assert other.run(size) == 300, "half a message was taken for a whole one"
    other.run(again)
    assert other.run(size) == 0
    assert watched.status()[0]["state"] == "running"
    other.close()
    session.close()
    watched.stop()


def test_a_worker_killed_while_it_waits_takes_nothing_with_it(processes, eventually):
    with tf.device("/job:ps/task:0"):
        tokens = tf.FIFOQueue(10, [tf.int64], shapes=[[]], shared_name="tokens")
        put, take, size = (
            tokens.enqueue([tf.constant(7, tf.int64)]),
            tokens.dequeue(),
            tokens.size(),
        )
    waiting = tf.Session(processes.target("worker:0"))
    outcome = []

    def wait():
        try:
            waiting.run(take)
        except tf.errors.OpError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    time.sleep(0.3)
    processes.kill("worker:0")
    thread.join(60)
    assert isinstance(outcome[0], tf.errors.UnavailableError)
    with tf.Session(processes.target("worker:1")) as session:
        session.run(put)
        assert session.run(size) == 1, "the dead worker took the token"
        assert session.run(take) == 7


CLIENT = textwrap.dedent(
    """
    import sys
    import dataflow as tf
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(0.0, name="w")
        step = tf.assign_add(w, 1.0)
        queue = tf.FIFOQueue(1, [tf.float32], shared_name="q")
    session = tf.Session(sys.argv[1])
    session.run(w.initializer)
    session.run(step)
    print("waiting", flush=True)
    session.run(queue.dequeue())
    """
)


def test_a_killed_client_leaves_its_variables_and_no_waiting_step(processes, eventually):
    target = processes.target("worker:0")
    environment = {**os.environ, "DATAFLOW_CLUSTER_KEY": "a key for tests"}
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, target], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert client.stdout.readline().strip() == "waiting"
    time.sleep(0.2)
    client.kill()
    client.wait(60)
    client.stdout.close()
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(0.0, name="w")
        queue = tf.FIFOQueue(1, [tf.float32], shared_name="q")
        put, size = queue.enqueue([1.0]), queue.size()
    with tf.Session(target) as session:
        assert session.run(w) == 1.0
        time.sleep(0.3)
        session.run(put)
        assert session.run(size) == 1


def test_an_interrupted_step_stops_and_the_session_goes_on(processes):
    w, step = build()
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="q")
        take, put, size = queue.dequeue(), queue.enqueue([1.0]), queue.size()
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)
        main = threading.main_thread().ident
        timer = threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT])
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            session.run(take)
        assert session.run(step).tolist() == [1.0] * 4
        time.sleep(0.3)
        session.run(put)
        assert session.run(size) == 1, "the interrupted dequeue took it"


def test_a_stopped_worker_is_a_straggler_and_not_dead(processes):
    w, step = build()
    with tf.device("/job:worker/task:1"):
        slow = tf.add(w, 5.0)
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)
        assert session.run(slow).tolist() == [5.0] * 4
        processes.pause("worker:1")
        threading.Timer(0.5, processes.resume, ["worker:1"]).start()
        assert session.run(step).tolist() == [1.0] * 4  # does not need it
        assert result_of(lambda: session.run(slow)).tolist() == [6.0] * 4


def test_join_ends_when_the_cluster_is_shut_down(processes):
    tf.cluster.shutdown(processes.spec)
    for process in processes.processes.values():
        assert process.wait(60) == 0
        assert process.stdout.read().strip() == "joined"


def test_a_task_that_is_gone_before_it_answers_was_stopped_all_the_same(processes, monkeypatch):
    _, step = build()

    def lost(connection, method, *args):
        call(connection, method, *args)
        raise tf.errors.UnavailableError(None, None, "the answer is lost")

    monkeypatch.setattr(launcher, "call", lost)
    with tf.Session(processes.target("worker:0")) as session:
        tf.cluster.shutdown(processes.spec)
        for process in processes.processes.values():
            assert process.wait(60) == 0
        error = result_of(lambda: session.run(step))
    assert "tf.cluster.shutdown() stopped it at" in str(error)


@pytest.mark.parametrize("call", ["cluster.stop()", "tf.cluster.shutdown()"])
def test_a_session_is_told_which_call_stopped_its_servers(processes, call):
    w, step = build()
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)
        if call == "cluster.stop()":
            tf.cluster.attach(processes.spec, KEY).stop()
        else:
            tf.cluster.shutdown(processes.spec)
        for process in processes.processes.values():
            assert process.wait(60) == 0
        for _ in range(2):
            error = result_of(lambda: session.run(step))
            assert isinstance(error, tf.errors.UnavailableError)
            assert f"{call} stopped it at" in str(error)
            assert "test_deaths.py, line" in str(error)
        # They can be started again.
        processes.start("worker:0", wait=False)
        processes.start("ps:0")
        session.run(w.initializer)
        assert session.run(step).tolist() == [1.0] * 4


def test_large_tensors_between_processes(processes):
    w, step = build(2_000_000)
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)
        for expected in (1.0, 3.0, 7.0, 15.0):
            assert np.all(session.run(step) == expected)
