"""Which places a convolution connects, as `keras.utils.conv_utils` counts them."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import convolution_masks as conv_utils


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(
    ("sizes", "kernel", "strides"), [((5, 4), (3, 2), (1, 1)), ((7,), (3,), (2,))]
)
def test_a_mask_says_which_inputs_reach_which_outputs(
    padding: str, sizes: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    mask = conv_utils.conv_kernel_mask(sizes, kernel, strides, padding)
    if padding == "valid":  # of "same" with strides, TensorFlow's own convolution begins elsewhere
        ones = np.ones((*kernel, 1, 1), "float32")
        for place in np.ndindex(*sizes):
            image = np.zeros((1, *sizes, 1), "float32")
            image[(0, *place, 0)] = 1
            with tf.Session() as sess:
                seen = sess.run(tf.nn.convolution(image, ones, "VALID", strides))[0, ..., 0]
            np.testing.assert_array_equal(mask[place], seen > 0)
    else:
        assert mask.shape == (*sizes, *(-(-n // s) for n, s in zip(sizes, strides, strict=True)))
        assert mask[(0,) * (2 * len(sizes))]


def test_pairs_of_flat_places() -> None:
    found = conv_utils.conv_kernel_idxs((2, 2), (2, 1), 1, "valid", 1, 1, "channels_last")
    assert list(found) == [(0, 0), (0, 2), (1, 1), (1, 3)]
    found = conv_utils.conv_kernel_idxs((2,), (1,), 1, "valid", 2, 1, "channels_first")
    assert list(found) == [(0, 0), (0, 2), (1, 1), (1, 3)]
    assert conv_utils.conv_output_shape((0, 3), (1, 2), (1, 1), "valid") == (0, 2)


def test_what_is_no_convolution_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="full"):
        conv_utils.conv_kernel_mask((3,), (1,), (1,), "full")
    with pytest.raises(ValueError, match="must all match"):
        conv_utils.conv_kernel_mask((3,), (1, 1), (1,), "same")
    with pytest.raises(ValueError, match="middle"):
        next(conv_utils.conv_kernel_idxs((3,), (1,), 1, "same", 1, 1, "middle"))
