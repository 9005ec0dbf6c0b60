"""Runs with options: what a trace says of each node, and time-outs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf

FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


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
