"""Layers that return or take sparse and ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.python.eager import context

tf: Any = dataflow  # names that are not in stubs, and arguments of wrong types
keras: Any = tf.keras
x = np.array([[1, 0, 0], [2, 3, 0], [4, 0, 0], [5, 6, 0]], "float32")


class ToSparse(keras.layers.Layer):  # type: ignore[misc]
    def call(self, inputs: Any) -> Any:
        places = tf.where(tf.not_equal(inputs, 0))
        return tf.SparseTensor(
            places, tf.gather_nd(inputs, places), tf.shape(inputs, out_type=tf.int64)
        )


class ToRagged(keras.layers.Layer):  # type: ignore[misc]
    def call(self, inputs: Any) -> Any:
        return tf.RaggedTensor.from_tensor(inputs, padding=0)


class ToDense(keras.layers.Layer):  # type: ignore[misc]
    def call(self, inputs: Any) -> Any:
        if isinstance(inputs, tf.SparseTensor):
            return tf.sparse.to_dense(inputs, default_value=-1)
        return inputs.to_tensor(default_value=-1)


def _model(*layers: Any) -> Any:
    return keras.Sequential([keras.layers.InputLayer((None,)), *layers])


@pytest.mark.parametrize("kind", [ToSparse, ToRagged])
def test_layers_hand_them_on(kind: Any) -> None:
    found = _model(kind(), ToDense()).predict(x[:2])
    width = 3 if kind is ToSparse else 2
    np.testing.assert_array_equal(found, np.where(x == 0, -1, x)[:2, :width])


def test_predict_joins_those_of_several_batches() -> None:
    found = _model(ToSparse()).predict(x, batch_size=2)
    np.testing.assert_array_equal(found.indices, np.argwhere(x))
    np.testing.assert_array_equal(found.values, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(found.dense_shape, [4, 3])
    found = _model(ToRagged()).predict(x, batch_size=3)
    assert found.to_list() == [[1], [2, 3], [4], [5, 6]]
    tf.test.TestCase().assertAllEqual([[1], [2, 3], [4], [5, 6]], found)


def test_rows_within_rows_are_joined() -> None:
    class Deep(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            return tf.RaggedTensor.from_tensor(inputs, padding=0, ragged_rank=2)

    model = keras.Sequential([keras.layers.InputLayer((2, 2)), Deep()])
    found = model.predict(np.array([[[1, 0], [2, 3]], [[4, 5], [6, 0]]], "float32"), batch_size=1)
    assert found.to_list() == [[[1], [2, 3]], [[4, 5], [6]]]


def test_a_dense_layer_of_a_sparse_tensor() -> None:
    sparse = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [0.4, 0.6, 0.5], [2, 3])
    layer = keras.layers.Dense(1, kernel_initializer="ones", bias_initializer="ones")
    found = layer(sparse)
    assert found.shape.as_list() == [2, 1]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(sess.run(found), [[2.0], [1.5]])
        (grad,) = tf.gradients(found, layer.kernel)
        np.testing.assert_allclose(sess.run(grad), [[0.4], [0.5], [0.6]])
    with pytest.raises(ValueError, match="incompatible"):
        layer(tf.SparseTensor([[0, 0]], [1.0], [2, 4]))


def test_metrics_of_ragged_tensors_and_of_float64() -> None:
    accuracy = keras.metrics.Accuracy()
    rows, guesses = tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[1, 0], [3]])
    update = accuracy.update_state(rows, guesses)
    total = keras.metrics.Sum(dtype="float64")
    weighted = total(100, sample_weight=0.5)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        sess.run(update)
        np.testing.assert_allclose(sess.run(accuracy.result()), 2 / 3, rtol=1e-6)
        assert sess.run(weighted) == 50
    with context.eager_mode(), pytest.raises(TypeError, match="all be ragged"):
        accuracy.update_state(tf.ragged.constant([[1]]), [[1]])
