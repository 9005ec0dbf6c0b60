"""``tf.contrib.layers``: pools of any rank, soft places, and images as sequences."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

layers = tf.contrib.layers


pytestmark = pytest.mark.usefixtures("graph")


def test_pools_of_volumes() -> None:
    volumes = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4, 1)
    most, mean = run_initialized([layers.max_pool3d(volumes, 2), layers.avg_pool3d(volumes, 2)])
    assert most.shape == (1, 2, 2, 2, 1) and most[0, 0, 0, 0, 0] == 21.0
    assert mean[0, 0, 0, 0, 0] == np.mean([0, 1, 4, 5, 16, 17, 20, 21])


def test_pool_of_any_rank() -> None:
    outputs = layers.pool(np.arange(6, dtype=np.float32).reshape(1, 6, 1), 3, "MAX")
    np.testing.assert_array_equal(run_initialized(outputs).ravel(), [2, 3, 4, 5])
    images = layers.pool(tf.ones([1, 4, 4, 1]), [2, 2], "AVG", stride=2)
    assert images.op.name == "avg_pool" and images.shape.as_list() == [1, 2, 2, 1]
    with pytest.raises(ValueError, match="Rank of inputs must be known"):
        layers.pool(tf.placeholder(tf.float32), 2, "MAX")


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_soft_place_of_a_peak(layout: str) -> None:
    images = np.zeros([1, 3, 5, 2], np.float32)
    images[0, 2, 0, 0] = images[0, 1, 4, 1] = 1000.0
    if layout == "NCHW":
        images = images.transpose(0, 3, 1, 2)
    found = run_initialized(layers.spatial_softmax(tf.constant(images), data_format=layout))
    # For each channel the place along the height, then along the width.
    np.testing.assert_allclose(found, [[1.0, -1.0, 0.0, 1.0]], atol=1e-6)
    assert [v.op.name for v in tf.trainable_variables()] == ["spatial_softmax/temperature"]


def test_images_as_sequences_and_back() -> None:
    images = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    rows = layers.images_to_sequence(tf.constant(images))
    back = layers.sequence_to_images(rows, height=3)
    assert rows.shape.as_list() == [4, 6, 5] and back.shape.as_list() == [2, 3, 4, 5]
    made, again = run_initialized([rows, back])
    np.testing.assert_array_equal(made[:, 0], images[0, 0])
    np.testing.assert_array_equal(again, images)
