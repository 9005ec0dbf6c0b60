"""Which batches of a dataset `evaluate` and validations read: numbers of TensorFlow 1.15.5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager import context


def rows(count: int) -> Any:
    x = np.arange(count, dtype=np.float32).reshape(count, 1)
    return tf.data.Dataset.from_tensor_slices((x, 0 * x)).batch(1)


def identity() -> Any:
    dense = tf.keras.layers.Dense(1, kernel_initializer="ones", use_bias=False, input_shape=(1,))
    model = tf.keras.Sequential([dense])
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    return model


@pytest.fixture(params=["graph", "eager"])
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    if request.param == "eager":
        with context.eager_mode():
            yield
    else:
        yield
    tf.keras.backend.clear_session()


@pytest.mark.usefixtures("mode")
def test_each_validation_begins_at_the_first_batch() -> None:
    history = identity().fit(
        rows(12),
        epochs=4,
        steps_per_epoch=3,
        validation_data=rows(10),
        validation_steps=2,
        verbose=0,
    )
    np.testing.assert_allclose(history.history["val_loss"], [0.5] * 4)
    np.testing.assert_allclose(history.history["loss"], [5 / 3, 50 / 3, 149 / 3, 302 / 3])


@pytest.mark.usefixtures("mode")
def test_each_evaluate_begins_at_the_first_batch() -> None:
    model, data = identity(), rows(10)
    found = [model.evaluate(data, steps=steps, verbose=0) for steps in (2, 2, None, 3)]
    np.testing.assert_allclose(found, [0.5, 0.5, 28.5, 5 / 3])
    found = [model.evaluate(rows(n), steps=1, verbose=0) for n in (1, 2, 3)]
    np.testing.assert_allclose(found, [0, 0, 0])


@pytest.mark.usefixtures("mode")
def test_a_generator_goes_on() -> None:
    def each() -> Iterator[Any]:
        for i in range(100):
            yield np.full((1, 1), i, np.float32), np.zeros((1, 1), np.float32)

    history = identity().fit_generator(
        each(),
        epochs=3,
        steps_per_epoch=3,
        validation_data=each(),
        validation_steps=2,
        verbose=0,
        workers=0,
    )
    np.testing.assert_allclose(history.history["val_loss"], [0.5, 6.5, 20.5])
