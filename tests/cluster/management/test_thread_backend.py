"""`launch(backend="threads")`: tasks in this process, with the names of others, killed and paused."""

import threading
import time

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("no_gpus")
PATIENCE_SECONDS = 60


def wait_until(condition):
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def launched():
    with tf.cluster.launch(ps=1, workers=2, backend="threads", restart=False, logs=False) as made:
        yield made


def test_tasks_have_the_usual_names_and_share_the_work(launched):
    assert launched.tasks == ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    with tf.device("/job:ps/task:0"):
        weights = tf.Variable(np.ones(3, np.float32), name="weights")
    parts = []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            parts.append(tf.reduce_sum(weights * (index + 1.0)))
    with tf.Session(launched.target) as session:
        session.run(weights.initializer)
        assert session.run(parts) == [3.0, 6.0]
        assert session.remote.tasks(parts)["weights"] == "/job:ps/task:0"
    rows = launched.status()
    assert [row["state"] for row in rows] == ["running"] * 3
    assert rows[0]["variables"] == 1 and rows[0]["steps"] > 0


def test_functions_run_in_the_tasks_with_graphs_of_their_own(launched):
    def work(server, factor):
        constant = tf.constant(factor)
        with tf.Session(server.target) as session:
            return server.task, len(constant.graph.get_operations()), session.run(constant)

    found = launched.run(work, 2.5)
    assert found == [("/job:worker/task:0", 1, 2.5), ("/job:worker/task:1", 1, 2.5)]

    def fails(server):
        raise KeyError(server.task)

    with pytest.raises(KeyError, match="worker/task:1"):
        launched.submit("worker:1", fails).result()
    gate = threading.Event()
    call = launched.submit("worker:0", lambda server: gate.wait())
    with pytest.raises(TimeoutError, match="not returned within"):
        call.result(0.01)
    gate.set()


def test_a_killed_task_loses_its_variables_and_comes_back_at_its_address(launched):
    with tf.device("/job:ps/task:0"):
        weights = tf.Variable(7.0, name="weights")
    addresses = launched.spec.addresses()
    with tf.Session(launched.target) as session:
        session.run(weights.initializer)
        launched.kill("ps:0")
        assert launched.status()[0]["state"] == "dead"
        assert launched.deaths == [("/job:ps/task:0", "it was killed")]
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(weights)
        launched.restart("ps:0")
        with pytest.raises(tf.errors.OpError):
            session.run(weights)  # uninitialized, or the session says that its task was restarted
    assert launched.spec.addresses() == addresses
    with tf.Session(launched.target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(weights)
        session.run(weights.initializer)
        assert session.run(weights) == 7.0


def test_a_paused_task_is_slow_and_goes_on(launched):
    with tf.device("/job:worker/task:1"):
        total = tf.constant([1.0, 2.0]) * 2.0
    with tf.Session(launched.target) as session:
        session.run(total)
        launched.pause("worker:1")
        assert launched.status()[2]["state"] == "paused"
        done = threading.Event()
        thread = threading.Thread(target=lambda: (session.run(total), done.set()))
        thread.start()
        assert not done.wait(0.2)
        launched.resume("worker:1")
        assert done.wait(PATIENCE_SECONDS)
        thread.join()
        assert [event.kind for event in launched.events] == ["paused", "resumed"]


def test_a_task_that_dies_is_started_again_unless_told_otherwise():
    with tf.cluster.launch(ps=1, workers=1, backend="threads", logs=False) as made:
        made.kill("worker:0")
        wait_until(lambda: any(event.kind == "restarted" for event in made.events))
        assert made.status()[1]["restarts"] == 1
        made.resize(worker=2)
        assert made.tasks[-1] == "/job:worker/task:1"
        with tf.Session(made.targets["/job:worker/task:1"]) as session:
            assert session.run(tf.constant(3)) == 3


def test_a_training_runs_on_threads(launched):
    def model(part, num_parts):
        w = tf.get_variable("w", initializer=np.float32(4.0))
        return tf.square(w - 1.0)

    training = tf.cluster.Training(launched, model, learning_rate=0.1).start()

    def has_learned():
        loss = training.status()["loss"]
        return loss is not None and loss < 0.1  # soon it is 0.0

    wait_until(has_learned)
    training.stop()
    wait_until(lambda: not training.status()["workers"])


def test_what_only_processes_have_is_refused():
    with pytest.raises(ValueError, match="'ray' or 'threads', got 'fork'"):
        tf.cluster.launch(backend="fork")
    with pytest.raises(ValueError, match="address= is of Ray"):
        tf.cluster.launch(backend="threads", address="auto")


def line(part, num_parts):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    return tf.square(w - 3.0)


@pytest.mark.threads
@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("mode", ["asynchronous", "all-reduce"])
def test_a_training_tells_its_steps_to_the_log_and_shows_them_on_request(mode, logs, capsys):
    with tf.cluster.launch(ps=1, workers=2, backend="threads", logs=logs) as cluster:
        training = tf.cluster.Training(cluster, line, learning_rate=0.01, mode=mode).start()
        try:
            wait_until(lambda: all(cluster.log(f"worker:{i}") for i in range(2)))
        finally:
            training.stop()
        told = cluster.log("worker:1")[0]
        assert told.startswith("step 1, loss ")
        assert cluster.log("ps:0") == []
    shown = capsys.readouterr().out.splitlines()
    assert (f"(/job:worker/task:1) {told}" in shown) == logs
    assert [s for s in shown if "loss" in s and not s.startswith("(/job:worker")] == []
