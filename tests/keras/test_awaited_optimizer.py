"""Weights that are loaded before `compile`: the optimizer begins with the variables that were saved, as in TensorFlow 1.15."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

X = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
Y = np.ones((4, 2), np.float32)


class Doubled(tf.keras.layers.Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return 2 * x


@pytest.fixture(autouse=True)
def fresh() -> Any:
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def network() -> Any:
    dense = tf.keras.layers.Dense(2, input_shape=(3,), kernel_initializer="ones")
    return tf.keras.Sequential([dense, Doubled()])


def optimizers() -> list[Any]:
    return [lambda: tf.train.RMSPropOptimizer(0.1), lambda: tf.keras.optimizers.Adam(0.1)]


@pytest.mark.parametrize("make", optimizers())
@pytest.mark.parametrize("as_saved_model", [False, True])
def test_training_goes_on_as_if_it_had_not_stopped(
    make: Any, as_saved_model: bool, tmp_path: Path
) -> None:
    model = network()
    model.compile(make(), "mse")
    for _ in range(3):
        model.train_on_batch(X, Y)
    if as_saved_model:
        tf.keras.experimental.export_saved_model(model, str(tmp_path / "model"))
        again = tf.keras.experimental.load_from_saved_model(
            str(tmp_path / "model"), {"Doubled": Doubled}
        )
    else:
        model.save_weights(tmp_path / "weights", save_format="tf")
        again = network()
        again.load_weights(tmp_path / "weights")
    again.compile(make(), "mse")
    for one in (model, again):
        one.train_on_batch(X, Y)
    for ours, theirs in zip(again.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_weights_that_were_changed_since_stay(tmp_path: Path) -> None:
    model = network()
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    model.train_on_batch(X, Y)
    model.save_weights(tmp_path / "weights", save_format="tf")
    again = network()
    again.load_weights(tmp_path / "weights")
    again.set_weights([5 * w for w in again.get_weights()])
    again.compile(tf.keras.optimizers.SGD(0.0), "mse")
    again.train_on_batch(X, Y)
    np.testing.assert_array_equal(again.get_weights()[0], np.full((3, 2), 5))
