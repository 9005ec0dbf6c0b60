"""`Attention` and `AdditiveAttention`: values of TensorFlow 1.15."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

layers = tf.keras.layers
QUERY = np.arange(12.0, dtype="float32").reshape(1, 3, 4) / 10
VALUE = np.arange(8.0, dtype="float32").reshape(1, 2, 4) / 7


pytestmark = pytest.mark.usefixtures("graph")


def test_dot_product_attention() -> None:
    result = run_initialized(layers.Attention()([tf.constant(QUERY), tf.constant(VALUE)]))
    np.testing.assert_allclose(result[0, 0], [0.3342, 0.4771, 0.6199, 0.7628], atol=6e-5)
    np.testing.assert_allclose(result[0, 2], [0.5129, 0.6558, 0.7987, 0.9415], atol=6e-5)


def test_additive_attention() -> None:
    layer = layers.AdditiveAttention(use_scale=False)
    result = run_initialized(layer([tf.constant(QUERY), tf.constant(VALUE)]))
    np.testing.assert_allclose(result[0, 0], [0.4692, 0.612, 0.7549, 0.8977], atol=6e-5)


def test_a_masked_value_is_not_looked_at_and_a_masked_query_gives_zeros() -> None:
    masks = [tf.constant([[True, True, False]]), tf.constant([[True, False]])]
    layer = layers.Attention(use_scale=True)
    result = run_initialized(layer([tf.constant(QUERY), tf.constant(VALUE)], mask=masks))
    np.testing.assert_allclose(result[0, :2], np.stack([VALUE[0, 0]] * 2), rtol=1e-6)
    np.testing.assert_array_equal(result[0, 2], np.zeros(4))
    assert [w.shape.as_list() for w in layer.weights] == [[]]


def test_causal_attention_looks_back_only() -> None:
    x = tf.constant(QUERY)
    result = run_initialized(layers.Attention(causal=True)([x, x]))
    np.testing.assert_allclose(result[0, 0], QUERY[0, 0], rtol=1e-6)
    np.testing.assert_allclose(result[0, 1], [0.2827, 0.3827, 0.4827, 0.5827], atol=6e-5)


def test_a_model_with_attention_trains_and_is_copied_from_its_config() -> None:
    query = tf.keras.Input((3, 4))
    value = tf.keras.Input((2, 4))
    context = layers.AdditiveAttention(name="attention")([query, value])
    model = tf.keras.Model([query, value], layers.Dense(1)(layers.Flatten()(context)))
    model.compile("adam", "mse")
    data = [np.repeat(QUERY, 8, 0), np.repeat(VALUE, 8, 0)]
    losses = model.fit(data, np.ones((8, 1)), epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    copy = tf.keras.Model.from_config(model.get_config())
    assert copy.get_layer("attention").get_config()["use_scale"] is True


def test_inputs_that_are_no_list() -> None:
    with pytest.raises(ValueError, match=r"\[query, value\]"):
        layers.Attention()(tf.constant(QUERY))
