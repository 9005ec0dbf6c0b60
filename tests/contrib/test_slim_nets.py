"""``tf.contrib.slim.nets``: VGG, AlexNet and residual networks by their names, sizes and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.slim.nets import (
    alexnet,
    inception,
    overfeat,
    resnet_utils,
    resnet_v1,
    resnet_v2,
    vgg,
)

slim = tf.contrib.slim


pytestmark = pytest.mark.usefixtures("graph")


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


SHAPES = {
    "inception_v1": "Conv2d_1a_7x7 112x64, MaxPool_2a_3x3 56x64, Conv2d_2b_1x1 56x64, Conv2d_2c_3x3 "
    "56x192, MaxPool_3a_3x3 28x192, Mixed_3b 28x256, Mixed_3c 28x480, MaxPool_4a_3x3 14x480, Mixed_4b "
    "14x512, Mixed_4c 14x512, Mixed_4d 14x512, Mixed_4e 14x528, Mixed_4f 14x832, MaxPool_5a_2x2 7x832, "
    "Mixed_5b 7x832, Mixed_5c 7x1024",
    "inception_v2": "Conv2d_1a_7x7 112x64, MaxPool_2a_3x3 56x64, Conv2d_2b_1x1 56x64, Conv2d_2c_3x3 "
    "56x192, MaxPool_3a_3x3 28x192, Mixed_3b 28x256, Mixed_3c 28x320, Mixed_4a 14x576, Mixed_4b 14x576, "
    "Mixed_4c 14x576, Mixed_4d 14x576, Mixed_4e 14x576, Mixed_5a 7x1024, Mixed_5b 7x1024, Mixed_5c "
    "7x1024",
}


@pytest.mark.parametrize(
    ("name", "count", "head"),
    [
        ("inception_v1", 5_607_184, "InceptionV1/Logits/Conv2d_0c_1x1/weights"),
        ("inception_v2", 10_173_112, "InceptionV2/Logits/Conv2d_1c_1x1/weights"),
    ],
)
def test_early_inception_networks(name, count, head) -> None:
    with slim.arg_scope(getattr(inception, f"{name}_arg_scope")()):
        _, end_points = getattr(inception, f"{name}_base")(images(), scope="base")
        assert sum(int(np.prod(v.shape.as_list())) for v in slim.get_model_variables()) == count
        shapes = {k: v.shape.as_list() for k, v in end_points.items()}
        logits, end_points = getattr(inception, name)(images(), 1001, is_training=False)
    assert ", ".join(f"{k} {v[1]}x{v[3]}" for k, v in shapes.items()) == SHAPES[name]
    assert logits.shape.as_list() == [None, 1001] and end_points["Logits"] is logits
    assert end_points["Predictions"].op.type == "Reshape"  # of a softmax, as slim has it
    assert head in [v.op.name for v in tf.trainable_variables()]
    assert getattr(inception, name).default_image_size == 224


def test_the_start_of_an_inception_network() -> None:
    net, end_points = inception.inception_v1_base(images(), "Mixed_3b")
    assert list(end_points)[-1] == "Mixed_3b" and end_points["Mixed_3b"] is net
    net, _ = inception.inception_v2_base(images(96), "Mixed_4a", depth_multiplier=0.25, min_depth=4)
    assert net.shape.as_list() == [None, 6, 6, 40 + 24 + (16 + 24 + 24 + 16)]
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_6a"):
        inception.inception_v2_base(images(), "Mixed_6a")
    with pytest.raises(ValueError, match="not greater than zero"):
        inception.inception_v2(images(), depth_multiplier=0)
    with slim.arg_scope(inception.inception_v1_arg_scope(use_batch_norm=False)):
        inception.inception_v1_base(images(), "Conv2d_1a_7x7", scope="plain")
    assert [v.op.name for v in tf.trainable_variables("plain")] == [
        "plain/Conv2d_1a_7x7/weights",
        "plain/Conv2d_1a_7x7/biases",
    ]


def test_inception_v2_trains_on_small_images() -> None:
    tf.set_random_seed(0)
    x = tf.constant(np.random.RandomState(0).uniform(-1, 1, [4, 128, 128, 3]), tf.float32)
    with slim.arg_scope(inception.inception_v2_arg_scope()):
        logits, _ = inception.inception_v2(x, 3, dropout_keep_prob=1.0, depth_multiplier=0.1)
    loss = tf.losses.sparse_softmax_cross_entropy([1, 2, 0, 1], logits)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(4):
            session.run(train)
        assert session.run(loss) < first


def test_overfeat() -> None:
    with slim.arg_scope(overfeat.overfeat_arg_scope()):
        scores, end_points = overfeat.overfeat(images(231), 1000, is_training=False)
    assert scores.shape.as_list() == [None, 1000] and parameters() == 145_704_424
    assert end_points["overfeat/pool5"].shape.as_list() == [None, 6, 6, 1024]
    assert list(end_points)[-1] == "overfeat/fc8" and end_points["overfeat/fc8"] is scores
    larger, _ = overfeat.overfeat(images(281), 10, spatial_squeeze=False, scope="larger")
    assert larger.shape.as_list() == [None, 2, 2, 10]
