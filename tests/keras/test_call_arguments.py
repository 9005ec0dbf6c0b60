"""Layers that take more than their first argument: by position, by name, in configs; and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
keras: Any = tf.keras
layers: Any = keras.layers


class Plus(layers.Layer):
    def call(self, first, second, third=None):
        for more in (third or {}).values():
            second = second + more
        return first + second


class Phased(layers.Layer):
    def call(self, inputs, training=None, mask=None):
        return inputs * 2.0 if training is True else inputs


CALLS = {
    "by position": lambda layer, a, b: layer(a, b),
    "by name": lambda layer, a, b: layer(a, second=b),
    "in a dict": lambda layer, a, b: layer(a, b, third={"x": a, "y": 2 * tf.ones([1, 3])}),
}


@pytest.mark.parametrize("how", CALLS)
def test_other_arguments_are_part_of_a_model(how):
    keras.backend.clear_session()
    a, b = keras.Input((3,)), keras.Input((3,))
    model = keras.Model([a, b], CALLS[how](Plus(), a, b))
    x, y = np.full((2, 3), 3.0), np.full((2, 3), 7.0)
    expected = x + y + (x + 2 if how == "in a dict" else 0)
    text = model.to_json()
    again = keras.models.model_from_json(text, {"Plus": Plus})
    for made in (model, again):
        np.testing.assert_array_equal(made.predict([x, y]), expected)


def test_the_phase_and_the_mask_may_be_given_by_position():
    keras.backend.clear_session()
    x = tf.ones([2, 3])
    for arguments, factor in (((True,), 2.0), ((False, None), 1.0)):
        result = keras.backend.get_value(Phased()(x, *arguments))
        np.testing.assert_array_equal(result, np.full((2, 3), factor))


def test_a_mask_given_by_position_is_told_to_compute_mask():
    class Told(layers.Layer):
        def call(self, inputs, mask=None):
            return inputs

        def compute_mask(self, inputs, mask=None):
            return tf.zeros([]) if mask is None else tf.ones([])

    keras.backend.clear_session()
    made = Told()(tf.ones([1, 1]), tf.ones([1, 1]))
    assert keras.backend.get_value(made._keras_mask) == 1


def test_a_mask_that_a_program_sets_is_a_tensors_mask():
    keras.backend.clear_session()
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(1, 3, 2))
    x._keras_mask = tf.constant([[True, True, False]])
    whole = layers.GlobalAveragePooling1D()(x)
    np.testing.assert_array_equal(keras.backend.get_value(whole), [[1.0, 2.0]])


@pytest.mark.parametrize("layer", [lambda: layers.LSTM(2), lambda: layers.RNN(layers.LSTMCell(2))])
def test_a_mask_of_numbers_holds_where_they_are_not_0(layer):
    keras.backend.clear_session()
    inputs, mask = keras.Input((4, 3)), keras.Input((4,))
    model = keras.Model([inputs, mask], layer()(inputs, mask=mask))
    x = np.random.RandomState(0).rand(2, 4, 3)
    assert not model.predict([x, np.zeros((2, 4))]).any()
    assert model.predict([x, np.ones((2, 4))]).all()


@pytest.mark.parametrize("mode", ["concat", "sum"])
def test_both_directions_are_0_where_there_is_nothing(mode):
    keras.backend.clear_session()
    inputs = keras.Input((4, 3))
    masked = layers.Masking()(inputs)
    both = layers.Bidirectional(layers.LSTM(2, return_sequences=True), merge_mode=mode)
    model = keras.Model(inputs, both(masked))
    x = np.random.RandomState(0).rand(2, 4, 3)
    x[0, 2:] = 0
    found = model.predict(x)
    assert not found[0, 2:].any() and found[0, :2].all() and found[1].all()


def test_losses_without_inputs_are_of_no_input():
    class Adds(layers.Layer):
        def call(self, x):
            self.add_loss(tf.reduce_sum(x))
            self.add_loss(tf.reduce_sum(x), inputs=x)
            return x

    keras.backend.clear_session()
    x, layer = keras.Input((3,)), Adds()
    layer(x)
    assert len(layer.losses) == 2
    assert len(layer.get_losses_for(None)) == len(layer.get_losses_for(layer.input)) - 1 == 1


def test_what_an_input_or_a_model_refuses():
    keras.backend.clear_session()
    with pytest.raises(ValueError, match="`shape` OR `batch_shape`"):
        keras.Input(shape=(3,), batch_shape=(2, 3))
    a, b = keras.Input((3,)), keras.Input((3,))
    total = layers.add([a, b])
    with pytest.raises(ValueError, match="redundant"):
        keras.Model([a, b, a], total)
    with pytest.raises(ValueError, match="must be tensors that layers returned"):
        keras.Model([a, b], [total, 0])


def test_a_constant_of_an_array_is_written_as_json():
    keras.backend.clear_session()
    first = keras.initializers.Constant(np.arange(6.0).reshape(3, 2))
    model = keras.Sequential([layers.Dense(2, input_shape=(3,), kernel_initializer=first)])
    again = keras.models.model_from_json(model.to_json())
    np.testing.assert_array_equal(again.get_weights()[0], np.arange(6.0).reshape(3, 2))


def test_shapes_that_a_lambda_says_for_each_output():
    shapes = [(10, 10), (10, 20)]
    for said in ([(10,), (20,)], lambda given: given):
        found = layers.Lambda(lambda x: x, output_shape=said).compute_output_shape(shapes)
        assert [one.as_list() for one in found] == [[10, 10], [10, 20]]
