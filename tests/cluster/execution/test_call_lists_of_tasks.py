"""The segments of a task have lists of calls as local plans do: the same bits, the same errors."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.jit.call_list_code import is_available
from tests.compiling import MOST_RUNS, wait_for_compiler
from tests.early_recording import record_at_once

pytestmark = pytest.mark.skipif(not is_available(), reason="this machine runs no machine code")


@pytest.fixture(autouse=True)
def recorders(monkeypatch):
    """Segments are recorded at once; no recorder may fail."""
    made = record_at_once(monkeypatch)
    yield made
    assert not [failure for recorder in made for failure in recorder.failures]


def partitions(server):
    return [registered.partition for registered in server.service._partitions.values()]


def num_lists(server):
    return sum(
        source.count(" nodes\n") for partition in partitions(server) for source in partition.sources
    )


def recurrent():
    """A network whose variables are on the ps and whose steps are on worker 1; its feeds."""
    tf.set_random_seed(3)
    random = np.random.RandomState(0)
    with tf.device(tf.train.replica_device_setter(1, worker_device="/job:worker/task:1")):
        x = tf.placeholder(tf.float32, [4, 5, 3])
        cell = tf.nn.rnn_cell.GRUCell(6)
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(tf.layers.dense(outputs[-1], 2) - 1.0))
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
    return loss, train, {x: random.standard_normal((4, 5, 3))}


def losses(target, steps, is_ready=lambda: True, **options):
    """The losses of a training, and at last the variables; it lasts until ``is_ready``, `MOST_RUNS` steps at most."""
    config = tf.ConfigProto(**options)
    found = []
    with tf.Graph().as_default():
        loss, train, feed = recurrent()
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            for number in range(MOST_RUNS):
                if number >= steps and is_ready():
                    break
                found.append(session.run([loss, train], feed)[0])
                wait_for_compiler(number)
            found.append(session.run(tf.global_variables()))
    return found


def test_a_training_has_the_same_bits_with_lists_and_without(cluster):
    worker = cluster["worker:1"]
    target = cluster["worker:0"].target
    got = losses(target, 30, lambda: num_lists(worker))
    assert len(got) <= MOST_RUNS, "there are no lists"
    off = tf.GraphOptions()
    off.rewrite_options.remapping = off.rewrite_options.OFF
    expected = losses(target, len(got) - 1, graph_options=off)
    assert got[:-1] == expected[:-1]
    for mine, other in zip(got[-1], expected[-1], strict=True):
        assert mine.tobytes() == other.tobytes()


def test_an_error_beside_a_list_names_its_node(cluster):
    worker = cluster["worker:1"]
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [3])
        index = tf.placeholder(tf.int32, [])
        y = tf.exp(tf.tanh(x) * 2.0) + tf.sigmoid(x)
        z = tf.gather(tf.reduce_max(tf.reshape(y, [3, 1]), 1), index, name="the_gather") * 2.0
    with tf.Session(cluster["worker:0"].target) as session:
        for count in range(MOST_RUNS):
            value = session.run(z, {x: [1.0, 2.0, 3.0], index: 2})
            if num_lists(worker):
                break
            wait_for_compiler(count)
        assert num_lists(worker)
        assert session.run(z, {x: [1.0, 2.0, 3.0], index: 2}) == value
        with pytest.raises(tf.errors.InvalidArgumentError, match="the_gather"):
            session.run(z, {x: [1.0, 2.0, 3.0], index: 7})


def test_what_a_task_has_sent_is_not_overwritten_by_its_next_step(cluster):
    worker = cluster["worker:1"]
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [4])
        h = tf.tanh(x) * 2.0
        parts = [h, tf.exp(h) + tf.sigmoid(h), tf.reshape(h * h, [2, 2])]
    with tf.Session(cluster["worker:0"].target) as session:
        for count in range(MOST_RUNS):
            session.run(parts, {x: [1.0, 2.0, 3.0, 4.0]})
            if num_lists(worker):
                break
            wait_for_compiler(count)
        assert num_lists(worker)
        first = session.run(parts, {x: [1.0, 2.0, 3.0, 4.0]})
        kept = [np.array(value) for value in first]
        session.run(parts, {x: [-1.0, 0.5, 0.0, 9.0]})
        for value, before in zip(first, kept, strict=True):
            np.testing.assert_array_equal(value, before)
