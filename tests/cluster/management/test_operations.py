"""What a panel does to a running cluster: pause, slow down, kill, restart, resize, read logs."""

import contextlib
import os
import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.transport import handshake


@pytest.fixture(scope="module")
def launched():
    with tf.cluster.launch(ps=1, workers=2, logs=False) as cluster:
        yield cluster


def kinds(cluster, task):
    return [event.kind for event in cluster.events if event.task == task]


def row(cluster, task):
    return next(r for r in cluster.status() if r["task"] == task)


def add_on(task):
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.zeros(2, np.float32))
    with tf.device(task):
        one = tf.identity(tf.ones([2]))
    with tf.device("/job:ps/task:0"):
        return w, tf.assign_add(w, one)


@pytest.mark.cluster
def test_a_paused_task_is_slow_and_goes_on(launched):
    w, step = add_on("/job:worker/task:1")
    with tf.Session(launched.target) as session:
        session.run(w.initializer)
        session.run(step.op)
        launched.pause("worker:1")
        assert row(launched, "/job:worker/task:1")["state"] == "paused"
        assert row(launched, "/job:worker/task:1")["steps"] is None
        assert row(launched, "/job:ps/task:0")["steps"] is not None
        outcome = []
        thread = threading.Thread(target=lambda: outcome.append(session.run(step)))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive(), "a step ran on a paused task"
        with pytest.raises(tf.errors.UnavailableError, match="is paused, but it must be running"):
            launched.slow_down("worker:1", 1.0)
        launched.resume("worker:1")
        thread.join(60)
        assert outcome[0].tolist() == [2.0, 2.0]
        with pytest.raises(tf.errors.UnavailableError, match="is running, but it must be paused"):
            launched.resume("worker:1")
    assert kinds(launched, "/job:worker/task:1")[-2:] == ["paused", "resumed"]
    assert launched.deaths == []


@pytest.mark.cluster
def test_a_slowed_task_takes_longer_for_each_step(launched):
    w, step = add_on("/job:worker/task:1")
    with tf.Session(launched.target) as session:
        session.run(w.initializer)
        launched.slow_down("worker:1", 30.0)
        assert row(launched, "/job:worker/task:1")["delay_seconds"] == 30.0
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(step, options=tf.RunOptions(timeout_in_ms=200))
        launched.slow_down("worker:1", 0.0)
        session.run(step)
    with pytest.raises(ValueError, match="from 0 to 60, got -1"):
        launched.slow_down("worker:1", -1)


@pytest.mark.cluster
def test_a_restart_on_request_even_of_a_task_that_stays_dead(eventually):
    with tf.cluster.launch(ps=1, workers=1, restart=False, logs=False) as cluster:
        pid = cluster.pid("ps:0")
        cluster.restart("ps:0")
        assert cluster.pid("ps:0") != pid
        assert kinds(cluster, "/job:ps/task:0") == ["died", "restarted"]
        cluster.kill("ps:0")
        eventually(lambda: row(cluster, "/job:ps/task:0")["state"] == "dead")
        with pytest.raises(
            tf.errors.UnavailableError, match="ps/task:0 is dead, but it must be run"
        ):
            cluster.kill("ps:0")
        cluster.restart("ps:0")
        w, step = add_on("/job:worker/task:0")
        with tf.Session(cluster.target) as session:
            session.run(w.initializer)
            assert session.run(step).tolist() == [1.0, 1.0]
        assert [event.seconds for event in cluster.events] == sorted(
            event.seconds for event in cluster.events
        )


def who(server):
    print("here is", server.task)
    return server.task, server.cluster_spec.num_tasks("worker")


@pytest.mark.cluster
def test_workers_come_and_go_while_one_is_paused(launched, eventually):
    launched.pause("worker:1")
    try:
        thread = threading.Thread(target=lambda: launched.resize(worker=3))
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "the paused worker was waited for"
    finally:
        launched.resume("worker:1")
    three = [(f"/job:worker/task:{i}", 3) for i in range(3)]
    eventually(lambda: sorted(launched.run(who)) == three)
    launched.resize(worker=2)


@pytest.mark.cluster
def test_workers_come_and_go(launched):
    w, step = add_on("/job:worker/task:2")
    old = tf.Session(launched.target, graph=tf.Graph())
    launched.resize(worker=3)
    assert launched.tasks[-1] == "/job:worker/task:2"
    assert sorted(launched.run(who)) == [(f"/job:worker/task:{i}", 3) for i in range(3)]
    with tf.Session(launched.target) as session:
        session.run(w.initializer)
        assert session.run(step).tolist() == [1.0, 1.0]
        pid = launched.pid("worker:2")
        launched.resize(worker=2)
        assert launched.tasks == ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
        with pytest.raises(tf.errors.UnavailableError, match="/job:worker/task:2"):
            session.run(step)
        assert session.run(w).tolist() == [1.0, 1.0]
    with tf.Session(launched.target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="/job:worker/task:2"):
            session.run(step)
    with old:
        assert old.run(old.graph.get_operations()) == []
    assert not os.path.exists(f"/proc/{pid}/fd/0")
    assert kinds(launched, "/job:worker/task:2")[-2:] == ["added", "removed"]
    with pytest.raises(ValueError, match="there is no job 'gpu'"):
        launched.resize(gpu=1)
    with pytest.raises(ValueError, match="no task would be left"):
        launched.resize(ps=0, worker=0)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="asks for"):
        launched.resize(worker=100_000)
    assert len(launched.tasks) == 3


