"""Copies of a model's architecture: on tensors, with layers that are shared, compiled as the model was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.keras import models

keras: Any = tf.keras
layers: Any = keras.layers

X, Y = np.ones((4, 3)), np.zeros((4, 2))


def _made(kind: str) -> Any:
    parts = [layers.Dense(5, activation="relu"), layers.Dense(2)]
    if kind == "sequential":
        return keras.Sequential(parts)
    if kind == "functional":
        x = keras.Input((3,))
        return keras.Model(x, parts[1](parts[0](x)))

    class Own(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.parts = parts

        def call(self, x: Any) -> Any:
            for part in self.parts:
                x = part(x)
            return x

    return Own()


def test_applied_layers_are_called() -> None:
    with tf.Graph().as_default():
        x = keras.Input((3,))
        model = keras.Model(x, layers.Dense(2).apply(x))
        assert [layer.name for layer in model.layers] == ["input_1", "dense"]
        assert len(model.trainable_weights) == 2


def test_clones_on_tensors_have_no_placeholders() -> None:
    with tf.Graph().as_default():
        model = _made("functional")
    with tf.Graph().as_default() as graph:
        clone = keras.models.clone_model(model, input_tensors=[tf.ones([4, 3])])
        assert not any("Placeholder" in op.type for op in graph.get_operations())
        assert clone.output_shape == (4, 2)


def test_clones_by_a_function_keep_arguments_and_wait_for_data(session: Any) -> None:
    class Times(layers.Layer):  # type: ignore[misc]
        def call(self, x: Any, by: Any = None) -> Any:
            return x * by

    x = keras.Input((3,))
    model = keras.Model(x, Times()(layers.Dense(3, kernel_initializer="ones")(x), by=2.0 * x))
    clone = keras.models.clone_model(model, clone_function=models.share_weights)
    np.testing.assert_allclose(clone.predict(X), np.full((4, 3), 6.0))
    waiting = keras.models.clone_model(_made("sequential"), clone_function=models.share_weights)
    assert waiting.inputs == [] and waiting.predict(X).shape == (4, 2)


@pytest.mark.parametrize("kind", ["sequential", "functional", "own"])
def test_clones_are_compiled_as_the_model_was(session: Any, kind: str) -> None:
    model = _made(kind)
    with pytest.raises(ValueError, match="has not been compiled"):
        models.clone_and_build_model(model)
    counted = keras.metrics.MeanSquaredError(name="squares")
    model.compile(keras.optimizers.SGD(0.25), "mse", metrics=["mae", counted], loss_weights=[2.0])
    model.train_on_batch(X, Y)
    if kind == "own":
        with pytest.raises(ValueError, match="in_place_reset=True"):
            models.clone_and_build_model(model)
    before = model.get_weights()
    clone = models.clone_and_build_model(model, in_place_reset=kind == "own")
    assert (clone is model) == (kind == "own") and clone.loss == "mse"
    assert keras.backend.get_value(clone.optimizer.lr) == 0.25
    clone.fit(X, Y, epochs=2, verbose=0)
    loss, _, squares = clone.evaluate(X, Y, verbose=0)
    np.testing.assert_allclose(loss, 2 * squares, rtol=1e-5)
    assert clone.metrics_names == ["loss", "mean_absolute_error", "squares"]
    assert (clone.get_weights()[0] != before[0]).any()  # new weights
    again = models.clone_and_build_model(clone, in_place_reset=kind == "own", compile_clone=False)
    with pytest.raises(RuntimeError, match="must compile your model"):
        again.evaluate(X, Y)


def test_private_functions_clone_one_kind_of_model_each() -> None:
    private = keras.models
    sequential = keras.Sequential([layers.Dense(4, input_shape=(4,))])
    x = keras.Input((4,))
    y = layers.Dense(4)(x)
    functional = keras.Model(x, y)
    for model, clone in (
        (functional, private._clone_functional_model),
        (sequential, private._clone_sequential_model),
    ):
        made = clone(model)
        assert [w.shape.as_list() for w in made.weights] == [[4, 4], [4]]
        assert made.layers[-1] is not model.layers[-1]
        shared = clone(model, input_tensors=tf.ones([2, 4]), layer_fn=private.share_weights)
        assert shared.layers[-1] is model.layers[-1]
        assert shared.outputs[0].shape.as_list() == [2, 4]
        with pytest.raises(ValueError, match="callable"):
            clone(model, layer_fn=3)
        with pytest.raises(ValueError, match="Expected `model`"):
            clone(None)
    with pytest.raises(ValueError, match="functional"):
        private._clone_functional_model(sequential)
    with pytest.raises(ValueError, match="Sequential"):
        private._clone_sequential_model(functional)
    with pytest.raises(ValueError, match="at most one"):
        private._clone_sequential_model(sequential, input_tensors=[x, x])
    with pytest.raises(ValueError, match="functional API"):
        private._clone_sequential_model(sequential, input_tensors=y)
