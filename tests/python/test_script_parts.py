"""``script_ops``: calls of Python functions in the form of TensorFlow's own module."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import script_parts
from dataflow.python.eager.context import eager_mode
from dataflow.python.framework.ops import get_gradient_function


def test_a_function_of_tensors_has_a_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        y = script_parts.eager_py_func(lambda x: x * x, [x], tf.float32)
        assert session.run(tf.gradients(y, x)) == [6.0]


def test_functions_go_with_their_graph() -> None:
    gc.collect()
    before = script_parts._py_funcs.size()
    graph = tf.Graph()
    with graph.as_default():
        script_parts.py_func(lambda: 1.0, [], tf.float64)
    assert script_parts._py_funcs.size() == before + 1
    del graph
    gc.collect()
    assert script_parts._py_funcs.size() == before


def test_nothing_to_return() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(script_parts.py_func(lambda x: None, [1], [])) is None
        assert script_parts.py_func(lambda x: None, [1], [], stateful=False) == []
    with eager_mode():
        assert script_parts.eager_py_func(lambda: None, [], []) == []


@pytest.mark.parametrize(
    "value", [np.array([], dtype=[("foo", np.float32)]), {"a": 1}], ids=["structured", "dict"]
)
def test_what_is_no_array_is_refused(value: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        node = script_parts.py_func(lambda: value, [], tf.float32)
        with pytest.raises(tf.errors.UnimplementedError, match="Unsupported"):
            session.run(node)


def test_a_variable_is_no_result() -> None:
    with eager_mode(), pytest.raises(tf.errors.UnknownError, match="read_value"):
        script_parts.eager_py_func(lambda: tf.Variable(1.0), [], tf.float32)


def test_the_gradient_function_of_an_op() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        assert callable(get_gradient_function((x * x).op))
        assert get_gradient_function(x.op) is None
        assert get_gradient_function(script_parts.py_func(lambda x: x, [x], tf.float32).op) is None
