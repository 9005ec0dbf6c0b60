"""``tf.contrib.layers``: dense layers and what is done to values, with numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

layers = tf.contrib.layers


pytestmark = pytest.mark.usefixtures("graph")


def test_greatest_of_neighbors() -> None:
    x = tf.constant([[1.0, 5.0, 2.0, 4.0, 3.0, 0.0]])
    np.testing.assert_array_equal(run_initialized(layers.maxout(x, 3)), [[5.0, 4.0, 3.0]])
    with pytest.raises(ValueError, match=r"number of features\(6\) is not a multiple"):
        layers.maxout(x, 4)


def test_dense_to_sparse_leaves_the_end_token_out() -> None:
    sparse = run_initialized(layers.dense_to_sparse(tf.constant([[3, 0, 7], [0, 0, 2]])))
    np.testing.assert_array_equal(sparse.indices, [[0, 0], [0, 2], [1, 2]])
    np.testing.assert_array_equal(sparse.values, [3, 7, 2])
    np.testing.assert_array_equal(sparse.dense_shape, [2, 3])
    assert run_initialized(
        layers.dense_to_sparse(tf.constant(["a", "-"]), "-")
    ).values.tolist() == [b"a"]


def test_gradient_is_multiplied_and_the_value_is_not() -> None:
    x = tf.constant([2.0, 3.0])
    y = layers.scale_gradient(x, 0.25)
    value, gradient = run_initialized([y, tf.gradients(y * y, x)[0]])
    np.testing.assert_array_equal(value, [2.0, 3.0])
    np.testing.assert_array_equal(gradient, [1.0, 1.5])


@pytest.mark.parametrize(("name", "op"), [("relu", "Relu"), ("relu6", "Relu6"), ("elu", "Elu")])
def test_layers_by_their_activation(name: str, op: str) -> None:
    outputs = layers.stack(tf.ones([1, 2]), getattr(layers, name), [3, 4])
    assert outputs.op.name == f"Stack/fully_connected_2/{op}"


def test_layers_of_tensorflow_0_have_the_variable_bias() -> None:
    y = layers.legacy_linear(tf.ones([2, 3, 4]), 5, bias_init=tf.ones_initializer())
    assert [v.op.name for v in tf.trainable_variables()] == [
        "fully_connected/weights",
        "fully_connected/bias",
    ]
    assert y.shape.as_list() == [2, 3, 5] and tf.get_collection("activations") == [y]
    with pytest.raises(ValueError, match="rank of x must be at least 2"):
        layers.legacy_relu(tf.ones([3]), 2)


@pytest.mark.parametrize("number", ["32", 3.0, None, tf.Dimension(3)])
def test_the_number_of_outputs_is_an_integer(number) -> None:
    with pytest.raises(ValueError, match="num_outputs must be an integer"):
        layers.fully_connected(tf.ones([2, 3]), number)


def test_softmax_needs_to_know_the_rank() -> None:
    rows = layers.softmax(tf.placeholder(tf.float32, [None, None, 2]))
    assert rows.shape.as_list() == [None, None, 2]
    with pytest.raises(ValueError, match="must be known"):
        layers.softmax(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match="at least 2"):
        layers.softmax(tf.ones([3]))
