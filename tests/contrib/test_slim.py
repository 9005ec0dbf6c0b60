"""``tf.contrib.slim.nets``: the published network by its names, its shapes and its numbers."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.slim.python.slim.nets import inception_v3 as inception

slim = tf.contrib.slim

END_POINTS = {
    "Conv2d_1a_3x3": (149, 32),
    "Conv2d_2a_3x3": (147, 32),
    "Conv2d_2b_3x3": (147, 64),
    "MaxPool_3a_3x3": (73, 64),
    "Conv2d_3b_1x1": (73, 80),
    "Conv2d_4a_3x3": (71, 192),
    "MaxPool_5a_3x3": (35, 192),
    "Mixed_5b": (35, 256),
    "Mixed_5c": (35, 288),
    "Mixed_5d": (35, 288),
    "Mixed_6a": (17, 768),
    "Mixed_6b": (17, 768),
    "Mixed_6c": (17, 768),
    "Mixed_6d": (17, 768),
    "Mixed_6e": (17, 768),
    "Mixed_7a": (8, 1280),
    "Mixed_7b": (8, 2048),
    "Mixed_7c": (8, 2048),
}


pytestmark = pytest.mark.usefixtures("graph")


def size(variables: list) -> int:
    return sum(int(np.prod(v.shape.as_list())) for v in variables)


def test_base_has_the_published_end_points_and_number_of_parameters() -> None:
    images = tf.placeholder(tf.float32, [5, 299, 299, 3])
    with slim.arg_scope(inception.inception_v3_arg_scope()):
        net, end_points = inception.inception_v3_base(images)
    shapes = {k: (v.shape.as_list()[1], v.shape.as_list()[3]) for k, v in end_points.items()}
    assert shapes == END_POINTS
    assert list(end_points) == list(END_POINTS)
    assert net.op.name == "InceptionV3/Mixed_7c/concat"
    assert size(slim.get_model_variables()) == 21_802_784  # as TF slim's own test has it


def test_classifier_has_the_published_names(graph) -> None:
    images = tf.placeholder(tf.float32, [None, 299, 299, 3])
    with slim.arg_scope(inception.inception_v3_arg_scope()):
        logits, end_points = inception.inception_v3(images, num_classes=1001, is_training=False)
    assert {k: v.op.name for k, v in end_points.items() if k not in END_POINTS} == {
        "AuxLogits": "InceptionV3/AuxLogits/SpatialSqueeze",
        "PreLogits": "InceptionV3/Logits/Dropout_1b/Identity",
        "Logits": "InceptionV3/Logits/SpatialSqueeze",
        "Predictions": "InceptionV3/Predictions/Reshape_1",
    }
    for name in (
        "InceptionV3/InceptionV3/MaxPool_3a_3x3/MaxPool",
        "InceptionV3/InceptionV3/Mixed_5b/Branch_3/AvgPool_0a_3x3/AvgPool",
        "InceptionV3/InceptionV3/Mixed_7c/concat",
        "InceptionV3/Logits/AvgPool_1a_8x8/AvgPool",
    ):
        assert graph.get_operation_by_name(name).type in ("MaxPool", "AvgPool", "ConcatV2")
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert logits.shape.as_list() == [None, 1001]
    expected = {
        "Conv2d_1a_3x3/weights": [3, 3, 3, 32],
        "Mixed_5c/Branch_1/Conv2d_0b_1x1/weights": [1, 1, 256, 48],
        "Mixed_5c/Branch_1/Conv_1_0c_5x5/weights": [5, 5, 48, 64],
        "Mixed_6a/Branch_0/Conv2d_1a_1x1/weights": [3, 3, 288, 384],
        "Mixed_6e/Branch_2/Conv2d_0e_1x7/weights": [1, 7, 192, 192],
        "Mixed_7b/Branch_1/Conv2d_0b_3x1/weights": [3, 1, 384, 384],
        "Mixed_7c/Branch_1/Conv2d_0c_3x1/weights": [3, 1, 384, 384],
        "Mixed_7c/Branch_2/Conv2d_0d_3x1/BatchNorm/moving_variance": [384],
        "AuxLogits/Conv2d_2a_5x5/weights": [5, 5, 128, 768],
        "AuxLogits/Conv2d_2b_1x1/biases": [1001],
        "Logits/Conv2d_1c_1x1/weights": [1, 1, 2048, 1001],
        "Logits/Conv2d_1c_1x1/biases": [1001],
    }
    assert {k: shapes[f"InceptionV3/{k}"] for k in expected} == expected
    # 96 convolutions with normalization (weights, beta, two averages), two without (weights, biases).
    assert len(shapes) == 96 * 4 + 2 * 2
    # 27,161,264 is the paper's network of 1,000 classes with a gamma for each of its 18,112 normalized
    # channels; ReLU follows, so slim leaves gamma out.
    normalized = size(tf.get_collection("moving_vars")) // 2
    assert normalized == 18_112
    a_class_more = (2048 + 1) + (768 + 1)
    assert size(tf.trainable_variables()) == 27_161_264 - normalized + a_class_more


def test_training_and_evaluation_share_weights_on_small_images() -> None:
    tf.set_random_seed(0)
    images = tf.constant(np.random.RandomState(0).uniform(-1, 1, [2, 107, 107, 3]), tf.float32)
    with slim.arg_scope(inception.inception_v3_arg_scope()):
        logits, end_points = inception.inception_v3(
            images, 4, dropout_keep_prob=1.0, depth_multiplier=0.1
        )
        count = len(tf.global_variables())
        tested, _ = inception.inception_v3(
            images, 4, is_training=False, depth_multiplier=0.1, reuse=True
        )
    assert len(tf.global_variables()) == count
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2 * 96
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 98
    loss = tf.losses.sparse_softmax_cross_entropy([1, 2], logits)
    loss += 0.4 * tf.losses.sparse_softmax_cross_entropy([1, 2], end_points["AuxLogits"])
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        first = s.run(loss)
        for _ in range(4):
            s.run(train)
        assert s.run(loss) < first
        predictions, same = s.run([end_points["Predictions"], tested])
    np.testing.assert_allclose(predictions.sum(1), [1, 1], rtol=1e-5)
    assert same.shape == (2, 4)


def test_unknown_sizes_are_taken_as_enough() -> None:
    logits, end_points = inception.inception_v3(
        tf.placeholder(tf.float32, [2, None, None, 3]), 7, depth_multiplier=0.1
    )
    assert logits.shape.as_list() == [2, 7]
    assert end_points["Mixed_7c"].shape.as_list()[1:3] == [None, None]
    assert inception.inception_v3.default_image_size == inception.default_image_size == 299


def test_what_is_refused() -> None:
    images = tf.zeros([1, 107, 107, 3])
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_8a"):
        inception.inception_v3_base(images, "Mixed_8a")
    with pytest.raises(ValueError, match="depth_multiplier is not greater than zero"):
        inception.inception_v3(images, depth_multiplier=0.0)
    with pytest.raises(AttributeError, match=r"tf\.contrib\.slim\.nets\.nasnet is not part"):
        slim.nets.nasnet


def test_metrics_are_those_of_contrib() -> None:
    assert slim.metrics is tf.contrib.metrics


def test_modules_that_slim_brings_along() -> None:
    """As TensorFlow's star imports: ``slim.nn.leaky_relu``, ``slim.math_ops.add`` and the like."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-2.0, 3.0])
        assert session.run(slim.nn.leaky_relu(x, 0.5)).tolist() == [-1.0, 3.0]
        assert session.run(slim.math_ops.square(x)).tolist() == [4.0, 9.0]
    assert slim.dtypes.float32 == tf.float32
    assert slim.nest.flatten([1, (2,)]) == [1, 2]
    with pytest.raises(AttributeError, match="nothing"):
        slim.nothing
