"""``function_def_to_graph``: functions of a graph's library as graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dataflow as tf
from dataflow.python.framework import function_def_to_graph as functions


@pytest.fixture
def definition() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        dataset = tf.data.Dataset.range(4).batch(2).map(lambda v: (v * 2, tf.split(v, 2)[1]))
        tf.data.make_initializable_iterator(dataset)
        (found,) = graph.as_graph_def().library.function
        yield found


def test_a_graph_with_inputs_and_outputs(definition: Any) -> None:
    graph = functions.function_def_to_graph(definition)
    assert graph.name == definition.signature.name
    assert [t.op.type for t in graph.inputs] == ["Placeholder"]
    assert graph.inputs[0].shape.ndims is None
    with tf.Session(graph=graph) as sess:
        doubled, last = sess.run(graph.outputs, {graph.inputs[0]: [3, 4]})
    assert doubled.tolist() == [6, 8]
    assert last.tolist() == [4]


def test_shapes_of_inputs_reach_the_outputs(definition: Any) -> None:
    graph = functions.function_def_to_graph(definition, [tf.TensorShape([2])])
    assert [t.shape.as_list() for t in graph.outputs] == [[2], [1]]
    assert functions.function_def_to_graph(definition, [None]).outputs[0].shape.ndims is None
    with pytest.raises(ValueError, match="Length of input_shapes must match"):
        functions.function_def_to_graph(definition, [None, None])


def test_a_graph_def_and_the_names_of_tensors(definition: Any) -> None:
    graph_def, names = functions.function_def_to_graph_def(definition, [tf.TensorShape([2])])
    (argument,) = definition.signature.input_arg
    assert names[argument.name] == f"{argument.name}:0"
    split = next(node.name for node in graph_def.node if node.op == "Split")
    assert names[f"{split}:output:1"] == f"{split}:1"
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        assert graph.get_tensor_by_name(names[argument.name]).shape.as_list() == [2]
        graph.get_tensor_by_name(names[f"{split}:output:1"])


def test_is_function(definition: Any) -> None:
    assert functions.is_function(definition.signature.name)
    assert not functions.is_function("none of that name")
