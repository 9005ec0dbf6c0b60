"""Weights for another convention: the numbers are those of TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras.utils import kernel_conversion as conversion

K = tf.keras


def _model() -> Any:
    layers = [
        K.layers.Conv2D(2, (2, 3), input_shape=(5, 5, 3)),
        K.layers.Flatten(),
        K.layers.Dense(4),
    ]
    model = K.Sequential(layers)
    model.set_weights([np.arange(w.size).reshape(w.shape) for w in model.get_weights()])
    return model


def test_kernels_are_turned_around_and_back() -> None:
    with tf.Graph().as_default(), tf.Session():
        model = _model()
        before = model.get_weights()
        K.utils.convert_all_kernels_in_model(model)
        after = model.get_weights()
        np.testing.assert_array_equal(after[0], before[0][::-1, ::-1])
        for old, new in zip(before[1:], after[1:], strict=True):
            np.testing.assert_array_equal(old, new)
    with pytest.raises(ValueError, match="Invalid kernel shape"):
        conversion.convert_kernel(np.zeros([2, 2]))


def test_a_dense_layer_for_maps_in_the_other_format() -> None:
    with tf.Graph().as_default(), tf.Session():
        dense = _model().layers[2]
        old = dense.get_weights()[0]
        maps = np.random.RandomState(0).randn(4, 3, 2)  # height, width, channels
        conversion.convert_dense_weights_data_format(dense, (2, 4, 3), "channels_first")
        new = dense.get_weights()[0]
        np.testing.assert_allclose(
            maps.transpose(2, 0, 1).ravel() @ new, maps.ravel() @ old, rtol=1e-5
        )
        conversion.convert_dense_weights_data_format(dense, (4, 3, 2), "channels_last")
        np.testing.assert_array_equal(dense.get_weights()[0], old)
        with pytest.raises(ValueError, match="channels_first or channels_last"):
            conversion.convert_dense_weights_data_format(dense, (4, 3, 2), "last")


def test_initializers_are_serialized_and_have_a_base_class() -> None:
    made = K.initializers.serialize(K.initializers.Zeros())
    assert made["class_name"] == "Zeros"
    assert isinstance(K.initializers.deserialize(made), K.initializers.Initializer)
