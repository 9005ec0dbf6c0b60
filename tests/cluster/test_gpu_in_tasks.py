"""Tasks with a GPU (a pretend one): nodes go to it, and what travels between tasks is the host's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import is_device_array, pretend_gpus


@pytest.fixture
def server() -> Iterator[Any]:
    with pretend_gpus(1), tf.Graph().as_default():
        server = tf.train.Server.create_local_server()
        try:
            yield server
        finally:
            server.stop()


def test_training_on_a_tasks_gpu(server: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 2.0))
    count = tf.train.get_or_create_global_step()
    step = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=count)
    data = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)

    def train(session: Any) -> list[float]:
        session.run(tf.global_variables_initializer())
        return [session.run([loss, step], {x: data})[0] for _ in range(6)]

    with tf.Session(server.target) as session:
        losses = train(session)
        assert session.run(count) == 6
    held = dict(server.resources.items("variable"))
    assert is_device_array(held["w"].array)
    with pretend_gpus(0), tf.Session() as plain:
        np.testing.assert_allclose(losses, train(plain), rtol=1e-5)


def test_pins_name_a_tasks_devices(server: Any) -> None:
    with tf.device("/job:local/task:0/cpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/job:local/task:0/device:GPU:0"):
        b = tf.square(a, name="b")
    text = tf.as_string(b)
    with tf.Session(server.target) as session:
        assert session.run([b, text[0]])[1].startswith(b"1.0")
        assert session.run(b).tolist() == [1, 4]


def test_status_names_the_devices(server: Any) -> None:
    assert server.status()["device"] == "CPU:0, GPU:0"
