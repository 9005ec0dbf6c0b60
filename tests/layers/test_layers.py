"""Layers: names, shapes, sharing, regularization, and what bad input gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def test_dense_is_a_product_and_a_bias() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2, activation=tf.nn.relu, bias_initializer=tf.ones_initializer())
    assert y.name == "dense/Relu:0"
    assert names() == ["dense/kernel", "dense/bias"]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        k, out = s.run(["dense/kernel:0", y], {x: np.eye(3)})
    np.testing.assert_allclose(out, np.maximum(k + 1, 0), rtol=1e-6)


def test_dense_over_more_axes() -> None:
    y = tf.layers.dense(tf.zeros([2, 5, 3]), 4)
    assert y.shape.as_list() == [2, 5, 4]


def test_names_count_up_and_reuse_shares() -> None:
    x = tf.zeros([1, 3])
    tf.layers.dense(x, 2)
    tf.layers.dense(x, 2)
    tf.layers.dense(x, 2, name="mine")
    tf.layers.dense(x, 2, name="mine", reuse=True)
    with tf.variable_scope("outer"):
        tf.layers.dense(x, 2)
    assert names() == [
        f"{n}/{v}" for n in ("dense", "dense_1", "mine", "outer/dense") for v in ("kernel", "bias")
    ]
    with pytest.raises(ValueError, match="already exists"):
        tf.layers.dense(x, 2, name="mine")
    with pytest.raises(ValueError, match="mine/kernel.*shape"):
        tf.layers.dense(tf.zeros([1, 4]), 2, name="mine", reuse=True)


def test_a_layer_object_shares_its_variables() -> None:
    layer = tf.layers.Dense(2)
    a, b = layer(tf.zeros([1, 3])), layer(tf.ones([1, 3]))
    assert a is not b
    assert len(tf.global_variables()) == 2
    assert layer.count_params() == 8
    assert layer.trainable_variables == tf.trainable_variables()
    with pytest.raises(ValueError, match="axis -1"):
        layer(tf.zeros([1, 4]))


def test_regularizers_make_losses() -> None:
    tf.layers.dense(tf.ones([1, 3]), 2, kernel_regularizer=lambda w: 0.5 * tf.reduce_sum(w * w))
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        k, value = s.run(["dense/kernel:0", loss])
    assert value == pytest.approx(0.5 * (k * k).sum(), rel=1e-5)


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda x: tf.layers.conv2d(x, 4, 3), [2, 6, 6, 4]),
        (lambda x: tf.layers.conv2d(x, 4, (3, 5), padding="same", strides=2), [2, 4, 4, 4]),
        (lambda x: tf.layers.conv2d(x, 4, 3, dilation_rate=2), [2, 4, 4, 4]),
        (lambda x: tf.layers.conv2d_transpose(x, 4, 3, strides=2), [2, 17, 17, 4]),
        (lambda x: tf.layers.conv2d_transpose(x, 4, 3, 2, "same"), [2, 16, 16, 4]),
        (lambda x: tf.layers.separable_conv2d(x, 4, 3, depth_multiplier=2), [2, 6, 6, 4]),
        (lambda x: tf.layers.max_pooling2d(x, 2, 2), [2, 4, 4, 3]),
        (lambda x: tf.layers.average_pooling2d(x, 3, 2, "same"), [2, 4, 4, 3]),
        (lambda x: tf.layers.flatten(x), [2, 192]),
        (lambda x: tf.layers.conv1d(x[:, 0], 4, 3), [2, 6, 4]),
        (lambda x: tf.layers.max_pooling1d(x[:, 0], 2, 2), [2, 4, 3]),
        (lambda x: tf.layers.conv3d(tf.expand_dims(x, 1), 4, (1, 3, 3)), [2, 1, 6, 6, 4]),
    ],
)
def test_shapes_are_known_and_true(build, shape) -> None:
    y = build(tf.ones([2, 8, 8, 3]))
    assert y.shape.as_list() == shape
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        assert list(s.run(y).shape) == shape


def test_dropout_only_while_training() -> None:
    x = tf.ones([100, 100])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.4, training=training, seed=1)
    with tf.Session() as s:
        assert (s.run(y, {training: False}) == 1).all()
        dropped = s.run(y, {training: True})
    assert 0.35 < (dropped == 0).mean() < 0.45
    np.testing.assert_allclose(dropped[dropped != 0], 1 / 0.6, rtol=1e-5)


@pytest.mark.parametrize("shape", [[64, 5], [8, 4, 4, 5]])
def test_batch_normalization(shape) -> None:
    value = np.random.RandomState(0).randn(*shape).astype(np.float32) * 3 + 2
    x = tf.placeholder(tf.float32, [None, *shape[1:]])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, momentum=0.5, training=training)
    axes = tuple(range(len(shape) - 1))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.identity(y)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        out = s.run(step, {x: value, training: True})
        np.testing.assert_allclose(out.mean(axes), 0, atol=1e-4)
        np.testing.assert_allclose(out.std(axes), 1, atol=1e-2)
        mean = s.run("batch_normalization/moving_mean:0")
        np.testing.assert_allclose(mean, value.mean(axes) / 2, rtol=1e-4)
        s.run(y, {x: value, training: False})
        np.testing.assert_array_equal(s.run("batch_normalization/moving_mean:0"), mean)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="min_ndim=2, found ndim=1"):
        tf.layers.dense(tf.zeros([3]), 2)
    with pytest.raises(ValueError, match="last dimension"):
        tf.layers.dense(tf.placeholder(tf.float32, [3, None]), 2)
    with pytest.raises(ValueError, match="expected ndim=4, found ndim=2"):
        tf.layers.conv2d(tf.zeros([2, 2]), 4, 3)
    with pytest.raises(ValueError, match="tuple of 2 integers"):
        tf.layers.conv2d(tf.zeros([1, 8, 8, 3]), 4, (3, 3, 3))
    with pytest.raises(TypeError, match="unknown"):
        tf.layers.Dense(2, unknown=1)


def test_objects_of_one_name_get_names_of_their_own() -> None:
    x = tf.zeros([2, 3])
    with tf.variable_scope("s"):
        first, second = tf.layers.Dense(2, name="d"), tf.layers.Dense(2, name="d")
        first(x), second(x), first(x)
    assert names() == ["s/d/kernel", "s/d/bias", "s/d_1/kernel", "s/d_1/bias"]
    with tf.variable_scope("s", reuse=True):
        tf.layers.Dense(2, name="d")(x)
    assert len(names()) == 4


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [
        (lambda: tf.layers.Conv1D(4, 3, strides=2, padding="same"), [None, 9, 3], [None, 5, 4]),
        (lambda: tf.layers.Conv2D(4, 3, dilation_rate=2), [2, 8, None, 3], [2, 4, None, 4]),
        (
            lambda: tf.layers.Conv2D(4, (3, 2), data_format="channels_first"),
            [None, 3, 8, 8],
            [None, 4, 6, 7],
        ),
        (lambda: tf.layers.Conv3D(4, 2, strides=2), [1, 8, 7, 6, 2], [1, 4, 3, 3, 4]),
        (lambda: tf.layers.SeparableConv2D(4, 3), [None, 8, 8, 3], [None, 6, 6, 4]),
        (lambda: tf.layers.Conv2DTranspose(4, 3, strides=2), [1, 8, 8, 3], [1, 17, 17, 4]),
        (lambda: tf.layers.MaxPooling2D(2, 2), [None, 8, 9, 3], [None, 4, 4, 3]),
        (lambda: tf.layers.AveragePooling1D(2, 2, padding="same"), [3, 9, 3], [3, 5, 3]),
        (lambda: tf.layers.MaxPooling3D(2, 2), [1, 8, 8, 9, 1], [1, 4, 4, 4, 1]),
        (lambda: tf.layers.BatchNormalization(), [None, 8], [None, 8]),
    ],
)
def test_layers_say_the_shape_of_their_output(make: Any, shape: Any, expected: Any) -> None:
    layer = make()
    assert layer.compute_output_shape(tf.TensorShape(shape)).as_list() == expected
    if None not in shape:
        assert layer(tf.zeros(shape)).shape.as_list() == expected
    if not isinstance(layer, tf.layers.BatchNormalization):
        with pytest.raises(ValueError, match="not compatible"):
            layer.compute_output_shape([2, 3])


def test_activations_and_initializers_by_name() -> None:
    x = tf.constant([[1.0, -2.0]])
    layers = {
        name: tf.layers.dense(x, 3, name, kernel_initializer="ones", bias_initializer="one")
        for name in ("relu", "linear", "hard_sigmoid", "exponential", "softmax")
    }
    drawn = tf.layers.Dense(400, kernel_initializer="random_normal")
    drawn(tf.zeros([1, 100]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run(layers)
        assert abs(sess.run(drawn.kernel).std() - 0.05) < 0.005
    for name, value in (("relu", 0), ("linear", 0), ("hard_sigmoid", 0.5), ("exponential", 1)):
        np.testing.assert_allclose(found[name], [[value] * 3], atol=1e-6)
    np.testing.assert_allclose(found["softmax"], [[1 / 3] * 3], rtol=1e-6)
    with pytest.raises(ValueError, match="Unknown activation"):
        tf.layers.dense(x, 3, "rleu")
    with pytest.raises(ValueError, match="Unknown initializer"):
        tf.layers.dense(x, 3, kernel_initializer="xavier")


def test_an_input_with_too_few_axes_is_told_which_ones_are_needed() -> None:
    with tf.Graph().as_default():
        flat = tf.placeholder(tf.float32, [None, 784])
        with pytest.raises(ValueError, match=r"ndim=2.* to \[batch, height, width, channels\]"):
            tf.layers.conv2d(flat, 32, 3)
        with pytest.raises(ValueError, match=r"ndim=4, found ndim=5.*\]$"):
            tf.layers.conv2d(tf.placeholder(tf.float32, [None, 2, 3, 4, 5]), 32, 3)
