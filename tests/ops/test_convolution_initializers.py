"""Kernels that keep lengths: a delta, and orthogonal ones in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.ops import init_ops


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_delta_is_orthogonal_in_the_middle_and_zero_elsewhere(depth: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        initializer = init_ops.convolutional_delta_orthogonal(gain=2.0, seed=1)
        kernel = session.run(initializer([3] * depth + [3, 5]))
    middle = kernel[(1,) * depth]
    np.testing.assert_allclose(middle @ middle.T, 4 * np.eye(3), atol=1e-5)
    assert np.count_nonzero(kernel) == np.count_nonzero(middle)
    assert initializer.get_config() == {"gain": 2.0, "seed": 1, "dtype": "float32"}


@pytest.mark.parametrize(
    ("depth", "kind", "convolve"),
    [
        (1, init_ops.ConvolutionOrthogonal1D, lambda x, k: tf.nn.conv1d(x, k, 1, "VALID")),
        (2, init_ops.ConvolutionOrthogonal2D, lambda x, k: tf.nn.conv2d(x, k, [1] * 4, "VALID")),
        (3, init_ops.ConvolutionOrthogonal3D, lambda x, k: tf.nn.conv3d(x, k, [1] * 5, "VALID")),
    ],
)
@pytest.mark.parametrize("size", [1, 3])
def test_a_convolution_on_a_circle_keeps_lengths(
    depth: int, kind: Any, convolve: Any, size: int
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        kernel = kind(gain=3.0, seed=3)([size] * depth + [4, 6])
        assert kernel.shape.as_list() == [size] * depth + [4, 6]
        x = np.random.default_rng(1).standard_normal([2] + [5] * depth + [4]).astype(np.float32)
        ends = [(0, 0), *[(size // 2, size // 2)] * depth, (0, 0)]
        y = session.run(convolve(np.pad(x, ends, mode="wrap"), kernel))
    np.testing.assert_allclose(np.linalg.norm(y), 3 * np.linalg.norm(x), rtol=1e-3)


def test_their_public_names() -> None:
    for name in ("delta_orthogonal", "orthogonal_1d", "orthogonal_2d", "orthogonal_3d"):
        full = f"convolutional_{name}"
        assert getattr(tf.contrib.framework, full) is getattr(init_ops, full)


def test_shapes_that_do_not_fit() -> None:
    with tf.Graph().as_default():
        delta, two = init_ops.ConvolutionDeltaOrthogonal(), init_ops.convolutional_orthogonal_2d()
        with pytest.raises(ValueError, match="at least three-dimensional"):
            delta([3, 3])
        with pytest.raises(ValueError, match="In_filters cannot be greater"):
            delta([3, 3, 6, 5])
        with pytest.raises(ValueError, match="must be four-dimensional"):
            two([3, 2, 2])
        with pytest.raises(ValueError, match="Kernel sizes must be equal"):
            two([3, 2, 2, 2])
        with pytest.raises(ValueError, match="floating"):
            init_ops.ConvolutionOrthogonal2D(dtype=tf.int32)
        with pytest.raises(NotImplementedError):
            init_ops.ConvolutionOrthogonal()([3, 3, 2, 2])
