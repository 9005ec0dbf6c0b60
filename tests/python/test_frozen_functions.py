"""Functions whose variables have become constants."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager.context import eager_mode
from dataflow.python.frozen_functions import convert_variables_to_constants_v2


def test_a_function_keeps_the_values_that_its_variables_had() -> None:
    with eager_mode():
        weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

        @tf.function
        def layer(x: Any) -> Any:
            return tf.nn.relu(tf.matmul(x, weights) - 5.0)

        whole = layer.get_concrete_function(tf.TensorSpec([None, 2], tf.float32, "x"))
        frozen = convert_variables_to_constants_v2(whole)
        weights.assign(tf.zeros([2, 2]))
        x = tf.constant([[1.0, 1.0]])
        (found,) = frozen(x)
        assert found.numpy().tolist() == [[0.0, 1.0]] and not whole(x).numpy().any()
        graph_def = frozen.graph.as_graph_def()
        assert not {"VarHandleOp", "ReadVariableOp"} & {node.op for node in graph_def.node}
        names = [frozen.inputs[0].name, frozen.outputs[0].name]
        assert names == ["x:0", whole.outputs[0].name] and frozen.variables == ()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert session.run(names[1], {names[0]: [[1.0, 1.0]]}).tolist() == [[0.0, 1.0]]


def test_a_model_of_keras() -> None:
    with eager_mode():
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,))])
        spec = tf.TensorSpec([None, 2], tf.float32)
        whole = tf.function(lambda x: model(x)).get_concrete_function(spec)
        (found,) = convert_variables_to_constants_v2(whole)(tf.ones([1, 2]))
        assert np.allclose(found.numpy(), model(tf.ones([1, 2])).numpy())


def test_a_variable_that_the_function_changes_cannot_be_frozen() -> None:
    with eager_mode():
        total = tf.Variable(0.0)
        count = tf.function(lambda x: total.assign_add(x).read_value())
        with pytest.raises(ValueError, match="cannot be frozen"):
            convert_variables_to_constants_v2(
                count.get_concrete_function(tf.TensorSpec([], tf.float32))
            )


def test_it_has_the_path_of_tensorflow() -> None:
    module = importlib.import_module("dataflow.python.framework.convert_to_constants")
    assert module.convert_variables_to_constants_v2 is convert_variables_to_constants_v2
