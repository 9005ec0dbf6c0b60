"""Pipelines and layers cut in parts on servers of this process: the numbers of one machine, and where
everything is."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.management.model_parallel import ModelParallelGraph
from dataflow_widgets import Timeline
from tests.cluster.conftest import LocalCluster
from tests.cluster.management.test_training_modes import ThreadCluster

NUM_STEPS = 6
WIDTH, ROWS = 64, 96


def data():
    rng = np.random.RandomState(0)
    x = rng.randn(ROWS, WIDTH).astype(np.float32)
    return x, np.tanh(x @ rng.randn(WIDTH, WIDTH).astype(np.float32) / 8)


def dense(value, seed):
    start = np.random.RandomState(seed).randn(WIDTH, WIDTH).astype(np.float32) / 8
    return tf.tanh(tf.matmul(value, tf.get_variable("w", initializer=start)))


def piped(part, parts):
    x, y = data()
    stages = [
        lambda value: dense(value, 1),
        lambda value: dense(value, 2),
        lambda value, target: tf.reduce_mean(tf.square(dense(value, 3) - target)),
    ]
    return tf.reduce_mean(tf.stack(tf.cluster.pipeline(stages, x, 4, y)))


def cut(part, parts):
    x, y = data()
    rng = np.random.RandomState(1)
    a, b = (rng.randn(WIDTH, 3 * WIDTH).astype(np.float32) / 8 for _ in range(2))

    def share(k, num_parts):
        mine = slice(k * 3 * WIDTH // num_parts, (k + 1) * 3 * WIDTH // num_parts)
        columns = tf.get_variable("columns", initializer=a[:, mine])
        rows = tf.get_variable("rows", initializer=b.T[mine])
        return tf.matmul(tf.nn.relu(tf.matmul(x, columns)), rows)

    return tf.reduce_mean(tf.square(tf.cluster.tensor_parallel(share, 3) - y))


MODELS = {"pipeline": piped, "tensor parallel": cut}


def optimizer():
    return tf.train.AdamOptimizer(0.01)


@pytest.fixture
def three(make_spec):
    servers = LocalCluster(make_spec(worker=3))
    yield servers
    servers.stop()


def built_by(model):
    options = {"model": model, "optimizer": optimizer, "num_workers": 3, "number": 1}
    return ModelParallelGraph(options | {"batch_size": None})


@pytest.mark.usefixtures("no_gpus")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_numbers_are_those_of_one_machine(three, name):
    with tf.Graph().as_default():
        loss = MODELS[name](0, 1)
        step = optimizer().minimize(loss)
        assert {op.device for op in tf.get_default_graph().get_operations()} == {""}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            alone = [session.run([loss, step])[0] for _ in range(NUM_STEPS)]
            wanted = {v.op.name: session.run(v) for v in tf.trainable_variables()}
    built = built_by(MODELS[name])
    with tf.Session(three["worker:0"].target, graph=built.graph) as session:
        session.run(built.initialize)
        losses = [session.run(built.fetches)[0] for _ in range(NUM_STEPS)]
        found = session.run({name: built.variables[name] for name in wanted})
    np.testing.assert_allclose(losses, alone, rtol=1e-5)
    for variable, value in wanted.items():
        np.testing.assert_allclose(found[variable], value, rtol=1e-4, atol=1e-6)
    for index in range(3):  # each worker has the weights and slots of its part, and no others
        there = dict(three[f"worker:{index}"].resources.items("variable"))
        scope = f"stage_{index}" if name == "pipeline" else f"part_{index}"
        assert {n.partition("/")[0] for n in there if n.endswith("/Adam")} == {scope}


@pytest.mark.usefixtures("no_gpus")
def test_what_travels_is_activations_and_their_gradients(three):
    """Of a pipeline: from each stage to the next and back, once for each micro-batch."""
    built = built_by(piped)
    recording = tf.cluster.Recording()
    with tf.Session(three["worker:0"].target, graph=built.graph) as session:
        session.run(built.initialize)
        session.run(built.fetches)
        recording.run(session, built.fetches)
    size = ROWS // 4 * WIDTH * 4
    ends = [(m.source[-1], m.target[-1]) for m in recording.messages() if m.num_bytes >= size]
    for pair in [("0", "1"), ("1", "2"), ("2", "1"), ("1", "0")]:
        assert ends.count(pair) == 4, (pair, ends)
    assert ("0", "2") not in ends and ("2", "0") not in ends


@pytest.mark.usefixtures("no_gpus")
def test_a_training_of_all_workers_together_and_its_trace(make_spec, eventually):
    servers = LocalCluster(make_spec(ps=1, worker=3))
    training = tf.cluster.Training(
        ThreadCluster(servers), piped, mode="model parallel", optimizer=optimizer
    )
    try:
        with pytest.raises(ValueError, match="in the mode 'asynchronous'"):
            tf.cluster.Training(training.cluster, piped).trace()
        first = None
        training.start()
        eventually(lambda: training.status()["loss"] is not None, 60)
        first = training.status()["loss"]
        eventually(lambda: training.status()["global_step"] > 20, 60)
        eventually(lambda: training.status()["loss"] < first, 60)
        assert len(training.status()["workers"]) == 3 and training.status()["errors"] == {}
        trace = training.trace()
        times = Timeline(trace).times
        lanes = [lane.partition("/replica")[0] for lane in times.lanes]
        assert len(lanes) == 3 and all("/job:worker" in lane for lane in lanes)
        traveled = [times.ops[c.source].lane != times.ops[c.target].lane for c in times.copies]
        assert sum(traveled) >= 4 * 4, "four micro-batches, over two borders, there and back"
        # The variables go on in another mode.
        loss = training.status()["loss"]
        training.switch("synchronous")
        at = training.status()["global_step"]
        eventually(lambda: training.status()["global_step"] > at + 3, 60)
        assert training.status()["loss"] <= loss + 1e-2
    finally:
        training.stop()
        eventually(lambda: not training._busy and training._thread is None, 60)
        servers.stop()


def test_bad_input():
    x = np.zeros((6, 2), np.float32)
    with pytest.raises(ValueError, match="at least one stage"):
        tf.cluster.pipeline([], x, 2)
    with pytest.raises(ValueError, match=r"inputs, of shape \(6, 2\), cannot be divided among 4"):
        tf.cluster.pipeline([tf.identity], x, 4)
    with pytest.raises(ValueError, match="targets"):
        tf.cluster.pipeline([lambda a, b: a], x, 3, np.zeros(4))
    with pytest.raises(ValueError, match="num_parts must be at least 1"):
        tf.cluster.tensor_parallel(lambda k, n: k, 0)
