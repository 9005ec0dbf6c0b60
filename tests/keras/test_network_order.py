"""Layers of a network stand by depth, as in Keras: files and ``model.layers[:n]`` count on it.

The orders that are expected are those of TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras.network_order import in_order

keras = tf.keras
layers = keras.layers
pytestmark = pytest.mark.usefixtures("new_keras_session")


def names(model):
    return [layer.name for layer in model.layers]


def wide_and_deep():
    """A short branch that is made, and named among the outputs' inputs, before a long one."""
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    wide = layers.Dense(1, name="wide")(a)
    first = layers.Dense(4, name="first")(layers.concatenate([b, a], name="both"))
    second = layers.Dense(1, name="second")(first)
    return keras.Model([a, b], layers.add([wide, second], name="sum"))


def test_the_deepest_stand_first():
    model = wide_and_deep()
    assert names(model) == ["a", "b", "both", "first", "wide", "second", "sum"]
    assert [w.name for w in model.weights] == [
        *("first/kernel:0", "first/bias:0"),
        *("wide/kernel:0", "wide/bias:0", "second/kernel:0", "second/bias:0"),
    ]
    assert model.get_layer(index=4).name == "wide"


def test_an_input_stands_at_its_depth():
    early, late = keras.Input((2,), name="early"), keras.Input((2,), name="late")
    deep = layers.Dense(2, name="deep")(early)
    model = keras.Model([late, early], layers.add([late, deep], name="sum"))
    assert names(model) == ["early", "late", "deep", "sum"]


def test_an_input_that_leads_nowhere_is_last_but_for_what_ends_the_network():
    used, unused = keras.Input((2,), name="used"), keras.Input((2,), name="unused")
    model = keras.Model([unused, used], layers.Dense(2, name="end")(used))
    assert names(model) == ["used", "unused", "end"]


def test_a_shared_layer_stands_where_it_is_first_needed():
    x = keras.Input((2,), name="x")
    shared, other = layers.Dense(2, name="shared"), layers.Dense(2, name="other")
    model = keras.Model(x, layers.add([shared(x), shared(other(shared(x)))], name="sum"))
    assert names(model) == ["x", "shared", "other", "sum"]


def test_two_outputs():
    x = keras.Input((2,), name="x")
    short = layers.Dense(2, name="short")(x)
    long = layers.Dense(2, name="long")(layers.Dense(2, name="middle")(x))
    assert names(keras.Model(x, [short, long])) == ["x", "middle", "short", "long"]


def test_a_restored_model_has_the_same_order():
    model = wide_and_deep()
    again = keras.models.model_from_json(model.to_json())
    assert names(again) == names(model)
    again.set_weights(model.get_weights())
    x = [np.ones((2, 3), "float32"), np.ones((2, 2), "float32")]
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-6)


def test_calls_come_after_what_they_need_and_need_not_be_of_the_model():
    model = wide_and_deep()
    _, nodes = in_order(model.inputs, model.outputs)
    assert [node.layer.name for node in nodes] == ["both", "first", "wide", "second", "sum"]
    with pytest.raises(ValueError, match="Graph disconnected.*'b'"):
        keras.Model(model.inputs[0], model.outputs)


class Scaled(layers.Layer):
    def call(self, inputs, by=None):
        return inputs * by


def test_a_tensor_among_the_arguments_is_part_of_the_network():
    x, y = keras.Input((2,), name="x"), keras.Input((2,), name="y")
    model = keras.Model([x, y], Scaled(name="scaled")(x, by=layers.Dense(2, name="by")(y)))
    assert names(model) == ["y", "x", "by", "scaled"]
    twice = keras.Model([x, y], model([x, y]))
    for of in (model, twice):
        of.layers[-1].trainable = False
        one = of.predict([np.ones((1, 2), "f"), np.ones((1, 2), "f")])
        two = of.predict([np.full((1, 2), 2, "f"), np.ones((1, 2), "f")])
        np.testing.assert_allclose(two, 2 * one, rtol=1e-6)
