"""Batch normalization: the numbers are TensorFlow 2.15's (`tests/oracle` compares all of them)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf


def normalized(shape: tuple[int, ...], dtype: str = "float32", **options: Any) -> Any:
    """The last of three outputs, and the variables' values by name."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.random.RandomState(0).randn(*shape).astype(dtype))
        y = tf.layers.batch_normalization(x, training=True, name="bn", **options)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            output, _ = session.run([y, tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
        assert output.dtype == np.dtype(dtype)
        return output, {v.op.name[3:]: session.run(v) for v in tf.global_variables()}


@pytest.mark.parametrize(("fused", "factor"), [(None, 36 / 35), (True, 36 / 35), (False, 1.0)])
def test_only_the_fused_variance_is_that_of_a_sample(fused: Any, factor: float) -> None:
    x = np.random.RandomState(0).randn(4, 3, 3, 2).astype(np.float32)
    _, values = normalized((4, 3, 3, 2), fused=fused)
    moved = 1 - 0.99**3
    expected = 1 - moved + moved * x.var((0, 1, 2)) * factor
    np.testing.assert_allclose(values["moving_variance"], expected, rtol=1e-4)


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 3, 2)])
def test_float16_keeps_its_averages_in_float32(shape: Any) -> None:
    _, values = normalized(shape, "float16")
    assert {v.dtype.name for v in values.values()} == {"float32"}
    _, full = normalized(shape)
    for name in values:
        np.testing.assert_allclose(values[name], full[name], atol=2e-3)


def test_several_axes() -> None:
    output, values = normalized((8, 3, 3, 2), axis=[1, 2])
    assert values["gamma"].shape == (1, 3, 3, 1)
    np.testing.assert_allclose(output.mean((0, 3)), np.zeros((3, 3)), atol=1e-5)


def test_renorm() -> None:
    output, values = normalized((6, 3), renorm=True)
    np.testing.assert_allclose(values["renorm_mean"], [0.032, 0.0192, 0.0079], atol=1e-4)
    np.testing.assert_allclose(values["renorm_stddev"], [0.9911, 0.9928, 0.9941], atol=1e-4)
    np.testing.assert_allclose(output[0], [1.753, 0.389, 0.977], atol=1e-3)
    clipped, _ = normalized(
        (6, 3), renorm=True, renorm_clipping={"rmax": 1.5, "rmin": 0.5, "dmax": 0.2}
    )
    assert not np.allclose(clipped, output)


def test_virtual_batches_are_normalized_alone() -> None:
    output, values = normalized((6, 3, 2), virtual_batch_size=2)
    assert values["gamma"].shape == (1, 1, 1, 2)
    parts = output.reshape(2, 3, 3, 2)
    np.testing.assert_allclose(parts.mean((0, 2)), np.zeros((3, 2)), atol=1e-5)


def test_adjustment() -> None:
    plain, _ = normalized((6, 3))
    adjusted, _ = normalized(
        (6, 3), adjustment=lambda shape: (tf.fill([1, 3], 2.0), tf.ones([1, 3]))
    )
    np.testing.assert_allclose(adjusted, plain * 2 + 1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"axis": 5}, ValueError),
        ({"axis": [1, 1]}, ValueError),
        ({"axis": "a"}, TypeError),
        ({"renorm": True, "renorm_clipping": {"most": 1}}, ValueError),
        ({"renorm": True, "virtual_batch_size": 2}, ValueError),
    ],
)
def test_what_does_not_fit_is_refused(options: Any, error: Any) -> None:
    with pytest.raises(error, match=r"axis|renorm"):
        normalized((6, 3), **options)


def test_contrib_passes_its_options_on() -> None:
    from dataflow.contrib import layers

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.random.RandomState(0).randn(6, 3).astype(np.float32) + 1)
        layers.batch_norm(x, zero_debias_moving_mean=True, updates_collections=None, scope="a")
        y = layers.batch_norm(x, zero_debias_moving_mean=True, updates_collections=None, scope="b")
        half = layers.layer_norm(tf.cast(x, tf.float16))
        session.run(tf.global_variables_initializer())
        session.run(y)
        (mean,) = (v for v in tf.global_variables() if v.op.name == "b/moving_mean")
        np.testing.assert_allclose(session.run(mean), session.run(x).mean(0), rtol=1e-4)
        assert session.run(half).dtype == np.float16


def test_a_frozen_layer_moves_no_averages() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.ones((4, 5))
        layer = tf.layers.BatchNormalization(trainable=False)
        layer(x, training=True)
        assert layer.updates == graph.get_collection(tf.GraphKeys.UPDATE_OPS) == []
        later = tf.layers.BatchNormalization()
        later(x, training=True)
        assert later.updates == graph.get_collection(tf.GraphKeys.UPDATE_OPS) != []
        later.trainable = False
        assert later.updates == []


@pytest.mark.parametrize(
    ("options", "shape", "before", "after"),
    [
        ({}, (4, 3, 3, 2), True, True),
        ({}, (4, 3), True, False),
        ({"fused": False}, (4, 3, 3, 2), False, False),
        ({"virtual_batch_size": 2}, (4, 3, 3, 2), True, False),
    ],
    ids=["images", "rows", "never", "virtual"],
)
def test_the_layer_tells_whether_it_is_fused(
    options: Any, shape: Any, before: bool, after: bool
) -> None:
    with tf.Graph().as_default():
        layer = tf.layers.BatchNormalization(**options)
        assert layer.fused is before
        layer(tf.ones(shape), training=True)
        assert layer.fused is after
