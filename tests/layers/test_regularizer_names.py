"""Losses of regularizers: TensorFlow's names, each once, and the scope's beside the layer's own."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def names() -> list[str]:
    return [loss.op.name for loss in tf.losses.get_regularization_losses()]


def test_losses_are_named_after_the_layers_own_names() -> None:
    x, penalty = tf.zeros([2, 4, 4, 3]), tf.contrib.layers.l2_regularizer(0.1)
    tf.contrib.layers.conv2d(x, 2, 3, weights_regularizer=penalty, biases_regularizer=penalty)
    with tf.variable_scope("a"):
        tf.contrib.layers.fully_connected(x, 2, weights_regularizer=penalty)
        tf.contrib.layers.separable_conv2d(x, 2, 3, 1, weights_regularizer=penalty)
        tf.layers.dense(x, 2, kernel_regularizer=penalty)
    assert names() == [
        "Conv/kernel/Regularizer/l2_regularizer",
        "Conv/bias/Regularizer/l2_regularizer",
        "a/fully_connected/kernel/Regularizer/l2_regularizer",
        "a/SeparableConv2d/depthwise_kernel/Regularizer/l2_regularizer",
        "a/SeparableConv2d/pointwise_kernel/Regularizer/l2_regularizer",
        "a/dense/kernel/Regularizer/l2_regularizer",
    ]


def test_the_scopes_regularizer_is_added_to_the_layers() -> None:
    x = tf.ones([2, 3])
    ones = tf.ones_initializer()
    with tf.variable_scope("s", regularizer=tf.contrib.layers.l2_regularizer(0.1)):
        layer = tf.layers.Dense(
            2, kernel_initializer=ones, kernel_regularizer=tf.contrib.layers.l1_regularizer(0.5)
        )
        layer(x)
    assert names() == [
        "s/dense/kernel/Regularizer/l2_regularizer",
        "s/dense/kernel/Regularizer/l1_regularizer",
        "s/dense/bias/Regularizer/l2_regularizer",
    ]
    assert [loss.op.name for loss in layer.losses] == names()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(tf.losses.get_regularization_losses())
    np.testing.assert_allclose(values, [0.1 * 6 / 2, 0.5 * 6, 0.0])


def test_a_reused_weight_is_regularized_once() -> None:
    x, penalty = tf.zeros([2, 3]), tf.contrib.layers.l2_regularizer(0.1)
    for _ in range(2):
        with tf.variable_scope("c", reuse=tf.AUTO_REUSE):
            tf.layers.dense(x, 2, kernel_regularizer=penalty, name="d")
    assert names() == ["c/d/kernel/Regularizer/l2_regularizer"]


def test_each_part_of_a_weight_is_regularized() -> None:
    penalty = tf.contrib.layers.l2_regularizer(0.1)
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        tf.layers.dense(tf.zeros([2, 4]), 2, kernel_regularizer=penalty)
    assert names() == [
        "p/dense/kernel/Regularizer/l2_regularizer",
        "p/dense/kernel/Regularizer_1/l2_regularizer",
    ]


@pytest.mark.parametrize("fused", [True, False])
def test_batch_normalization_where_variables_are_cut(fused) -> None:
    """gamma and beta are cut, the averages are not: each of them moves as one."""
    values = np.random.RandomState(0).normal(3.0, 2.0, [8, 4, 4, 3]).astype(np.float32)
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        y = tf.layers.batch_normalization(
            tf.constant(values), fused=fused, training=True, momentum=0.0, name="n"
        )
        tf.get_variable("after", [4])
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert shapes["p/n/gamma/part_0"] == [2] and shapes["p/n/gamma/part_1"] == [1]
    assert shapes["p/n/moving_mean"] == [3] and shapes["p/n/moving_variance"] == [3]
    assert shapes["p/after/part_1"] == [2]
    mean = next(v for v in tf.global_variables() if v.op.name == "p/n/moving_mean")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        result, _ = session.run([y, tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
        moved = session.run(mean)
    np.testing.assert_allclose(moved, values.mean((0, 1, 2)), rtol=1e-5)
    np.testing.assert_allclose(result.mean((0, 1, 2)), [0, 0, 0], atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_fused_batch_normalization_of_half_precision(training) -> None:
    values = np.random.RandomState(0).normal(size=[4, 3, 3, 2]).astype(np.float16)
    x = tf.constant(values)
    y = tf.layers.batch_normalization(x, training=training, epsilon=0.001)
    assert y.op.type == "FusedBatchNormV3" and y.dtype == tf.float16
    slope = tf.gradients(tf.square(y)[:, 0], x)[0]
    wide = tf.layers.batch_normalization(
        tf.cast(x, tf.float32), training=training, epsilon=0.001, fused=False
    )
    wide_slope = tf.gradients(tf.square(wide)[:, 0], x)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, expected, a, b = session.run([y, wide, slope, wide_slope])
    np.testing.assert_allclose(got, expected, atol=5e-3)
    np.testing.assert_allclose(a, b, atol=2e-2)


@pytest.mark.parametrize("layer", [tf.layers.max_pooling3d, tf.layers.average_pooling3d])
def test_volumes_with_channels_first_are_pooled_with_channels_last(layer) -> None:
    values = np.random.RandomState(0).normal(size=[1, 2, 4, 4, 4]).astype(np.float32)
    first = layer(tf.constant(values), 2, 2, data_format="channels_first")
    last = layer(tf.constant(values.transpose(0, 2, 3, 4, 1)), 2, 2)
    assert first.op.type == "Transpose" and first.shape.as_list() == [1, 2, 2, 2, 2]
    with tf.Session() as session:
        a, b = session.run([first, last])
    np.testing.assert_array_equal(a, b.transpose(0, 4, 1, 2, 3))