@pytest.mark.cluster
def test_the_log_of_a_task_outlives_it(launched, eventually):
    launched.run(who)
    eventually(lambda: launched.log("worker:0")[-1:] == ["here is /job:worker/task:0"])
    launched.restart("worker:0")
    assert launched.log("worker:0", 1) == ["here is /job:worker/task:0"]
    assert launched.log("ps:0", 0) == []


def test_plain_servers_are_attached_to(processes, eventually):
    cluster = tf.cluster.attach(processes.spec)
    assert [r["state"] for r in cluster.status()] == ["running"] * 3
    assert cluster.pid("worker:1") == processes.processes["worker:1"].pid
    assert all(r["memory_bytes"] > 0 for r in cluster.status())
    cluster.pause("worker:1")
    assert cluster.status()[2]["state"] == "paused"
    cluster.resume("worker:1")
    cluster.slow_down("worker:1", 0.001)
    assert cluster.status()[2]["delay_seconds"] == 0.001
    for refused in (
        lambda: cluster.restart("ps:0", 1.0),
        lambda: cluster.resize(worker=3),
        lambda: cluster.submit("worker:0", who),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match=r"tf\.cluster\.launch"):
            refused()
    cluster.kill("worker:0")
    processes.processes["worker:0"].wait(60)
    assert [r["state"] for r in cluster.status()] == ["running", "dead", "running"]
    assert cluster.deaths == [("/job:worker/task:0", "its process has ended")]
    processes.start("worker:0")
    assert row(cluster, "/job:worker/task:0")["state"] == "running"
    assert row(cluster, "/job:worker/task:0")["restarts"] == 1
    cluster.stop()
    for process in processes.processes.values():
        assert process.wait(60) is not None


@pytest.mark.timeout(120)
def test_a_task_that_was_stopped_from_outside_does_not_stop_the_table(processes, monkeypatch):
    cluster = tf.cluster.attach(processes.spec)
    monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 1000.0)
    processes.pause("worker:1")
    try:
        for _ in range(3):  # each on a connection of its own: the last one was silent
            steps = {r["task"]: r["steps"] for r in cluster.status()}
            assert steps["/job:worker/task:1"] is None
            assert steps["/job:worker/task:0"] is not None
    finally:
        processes.resume("worker:1")
    assert row(cluster, "/job:worker/task:1")["steps"] is not None
    cluster.stop()


@contextlib.contextmanager
def stopped_for_long(processes, name):
    """A task is stopped, from outside, for longer than its figures are waited for; yields what says when it goes on."""
    goes_on = threading.Event()

    def resume():
        goes_on.set()
        processes.resume(name)

    processes.pause(name)
    timer = threading.Timer(2.0, resume)
    timer.start()
    try:
        yield goes_on
    finally:
        timer.join()


def test_a_task_that_answers_late_is_told_all_the_same(processes):
    cluster = tf.cluster.attach(processes.spec)
    assert row(cluster, "/job:worker/task:1")["delay_seconds"] == 0.0
    with stopped_for_long(processes, "worker:1"):
        cluster.slow_down("worker:1", 0.5)
    assert row(cluster, "/job:worker/task:1")["delay_seconds"] == 0.5
    cluster.stop()


def test_a_reset_waits_for_a_task_that_answers_late(processes):
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(1.0, name="w")
    with tf.Session(processes.target("worker:0")) as session:
        session.run(w.initializer)
        with stopped_for_long(processes, "ps:0") as goes_on:
            tf.Session.reset(processes.target("worker:0"))
            assert goes_on.is_set(), "it would be cleared under the next session's feet"
    with tf.Session(processes.target("worker:0")) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(w)


def test_clusters_made_in_this_process_are_found(cluster):
    found = [c for c in tf.cluster.find() if c.spec == cluster.spec]
    assert len(found) == 1
    assert found[0] is next(c for c in tf.cluster.find() if c.spec == cluster.spec)
    assert found[0].pid("ps:0") == os.getpid()
    with pytest.raises(tf.errors.UnimplementedError, match="this very process"):
        found[0].kill("ps:0")
    cluster.stop()
    assert cluster.spec not in [c.spec for c in tf.cluster.find()]


def test_nobody_to_attach_to(make_spec):
    with pytest.raises(tf.errors.UnavailableError, match="No task of .* answers"):
        tf.cluster.attach(make_spec(ps=1), timeout_seconds=0.1)


@pytest.mark.cluster
def test_a_cluster_outlives_the_thread_that_launched_it(eventually):
    made = []
    thread = threading.Thread(
        target=lambda: made.append(tf.cluster.launch(ps=1, workers=1, logs=False))
    )
    thread.start()
    thread.join(90)
    with made[0] as cluster:
        cluster.resize(worker=2)  # asks Ray's head, which ended with the thread that started it
        assert [task for task, _ in cluster.run(who)] == [
            "/job:worker/task:0", "/job:worker/task:1"
        ]  # fmt: skip
        assert cluster.deaths == []
    parents = [t for t in threading.enumerate() if t.name == "Ray's parent"]
    eventually(lambda: not any(t.is_alive() for t in parents))
