"""Data parallelism in its forms: towers of one client, shards of variables, rows of embeddings."""

import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.train import wrapped_sessions
from tests.cluster.conftest import LocalCluster

RNG = np.random.RandomState(0)
X = RNG.randn(64, 6).astype(np.float32)
Y = X @ np.linspace(-1, 1, 6, dtype=np.float32)[:, None]


@pytest.fixture
def two_ps(make_spec):
    """Two parameter servers and two workers in this process."""
    cluster = LocalCluster(make_spec(ps=2, worker=2))
    yield cluster
    cluster.stop()


def loss_of(x, y):
    w = tf.get_variable("w", [6, 1], initializer=tf.ones_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    return tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))


def test_in_graph_replication_takes_the_steps_of_one_machine(two_ps):
    """One client, a tower on each worker, the average of their gradients on the ps."""
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    towers = []
    for index in range(2):
        setter = tf.train.replica_device_setter(
            cluster=two_ps.spec, worker_device=f"/job:worker/task:{index}"
        )
        with tf.device(setter), tf.variable_scope("model", reuse=index > 0):
            towers.append(optimizer.compute_gradients(loss_of(X[index::2], Y[index::2])))
    averages = []
    for (first, variable), (second, _) in zip(*towers, strict=True):
        with tf.device(variable.device):
            averages.append(((first + second) / 2.0, variable))
    step = optimizer.apply_gradients(averages)
    variables = [variable for _, variable in averages]
    init = tf.global_variables_initializer()
    with tf.Session(two_ps["worker:0"].target) as session:
        session.run(init)
        for _ in range(20):
            session.run(step)
        divided = session.run(variables)
        tasks = session.remote.tasks(step)
    assert set(tasks.values()) == set(two_ps.servers)
    assert {v.device for v in variables} == {"/job:ps/task:0", "/job:ps/task:1"}
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss_of(X, Y))
        session.run(tf.global_variables_initializer())
        for _ in range(20):
            session.run(step)
        whole = session.run(tf.trainable_variables())
    for one, other in zip(divided, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("use_locking", [False, True])
def test_between_graph_replication_counts_every_step(two_ps, use_locking):
    """A client per worker, each with its own graph; the variables are the same."""
    steps = []

    def work(index):
        with tf.Graph().as_default():
            with tf.device(
                tf.train.replica_device_setter(
                    cluster=two_ps.spec, worker_device=f"/job:worker/task:{index}"
                )
            ):
                loss = loss_of(X[index::2], Y[index::2])
                global_step = tf.train.get_or_create_global_step()
                step = tf.train.GradientDescentOptimizer(0.05, use_locking).minimize(
                    loss, global_step
                )
            hooks = [tf.train.StopAtStepHook(last_step=60)]
            with tf.train.MonitoredTrainingSession(
                two_ps[f"worker:{index}"].target, is_chief=index == 0, hooks=hooks
            ) as session:
                count = 0
                while not session.should_stop():
                    _, at = session.run([step, global_step])
                    count += 1
                steps.append((count, int(at)))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(steps) == 2
    # Steps that run at once may both read the counter before the other adds one, and so may the
    # hook; none is counted twice.
    assert 60 <= sum(count for count, _ in steps) <= 64
    with tf.device("/job:ps/task:0"):
        global_step = tf.train.get_or_create_global_step()
    with tf.Session(two_ps["worker:0"].target) as session:
        assert session.run(global_step) == sum(count for count, _ in steps)


@pytest.mark.parametrize(
    ("partitioner", "num_shards"),
    [
        (tf.fixed_size_partitioner(2), 2),
        (tf.min_max_variable_partitioner(max_partitions=2, min_slice_size=1 << 20), 2),
    ],
)
def test_rows_of_a_divided_embedding_travel_and_not_the_table(two_ps, partitioner, num_shards):
    rows, width = 50_000, 16
    with tf.device(
        tf.train.replica_device_setter(
            cluster=two_ps.spec,
            worker_device="/job:worker/task:0",
            ps_strategy=tf.contrib.training.GreedyLoadBalancingStrategy(
                2, tf.contrib.training.byte_size_load_fn
            ),
        )
    ):
        table = tf.get_variable(
            "table",
            [rows, width],
            initializer=tf.random_uniform_initializer(-1, 1, seed=5),
            partitioner=partitioner,
        )
        ids = tf.placeholder(tf.int64, [None])
        embedded = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
        loss = tf.reduce_sum(tf.square(embedded)) / 2.0
        step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    shards = list(table)
    assert len(shards) == num_shards
    assert {shard.device for shard in shards} == {"/job:ps/task:0", "/job:ps/task:1"}
    chosen = np.array([3, 49_999, 3, 25_000, 17])
    with tf.Session(two_ps["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        expected = np.concatenate(session.run(shards))
        session.run(step, {ids: chosen})
        before = [two_ps[f"ps:{i}"].status() for i in range(2)]
        session.run(step, {ids: chosen})
        after = [two_ps[f"ps:{i}"].status() for i in range(2)]
        values = np.concatenate(session.run(shards))
    for name in ("received_bytes", "sent_bytes"):
        moved = sum(new[name] - old[name] for new, old in zip(after, before, strict=True))
        assert 0 < moved < 10_000, f"{name}: the whole table has {expected.nbytes}"
    for _ in range(2):
        np.subtract.at(expected, chosen, 0.5 * expected[chosen])
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


def test_who_trains_in_step_with_a_chief_that_ends_is_let_go(cluster, monkeypatch):
    """The chief waits for no gradient at its end, and its last worker for no token."""
    # Longer than the test waits: a chief that sits it out fails.
    monkeypatch.setattr(wrapped_sessions, "_SECONDS_BEFORE_CANCELLING", 60.0)
    ended = []

    def work(index, num_steps):
        with tf.Graph().as_default():
            with tf.device(
                tf.train.replica_device_setter(
                    cluster=cluster.spec, worker_device=f"/job:worker/task:{index}"
                )
            ):
                loss = loss_of(X[index::2], Y[index::2])
                optimizer = tf.train.SyncReplicasOptimizer(
                    tf.train.GradientDescentOptimizer(0.05), 2
                )
                step = optimizer.minimize(loss, tf.train.get_or_create_global_step())
            # Without tokens at the start each worker gives one gradient to each step.
            hook = optimizer.make_session_run_hook(is_chief=index == 0, num_tokens=0)
            with tf.train.MonitoredTrainingSession(
                cluster[f"worker:{index}"].target, is_chief=index == 0, hooks=[hook]
            ) as session:
                for _ in range(num_steps):
                    session.run(step)
        ended.append(index)

    # The worker's third step needs a gradient that the chief does not give any more.
    threads = [
        threading.Thread(target=work, args=(index, 2 + index), daemon=True) for index in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == [0, 1]
