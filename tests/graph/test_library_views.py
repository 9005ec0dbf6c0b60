"""What libraries that look through graphs read: op definitions, names of functions, shapes that a file says."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def test_fields_of_a_definition_are_tensorflows() -> None:
    """As TensorFlow 1.15 has them."""
    x = tf.constant([1.0, 2.0])
    concat = tf.concat([x, x], 0).op.op_def
    assert concat.is_stateful is False
    assert [tuple(a) for a in concat.input_arg] == [
        ("values", 0, "T", "N", "", False),
        ("axis", 0, "Tidx", "", "", False),
    ]
    assert [(a.name, a.type) for a in concat.attr] == [
        ("N", "int"),
        ("T", "type"),
        ("Tidx", "type"),
    ]
    split = tf.split(x, 2)[0].op.op_def
    assert (split.input_arg[0].type, split.output_arg[0].number_attr) == (3, "num_split")
    call = tf.py_func(lambda v: v, [x], tf.float32).op.op_def
    assert [(a.name, a.type) for a in call.attr] == [
        ("Tin", "list(type)"),
        ("Tout", "list(type)"),
        ("token", "string"),
    ]
    assert call.is_stateful


def test_a_function_is_named_and_found_by_its_name(graph: Any) -> None:
    first = tf.data.Dataset.range(3).map(lambda v: v * 2)
    second = first.map(lambda v: v + 1)
    tf.data.make_initializable_iterator(second)
    maps = [op for op in graph.get_operations() if op.type == "MapDataset"]
    names = [op.get_attr("f").name for op in maps]
    assert sorted(names) == sorted(f.signature.name for f in graph.as_graph_def().library.function)
    assert len(set(names)) == 2
    found = graph._get_function(names[0])
    assert found.definition.signature.name == found.name == names[0]
    assert [t.op.type for t in found.graph.outputs] == ["Mul"]
    assert graph._get_function("none") is None
    with tf.Graph().as_default() as other:
        tf.import_graph_def(graph.as_graph_def(), name="")
        assert other._get_function(names[1]).graph.outputs[0].op.type == "AddV2"


@pytest.mark.parametrize("function", [tf.nn.relu, tf.tanh, tf.matmul, tf.nn.leaky_relu])
def test_functions_are_pickled_and_copied_by_name(function: Any, monkeypatch: Any) -> None:
    """A policy with ``hidden_nonlinearity=tf.nn.tanh`` is saved so, also where ops pass as functions."""
    from dataflow.graph.op_def import OpDef

    monkeypatch.setattr(OpDef, "passes_as_function", True)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy({"activation": function})["activation"] is function


def _file(add_shapes: bool) -> Any:
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.subtract(x, 1.0, name="s")
    return made.as_graph_def(add_shapes=add_shapes)


def _imported(x: Any, add_shapes: bool = True) -> Any:
    return tf.import_graph_def(_file(add_shapes), input_map={"x": x}, return_elements=["s:0"])[0]


def test_shapes_that_a_file_says_are_known() -> None:
    assert _imported(tf.placeholder(tf.float32)).shape.as_list() == [None, 2]
    assert _imported(tf.ones([3, 2])).shape.as_list() == [3, 2]
    assert _imported(tf.placeholder(tf.float32), add_shapes=False).shape.ndims is None


def test_a_mapped_tensor_of_another_shape_or_dtype_is_refused(graph: Any) -> None:
    with pytest.raises(ValueError, match="_output_shapes attribute inconsistent .*#0"):
        _imported(tf.constant(1234.0))
    assert not [op for op in graph.get_operations() if op.type == "Sub"]
    with pytest.raises(
        ValueError, match="was passed string from .* incompatible with expected float32"
    ):
        _imported(tf.constant(["a"]))
    assert _imported(tf.ones([1, 3]), add_shapes=False).shape.as_list() == [1, 3]


def test_a_file_has_the_shapes_of_handles_themselves() -> None:
    """As TensorFlow writes them: here a variable's handle has its value's shape."""
    with tf.Graph().as_default() as graph:
        tf.get_variable("v", [3], use_resource=True)
        tf.TensorArray(tf.float32, 2, name="many")
        definition = graph.as_graph_def(add_shapes=True)
    written = {"v": [], "many": [2]}
    for node in definition.node:
        if node.name in written:
            first = node.attr["_output_shapes"].list.shape[0]
            del first.dim[:]
            for size in written.pop(node.name):
                first.dim.add(size=size)
    assert not written
    with tf.Graph().as_default() as again:
        tf.import_graph_def(definition, name="")
        assert again.get_tensor_by_name("v/Read/ReadVariableOp:0").shape.as_list() == [3]
        assert again.get_operation_by_name("v").outputs[0].dims == (3,)
