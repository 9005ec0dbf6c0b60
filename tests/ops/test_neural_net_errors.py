"""Mistakes in neural-net ops are found when the node is made, with what was got and needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

IMAGE, FILTER = (2, 5, 6, 3), (3, 2, 3, 4)


def _zeros(*shape: int) -> Any:
    return tf.zeros(shape)


BAD: list[tuple[str, Callable[[], Any], str]] = [
    (
        "channels",
        lambda: tf.nn.conv2d(_zeros(*IMAGE), _zeros(3, 3, 4, 8), [1, 1, 1, 1], "SAME"),
        r"Depth of input \(3\) is not a multiple of input depth of filter \(4\)",
    ),
    (
        "rank",
        lambda: tf.nn.conv2d(_zeros(5, 6, 3), _zeros(*FILTER), [1, 1, 1, 1], "SAME"),
        "must be rank 4 but is rank 3",
    ),
    (
        "padding",
        lambda: tf.nn.conv2d(_zeros(*IMAGE), _zeros(*FILTER), 1, "FULL"),
        "padding must be one of 'SAME', 'VALID', 'EXPLICIT', got 'FULL'",
    ),
    (
        "strides",
        lambda: tf.nn.conv2d(_zeros(*IMAGE), _zeros(*FILTER), [1, 1, 1], "SAME"),
        "strides should be of length 1, 2 or 4",
    ),
    (
        "batch stride",
        lambda: tf.nn.conv2d(_zeros(*IMAGE), _zeros(*FILTER), [2, 1, 1, 1], "SAME"),
        "along the batch and the channels must be 1",
    ),
    (
        "window",
        lambda: tf.nn.conv2d(_zeros(1, 2, 2, 1), _zeros(3, 3, 1, 1), 1, "VALID"),
        "Negative dimension size",
    ),
    (
        "format",
        lambda: tf.nn.conv2d(_zeros(*IMAGE), _zeros(*FILTER), 1, "SAME", data_format="HWCN"),
        "data_format must be 'NHWC' or 'NCHW'",
    ),
    (
        "output shape",
        lambda: tf.nn.conv2d_transpose(_zeros(2, 5, 5, 3), _zeros(3, 3, 4, 3), [2, 9, 8, 4], 2),
        "a convolution of these sizes gives",
    ),
    (
        "depthwise",
        lambda: tf.nn.depthwise_conv2d(_zeros(*IMAGE), _zeros(3, 3, 4, 1), [1, 1, 1, 1], "SAME"),
        "the input has 3 channels, the filter is for 4",
    ),
    (
        "pool over the batch",
        lambda: tf.nn.max_pool(_zeros(*IMAGE), [2, 2, 2, 1], [2, 2, 2, 1], "SAME"),
        "pooling over the batch",
    ),
    (
        "pool rank",
        lambda: tf.nn.avg_pool(_zeros(5, 6, 3), 2, 2, "SAME"),
        "must be rank 4 but is rank 3",
    ),
    (
        "bias",
        lambda: tf.nn.bias_add(_zeros(*IMAGE), _zeros(4)),
        "Dimensions must be equal, but are 3 and 4",
    ),
    (
        "labels",
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=_zeros(2, 3), logits=_zeros(2, 4)),
        "logits and labels must have the same shape",
    ),
    (
        "sparse rank",
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.zeros([2, 3], tf.int32), logits=_zeros(2, 3)
        ),
        "Rank mismatch",
    ),
    (
        "sigmoid",
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=_zeros(2, 3), logits=_zeros(2, 4)),
        "must have the same shape",
    ),
    (
        "softmax by position",
        lambda: tf.nn.softmax_cross_entropy_with_logits(_zeros(2, 3), _zeros(2, 3)),
        "Only call `softmax_cross_entropy_with_logits` with named arguments",
    ),
    (
        "sparse by position",
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(_zeros(2, 3), logits=_zeros(2, 3)),
        "Only call `sparse_softmax_cross_entropy_with_logits` with named arguments",
    ),
    (
        "sigmoid by position",
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(_zeros(2, 3), _zeros(2, 3)),
        "Only call `sigmoid_cross_entropy_with_logits` with named arguments",
    ),
    ("dropout", lambda: tf.nn.dropout(_zeros(2), 1.5), r"in the range \[0, 1\)"),
    (
        "sampler",
        lambda: tf.nn.uniform_candidate_sampler(tf.zeros([2, 1], tf.int64), 1, 9, True, 8),
        "cannot draw 9 different classes of 8",
    ),
    (
        "nce labels",
        lambda: tf.nn.nce_loss(
            _zeros(8, 3), _zeros(8), tf.zeros([4], tf.int64), _zeros(4, 3), 2, 8
        ),
        "num_true",
    ),
]


@pytest.mark.parametrize(("build", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_found_when_the_node_is_made(build: Callable[[], Any], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        build()


def test_a_label_outside_fails_at_run_time() -> None:
    with tf.Graph().as_default():
        labels = tf.placeholder(tf.int32, [2])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=_zeros(2, 3))
        with (
            tf.Session() as session,
            pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 5.*\[0, 3\)"),
        ):
            session.run(loss, {labels: [0, 5]})


def test_integers_are_refused_as_labels_only_where_they_must_be() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0.0, 1.0], logits=_zeros(2, 3))


def test_static_shapes_with_an_unknown_batch() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 28, 28, 1])
        y = tf.nn.max_pool(tf.nn.conv2d(x, _zeros(5, 5, 1, 8), 1, "SAME"), 2, 2, "SAME")
        assert y.shape.as_list() == [None, 14, 14, 8]
        gradient = tf.gradients(y, x)[0]
        assert gradient.shape.as_list() == [None, 28, 28, 1]


def test_max_pool_over_channels_has_a_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.array([3.0, 5.0, 1.0, 4.0]).reshape(1, 1, 1, 4))
        y = tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")
        got, gradient = session.run([y, tf.gradients(y, x)[0]])
        assert got.ravel().tolist() == [5.0, 4.0]
        assert gradient.ravel().tolist() == [0.0, 1.0, 0.0, 1.0]


def test_dropout_keeps_its_share_and_the_expected_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        keep = tf.placeholder(tf.float32)
        y = tf.nn.dropout(tf.ones([100, 100]), keep, seed=1)
        values = session.run(y, {keep: 0.8})
        assert set(np.unique(values)) == {np.float32(0), np.float32(1) / np.float32(0.8)}
        assert abs((values > 0).mean() - 0.8) < 0.03
        rows = tf.nn.dropout(tf.ones([50, 4]), 0.5, noise_shape=[50, 1], seed=1)
        values = session.run(rows)
        assert all(len(set(row)) == 1 for row in values.tolist())


def test_samplers_draw_what_they_say() -> None:
    true = [[0], [1]]
    with tf.Graph().as_default(), tf.Session() as session:
        unique = tf.nn.log_uniform_candidate_sampler(true, 1, 20, True, 50, seed=4)
        many = tf.nn.log_uniform_candidate_sampler(true, 1, 20000, False, 50, seed=4)
        sample, _, counts = session.run(list(unique))
        assert len(set(sample.tolist())) == 20
        assert (counts <= 1).all()
        drawn, _, expected = session.run(list(many))
        share = np.bincount(drawn, minlength=50)
        want = 20000 * np.log((np.arange(50) + 2) / (np.arange(50) + 1)) / np.log(51)
        assert np.abs(share - want).max() < 5 * np.sqrt(want.max())
        np.testing.assert_allclose(expected, want[drawn], rtol=1e-5)


def test_nce_gradients_are_rows_only() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        weights, biases = tf.Variable(tf.zeros([9, 3])), tf.Variable(tf.zeros([9]))
        loss = tf.nn.nce_loss(weights, biases, [[1], [2]], tf.ones([2, 3]), 4, 9)
        gradients = tf.gradients(loss, [weights, biases])
        session.run(tf.global_variables_initializer())
        assert all(isinstance(g, tf.IndexedSlices) for g in gradients)
        assert session.run(gradients[0].values).shape == (6, 3)


def test_quantized_ops_are_refused_with_what_to_use() -> None:
    with pytest.raises(
        tf.errors.UnimplementedError, match=r"use tf\.nn\.conv2d|Use tf\.nn\.conv2d"
    ):
        tf.nn.quantized_conv2d(None, None)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("what", ["batch", "depth"])
def test_explicit_padding_is_of_height_and_width(data_format: str, what: str) -> None:
    axis = 0 if what == "batch" else data_format.index("C")
    pads = [[0, 0] for _ in range(4)]
    pads[axis] = [0, 1]
    with tf.Graph().as_default():
        image, kernel = tf.ones([1, 3, 3, 3]), tf.ones([2, 2, 3, 3])
        with pytest.raises(ValueError, match=f"along the {what} .*tf.pad"):
            tf.nn.conv2d(image, kernel, [1] * 4, padding=pads, data_format=data_format)


def test_a_rate_of_another_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="requested dtype float32"):
        tf.nn.dropout(tf.ones([3]), rate=tf.constant(0.5, tf.float64))
    assert tf.nn.dropout(tf.ones([3]), rate=np.array(0.5)).dtype is tf.float32
