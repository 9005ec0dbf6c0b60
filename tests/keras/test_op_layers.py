"""Operations between layers are layers: values of TensorFlow 1.15."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dataflow as tf

keras, layers = tf.keras, tf.keras.layers


pytestmark = pytest.mark.usefixtures("graph")


def _with_operations() -> tf.keras.Model:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    both = tf.concat([a, 2 * b], 1)
    h = layers.Dense(2, kernel_initializer="ones", name="d")(both)
    y = tf.nn.relu(h - 1.0) + tf.reduce_mean(h, axis=1, keepdims=True)
    return keras.Model([a, b], layers.Dense(1, kernel_initializer="ones", name="e")(y))


def test_operations_before_and_between_layers() -> None:
    model = _with_operations()
    ones = [np.ones((2, 3)), np.ones((2, 3))]
    np.testing.assert_allclose(model.predict(ones), [[34.0], [34.0]])
    assert len(model.layers) == 10
    assert len(model.trainable_weights) == 4
    model.compile("sgd", "mse")
    assert model.train_on_batch(ones, np.ones((2, 1))) == pytest.approx(1089.0)


def test_the_model_on_other_inputs_and_from_its_config() -> None:
    model = _with_operations()
    called = model([tf.ones([1, 3]), tf.zeros([1, 3])])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(called), [[10.0]])
    copy = keras.Model.from_config(json.loads(json.dumps(model.get_config())))
    ones = [np.ones((2, 3)), np.ones((2, 3))]
    np.testing.assert_allclose(copy.predict(ones), [[34.0], [34.0]])


def test_shapes_that_are_known_only_at_run_time_and_several_outputs() -> None:
    x = keras.Input((4, 6))
    sizes = tf.shape(x)
    y = tf.reshape(x, [sizes[0], sizes[1] * 2, 3])
    first, second = tf.split(y, 2, axis=1)
    model = keras.Model(x, [tf.transpose(first, [0, 2, 1]), second[:, 0]])
    assert [v.shape for v in model.predict(np.ones((2, 4, 6)))] == [(2, 3, 4), (2, 3)]


def test_an_operation_on_a_variable_runs_and_is_not_saved_as_data() -> None:
    scale = tf.Variable(2.0, name="scale")
    x = keras.Input((2,))
    model = keras.Model(x, x * scale)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), [[2.0, 2.0]])
    with pytest.raises(NotImplementedError, match="takes scale/read:0"):
        model.get_config()


def test_operations_inside_of_a_layer_make_no_layers() -> None:
    class Twice(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = layers.Dense(2)

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return self.inner(tf.nn.relu(x) * 2.0)

    x = keras.Input((3,))
    model = keras.Model(x, Twice()(x))
    assert [type(layer).__name__ for layer in model.layers] == ["InputLayer", "Twice"]


def test_loops_between_layers_are_refused() -> None:
    x = keras.Input((3,))
    y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, x])[1]
    with pytest.raises(ValueError, match="Wrap the operation"):
        keras.Model(x, y)


@pytest.mark.parametrize("by_name", [False, True])
def test_operations_among_the_further_arguments_of_a_layer(by_name: bool) -> None:
    class Sum(keras.layers.Layer):
        def call(self, x: Any, y: Any) -> Any:
            return x + y

    inputs = keras.Input(shape=(3,))
    doubled = inputs * 2
    model = keras.Model(inputs, Sum()(inputs, y=doubled) if by_name else Sum()(inputs, doubled))
    x = np.ones((2, 3))
    assert model.predict(x).tolist() == np.full((2, 3), 3.0).tolist()
    again = keras.Model.from_config(model.get_config(), {"Sum": Sum})
    assert again.predict(x).tolist() == np.full((2, 3), 3.0).tolist()
    other = model(keras.backend.constant([[5.0, 6, 7]]))
    assert keras.backend.get_value(other).tolist() == [[15, 18, 21]]


def test_states_computed_from_another_input() -> None:
    x, z = keras.Input((4, 3)), keras.Input((5,))
    layer = keras.layers.GRU(5)
    model = keras.Model([x, z], layer(x, initial_state=tf.tanh(z)))
    given = keras.Input((5,))
    plain = keras.Model([x, given], layer(x, initial_state=given))
    sequence, states = np.random.rand(2, 4, 3), np.random.rand(2, 5)
    found = model.predict([sequence, states])
    np.testing.assert_allclose(found, plain.predict([sequence, np.tanh(states)]), atol=1e-6)
