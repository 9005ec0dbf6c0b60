"""Losses of a replica as parts of the whole batch's, with the numbers and errors of TensorFlow 1.15."""

import numpy as np
import pytest

import dataflow as tf


def value(tensor):
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        return session.run(tensor)


@pytest.mark.parametrize(
    ("loss", "weights", "size", "expected"),
    [
        ([2.5, 6.2, 5.0], None, None, 13.7 / 3),
        ([1, 2, 3, 4, 5], None, 10, 1.5),
        ([2.0, 4.0, 6.0], 2, None, 8.0),
        ([2.0, 4.0, 6.0], [0.3, 0.5, 0.2], None, 3.8 / 3),
        # over the examples, which is the first dimension alone
        ([[2.0, 0.5], [4.0, 1.0]], None, None, 3.75),
        ([[2.0, 0.5], [4.0, 1.0]], [[0.3, 0.7], [0.2, 0.8]], None, 1.275),
        # a weight for each example, whatever the loss has further dimensions
        ([[2.0, 0.5], [4.0, 1.0]], [1.0, 2.0], None, 6.25),
        ([2.0, 4.0], [[1.0], [2.0]], None, 5.0),
    ],
)
def test_an_average_over_the_examples(graph, loss, weights, size, expected):
    got = tf.nn.compute_average_loss(loss, weights, size)
    np.testing.assert_allclose(value(got), expected, rtol=1e-6)


def test_the_dtype_stays_that_of_the_loss(graph):
    loss = tf.constant([1.0 / 3.0, 4.0, 6.0], tf.float64)
    assert tf.nn.compute_average_loss(loss, 2).dtype == tf.float64
    # weights make float32 numbers of it on the way
    assert value(tf.nn.compute_average_loss(loss, 1)) != value(tf.nn.compute_average_loss(loss))


def test_what_does_not_fit_is_refused(graph):
    with pytest.raises(ValueError, match="at least rank 1, received"):
        tf.nn.compute_average_loss(tf.constant(2))
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.nn.compute_average_loss([2.5, 6.2, 5.0], [0.2, 0.8], 10)
    fed = tf.placeholder(tf.float32)
    loss = tf.nn.compute_average_loss(fed)
    with tf.Session() as session:
        assert session.run(loss, {fed: [1.0, 2.0]}) == 1.5
        with pytest.raises(tf.errors.InvalidArgumentError, match="tensor with at least rank 1"):
            session.run(loss, {fed: 2.0})


def test_replicas_share_a_loss(graph):
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    two = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    for each in strategy, two:
        with each.scope():
            with pytest.raises(RuntimeError, match="compute_average_loss` in cross replica"):
                tf.nn.compute_average_loss([2, 3])
            with pytest.raises(RuntimeError, match="scale_regularization_loss` in cross replica"):
                tf.nn.scale_regularization_loss([2, 3])
            parts = each.experimental_run_v2(tf.nn.compute_average_loss, args=([2.0, 4.0],))
            assert value(each.reduce("SUM", parts, axis=None)) == 3.0
            parts = each.experimental_run_v2(tf.nn.scale_regularization_loss, args=([2.0, 4.0],))
            assert value(each.reduce("SUM", parts, axis=None)) == 6.0
    assert value(tf.nn.scale_regularization_loss([2.0, 4.0])) == 6.0
