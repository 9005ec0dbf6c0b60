"""The graphs of `Training`'s rings on servers of this process: undivided, divided (ZeRO), on one machine."""

import functools
import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.management.ring_training import RingGraph
from dataflow.cluster.management.training_options import container_of
from tests.cluster.conftest import LocalCluster

NUM_STEPS = 12
ROWS = 60


def model(part, parts, width=5):
    """Two layers with 6 * width + 1 parameters: three workers do not divide them."""
    rng = np.random.RandomState(0)
    x = rng.randn(ROWS, 4).astype(np.float32)
    y = np.sin(x @ np.linspace(-1, 1, 4, dtype=np.float32)[:, None])
    w = tf.get_variable("w", initializer=rng.randn(4, width).astype(np.float32))
    b = tf.get_variable("b", initializer=np.zeros(width, np.float32))
    v = tf.get_variable("v", initializer=rng.randn(width, 1).astype(np.float32))
    c = tf.get_variable("c", initializer=np.zeros(1, np.float32))
    hidden = tf.tanh(tf.matmul(x[part::parts], w) + b)
    return tf.reduce_mean(tf.square(tf.matmul(hidden, v) + c - y[part::parts]))


OPTIMIZERS = {
    "adam": lambda: tf.train.AdamOptimizer(0.05),
    "momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.9),
    "plain": lambda: tf.train.GradientDescentOptimizer(0.1),
}


def trained_alone(optimizer):
    with tf.Graph().as_default():
        loss = model(0, 1)
        step = OPTIMIZERS[optimizer]().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(NUM_STEPS):
                session.run(step)
            return {v.op.name: session.run(v) for v in tf.trainable_variables()}


def trained_in_ring(servers, optimizer, divided, number, model=model):
    """Values, bytes of slots (counted, and as the graph says) and bytes sent a step, by worker."""
    size = len(servers.servers)
    found, errors = [None] * size, []

    def work(index):
        try:
            options = {
                "model": model, "optimizer": OPTIMIZERS[optimizer], "index": index,
                "num_workers": size, "number": number, "divided": divided, "batch_size": None,
            }  # fmt: skip
            built = RingGraph(options)
            server = servers[f"worker:{index}"]
            with tf.Session(server.target, graph=built.graph) as session:
                for op in (built.initialize, built.broadcast, built.begin):
                    session.run(op)
                session.run(built.fetches, {built.stop: 0.0})
                before = sent(servers, index)
                for _ in range(NUM_STEPS - 1):
                    loss, stop = session.run(built.fetches, {built.stop: float(index == 0)})[:2]
                each = (sent(servers, index) - before) / (NUM_STEPS - 1)
                assert stop == pytest.approx(1 / size), "one of them asks all to stop"
                values = session.run({n: built.variables[n] for n in "wbvc"})
            resources = dict(server.resources.items("variable"))
            slots = sum(
                np.asarray(value.array).nbytes
                for name, value in resources.items()
                if name.startswith(("w/", "b/", "v/", "c/", "part_of_parameters/"))
            )
            server.resources.clear([container_of(number)])
            found[index] = values, slots, built, each, float(loss)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors
    return found


def sent(servers, index):
    return servers[f"worker:{index}"].status()["sent_bytes"]


@pytest.fixture
def three(make_spec):
    servers = LocalCluster(make_spec(worker=3))
    yield servers
    servers.stop()


@pytest.mark.usefixtures("no_gpus")
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_divided_slots_compute_the_numbers_of_one_machine(three, optimizer):
    alone = trained_alone(optimizer)
    whole = trained_in_ring(three, optimizer, False, 1)
    divided = trained_in_ring(three, optimizer, True, 2)
    for index in range(3):
        for name, value in alone.items():
            np.testing.assert_allclose(whole[index][0][name], value, rtol=2e-4, atol=2e-6)
            np.testing.assert_allclose(divided[index][0][name], value, rtol=2e-4, atol=2e-6)
            # Every worker collects the same parts: the copies have the same bits.
            np.testing.assert_array_equal(divided[index][0][name], divided[0][0][name])
    assert divided[0][4] == pytest.approx(whole[0][4], rel=1e-4)


@pytest.mark.usefixtures("no_gpus")
def test_a_worker_keeps_the_slots_of_its_share_and_sends_as_much(three):
    wide = functools.partial(model, width=10_000)
    whole = trained_in_ring(three, "adam", False, 1, wide)
    divided = trained_in_ring(three, "adam", True, 2, wide)
    count = 60_001
    for _, slots, built, _, _ in whole:
        assert slots == built.slot_bytes == built.whole_slot_bytes == count * 2 * 4
    for _, slots, built, _, _ in divided:
        assert slots == built.slot_bytes == 20_001 * 2 * 4, "a third, rounded up"
        assert built.whole_slot_bytes == pytest.approx(count * 2 * 4, abs=8)
    for found in (whole, divided):
        for _, _, _, each, _ in found:
            assert each / (4 * count) == pytest.approx(2 * 2 / 3, rel=0.02)
