"""Runs with options: what a trace says of each node, and time-outs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus

FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


pytestmark = pytest.mark.usefixtures("graph")


def traced(fetches: Any, feeds: Any = None, config: Any = None) -> dict[str, Any]:
    """The statistics of the nodes of a run by name."""
    metadata = tf.RunMetadata()
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds, options=FULL, run_metadata=metadata)
    (device,) = metadata.step_stats.dev_stats
    assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    return {node.node_name: node for node in device.node_stats}


def test_a_node_says_what_it_read_and_made() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    parts = tf.split(x, [1, 2], 1, name="parts")
    first = tf.square(parts[0], name="first")
    y = tf.add(parts[1], 1.0, name="y")
    nodes = traced([y, first], {x: np.ones((4, 3))})
    assert nodes["first"].timeline_label == "first = Square(parts)"
    assert nodes["y"].timeline_label == "y = Add(parts, y/y)"
    made = [(o.slot, o.tensor_description) for o in nodes["parts"].output]
    assert [slot for slot, _ in made] == [0, 1]
    assert [[d.size for d in t.shape.dim] for _, t in made] == [[4, 1], [4, 2]]
    assert [t.allocation_description.requested_bytes for _, t in made] == [16, 32]
    assert [t.allocation_description.allocated_bytes for _, t in made] == [16, 32]
    for node in nodes.values():
        assert node.op_end_rel_micros == node.all_end_rel_micros >= 1
        assert node.scheduled_micros == node.all_start_micros > 1e15  # since 1970


def test_a_node_that_did_not_run_stands_for_what_it_read() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(1.0, name="v")
    unused = tf.square(x, name="unused")
    both = tf.group(tf.assign(v, x, name="a"), unused, name="both")
    with tf.control_dependencies([both]):
        y = tf.exp(x, name="y")
    nodes = traced(y, {x: 1.0})
    assert "unused" not in nodes
    assert nodes["both"].timeline_label == "both = NoOp(^a, ^x)"
    assert nodes["y"].timeline_label == "y = Exp(x, ^both)"


def test_nothing_is_traced_unless_asked() -> None:
    y = tf.constant(1.0) + 1.0
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        assert session.run(y, options=tf.RunOptions(), run_metadata=metadata) == 2.0
        assert not metadata.step_stats.dev_stats
        assert session.run(y, options=FULL) == 2.0  # nowhere to write it
        assert session.run(y, run_metadata=metadata) == 2.0
        assert not metadata.step_stats.dev_stats
        assert session.run(y) == 2.0
        assert session.run(y, options=FULL, run_metadata=metadata) == 2.0
        assert metadata.step_stats.dev_stats


def test_metadata_tell_of_the_last_run_alone() -> None:
    total = tf.constant(1.0) + 2.0
    root = tf.sqrt(total)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf.Session() as session:
        for fetch in (total, root, total):
            session.run(fetch, options=options, run_metadata=metadata)
            (device,) = metadata.step_stats.dev_stats
            (graph,) = metadata.partition_graphs
            assert (root.op.name in [n.node_name for n in device.node_stats]) == (fetch is root)
            assert (root.op.name in [n.name for n in graph.node]) == (fetch is root)
        session.run(total, run_metadata=metadata)
    assert not metadata.step_stats.dev_stats and not metadata.partition_graphs


def test_a_run_that_waits_too_long_is_ended() -> None:
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    taken, put = queue.dequeue(name="taken"), queue.enqueue(3.0)
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="taken"):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=30))
        session.run(put)
        assert session.run(taken, options=tf.RunOptions(timeout_in_ms=60_000)) == 3.0
        session.run(put)
        assert session.run(taken) == 3.0  # there is a plan now, and options still count
        with pytest.raises(tf.errors.DeadlineExceededError, match="taken"):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=30))


def test_what_a_node_waited_for_is_found_behind_those_that_did_not_run() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(1.0, name="v")
    changed = tf.assign(v, x, name="changed")
    with tf.control_dependencies([changed]):
        passed = tf.group(tf.no_op(name="nothing"), name="passed")
    with tf.control_dependencies([passed]):
        left_out = tf.identity(x, name="left_out")
    with tf.control_dependencies([left_out]):
        y = tf.exp(x, name="y")
    nodes = traced(y, {x: 1.0})
    assert nodes["y"].timeline_label == "y = Exp(x, ^x, ^passed)"
    assert nodes["passed"].timeline_label == "passed = NoOp(^changed, ^nothing)"


def test_options_may_be_left_out() -> None:
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    slow = tf.py_func(lambda: time.sleep(0.05) or np.float32(1), [], tf.float32)
    taken, put = queue.dequeue(), queue.enqueue(slow)
    with tf.Session() as session:
        metadata = tf.RunMetadata()
        assert session.run([taken, put], run_metadata=metadata)[0] == 1.0  # no time limit either
        assert not metadata.step_stats.dev_stats and not metadata.partition_graphs


def test_copies_between_memories_say_what_they_read() -> None:
    with pretend_gpus(1):
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/gpu:0"):
            y = tf.square(x, name="y")
        with tf.device("/cpu:0"):
            z = tf.exp(y, name="z")
        metadata = tf.RunMetadata()
        with tf.Session() as session:
            session.run(z, {x: [1, 2]}, options=FULL, run_metadata=metadata)
    found = {
        node.node_name: (device.device, node.timeline_label)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    task = "/job:localhost/replica:0/task:0/device:"
    (to_host,) = [name for name, (_, label) in found.items() if "_CopyToHost(" in label]
    (to_device,) = [name for name, (_, label) in found.items() if "_CopyToDevice(" in label]
    assert found["y"] == (f"{task}GPU:0", f"y = Square({to_device})")
    assert found["z"] == (f"{task}CPU:0", f"z = Exp({to_host})")
    assert found[to_host][1] == f"{to_host} = _CopyToHost(y)"
    assert found[to_device][1] == f"{to_device} = _CopyToDevice(x)"
