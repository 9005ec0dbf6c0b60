"""Any damage to a GraphDef is refused in words, or harmless; nothing else comes of it."""

from __future__ import annotations

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
