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


def resource_reads():
    """Reads of a resource variable in a branch, in a loop, of rows, and of its shape."""
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    rows = tf.gather(w, [1])[0]
    branch = tf.cond(x[0] > 0, lambda: x * w.read_value()[0], lambda: x)
    _, looped = tf.while_loop(
        lambda i, _: i < 2, lambda i, y: (i + 1, y + w.read_value()[1]), [0, tf.zeros([2])]
    )
    shape = tf.cast(tf.raw_ops.VariableShape(input=w.handle), tf.float32)
    return tf.identity(rows + branch + looped + shape, name="y")


def test_reads_of_a_resource_variable_become_its_value():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        y = resource_reads()
        session.run(tf.global_variables_initializer())
        expected = session.run(y, {"x:0": [1.0, 10.0]}).tolist()
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert not [
        n for n in frozen.node if "Variable" in n.op or "Handle" in n.op or "Resour" in n.op
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="again")
        assert session.run(y, {"again/x:0": [1.0, 10.0]}).tolist() == expected


def test_an_output_that_needs_the_variable_itself_cannot_be_frozen():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        w = tf.get_variable("w", [2], use_resource=True)
        session.run(w.initializer)
        tf.identity(w.assign_add([1.0, 1.0]), name="y")
        with pytest.raises(ValueError, match="needs the variable 'w' itself"):
            tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])


def test_functions_stay_in_the_part():
    with tf.Graph().as_default() as graph:
        tf.data.Dataset.range(3).map(lambda x: x * 2).make_one_shot_iterator().get_next(name="y")
        part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"])
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.import_graph_def(part, return_elements=["y:0"], name="")) == [0]


def test_it_has_import_graph_def_too(graph):
    """TF-GAN freezes a classifier and loads it by `tf.graph_util.import_graph_def`."""
    assert tf.graph_util.import_graph_def is tf.import_graph_def


def test_what_tensorflow_keeps_on_the_cpu(graph):
    text, number, index = tf.constant("a"), tf.constant(1.0), tf.constant(1)
    variable = tf.Variable(1)
    whole = tf.dynamic_stitch([[0]], [[1]])
    parts = tf.dynamic_stitch([[0]], [[1.0]])
    nodes = [text, number, index, variable, whole, parts, tf.cast(index, tf.float32)]
    kept = [tf.graph_util.must_run_on_cpu(node.op) for node in nodes]
    assert kept == [True, False, True, False, True, False, True]
    assert tf.graph_util.must_run_on_cpu(text.op.node_def)
    assert tf.graph_util.must_run_on_cpu(variable.op, pin_variables_on_cpu=True)
    assert not tf.graph_util.must_run_on_cpu(tf.cast(number, tf.int32).op)
