"""`get_config`: the arguments as the layer has them now, in the forms that TensorFlow writes."""

from __future__ import annotations

import inspect
import json

import pytest

import dataflow as tf

layers = tf.keras.layers


def test_sizes_are_given_for_each_axis_and_names_as_objects():
    config = layers.Conv2D(3, 2, activation=tf.nn.relu, kernel_regularizer="l2").get_config()
    assert (config["kernel_size"], config["strides"]) == ((2, 2), (1, 1))
    assert (config["data_format"], config["activation"]) == ("channels_last", "relu")
    assert config["kernel_initializer"]["class_name"] == "GlorotUniform"
    assert config["kernel_regularizer"] == {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.01}}
    assert layers.Dense(2).get_config()["activation"] == "linear"
    assert layers.MaxPooling2D(2).get_config()["strides"] == (2, 2)
    assert layers.Conv1D(2, 3, padding="causal").get_config()["padding"] == "causal"


@pytest.mark.parametrize("cls", [layers.LSTM, layers.GRU, layers.SimpleRNN])
def test_recurrent_layers_tell_all_of_their_arguments(cls):
    config = cls(3, dropout=0.25, return_sequences=True).get_config()
    assert (config["dropout"], config["recurrent_dropout"], config["stateful"]) == (
        0.25,
        0.0,
        False,
    )
    assert config["return_sequences"]
    assert config["recurrent_initializer"]["class_name"] == "Orthogonal"
    again = cls.from_config(config)
    assert json.dumps(again.get_config()) == json.dumps(config)


def test_what_a_program_changes_is_in_the_config():
    model = tf.keras.Sequential([layers.Dense(2, activation="softmax", input_shape=(3,)), layers.Dropout(0.5)])  # fmt: skip
    model.layers[0].activation = tf.keras.activations.linear
    model.layers[0].kernel_regularizer = tf.keras.regularizers.l1(0.5)
    model.layers[1].rate = 0.25
    again = tf.keras.models.model_from_json(model.to_json())
    assert again.layers[0].get_config()["activation"] == "linear"
    assert [again.layers[1].rate, len(again.losses)] == [0.25, 1]


def test_classes_of_a_program_keep_what_they_were_given():
    class Twice(layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units = 2 * units

    assert Twice(3).get_config()["units"] == 3
    assert layers.CuDNNLSTM.from_config(layers.CuDNNLSTM(2, name="a").get_config()).name == "a"


def test_batch_normalization_names_its_arguments_and_tells_of_the_renormalization_that_there_is():
    """Libraries compare what they are given with the signature of the layer."""
    accepted = inspect.signature(tf.keras.layers.BatchNormalization.__init__).parameters
    assert accepted["renorm"].default is False and accepted["fused"].default is None
    assert [*accepted][-9:-1] == [
        *("renorm", "renorm_clipping", "renorm_momentum", "fused", "trainable"),
        *("virtual_batch_size", "adjustment", "name"),
    ]
    plain = tf.keras.layers.BatchNormalization(name="plain", fused=True)
    plain(tf.zeros([2, 4, 4, 3]))
    assert not {"fused", "renorm", "adjustment"} & {*plain.get_config()}
    layer = tf.keras.layers.BatchNormalization(renorm=True, renorm_momentum=0.5, trainable=False)
    again = tf.keras.layers.BatchNormalization.from_config(layer.get_config())
    assert again.renorm and again.renorm_momentum == 0.5 and not again.trainable
