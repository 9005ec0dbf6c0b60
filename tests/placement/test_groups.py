"""Nodes that must run in one place: who shares a variable, a resource or a wish."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.placement.groups import (
    Groups,
    changes_a_variable,
    join_colocated,
    reference_inputs,
)
from dataflow.placement.placer import place

pytestmark = pytest.mark.usefixtures("graph")


def joined(graph: Any, *tensors: Any) -> bool:
    groups = Groups()
    join_colocated(graph.get_operations(), groups)
    return len({groups.find(getattr(t, "op", t)) for t in tensors}) == 1


def test_groups_of_groups_are_one() -> None:
    ops = [tf.no_op() for _ in range(6)]
    groups = Groups()
    for a, b in ((0, 1), (2, 3), (1, 3), (3, 0), (4, 5)):
        groups.join(ops[a], ops[b])
    found = [groups.find(op) for op in ops]
    assert len(set(found[:4])) == 1 and len(set(found[4:])) == 1 and found[0] is not found[4]


def test_inputs_through_which_a_variable_or_a_resource_is_changed() -> None:
    v = tf.Variable([1.0, 2.0])
    scattered = tf.scatter_add(v, [0], [1.0])
    assert reference_inputs(scattered.op) == [v.op.outputs[0]]
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    put = queue.enqueue(1.0)
    assert reference_inputs(put) == [queue.queue_ref]
    array = tf.TensorArray(tf.float32, 3).write(0, 1.0)
    assert reference_inputs(array.flow.op) == [array.handle]
    several = tf.raw_ops.Pack(values=[v, v, v], axis=0)
    assert reference_inputs(several.op) == []
    with_handles = tf.raw_ops.IdentityN(input=[tf.constant(1.0), queue.queue_ref])[0]
    assert reference_inputs(with_handles.op) == [queue.queue_ref]


def test_nodes_that_change_a_variable() -> None:
    v = tf.Variable([1.0, 2.0])
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    assert changes_a_variable(v.initializer)
    assert changes_a_variable(tf.scatter_add(v, [0], [1.0]).op)
    assert not changes_a_variable(queue.enqueue(1.0))
    assert not changes_a_variable(tf.raw_ops.Pack(values=[v, v], axis=0).op)
    assert not changes_a_variable(tf.identity(v.op.outputs[0]).op)


def test_what_uses_a_queue_or_asks_for_a_node_is_with_it(graph: Any) -> None:
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    put, taken = queue.enqueue(1.0), queue.dequeue()
    assert joined(graph, queue.queue_ref, put, taken)
    a, b = tf.constant(1.0), tf.constant(2.0)
    with tf.colocate_with(a):
        c = b * 2.0
    assert joined(graph, a, c) and not joined(graph, a, b)


def test_a_switch_of_a_variable_that_is_only_read_is_not_with_it(graph: Any) -> None:
    v = tf.Variable(1.0)
    p = tf.placeholder(tf.bool, [])
    with tf.colocate_with(v.op):
        _, taken = tf.raw_ops.Switch(data=v.initialized_value() * 1.0, pred=p)
        beside = tf.identity(p)
    assert joined(graph, v, beside) and not joined(graph, v, taken)


def test_who_only_reads_a_variable_does_not_decide_where_it_is() -> None:
    v = tf.Variable(np.int64(3), name="v")
    text = tf.as_string(v)  # has no kernel for a GPU
    devices = ["/device:CPU:0", "/device:GPU:0"]
    read = text.op.inputs[0].op
    assert place([v.op, read], devices, tf.ConfigProto())[v.op] == "/device:GPU:0"
    direct = tf.raw_ops.AsString(input=v.op.outputs[0])
    found = place([v.op, read, text.op, direct.op], devices, tf.ConfigProto())
    assert (found[v.op], found[text.op], found[direct.op]) == (
        "/device:GPU:0",
        "/device:CPU:0",
        "/device:CPU:0",
    )
