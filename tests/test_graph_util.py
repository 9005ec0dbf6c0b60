"""`tf.graph_util`: extracting, freezing, removing what only training needs."""

from __future__ import annotations

import pytest

import dataflow as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        w = tf.Variable([1.0, 2.0], name="w")
        y = tf.identity(x * w, name="y")
        tf.exp(y, name="z")
        yield graph


def test_a_subgraph_holds_what_is_needed(graph):
    part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"])
    assert [n.name for n in part.node] == ["x", "w", "w/read", "mul", "y"]
    with pytest.raises(AssertionError, match="nothing"):
        tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["nothing"])
    with pytest.raises(TypeError):
        tf.graph_util.extract_sub_graph(graph.as_graph_def(), "y")


def test_frozen_variables_keep_the_values_of_the_session(graph):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.global_variables()[0].assign([5.0, 6.0]))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert {n.op for n in frozen.node} & {"Variable", "VariableV2"} == set()
    smaller = tf.graph_util.remove_training_nodes(frozen, protected_nodes=["y"])
    assert "w/read" not in [n.name for n in smaller.node]
    for definition in (frozen, smaller):
        with tf.Graph().as_default():
            (y,) = tf.import_graph_def(definition, return_elements=["y:0"], name="")
            with tf.Session() as session:
                assert session.run(y, {"x:0": [1.0, 10.0]}).tolist() == [5.0, 60.0]


def test_a_variable_may_be_left(graph):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kept = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["y"], variable_names_blacklist=["w"]
        )
    assert any(n.op in ("Variable", "VariableV2") for n in kept.node)
