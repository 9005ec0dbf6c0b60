"""Batch normalization of version 2, and layers frozen by TensorFlow's private name; values of TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow import compat

tf: Any = dataflow
keras: Any = tf.keras
BatchNormalization: Any = compat.v2.keras.layers.BatchNormalization


def fused(sizes: tuple[int, ...], **kwargs: Any) -> tuple[Any, Any]:
    layer = BatchNormalization(**kwargs)
    before = layer.fused
    layer(keras.layers.Input(sizes))
    return before, layer.fused


def test_where_it_is_fused(graph: Any) -> None:
    assert fused((4, 4, 4)) == fused((4, 4, 4), axis=[3]) == (None, True)
    assert fused((4, 4)) == fused((4,)) == (None, False)
    assert fused((4, 4, 4), axis=2) == fused((4, 4, 4), renorm=True) == (False, False)
    assert fused((4, 4, 4), virtual_batch_size=2) == (False, False)
    assert fused((4, 4, 4), fused=True, axis=-3) == (True, True)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"renorm": True}, "fused.*renorm"),
        ({"axis": 2}, "fused.*when axis is 1 or 3"),
        ({"axis": [1, 3]}, "fused.*when axis is 1 or 3"),
        ({"virtual_batch_size": 2}, "fused.*virtual_batch_size"),
        ({"adjustment": lambda shape: (1, 0)}, "fused.*adjustment"),
    ],
)
def test_what_cannot_be_fused(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchNormalization(fused=True, **kwargs)


def test_fused_inputs_have_four_dimensions(graph: Any) -> None:
    with pytest.raises(ValueError, match="4D input tensors"):
        BatchNormalization(fused=True)(keras.layers.Input((4, 4)))


def test_a_frozen_layer_uses_its_averages(graph: Any) -> None:
    rows = np.random.RandomState(0).rand(6, 4)
    with tf.Session().as_default():
        for made, first in (
            (keras.layers.BatchNormalization, [-0.10632896, -0.01019049, 0.32017398, -0.2595086]),
            (BatchNormalization, [0.54853934, 0.714832, 0.60246223, 0.544611]),
        ):
            layer = made()
            inputs = keras.layers.Input((4,))
            layer(inputs)
            layer.trainable = False
            for training in (True, 1):
                outputs = layer(keras.backend.constant(rows), training=training)
                found = keras.backend.get_value(outputs)
                np.testing.assert_allclose(found[0], first, rtol=1e-5)
        layer.trainable = True
        assert not np.allclose(keras.backend.get_value(layer(outputs, training=True)), found)


def test_its_names_and_configuration(graph: Any) -> None:
    layer = BatchNormalization(momentum=0.5)
    assert layer.name.startswith("batch_normalization")
    again = BatchNormalization.from_config(layer.get_config())
    assert type(again) is BatchNormalization
    assert again.momentum == 0.5
    assert layer.get_config().keys() == keras.layers.BatchNormalization().get_config().keys()


def test_trainable_of_one_layer_alone(graph: Any) -> None:
    inputs = keras.layers.Input((3,))
    inner = keras.models.Sequential([keras.layers.Dense(2, input_shape=(3,))])
    model = keras.models.Model(inputs, keras.layers.Dense(1)(inner(inputs)))
    dense = model.layers[-1]
    assert dense._trainable is True
    dense._trainable = False
    assert not dense.trainable
    assert not dense.trainable_weights
    assert len(dense.non_trainable_weights) == 2
    assert len(model.trainable_weights) == 2
    inner._trainable = False
    assert inner.layers[0].trainable
    assert not model.trainable_weights
    dense._trainable = inner._trainable = True
    assert len(model.trainable_weights) == 4
