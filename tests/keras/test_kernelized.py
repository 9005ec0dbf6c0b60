"""Random Fourier features come near to the kernels that they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras.layers.kernelized import (
    RandomFourierFeatures,
    exact_gaussian_kernel,
    exact_laplacian_kernel,
    inner_product,
)


@pytest.mark.parametrize(
    ("kind", "scale", "exact"),
    [("gaussian", 5.0, exact_gaussian_kernel), ("laplacian", 10.0, exact_laplacian_kernel)],
)
def test_products_of_features_are_nearly_the_kernel(kind: str, scale: float, exact: Any) -> None:
    np.random.seed(0)
    tf.set_random_seed(1)
    x, y = np.random.rand(4, 5).astype("float32"), np.random.rand(3, 5).astype("float32")
    layer = RandomFourierFeatures(4000, kind, scale=scale)
    found = inner_product(layer(x), layer(y)) * (2 / 4000)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        near, wanted = sess.run([found, exact(x, y, scale)])
    np.testing.assert_allclose(near, wanted, atol=0.06)
    assert wanted.shape == (4, 3)


def test_kernels_of_vectors() -> None:
    with tf.Session() as sess:
        gaussian = sess.run(exact_gaussian_kernel([0.0, 0.0], [3.0, 4.0], 5.0))
        laplacian = sess.run(exact_laplacian_kernel([0.0, 0.0], [[3.0, -4.0]], 7.0))
    np.testing.assert_allclose(gaussian, [[np.exp(-0.5)]], rtol=1e-6)
    np.testing.assert_allclose(laplacian, [[np.exp(-1.0)]], rtol=1e-6)
    with pytest.raises(ValueError, match="rank 1 or 2"):
        inner_product(np.zeros((1, 1, 1)), [1.0])
    with pytest.raises(ValueError, match="should match"):
        exact_gaussian_kernel([1.0], [1.0, 2.0], 1.0)


def test_weights_scale_and_config() -> None:
    layer = RandomFourierFeatures(3, trainable=True, name="rff")
    assert layer(tf.ones([2, 8])).shape.as_list() == [2, 3]
    assert layer.scale == 2
    assert [w.name for w in layer.trainable_weights] == ["rff/random_features_scale:0"]
    assert len(layer.non_trainable_weights) == 2
    again = RandomFourierFeatures.from_config(layer.get_config())
    assert (again.output_dim, again.scale, again.kernel_initializer) == (3, 2, "gaussian")
    assert layer.compute_output_shape((None, 8)).as_list() == [None, 3]
    other = RandomFourierFeatures(3, tf.ones_initializer())
    other(tf.ones([1, 2]))
    assert other.scale == 1
    assert other.get_config()["kernel_initializer"]["class_name"] == "Ones"


def test_what_is_refused() -> None:
    for arguments, message in (
        ({"output_dim": -3}, "positive integer"),
        ({"output_dim": 3, "kernel_initializer": "linear"}, "Unsupported kernel type"),
        ({"output_dim": 3, "scale": 0.0}, "positive float"),
    ):
        with pytest.raises(ValueError, match=message):
            RandomFourierFeatures(**arguments)
    layer = RandomFourierFeatures(3)
    with pytest.raises(ValueError, match="rank of the input tensor should be 2"):
        layer(tf.ones([1, 2, 3]))
    with pytest.raises(ValueError, match=r"last dimension .* should be defined"):
        layer(tf.placeholder(tf.float32, [2, None]))
    with pytest.raises(ValueError, match="innermost dimension"):
        layer.compute_output_shape((3, None))
