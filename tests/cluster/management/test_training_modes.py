"""`tf.cluster.Training`: modes that are switched while it runs, on servers of this process."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.management import (
    ring_training,
    training as training_module,
    training_options,
)
from dataflow.cluster.management.server import Server
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.graph import Graph
from tests.cluster.conftest import KEY, LocalCluster


class ThreadCluster:
    """Servers of this process with the part of `Cluster` that a training uses."""

    def __init__(self, servers):
        self.servers = servers
        self.spec = servers.spec
        self.stopped = False
        self.backend = SimpleNamespace(
            tasks=[
                SimpleNamespace(
                    name=name, job=name.split(":")[1].split("/")[0], index=int(name[-1]),
                    state="running",
                )
                for name in servers.servers
            ]
        )  # fmt: skip

    @property
    def tasks(self):
        return [task.name for task in self.backend.tasks]

    @property
    def targets(self):
        return {name: server.target for name, server in self.servers.servers.items()}

    def submit(self, task, function, *args):
        outcome = {}

        def run():
            try:
                with use_graph(Graph()):
                    outcome["value"] = function(self.servers.servers[task], *args)
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def result(timeout_seconds=None):
            thread.join(timeout_seconds)
            if "error" in outcome:
                raise outcome["error"]
            return outcome["value"]

        return SimpleNamespace(result=result)


def line(part, parts):
    rng = np.random.RandomState(0)
    x = rng.randn(60, 4).astype(np.float32)
    y = x @ np.linspace(-1, 1, 4, dtype=np.float32)[:, None]
    w = tf.get_variable("w", initializer=np.zeros((4, 1), np.float32))
    return tf.reduce_mean(tf.square(tf.matmul(x[part::parts], w) - y[part::parts]))


@pytest.fixture
def threads(cluster):
    return ThreadCluster(cluster)


@pytest.fixture
def training(threads, eventually):
    made = tf.cluster.Training(threads, line, learning_rate=0.05, steps_per_second=200)
    yield made
    made.stop()
    eventually(lambda: not made._busy and made._thread is None, 20)


def steps(training):
    return training.status()["global_step"]


def test_it_trains_and_the_modes_share_the_variables(training, eventually):
    training.start()
    assert training in tf.cluster.trainings(training.cluster)
    eventually(lambda: steps(training) > 20 and training.status()["loss"] < 0.5)
    for mode in ("synchronous", "backup workers", "asynchronous"):
        before, loss = steps(training), training.status()["loss"]
        training.switch(mode)
        number = training._number
        eventually(
            lambda number=number: (
                len(training.status()["workers"]) == 2 and set(training._busy.values()) == {number}
            )
        )
        eventually(lambda before=before: steps(training) > before + 30)
        assert training.status()["loss"] <= loss + 1e-4, "the variables were not kept"
        assert training.status()["mode"] == mode
    assert [mode for _, mode in training.switched] == [
        "synchronous", "backup workers", "asynchronous"
    ]  # fmt: skip
    assert training.status()["errors"] == {}
    eventually(lambda: training.status()["loss"] < 1e-3)
    assert np.allclose(training.variables["w"].ravel(), np.linspace(-1, 1, 4), atol=0.1)


def test_the_batch_is_changed_while_it_trains(threads, eventually):
    def drawn(part, parts, batch_size=None):
        rows = tf.random_uniform([batch_size or 60], 0, 60, tf.int64)
        w = tf.get_variable("w", initializer=np.float32(9.0))
        size = tf.cast(tf.size(rows), tf.float32)
        return tf.square(w - 1.0) + 0.0 * size

    made = tf.cluster.Training(
        threads, drawn, learning_rate=0.01, batch_size=10, steps_per_second=200
    )
    try:
        made.start()
        eventually(lambda: steps(made) > 5)
        made.switch("asynchronous", batch_size=30)
        assert made.status()["batch_size"] == 30
        at = steps(made)
        eventually(lambda: steps(made) > at + 5 and len(made.status()["workers"]) == 2)
        assert made.status()["errors"] == {}
        (rows,) = [op for op in made.graph()[0].get_operations() if "RandomUniformInt" in op.type]
        assert rows.outputs[0].shape.as_list() == [30]
        with pytest.raises(ValueError, match="at least 1, got 0"):
            made.switch("asynchronous", batch_size=0)
    finally:
        made.stop()
        eventually(lambda: not made._busy and made._thread is None, 20)
    with pytest.raises(ValueError, match="made without batch_size="):
        tf.cluster.Training(threads, line).switch("asynchronous", batch_size=5)


def test_stopped_and_begun_again(training, eventually):
    training.start()
    eventually(lambda: steps(training) > 5)
    training.stop()
    eventually(lambda: not training._busy)
    at = int(training.variables["global_step"])
    training.switch("synchronous")  # while nothing runs
    assert training.state == "stopped"
    training.start()
    eventually(lambda: steps(training) > at + 5)
    assert training.status()["mode"] == "synchronous"


def test_what_was_lost_is_put_back(training, threads, eventually):
    training.start()
    eventually(lambda: steps(training) > 50 and training.status()["loss"] < 0.3)
    before = steps(training)
    old = threads.servers["ps:0"]
    old.stop()
    threads.servers.servers[old.task] = Server(threads.spec, "ps", 0, key=KEY)  # empty
    eventually(lambda: training.status()["errors"] == {} and steps(training) > before + 50)
    assert training.status()["loss"] < 0.3


@pytest.mark.parametrize("mode", ["all-reduce", "ZeRO"])
def test_the_ring_begins_and_ends_with_the_shared_variables(training, threads, eventually, mode):
    """The parameter server is asked for values now and then; gradients go from worker to worker."""
    training.start()
    eventually(lambda: steps(training) > 20 and training.status()["loss"] < 0.5)
    training.switch(mode)
    at, loss = steps(training), training.status()["loss"]
    eventually(lambda: steps(training) > at + 60 and training.status()["mode"] == mode, 60)
    assert training.status()["errors"] == {}
    assert training.status()["loss"] <= loss + 1e-4, "the variables were not kept"
    workers = [threads.servers[f"worker:{i}"] for i in range(2)]
    assert all("w" in dict(w.resources.items("variable")) for w in workers)
    assert training.slot_bytes() == (0, 0), "plain gradient descent has no slots"
    training.switch("synchronous")
    at = steps(training)
    eventually(lambda: steps(training) > at + 30, 60)
    assert training.status()["loss"] <= loss + 1e-4
    eventually(lambda: all("w" not in dict(w.resources.items("variable")) for w in workers), 60)
    assert np.allclose(training.variables["w"].ravel(), np.linspace(-1, 1, 4), atol=0.3)


def test_workers_of_a_ring_hold_the_same_values(training, threads, eventually):
    """Slots too; the optimizer sees the average of all gradients."""
    training._optimizer = lambda: tf.train.AdamOptimizer(0.05)
    kept = {}

    def keep_what_is_cleared(index, resources, clear):
        def keep(names=None):
            values = {n: np.array(v.array) for n, v in resources.items("variable")}
            if "w/Adam" in values:  # not again when the ended mode's container is dropped
                kept[index] = values
            clear(names)

        return keep

    for i in range(2):
        resources = threads.servers[f"worker:{i}"].resources
        resources.clear = keep_what_is_cleared(i, resources, resources.clear)
    training.switch("all-reduce")
    training.start()
    eventually(lambda: steps(training) > 10, 60)
    training.stop()
    eventually(lambda: len(kept) == 2, 60)
    for name, value in kept[0].items():
        np.testing.assert_array_equal(value, kept[1][name], err_msg=name)


@pytest.mark.parametrize("lost", [0, 1], ids=["the leader", "a member"])
def test_a_ring_goes_on_with_a_worker_that_was_started_again(
    training, threads, eventually, monkeypatch, lost
):
    """Without waiting for the step that was lost to time out."""
    monkeypatch.setattr(ring_training, "_STEP_SECONDS", 600)
    training.switch("all-reduce")
    training.start()
    eventually(lambda: steps(training) > 100 and training.status()["loss"] < 0.3, 60)
    old = threads.servers[f"worker:{lost}"]
    old.stop()
    threads.servers.servers[old.task] = Server(threads.spec, "worker", lost, key=KEY)  # empty
    before = steps(training)
    eventually(lambda: training.status()["errors"] == {} and steps(training) > before + 20, 90)
    assert training.status()["loss"] < 0.4, "begun anew from the copy at the parameter server"


def test_switched_again_and_again_without_waiting(training, eventually):
    training.start()
    for mode in ("synchronous", "asynchronous", "backup workers", "synchronous"):
        training.switch(mode)
    before = steps(training)
    eventually(lambda: len(training.status()["workers"]) == 2, 20)
    eventually(lambda: steps(training) > before + 10, 20)
    assert training.status()["mode"] == "synchronous"


def test_containers_of_ended_modes_are_dropped(training, threads, eventually):
    training.switch("synchronous")
    training.start()
    eventually(lambda: steps(training) > 5)
    resources = threads.servers["ps:0"].resources
    assert resources.items("accumulator")
    training.switch("asynchronous")
    eventually(lambda: not resources.items("accumulator") and not resources.items("queue"))


def test_workers_that_are_added_get_their_part(make_spec, eventually):
    servers = LocalCluster(make_spec(ps=1, worker=3))
    whole = ThreadCluster(servers)
    tasks, spec = whole.backend.tasks, whole.spec
    addresses = spec.as_dict()
    whole.backend.tasks = tasks[:3]
    whole.spec = tf.train.ClusterSpec({"ps": addresses["ps"], "worker": addresses["worker"][:2]})
    training = tf.cluster.Training(whole, line, mode="synchronous", steps_per_second=100)
    training.start()
    try:
        eventually(lambda: steps(training) > 5)
        whole.backend.tasks, whole.spec = tasks, spec
        eventually(lambda: len(training.status()["workers"]) == 3)
        before = steps(training)
        eventually(lambda: steps(training) > before + 10)
        assert training._options(0)["aggregate"] == 3
    finally:
        training.stop()
        eventually(lambda: not training._busy)
        servers.stop()


@pytest.mark.slow
@pytest.mark.cluster
def test_a_killed_parameter_server_gets_its_variables_back(eventually):
    def model(part, parts):  # in a function: it travels to the workers by value
        x = np.random.RandomState(0).randn(60, 4).astype(np.float32)
        y = x @ np.linspace(-1, 1, 4, dtype=np.float32)[:, None]
        w = tf.get_variable("w", initializer=np.zeros((4, 1), np.float32))
        return tf.reduce_mean(tf.square(tf.matmul(x[part::parts], w) - y[part::parts]))

    with tf.cluster.launch(ps=1, workers=2, logs=False) as cluster:
        training = tf.cluster.Training(cluster, model, learning_rate=0.05, steps_per_second=50)
        training.start()
        eventually(lambda: steps(training) > 60 and training.status()["loss"] < 0.1, 30)
        before = steps(training)
        cluster.kill("ps:0")
        eventually(lambda: len(cluster.deaths) == 1)
        eventually(lambda: steps(training) > before + 20, 40)
        assert training.status()["loss"] < 0.1, "it began anew"
        eventually(lambda: len(training.status()["workers"]) == 2)
    eventually(lambda: training.state == "stopped")


def test_bad_input(threads):
    with pytest.raises(ValueError, match="The mode is one of asynchronous"):
        tf.cluster.Training(threads, line, mode="sync")
    with pytest.raises(ValueError, match="1 to 1 backup workers, got 2"):
        tf.cluster.Training(threads, line, mode="backup workers", num_backups=2)
    lonely = SimpleNamespace(spec=tf.train.ClusterSpec({"worker": ["127.0.0.1:1"]}))
    with pytest.raises(ValueError, match="needs a cluster with a job 'ps'"):
        tf.cluster.Training(lonely, line)


def test_a_worker_that_cannot_build_its_model_says_why(threads, eventually):
    def broken(part, parts):
        loss = line(part, parts)
        if parts > 1 and part == 1:
            raise RuntimeError("no data for part 1")
        return loss

    training = tf.cluster.Training(threads, broken, steps_per_second=100)
    training.start()
    try:
        eventually(
            lambda: (
                training.status()["errors"].get("/job:worker/task:1")
                == "RuntimeError: no data for part 1"
            )
        )
        eventually(lambda: steps(training) > 5)
    finally:
        training.stop()
    eventually(lambda: not training._busy)


def test_the_error_of_a_worker_that_was_removed_goes_with_it(eventually):
    def broken(part, parts):
        if parts > 1 and part == 1:
            raise RuntimeError("no data for part 1")
        return line(part, parts)

    with tf.cluster.launch(ps=1, workers=2, logs=False, backend="threads") as cluster:
        training = tf.cluster.Training(cluster, broken, steps_per_second=100)
        training.start()
        try:
            eventually(lambda: list(training.errors) == ["/job:worker/task:1"])
            cluster.resize(worker=1)
            eventually(lambda: training.errors == {})
            before = steps(training)
            eventually(lambda: steps(training) > before + 5)
            assert training.errors == {}
        finally:
            training.stop()
        eventually(lambda: not training._busy)


def test_steps_are_paced(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(training_options.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(
        training_options.time, "sleep", lambda s: setattr(clock, "now", clock.now + s)
    )
    ticks = training_options.paced(4.0)
    assert [round(next(ticks), 6) for _ in range(4)] == [0.0, 0.25, 0.5, 0.75]
    clock.now = 10.0  # a slow step is not made up for by a burst
    assert [round(next(ticks), 6) for _ in range(3)] == [10.0, 10.0, 10.25]


def test_errors_in_a_line():
    class RayTaskError(Exception):
        pass

    ray_text = "ray::RayTask.call()\n  File x\ndataflow.errors.UnavailableError: ps:0 is gone\n"
    assert training_module._in_a_line(RayTaskError(ray_text)) == "UnavailableError: ps:0 is gone"
    assert training_module._in_a_line(ValueError("one\ntwo")) == "ValueError: one"
    assert training_module._in_a_line(ValueError()) == "ValueError: "
