"""``tf.contrib.slim.nets``: VGG, AlexNet and residual networks by their names, sizes and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.slim.nets import alexnet, resnet_utils, resnet_v1, resnet_v2, vgg

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def parameters() -> int:
    return sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables())


def images(size: int = 224):
    return tf.placeholder(tf.float32, [None, size, size, 3])


@pytest.mark.parametrize(
    ("network", "scope", "count"),
    [
        # The published numbers of parameters, with 1000 classes.
        (vgg.vgg_a, vgg.vgg_arg_scope, 132_863_336),
        (vgg.vgg_16, vgg.vgg_arg_scope, 138_357_544),
        (vgg.vgg_19, vgg.vgg_arg_scope, 143_667_240),
        (alexnet.alexnet_v2, alexnet.alexnet_v2_arg_scope, 50_303_912),
    ],
)
def test_dense_networks_have_the_published_number_of_parameters(network, scope, count) -> None:
    with slim.arg_scope(scope()):
        scores, end_points = network(images(), 1000, is_training=False)
    name = network.__name__
    assert scores.shape.as_list() == [None, 1000] and parameters() == count
    assert list(end_points)[-1] == f"{name}/fc8" and end_points[f"{name}/fc8"] is scores
    assert f"{name}/pool5" in end_points
    assert len(tf.losses.get_regularization_losses()) == len(tf.trainable_variables()) // 2


def test_vgg_has_the_names_of_the_checkpoint() -> None:
    _, end_points = vgg.vgg_16(images(), 10)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names[:2] == ["vgg_16/conv1/conv1_1/weights", "vgg_16/conv1/conv1_1/biases"]
    assert "vgg_16/conv5/conv5_3/weights" in names and names[-1] == "vgg_16/fc8/biases"
    assert end_points["vgg_16/conv3/conv3_3"].shape.as_list() == [None, 56, 56, 256]


def test_larger_images_give_a_map_of_scores() -> None:
    scores, _ = vgg.vgg_a(images(256), 5, spatial_squeeze=False)
    assert scores.shape.as_list() == [None, 2, 2, 5]
    values, _ = vgg.vgg_a(images(224), None, scope="features")
    assert values.shape.as_list() == [None, 1, 1, 4096]


@pytest.mark.parametrize(
    ("module", "count", "last"),
    [(resnet_v1, 25_557_032, "conv3/BatchNorm/beta"), (resnet_v2, 25_568_360, "conv3/biases")],
)
def test_residual_networks_of_50_layers(module, count, last) -> None:
    version = module.__name__[-2:]
    with slim.arg_scope(module.resnet_arg_scope()):
        scores, end_points = getattr(module, f"resnet_{version}_50")(
            images(), 1000, is_training=False
        )
    name = f"resnet_{version}_50"
    assert scores.shape.as_list() == [None, 1, 1, 1000] and parameters() == count
    shapes = [end_points[f"{name}/block{i}"].shape.as_list()[1:] for i in (1, 2, 3, 4)]
    assert shapes == [[28, 28, 256], [14, 14, 512], [7, 7, 1024], [7, 7, 2048]]
    assert end_points["predictions"].shape.as_list() == [None, 1, 1, 1000]
    unit = f"{name}/block1/unit_1/bottleneck_{version}"
    assert f"{unit}/{last}" in [v.op.name for v in tf.trainable_variables()]


@pytest.mark.parametrize("module", [resnet_v1, resnet_v2])
def test_dense_outputs_are_those_between_the_strided_ones(module) -> None:
    """Every n-th value of the network with dilated convolutions is that of the strided network."""
    version = module.__name__[-2:]
    block = getattr(module, f"resnet_{version}_block")
    blocks = [block("a", 1, 2, 2), block("b", 2, 2, 2), block("c", 2, 1, 1)]
    network = getattr(module, f"resnet_{version}")
    x = tf.constant(np.random.RandomState(0).normal(size=[1, 65, 65, 3]).astype(np.float32))
    options = {"is_training": False, "global_pool": False, "scope": "net"}
    with slim.arg_scope(module.resnet_arg_scope()):
        strided, _ = network(x, blocks, **options)
        dense, _ = network(x, blocks, output_stride=8, reuse=True, **options)
    assert strided.shape.as_list() == [1, 5, 5, 8] and dense.shape.as_list() == [1, 9, 9, 8]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        few, many = session.run([strided, dense])
    np.testing.assert_allclose(few, many[:, ::2, ::2], rtol=1e-4, atol=1e-4)


def test_strides_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="multiple of 4"):
        resnet_v1.resnet_v1_50(images(), output_stride=6)
    with pytest.raises(ValueError, match="cannot be reached"):
        resnet_v1.resnet_v1_50(images(), output_stride=64)


def test_convolution_with_a_stride_takes_every_nth_value() -> None:
    x = tf.constant(np.random.RandomState(0).normal(size=[1, 6, 6, 2]).astype(np.float32))
    ones = tf.ones_initializer()
    with slim.arg_scope([slim.conv2d], weights_initializer=ones):
        strided = resnet_utils.conv2d_same(x, 1, 3, stride=2, scope="a")
        plain = resnet_utils.subsample(slim.conv2d(x, 1, 3, scope="b"), 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b = session.run([strided, plain])
    np.testing.assert_allclose(a, b, rtol=1e-5)
