"""`Conv2DTranspose` with holes in its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

keras: Any = tf.keras


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_dilated_transposed_convolution(data_format: str) -> None:
    layer = keras.layers.Conv2DTranspose(
        *(1, 3), padding="same", dilation_rate=2, kernel_initializer="ones", data_format=data_format
    )
    x = np.arange(48, dtype="float32").reshape(1, 4, 4, 3)
    given = x if data_format == "channels_last" else x.transpose(0, 3, 1, 2)
    model = keras.Sequential([keras.layers.InputLayer(given.shape[1:]), layer])
    rows = [192, 228, 192, 228], [336, 372, 336, 372]  # of TensorFlow's own test
    np.testing.assert_allclose(model.predict(given).reshape(4, 4), [*rows, *rows])
    assert type(layer).from_config(layer.get_config()).dilation_rate == (2, 2)


def test_a_valid_one_grows_by_the_reach_of_its_kernel() -> None:
    layer = keras.layers.Conv2DTranspose(2, 3, dilation_rate=(2, 2))
    assert layer(tf.ones([1, 4, 5, 3])).shape.as_list() == [1, 8, 9, 2]
    assert layer.compute_output_shape((None, 4, 5, 3)).as_list() == [None, 8, 9, 2]
    with pytest.raises(ValueError, match="must be equal"):
        keras.layers.Conv2DTranspose(2, 3, dilation_rate=(2, 1))(tf.ones([1, 4, 5, 3]))
    with pytest.raises(NotImplementedError, match="dilation_rate"):
        keras.layers.Conv3DTranspose(2, 3, dilation_rate=2)
