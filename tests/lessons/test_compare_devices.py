"""The comparison that lessons' training runs under finds what it is there to find."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.fake_gpu import PretendArray
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.registry import Kernel, _kernels
from dataflow.kernels.xp import num_pretend_gpus
from dataflow.rewrites.prune import needed_operations
from dataflow.train import Server
from tests.lessons import compare_devices


@pytest.fixture(autouse=True)
def compared(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(compare_devices, "num_graphs", 0)
    monkeypatch.setattr(compare_devices, "num_captured", 0)
    monkeypatch.setattr(compare_devices, "_forms", set())
    monkeypatch.setattr(compare_devices, "differences", [])
    monkeypatch.setattr(compare_devices, "skipped", collections.Counter())
    with tf.Graph().as_default():
        yield
    assert num_pretend_gpus() == 0


def network(optimizer: Any) -> tuple[list[Any], dict[Any, Any]]:
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 6])
    labels = tf.placeholder(tf.int64, [None])
    h = tf.layers.dense(x, 8, tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(h, 3))
    count = tf.train.get_or_create_global_step()
    step = optimizer.minimize(loss, global_step=count)
    feeds = {x: rng.rand(20, 6).astype(np.float32), labels: rng.randint(0, 3, 20)}
    return [loss, step], feeds


def compare(wanted: list[Any], feeds: dict[Any, Any]) -> None:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = {v.op.name: session.run(v) for v in tf.global_variables()}
    ops = needed_operations([wanted[0]], [wanted[1]], list(feeds))
    assert compare_devices.trains(ops)
    compare_devices.compare(ops, wanted, feeds, values)


@pytest.mark.parametrize(
    "optimizer",
    [lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.01)],
    ids=["sgd", "adam"],
)
def test_training_that_agrees(optimizer: Any) -> None:
    compare(*network(optimizer()))
    found = compare_devices.report()
    assert (found["graphs"], found["captured"]) == (1, 1)
    assert found["skipped"] == {} and found["differences"] == []


def test_a_gpu_kernel_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slope that is 3% too large on the GPU shows in the variables that it changes."""
    right = get_kernel("ReluGrad", "gpu")
    assert right is not None

    def relu_grad(xp: Any, gradients: Any, features: Any) -> Any:
        slope = gradients * (features > 0)
        return slope * np.float32(1.03) if type(slope) is PretendArray else slope

    wrong = Kernel("ReluGrad", relu_grad, right.devices, False, False, ())
    monkeypatch.setitem(_kernels, ("ReluGrad", "gpu"), wrong)
    compare(*network(tf.train.GradientDescentOptimizer(0.1)))
    assert [d.partition(":")[0] for d in compare_devices.differences] == [
        "variable dense/kernel",
        "variable dense/bias",
    ]


def test_training_on_a_cluster_is_compared_without_its_pins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        compare_devices.RemoteSession, "run", compare_devices._compared_run, raising=True
    )
    server = Server.create_local_server()
    try:
        with tf.device("/job:local/task:0/cpu:0"):
            wanted, feeds = network(tf.train.GradientDescentOptimizer(0.1))
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run(wanted, feeds)[0] for _ in range(3)]
    finally:
        server.stop()
    assert losses[2] < losses[1] < losses[0]
    assert compare_devices.report()["graphs"] == 1
    assert compare_devices.report()["differences"] == []


def test_what_does_not_train_is_left_alone() -> None:
    v = tf.get_variable("v", initializer=0.0)
    assert not compare_devices.trains(needed_operations([], [v.initializer], []))
    assert not compare_devices.trains(needed_operations([tf.assign_add(v, 1.0)], [], []))
