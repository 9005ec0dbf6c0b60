"""Trainings of tf.keras under TensorFlow's random numbers: the losses are those of TensorFlow 1.15.5.

The first weights, the order of the examples and what dropout and noise draw all have to agree for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
keras: Any = tf.keras
layers: Any = keras.layers
pytestmark = pytest.mark.usefixtures("as_tensorflow", "new_keras_session")


def trained(make: Callable[[], list[Any]], x: Any, **kwargs: Any) -> list[list[float]]:
    """The loss (and that of a validation) of each of three epochs."""
    np.random.seed(7)
    tf.set_random_seed(3)
    model = keras.Sequential(make())
    model.compile("adam", "binary_crossentropy")
    y = (x.reshape(len(x), -1).sum(1) > 0).astype(np.float32)
    history = model.fit(x, y, epochs=3, batch_size=8, verbose=0, **kwargs).history
    return [history[name] for name in sorted(history)]


def numbers(*shape: int) -> Any:
    return np.random.RandomState(0).randn(*shape).astype(np.float32)


def output() -> Any:
    return layers.Dense(1, activation="sigmoid")


def dense() -> list[Any]:
    return [layers.Dense(5, activation="relu", input_dim=6), output()]


def with_dropout() -> list[Any]:
    first = layers.Dense(5, kernel_initializer="he_normal", activation="relu", input_dim=6)
    return [first, layers.Dropout(0.5), output()]


def with_noise() -> list[Any]:
    return [layers.Dense(5, input_dim=6), layers.GaussianNoise(0.5), output()]


def normalized() -> list[Any]:
    return [layers.Dense(5, input_dim=6), layers.BatchNormalization(), output()]


def convolved() -> list[Any]:
    first = layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 2))
    return [first, layers.MaxPooling2D(), layers.Dropout(0.25), layers.Flatten(), output()]


def recurrent() -> list[Any]:
    return [layers.Bidirectional(layers.LSTM(3), input_shape=(5, 3)), output()]


def of_steps() -> list[Any]:
    cells = layers.GRU(3, return_sequences=True, input_shape=(5, 3))
    return [cells, layers.TimeDistributed(layers.Dense(2)), layers.SimpleRNN(2), output()]


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [
        (dense, (40, 6), [0.820818, 0.815287, 0.81055]),
        (with_dropout, (40, 6), [0.807428, 1.23122, 1.232708]),
        (with_noise, (40, 6), [0.571027, 0.606485, 0.672625]),
        (normalized, (40, 6), [0.794589, 0.739806, 0.731026]),
        (convolved, (40, 8, 8, 2), [0.784175, 0.862634, 0.860165]),
        (recurrent, (40, 5, 3), [0.696648, 0.691673, 0.68626]),
        (of_steps, (40, 5, 3), [0.720188, 0.716333, 0.712168]),
    ],
    ids=["dense", "dropout", "noise", "normalized", "convolved", "recurrent", "steps"],
)
def test_a_training_has_the_losses_of_tensorflow(make: Any, shape: Any, expected: Any) -> None:
    np.testing.assert_allclose(trained(make, numbers(*shape)), [expected], atol=2e-5)


def test_a_validation_leaves_the_generator_where_tensorflow_leaves_it() -> None:
    losses = trained(dense, numbers(40, 6), validation_split=0.2)
    np.testing.assert_allclose(
        losses, [[0.837808, 0.832021, 0.826729], [0.752389, 0.750582, 0.749056]], atol=2e-5
    )
    assert np.random.randint(1000) == 847


def test_penalties_are_counted_where_tensorflow_makes_them() -> None:
    """Layers of tf.keras make them when a model is compiled, those of tf.layers at once."""
    l2 = keras.regularizers.l2(0.1)
    found = []
    for dense_layer in (layers.Dense, tf.layers.Dense):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(42)
            inputs = tf.placeholder(tf.float32, [None, 4])
            tf.layers.dense(dense_layer(3, kernel_regularizer=l2)(inputs), 2)
            drawn = [op for op in graph.get_operations() if op.type == "RandomUniform"]
            found.append([op.get_attr("seed2") for op in drawn])
    assert found == [[4, 24], [4, 27]]


def seeds(make: Callable[[], list[Any]], x: Any) -> list[int]:
    """The op seeds of the first weights and of what is drawn, of a model that waits for data."""
    tf.reset_default_graph()  # and with it the learning phase that clear_session made
    tf.set_random_seed(42)
    np.random.seed(0)
    model = keras.Sequential(make())
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, np.arange(len(x)) % 3, batch_size=4, verbose=0)
    drawn = [op for op in tf.get_default_graph().get_operations() if "seed2" in op.attrs]
    return [op.attrs["seed2"] for op in drawn]


def last() -> Any:
    return layers.Dense(3, activation="softmax")


#: What 1.15.5 has; the seeds within a layer's dropout are NumPy's, and stand in the order of its draws.
SEEDS = {
    "deferred": (
        lambda: [layers.Dense(5, activation="relu"), layers.Dropout(0.5), last()],
        2,
        [6, 33, 51],
    ),
    "deferred, flat": (
        lambda: [layers.Flatten(), layers.Dense(5, activation="relu"), last()],
        3,
        [14, 35],
    ),
    "lstm, dropout": (
        lambda: [layers.LSTM(5, dropout=0.2, input_shape=(6, 4)), last()],
        3,
        [4, 15, 393],
    ),
    "lstm, both": (
        lambda: [layers.LSTM(5, dropout=0.2, recurrent_dropout=0.2, input_shape=(6, 4)), last()],
        3,
        [4, 15, 500],
    ),
    "gru, dropout": (
        lambda: [layers.GRU(5, dropout=0.2, input_shape=(6, 4)), last()],
        3,
        [4, 15, 361],
    ),
    "selu": (
        lambda: [
            layers.Dense(5, activation="selu", input_shape=(4,)),
            layers.AlphaDropout(0.2),
            last(),
        ],
        2,
        [4, 62],
    ),
}


@pytest.mark.parametrize("case", SEEDS)
def test_seeds_of_weights_are_tensorflows(case: str) -> None:
    make, rank, expected = SEEDS[case]
    found = [
        seed
        for seed in seeds(make, np.ones((8, 6, 4) if rank == 3 else (8, 4), np.float32))
        if seed < 1000
    ]
    assert found == expected
