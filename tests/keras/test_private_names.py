"""What programs read of models under tf.keras's private names; values of TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
keras: Any = tf.keras
K = keras.backend


def model_of_two_layers() -> Any:
    inputs = keras.layers.Input((3,), name="i")
    hidden = keras.layers.Dense(2, name="h", kernel_initializer="ones")(inputs)
    model = keras.models.Model(inputs, keras.layers.Dense(1, name="d", use_bias=False)(hidden))
    model.layers[-1].set_weights([np.array([[1.0], [2.0]])])
    return model


def test_of_what_is_fed(graph: Any) -> None:
    model = model_of_two_layers()
    assert not model._is_compiled
    with pytest.raises(RuntimeError):
        model._assert_compile_was_called()
    model.compile("sgd", "mse")
    model._assert_compile_was_called()
    assert model._is_compiled
    assert model._feed_inputs == model.inputs
    assert model._feed_input_names == ["i"]
    assert model._feed_input_shapes == [(None, 3)]
    assert model._feed_output_names == ["d"]
    assert model._feed_output_shapes == [(None, 1)]
    assert len(model._targets) == len(model._feed_targets) == 1
    assert [w.name for w in model._collected_trainable_weights] == [
        w.name for w in model.trainable_weights
    ]


def test_gradients_of_what_is_fed(graph: Any) -> None:
    """The recipe by which programs look at the gradients of a batch."""
    model = model_of_two_layers()
    model.compile("sgd", "mse")
    x, y = np.ones((4, 3)), np.ones((4, 1))
    symbols = model._feed_inputs + model._feed_targets + model._feed_sample_weights
    gradients = K.gradients(model.total_loss, model._collected_trainable_weights)
    inputs, targets, weights = model._standardize_user_data(x, y)
    found = K.function(symbols, gradients)(inputs + targets + weights)
    np.testing.assert_allclose(found[0], [[16, 32]] * 3)  # 2 * (9 - 1) * weight * x
    np.testing.assert_allclose(found[2], [[48], [48]])
    assert [a.shape for a in model._standardize_user_data(x)[0]] == [(4, 3)]
    assert model._standardize_user_data(x)[1:] == ([], [])


def test_calls_by_depth(graph: Any) -> None:
    model = model_of_two_layers()
    calls = model._nodes_by_depth
    assert {depth: [n.outbound_layer.name for n in nodes] for depth, nodes in calls.items()} == {
        0: ["d"],
        1: ["h"],
        2: ["i"],
    }


def test_a_class_of_ones_own_may_use_the_names() -> None:
    class Mine(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._targets = [5]
            self._is_compiled = "so to speak"

    model = Mine()
    assert model._targets == [5]
    assert model._is_compiled == "so to speak"


def test_a_wrapper_of_a_library_names_its_parts_and_takes_over_the_shape_of_inputs(
    graph: Any,
) -> None:
    class Wrapped(keras.layers.Wrapper):  # type: ignore[misc]
        def __init__(self, layer: Any) -> None:
            super().__init__(layer)
            self._track_trackable(layer, name="layer")
            assert not hasattr(self, "_batch_input_shape")
            self._batch_input_shape = layer._batch_input_shape

        def build(self, input_shape: Any) -> None:
            super().build(input_shape)
            self.halved = self.layer.kernel / 2.0

        def call(self, inputs: Any) -> Any:
            return inputs @ self.halved + self.layer(inputs)

    layer = Wrapped(keras.layers.Dense(2, input_shape=(3,)))
    model = keras.Sequential([layer])
    assert model.built
    assert [v.name for v in model.weights] == ["wrapped/kernel:0", "wrapped/bias:0"]
    assert [p.name for p in layer._unconditional_checkpoint_dependencies] == ["layer"]
    assert [name for name, _ in layer.checkpoint_parts()].count("layer") == 2
    plain = tf.layers.Dense(1)
    assert plain._track_trackable(layer, "other") is layer
    assert dict(plain.checkpoint_parts()) == {"other": layer}
