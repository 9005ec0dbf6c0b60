"""Models whose steps run line by line: ``run_eagerly=True``, and layers that are ``dynamic``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import backend as K

keras: Any = tf.keras
layers: Any = keras.layers

_RANDOM = np.random.RandomState(4)
X = _RANDOM.randn(8, 3).astype("float32")
Y = X.sum(1, keepdims=True)


def _normalized(**how: Any) -> Any:
    model = keras.Sequential(
        [
            layers.Dense(4, input_shape=(3,), kernel_initializer="ones", kernel_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dense(1, kernel_initializer="ones"),
        ]
    )
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9, clipnorm=0.5)
    model.compile(optimizer, "mse", metrics=["mae"], weighted_metrics=["mse"], **how)
    return model


def _two_outputs(**how: Any) -> Any:
    x = keras.Input((3,))
    first = layers.Dense(1, kernel_initializer="ones", name="first")(x)
    second = layers.Dense(1, kernel_initializer="zeros", name="second")(x)
    model = keras.Model(x, [first, second])
    model.add_loss(tf.reduce_sum(first) * 0.1)
    model.add_metric(tf.reduce_sum(second), name="total", aggregation="mean")
    losses, metrics = ["mse", "mae"], {"first": "mse"}
    model.compile("adam", losses, loss_weights=[1, 2], metrics=metrics, **how)
    return model


def test_a_prediction_forgets_what_metrics_counted_in_an_evaluation() -> None:
    """The numbers of TensorFlow 1.15.5, in eager code; in a graph it forgets nothing."""
    for how in ({"run_eagerly": True}, {}):
        model = _two_outputs(**how)
        y, weights = [Y, 2 * Y], np.arange(8.0)
        given = [weights, weights]
        model.fit(X, y, sample_weight=given, batch_size=4, epochs=2, shuffle=False, verbose=0)
        model.evaluate(X, y, batch_size=3, verbose=0)
        model.predict(X)
        found = model.train_on_batch(X, y)
        np.testing.assert_allclose(found, [2.52012, 6e-5, 1.38284, 6e-5, -0.04508], atol=1e-5)


def _recurrent(**how: Any) -> Any:
    model = keras.Sequential(
        [
            layers.Masking(input_shape=(3, 1)),
            layers.LSTM(2, kernel_initializer="ones", recurrent_initializer="ones"),
            layers.Dense(1, kernel_initializer="ones"),
        ]
    )
    model.compile("rmsprop", "mse", **how)
    return model


@pytest.mark.parametrize("made", [_normalized, _two_outputs, _recurrent])
def test_steps_line_by_line_are_those_of_the_graph(made: Callable[..., Any]) -> None:
    x = X.reshape(8, 3, 1) * (X > 0).reshape(8, 3, 1) if made is _recurrent else X
    y = [Y, 2 * Y] if made is _two_outputs else Y
    found = []
    for eagerly in (True, False):
        model = made(run_eagerly=eagerly)
        assert model.run_eagerly is eagerly
        weights = np.arange(8.0)
        given = [weights, weights] if made is _two_outputs else weights
        history = model.fit(
            x, y, sample_weight=given, batch_size=4, epochs=2, shuffle=False, verbose=0
        ).history
        found.append(
            [
                *(history[name] for name in sorted(history)),
                np.ravel(model.evaluate(x, y, batch_size=3, verbose=0)),
                *np.reshape(model.predict(x), [-1, 8]),
                np.ravel(model.train_on_batch(x, y)),
                *map(np.ravel, model.get_weights()),
            ]
        )
    for line_by_line, graph in zip(*found, strict=True):
        np.testing.assert_allclose(line_by_line, graph, rtol=2e-5, atol=1e-6)


def test_code_of_a_model_may_look_at_values() -> None:
    seen: list[Any] = []

    class Looking(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(1, kernel_initializer="zeros")

        def call(self, x: Any, training: Any = None) -> Any:
            seen.append((float(x.numpy().sum()), training))
            return self.dense(x)

    model = Looking()
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(np.ones((4, 3)), np.ones((4, 1)), batch_size=2, verbose=0)
    assert seen[-2:] == [(6.0, True), (6.0, True)] and len(model.trainable_weights) == 2
    assert model.predict(np.ones((4, 3))).shape == (4, 1) and seen[-1] == (12.0, False)
    assert model.output_names == ["output_1"]


class _Positive(layers.Layer):  # type: ignore[misc]
    """What only eager code can do: a Python loop over values."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(dynamic=True, **kwargs)
        self.scale = self.add_weight("scale", (), initializer="ones")

    def call(self, x: Any) -> Any:
        rows = [row for row in x.numpy() if row.sum() > 0]
        return x * self.scale * float(len(rows))

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


def test_dynamic_layers_train_in_eager_code() -> None:
    model = keras.Sequential([_Positive(input_shape=(3,)), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    assert model.dynamic and model.run_eagerly and model.output_shape == (None, 1)
    before = model.get_weights()
    losses = [model.train_on_batch(X, Y) for _ in range(9)]
    assert losses[-1] < losses[0]
    assert all((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
    scale, kernel, bias = model.get_weights()
    expected = X * scale * (X.sum(1) > 0).sum() @ kernel + bias
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="run_eagerly=False"):
        model.compile("sgd", "mse", run_eagerly=False)


def test_a_dynamic_layer_of_a_model_says_its_shape() -> None:
    class Silent(layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(NotImplementedError, match="compute_output_shape.*Silent"):
        keras.Sequential([Silent(dynamic=True, input_shape=(3,))])
    assert Silent(dynamic=True)(tf.ones([2])).numpy().tolist() == [1, 1]  # alone it need not


def test_a_dynamic_model_meets_its_data() -> None:
    class Counted(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(dynamic=True)
            self.dense = layers.Dense(1, kernel_initializer="zeros", bias_initializer="ones")

        def call(self, x: Any) -> Any:
            for row in range(int(x.shape[0])):
                float(x[row, 0])
            self.add_loss(tf.reduce_mean(x) * 0.0 + 2.0)
            return self.dense(x)

    model = Counted()
    model.compile("rmsprop", "mae")
    assert model.fit(np.zeros((2, 1)), np.zeros((2, 1)), verbose=0).history["loss"] == [3.0]
    assert [w.name for w in model.trainable_weights] == [
        "counted/dense/kernel:0",
        "counted/dense/bias:0",
    ]


def test_states_follow_batches_line_by_line() -> None:
    model = keras.Sequential(
        [layers.SimpleRNN(2, stateful=True, batch_input_shape=(2, 3, 1), kernel_initializer="ones")]
    )
    model.compile("sgd", "mse", run_eagerly=True)
    x = np.ones((2, 3, 1))
    first, second = model.predict(x), model.predict(x)
    model.reset_states()
    np.testing.assert_allclose(model.predict(x), first, rtol=1e-6)
    assert abs(first - second).max() > 1e-4


def test_functions_that_run_eagerly_say_it_of_models_too() -> None:
    model = _normalized()
    assert not model.run_eagerly
    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert model.run_eagerly and not _normalized(run_eagerly=False).run_eagerly
    finally:
        tf.config.experimental_run_functions_eagerly(False)


def test_a_scope_of_the_learning_phase_ends_for_models_too() -> None:
    dropped = keras.Sequential([layers.Dropout(0.5, input_shape=(100,))])
    with K.learning_phase_scope(1):
        pass
    assert dropped.predict(np.ones((1, 100))).min() == 1.0
    again = keras.Sequential([layers.Dropout(0.5, input_shape=(100,))])
    assert again.predict(np.ones((1, 100))).min() == 1.0
