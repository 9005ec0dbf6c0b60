"""What layers are written with: sizes, and decisions that can be made before a run."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.contrib.layers import building as utils


def test_sizes_of_axes() -> None:
    shape = tf.TensorShape([2, 3, None])
    assert utils.first_dimension(shape) == 2 and utils.last_dimension(shape) is None
    assert utils.channel_dimension(shape, "NCHW") == 3
    with pytest.raises(ValueError, match="rank of shape must be at least 4 not: 3"):
        utils.last_dimension(shape, min_rank=4)
    with pytest.raises(ValueError, match="must be known"):
        utils.first_dimension(tf.TensorShape(None))


def test_decided_now_or_at_run_time() -> None:
    with tf.Graph().as_default():
        assert utils.smart_cond(tf.constant(True), lambda: 1, lambda: 2) == 1
        assert utils.static_cond(False, lambda: 1, lambda: 2) == 2
        assert utils.constant_value(tf.constant(3)) == 3
        assert utils.constant_value(tf.placeholder(tf.float32)) is None
        with pytest.raises(TypeError, match="must be callable"):
            utils.static_cond(True, 1, 2)


def test_positive_integers() -> None:
    assert utils.two_element_tuple(3) == (3, 3) and utils.n_positive_integers(3, [1, 2, 3]) == (
        1,
        2,
        3,
    )
    for wrong in (0, [1, 2, 3], [-1, 1]):
        with pytest.raises(ValueError, match="2 positive integers"):
            utils.two_element_tuple(wrong)


def test_collections_hold_what_a_custom_getter_makes() -> None:
    """The layer's weight is a tensor then; the model's variables stay variables."""
    names = ("weights", "biases", "depthwise_weights", "pointwise_weights")
    collections = {name: [name.upper()] for name in names}

    def halved(getter, name, *args, **kwargs):
        value = getter(name, *args, **kwargs)
        return tf.multiply(value, 0.5, name="half") if name.endswith("weights") else value

    with tf.Graph().as_default(), tf.variable_scope("s", custom_getter=halved):
        x = tf.zeros([2, 4, 4, 3])
        tf.contrib.layers.conv2d(x, 2, 3, variables_collections=collections)
        tf.contrib.layers.separable_conv2d(x, 2, 3, 1, variables_collections=collections)
        kept = {n: [v.op.name for v in tf.get_collection(n.upper())] for n in names}
        model = [v.op.name for v in tf.contrib.framework.get_model_variables()]
    assert kept == {
        "weights": ["half", "half_1", "half_2"],
        "biases": ["s/Conv/biases", "s/SeparableConv2d/biases"],
        "depthwise_weights": [],
        "pointwise_weights": [],
    }
    assert model == [
        "s/Conv/weights",
        "s/Conv/biases",
        "s/SeparableConv2d/depthwise_weights",
        "s/SeparableConv2d/pointwise_weights",
        "s/SeparableConv2d/biases",
    ]
