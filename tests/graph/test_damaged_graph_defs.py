"""Any damage to a GraphDef is refused in words, or harmless; nothing else comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings, strategies as st

import dataflow as tf


def healthy() -> bytes:
    """A graph with a loop, a conditional, variables, strings and gradients."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        v = tf.Variable(np.ones((3, 2), np.float32), name="v")
        y = tf.nn.relu(tf.matmul(x, v))
        y = tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * 2.0, lambda: -y)
        total = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + y), [0, y])[1]
        tf.gradients(tf.reduce_sum(total), v)
        tf.string_split(["a b"])
        return bytes(graph.as_graph_def().SerializeToString())


HEALTHY = healthy()


def take(data: bytes) -> str:
    """Reads and imports ``data``: it works, or is refused in words and leaves the graph empty."""
    definition = tf.GraphDef()
    try:
        definition.ParseFromString(data)
    except DecodeError as error:
        return str(error)
    with tf.Graph().as_default() as graph:
        refused = None
        try:
            tf.import_graph_def(definition, name="")
        except (ValueError, TypeError, tf.errors.OpError) as error:
            refused = error
        if refused is None:
            return "taken"
        assert graph.version == 0
        assert str(refused)
        return str(refused)


def test_the_healthy_one_is_taken() -> None:
    definition = tf.GraphDef()
    definition.ParseFromString(HEALTHY)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        assert len(graph.get_operations()) == len(definition.node)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_changed_bytes(data: Any) -> None:
    damaged = bytearray(HEALTHY)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    take(bytes(damaged))


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(st.integers(0, len(HEALTHY)))
def test_cut_off(length: int) -> None:
    take(HEALTHY[:length])


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_changed_nodes(data: Any) -> None:
    definition = tf.GraphDef.FromString(HEALTHY)
    nodes = definition.node
    pick = st.integers(0, len(nodes) - 1)
    for _ in range(data.draw(st.integers(1, 3))):
        node, other = nodes[data.draw(pick)], nodes[data.draw(pick)]
        kind = data.draw(st.sampled_from(["op", "name", "input", "drop", "attr", "extra", "copy"]))
        if kind == "op":
            node.op = other.op
        elif kind == "name":
            node.name = data.draw(st.sampled_from([other.name, "", "a b", "/", "^x"]))
        elif kind == "input" and node.input:
            node.input[0] = data.draw(
                st.sampled_from([other.name, "^" + other.name, other.name + ":7", "", ":", "x:-1"])
            )
        elif kind == "drop" and node.input:
            del node.input[0]
        elif kind == "attr" and node.attr:
            del node.attr[data.draw(st.sampled_from(sorted(node.attr)))]
        elif kind == "extra":
            node.input.append(other.name)
        elif kind == "copy":
            for key in other.attr:
                node.attr[key].CopyFrom(other.attr[key])
    take(definition.SerializeToString())


KINDS: dict[str, Callable[[Any], None]] = {
    "a bool": lambda value: setattr(value, "b", True),
    "an int": lambda value: setattr(value, "i", 3),
    "a string": lambda value: setattr(value, "s", b"text"),
    "a type": lambda value: setattr(value, "type", 1),
    "a shape": lambda value: value.shape.SetInParent(),
    "a tensor": lambda value: value.tensor.SetInParent(),
    "a list of nothing": lambda value: value.list.SetInParent(),
    "a list of ints": lambda value: value.list.i.append(3),
    "nothing": lambda value: None,
}


def test_every_attribute_is_compared_with_the_definition() -> None:
    """Any kind in the place of any other, at every attribute of the graph."""
    definition = tf.GraphDef.FromString(HEALTHY)
    num_refused = 0
    done = set()
    for node in definition.node:
        for key in sorted(node.attr):
            if (node.op, key) in done:
                continue
            done.add((node.op, key))
            kept = type(node.attr[key])()
            kept.CopyFrom(node.attr[key])
            for kind, change in KINDS.items():
                node.attr[key].Clear()
                change(node.attr[key])
                said = take(definition.SerializeToString())
                if said != "taken":
                    num_refused += 1
                    if node.attr[key].WhichOneof("value") != kept.WhichOneof("value"):
                        assert f"{key!r} of node {node.name!r}" in said, said
                        assert f", got {kind}" in said, said
            node.attr[key].CopyFrom(kept)
    assert num_refused > 300


def test_numbers_of_outputs_are_bounded() -> None:
    with tf.Graph().as_default() as graph:
        tf.split(tf.placeholder(tf.float32, [4]), 2)
        definition = graph.as_graph_def()
    (node,) = [n for n in definition.node if n.op == "Split"]
    for number in (-1, 10**6, 2**62):
        node.attr["num_split"].i = number
        assert "num_split" in take(definition.SerializeToString())


def test_a_constant_of_one_value_takes_no_memory_until_it_is_used() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant([7.0, 8.0], name="c")
        definition = graph.as_graph_def()
    proto = definition.node[0].attr["value"].tensor
    proto.tensor_content = b""
    proto.float_val.append(7.0)
    proto.tensor_shape.dim[0].size = 1 << 33  # 32 GB
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        assert graph.get_tensor_by_name("c:0").shape == [1 << 33]
        again = graph.as_graph_def().node[0].attr["value"].tensor
        assert list(again.float_val) == [7.0]
    proto.float_val.append(8.0)
    assert "holds 8589934592 values, its proto 2" in take(definition.SerializeToString())


def test_sizes_that_no_shape_can_hold() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [7], name="x")
        tf.fill(tf.shape(x, name="shape"), 1.0, name="filled")
        tf.reshape([1.0], tf.constant([1, 1], name="sizes"), name="again")
        definition = graph.as_graph_def()
    nodes = {node.name: node for node in definition.node}
    for size in (2**32, 2**62):  # tf.shape gives an int32
        nodes["x"].attr["shape"].shape.dim[0].size = size
        assert take(definition.SerializeToString()) == "taken"
    sizes = nodes["sizes"].attr["value"].tensor
    sizes.tensor_content = b""
    sizes.int_val.append(1)
    sizes.tensor_shape.dim[0].size = 1 << 33
    assert "at most 254 dimensions, got 8,589,934,592" in take(definition.SerializeToString())


def test_a_constant_that_claims_to_be_huge() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
        definition = graph.as_graph_def()
    for sizes in ([10**12], [-5], [2**62, 2**62]):
        proto = definition.node[0].attr["value"].tensor
        del proto.tensor_shape.dim[:]
        for size in sizes:
            proto.tensor_shape.dim.add().size = size
        with tf.Graph().as_default(), pytest.raises((ValueError, tf.errors.OpError)):
            tf.import_graph_def(definition, name="")
