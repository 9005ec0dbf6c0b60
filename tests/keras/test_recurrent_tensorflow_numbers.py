"""Recurrent layers of tf.keras under TensorFlow's random numbers, beside TensorFlow 1.15.5.

The layer after each takes its seed from the number of nodes that TensorFlow makes for it, and the losses follow what
is dropped: a noise for each gate of the inputs and of the state, the same at all steps of a sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
keras: Any = tf.keras
L: Any = keras.layers
Layers = Callable[[], list[Any]]
pytestmark = pytest.mark.usefixtures("as_tensorflow", "new_keras_session")


def trained(layers: list[Any], x: Any) -> list[float]:
    """The losses of two epochs and of what is trained then."""
    model = keras.Sequential([*layers, L.Dense(1)])
    model.compile("sgd", "mse")
    y = x.reshape(len(x), -1)[:, :1]
    if model.output_shape[1:] != (1,):
        y = np.repeat(y[:, None], 5, 1)
    losses = model.fit(x, y, epochs=2, batch_size=8, verbose=0).history["loss"]
    return [*losses, model.evaluate(x, y, batch_size=8, verbose=0)]


def of(kind: str, masked: bool = False, **kwargs: Any) -> Layers:
    def make() -> list[Any]:
        given: dict[str, Any] = {}
        if not (kwargs.get("stateful") or masked):
            given["input_shape"] = (5, 3)
        if kwargs.get("stateful"):
            given["batch_input_shape"] = (8, 5, 3)
        first = [L.Masking(input_shape=(5, 3))] if masked else []
        return [*first, getattr(L, kind)(4, **given, **kwargs)]

    return make


def with_noise(kind: str, masked: bool = False, **kwargs: Any) -> Layers:
    return of(kind, masked, dropout=0.2, recurrent_dropout=0.3, **kwargs)


def of_cells() -> list[Any]:
    noise = {"dropout": 0.2, "recurrent_dropout": 0.3}
    cells = [L.LSTMCell(4, **noise), L.GRUCell(3, implementation=2, **noise)]
    return [L.RNN(cells, input_shape=(5, 3))]


def both_ways() -> list[Any]:
    return [L.Bidirectional(*with_noise("GRU")()[:1], input_shape=(5, 3))]


def two() -> list[Any]:
    noise = {"dropout": 0.2, "recurrent_dropout": 0.3}
    first = L.SimpleRNN(4, return_sequences=True, input_shape=(5, 3), **noise)
    return [first, L.SimpleRNN(3, **noise)]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (of("LSTM"), [0.574459, 0.563499, 0.554515]),
        (with_noise("LSTM"), [0.871796, 0.995086, 0.881308]),
        (with_noise("LSTM", implementation=2), [0.769115, 0.707812, 0.652061]),
        (with_noise("LSTM", masked=True), [0.586055, 0.59721, 0.560321]),
        (with_noise("LSTM", unroll=True), [0.590056, 0.502818, 0.523849]),
        (with_noise("LSTM", stateful=True), [0.585015, 0.557981, 0.554902]),
        (
            with_noise("LSTM", go_backwards=True, return_sequences=True),
            [0.668576, 0.71523, 0.696012],
        ),
        (of("LSTM", dropout=0.3, use_bias=False, implementation=2), [0.572967, 0.653307, 0.578531]),
        (of("LSTM", recurrent_dropout=0.4, activation="relu"), [0.629768, 0.609908, 0.620776]),
        (
            of("LSTM", stateful=True, unroll=True, recurrent_activation="sigmoid"),
            [0.620232, 0.597895, 0.557916],
        ),
        (with_noise("GRU"), [0.593188, 0.696219, 0.576837]),
        (with_noise("GRU", implementation=2), [0.789947, 0.823022, 0.649813]),
        (with_noise("GRU", reset_after=True), [0.639153, 0.669644, 0.557072]),
        (
            of("GRU", reset_after=True, implementation=2, use_bias=False),
            [0.696428, 0.681019, 0.671275],
        ),
        (of("GRU", masked=True, unroll=True), [0.621649, 0.604905, 0.594453]),
        (with_noise("GRU", stateful=True, implementation=2), [0.606972, 0.566426, 0.620212]),
        (of("GRU", stateful=True, masked=False), [0.602861, 0.590045, 0.582706]),
        (with_noise("SimpleRNN"), [2.18651, 2.18016, 2.13354]),
        (of("SimpleRNN", unroll=True, dropout=0.5), [2.29694, 1.54147, 2.2047]),
        (of("SimpleRNN", masked=True, go_backwards=True), [1.62508, 1.38908, 1.21298]),
        (of_cells, [0.674007, 0.614445, 0.617769]),
        (both_ways, [0.742113, 0.676842, 0.5919]),
        (two, [3.63328, 1.84786, 1.19115]),
    ],
)
def test_the_losses_are_those_of_tensorflow(make: Layers, expected: list[float]) -> None:
    np.random.seed(7)
    tf.set_random_seed(3)
    x = np.random.RandomState(0).randn(24, 5, 3)
    np.testing.assert_allclose(trained(make(), x), expected, atol=2e-5)


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({}, [1.19909, 1.17481, 1.14786]),
        ({"dropout": 0.2, "recurrent_dropout": 0.3}, [1.38498, 1.18488, 1.22974]),
        ({"stateful": True, "use_bias": False}, [1.17233, 1.15217, 1.13337]),
        ({"go_backwards": True, "padding": "same"}, [1.28259, 1.23385, 1.19301]),
    ],
)
def test_images_in_time(kwargs: dict[str, Any], expected: list[float]) -> None:
    np.random.seed(7)
    tf.set_random_seed(3)
    x = np.random.RandomState(0).randn(24, 3, 5, 5, 2)
    shape = (
        {"batch_input_shape": (8, 3, 5, 5, 2)}
        if kwargs.get("stateful")
        else {"input_shape": (3, 5, 5, 2)}
    )
    layers = [L.ConvLSTM2D(2, 3, **shape, **kwargs), L.Flatten()]
    np.testing.assert_allclose(trained(layers, x), expected, atol=2e-5)
