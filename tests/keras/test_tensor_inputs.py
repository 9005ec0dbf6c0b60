"""Models that read tensors: `Input(tensor=)` and ``compile(target_tensors=)``, as Keras' examples with
TFRecords and data sets do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf

X = np.random.RandomState(0).uniform(-1, 1, (20, 2)).astype(np.float32)
Y = (X @ np.array([[2.0], [-1.0]], np.float32)) + 0.5


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        yield
    tf.keras.backend.clear_session()


def model_of_tensors() -> Any:
    """A linear model whose batches of five come from a data set."""
    data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(5)
    x, y = data.make_one_shot_iterator().get_next()
    inputs = tf.keras.layers.Input(tensor=x)
    outputs = tf.keras.layers.Dense(1, name="linear")(inputs)
    model = tf.keras.models.Model(inputs, outputs)
    model.compile(tf.keras.optimizers.SGD(0.2), "mse", metrics=["mae"], target_tensors=[y])
    return model


def test_trains_evaluates_and_predicts_without_arrays() -> None:
    model = model_of_tensors()
    history = model.fit(epochs=6, steps_per_epoch=16, verbose=0)
    losses = history.history["loss"]
    assert len(losses) == 6 and losses[-1] < 1e-3 < losses[0]
    loss, error = model.evaluate(steps=4)
    assert loss < 1e-3 and error < 0.05
    assert model.predict(steps=3).shape == (15, 1)
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(kernel[:, 0], [2, -1], atol=0.05)
    assert bias.shape == (1,)


def test_its_weights_serve_a_model_that_is_fed() -> None:
    model = model_of_tensors()
    model.fit(epochs=6, steps_per_epoch=16, verbose=0)
    inputs = tf.keras.layers.Input([2])
    fed = tf.keras.models.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    fed.set_weights(model.get_weights())
    np.testing.assert_allclose(fed.predict(X), Y, atol=0.1)


def test_what_is_missing_is_named() -> None:
    model = model_of_tensors()
    with pytest.raises(ValueError, match="steps_per_epoch"):
        model.fit(epochs=1)
    with pytest.raises(ValueError, match="`steps`"):
        model.evaluate()
    with pytest.raises(ValueError, match="predict.*`steps`"):
        model.predict()
    inputs = tf.keras.layers.Input([2])
    plain = tf.keras.models.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    plain.compile("sgd", "mse")
    with pytest.raises(ValueError, match="fit: x is missing"):
        plain.fit(epochs=1, steps_per_epoch=2)


def test_targets_must_be_tensors_too() -> None:
    inputs = tf.keras.layers.Input(tensor=tf.constant(X))
    model = tf.keras.models.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="y is missing.*target_tensors"):
        model.fit(epochs=1, steps_per_epoch=2)


class _Batches(tf.keras.utils.Sequence):
    def __getitem__(self, index: int) -> Any:
        return np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)

    def __len__(self) -> int:
        return 2


def _endless() -> Iterator[Any]:
    while True:
        yield _Batches()[0]


@pytest.mark.parametrize("kind", ["sequence", "generator", "dataset"])
@pytest.mark.parametrize(
    "beside",
    [{"y": np.ones((4, 1))}, {"sample_weight": np.ones(4)}, {"batch_size": 2}],
    ids=["y", "sample_weight", "batch_size"],
)
def test_what_makes_its_own_batches_stands_alone(kind: str, beside: dict[str, Any]) -> None:
    """Targets, weights and a batch size beside it changed nothing, without a word."""

    def source() -> Any:
        if kind == "dataset":
            return tf.data.Dataset.from_tensors(_Batches()[0]).repeat()
        return _Batches() if kind == "sequence" else _endless()

    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    (name,) = beside
    with pytest.raises(
        ValueError, match=f"`{name}` argument (must not be specified|is not supported)"
    ):
        model.fit(source(), steps_per_epoch=2, verbose=0, **beside)
    with pytest.raises(
        ValueError, match=f"`{name}` argument (must not be specified|is not supported)"
    ):
        model.evaluate(source(), steps=2, verbose=0, **beside)
    if name == "batch_size":
        with pytest.raises(ValueError, match="`batch_size` argument must not be specified"):
            model.predict(source(), steps=2, batch_size=2)
    assert model.predict(source(), steps=2).shape == (8, 1)
