"""``tf.contrib.layers``: convolutions of any rank, by their values, variables and errors."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

layers = tf.contrib.layers
ones = tf.ones_initializer()


pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("function", "shape", "kernel"),
    [
        (layers.conv1d, [2, 5, 3], [3, 3, 4]),
        (layers.conv2d, [2, 5, 5, 3], [3, 3, 3, 4]),
        (layers.conv3d, [2, 5, 5, 5, 3], [3, 3, 3, 3, 4]),
        (layers.convolution, [2, 5, 5, 3], [3, 3, 3, 4]),
    ],
)
def test_sums_over_the_window_where_all_weights_are_one(function, shape, kernel) -> None:
    images = tf.ones(shape)
    outputs = function(images, 4, 3, padding="VALID", weights_initializer=ones)
    weights, biases = tf.trainable_variables()
    assert weights.op.name == "Conv/weights" and weights.shape.as_list() == kernel
    assert biases.op.name == "Conv/biases" and biases.shape.as_list() == [4]
    assert outputs.op.name == "Conv/Relu"
    expected = 3.0 ** (len(shape) - 2) * 3  # window times channels
    np.testing.assert_allclose(run_initialized(outputs), expected)


def test_rank_is_checked() -> None:
    with pytest.raises(ValueError, match="expects input with rank 5, got 4"):
        layers.conv3d(tf.ones([1, 4, 4, 1]), 1, 3)
    with pytest.raises(ValueError, match="not supported for input with rank 2"):
        layers.convolution(tf.ones([1, 4]), 1, 3)
    with pytest.raises(ValueError, match="Invalid data_format"):
        layers.conv2d(tf.ones([1, 4, 4, 1]), 1, 3, data_format="CHWN")


def test_transposed_convolution_of_volumes_doubles_them() -> None:
    volumes = tf.placeholder(tf.float32, [None, 3, 3, 3, 2])
    outputs = layers.conv3d_transpose(volumes, 1, 2, stride=2, weights_initializer=ones)
    assert outputs.shape.as_list() == [None, 6, 6, 6, 1]
    assert outputs.op.name == "Conv3d_transpose/Relu"
    np.testing.assert_allclose(run_initialized(outputs, {volumes: np.ones([1, 3, 3, 3, 2])}), 2.0)
    with pytest.raises(ValueError, match="NCDHW or NDHWC"):
        layers.conv3d_transpose(volumes, 1, 2, data_format="NHWC")


def test_one_kernel_for_every_channel() -> None:
    images = np.arange(2 * 4 * 4 * 3, dtype=np.float32).reshape(2, 4, 4, 3)
    outputs = layers.conv2d_in_plane(
        tf.constant(images),
        [1, 2],
        padding="VALID",
        activation_fn=None,
        weights_initializer=tf.constant_initializer([-1.0, 1.0]),
    )
    np.testing.assert_allclose(run_initialized(outputs), images[:, :, 1:] - images[:, :, :-1])
    assert [v.shape.as_list() for v in tf.trainable_variables()] == [[1, 2, 1, 1], [3]]


def test_slim_has_them_and_scopes_their_arguments() -> None:
    slim = tf.contrib.slim
    with slim.arg_scope([slim.conv3d, slim.max_pool3d], padding="VALID"):
        net = slim.conv3d(tf.ones([1, 9, 9, 9, 1]), 2, 3, stride=2, scope="one")
        net = slim.max_pool3d(net, 2, scope="pool")
    assert net.shape.as_list() == [1, 2, 2, 2, 2]
