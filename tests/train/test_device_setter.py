"""`replica_device_setter`: who goes where."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.contrib.training import GreedyLoadBalancingStrategy, byte_size_load_fn

pytestmark = pytest.mark.usefixtures("graph")


def test_variables_take_turns_and_the_rest_goes_to_the_worker():
    with tf.device(tf.train.replica_device_setter(2, worker_device="/job:worker/task:3")):
        variables = [tf.Variable(1.0) for _ in range(3)]
        total = tf.add_n([v + 1.0 for v in variables])
    assert [v.device for v in variables] == [f"/job:ps/task:{i}" for i in (0, 1, 0)]
    assert total.device == "/job:worker/task:3"


def test_inner_devices_are_merged_in():
    with tf.device(tf.train.replica_device_setter(1)):
        with tf.device("/cpu:0"):
            v = tf.Variable(1.0)
            y = v * 2.0
        with tf.device("/job:other"):
            w = tf.Variable(1.0)
    assert v.device == "/job:ps/task:0/device:CPU:0"
    assert y.device == "/job:worker/device:CPU:0"
    assert w.device == "/job:other"


def test_without_parameter_servers_there_is_nothing_to_set():
    assert tf.train.replica_device_setter(0) is None
    assert tf.train.replica_device_setter(cluster={"worker": ["localhost:1"]}) is None
    with pytest.raises(TypeError, match="callable"):
        tf.train.replica_device_setter(1, ps_strategy=3)


def test_the_greedy_strategy_balances_bytes():
    strategy = GreedyLoadBalancingStrategy(2, byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(2, ps_strategy=strategy)):
        shapes = [[100], [10], [20], [30], [200]]
        tasks = [tf.Variable(tf.zeros(s)).device[-1] for s in shapes]
    assert tasks == ["0", "1", "1", "1", "1"]
