"""Recurrent layers with TensorFlow 2's defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras.layers import recurrent_v2

layers = tf.keras.layers


@pytest.mark.parametrize(
    ("made", "plain"),
    [
        (recurrent_v2.LSTM, lambda n: layers.LSTM(n, recurrent_activation="sigmoid")),
        (
            recurrent_v2.GRU,
            lambda n: layers.GRU(n, recurrent_activation="sigmoid", reset_after=True),
        ),
        (
            lambda n: layers.RNN(recurrent_v2.GRUCell(n)),
            lambda n: layers.RNN(
                layers.GRUCell(n, recurrent_activation="sigmoid", reset_after=True)
            ),
        ),
        (
            lambda n: layers.RNN(recurrent_v2.LSTMCell(n)),
            lambda n: layers.RNN(layers.LSTMCell(n, recurrent_activation="sigmoid")),
        ),
    ],
)
def test_they_are_the_others_with_other_defaults(made: Any, plain: Any) -> None:
    x = np.random.RandomState(2).randn(2, 3, 4).astype(np.float32)
    one, other = tf.keras.Sequential([made(5)]), tf.keras.Sequential([plain(5)])
    expected = one.predict(x)
    other.predict(x)
    other.set_weights(one.get_weights())
    np.testing.assert_allclose(other.predict(x), expected, rtol=1e-6)
    again = tf.keras.Sequential.from_config(one.get_config())
    again.build((None, 3, 4))
    again.set_weights(one.get_weights())
    np.testing.assert_allclose(again.predict(x), expected, rtol=1e-6)


def test_configs_are_of_the_kinds_of_version_1() -> None:
    for name in ("LSTM", "GRU"):
        layer = getattr(recurrent_v2, name)(5, return_sequences=True)
        config = layers.serialize(layer)
        assert config["class_name"] == name
        again = layers.deserialize(config)
        assert type(again) is getattr(layers, name) and again.return_sequences
        assert again.recurrent_activation is tf.keras.activations.sigmoid
        assert getattr(tf.compat.v2.keras.layers, name) is getattr(recurrent_v2, name)
        assert getattr(layers, name) is not getattr(recurrent_v2, name)


def test_old_names_of_batch_normalization_in_files() -> None:
    config = layers.serialize(layers.BatchNormalization(momentum=0.9))
    for name in ("BatchNormalizationV1", "BatchNormalizationV2"):
        again = layers.deserialize({**config, "class_name": name})
        assert type(again) is layers.BatchNormalization and again.momentum == 0.9
