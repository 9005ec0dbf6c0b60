"""Losses: their values in NumPy, weights and reductions."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

LABELS = np.array([[0, 1.0], [1, 0]], np.float32)
PREDICTIONS = np.array([[0.2, 0.8], [0.6, 0.4]], np.float32)


pytestmark = pytest.mark.usefixtures("graph")


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


D = PREDICTIONS - LABELS
CASES = [
    ("mean_squared_error", (D**2).mean()),
    ("absolute_difference", np.abs(D).mean()),
    ("huber_loss", (0.5 * D**2).mean()),
    (
        "log_loss",
        (
            -LABELS * np.log(PREDICTIONS + 1e-7) - (1 - LABELS) * np.log(1 - PREDICTIONS + 1e-7)
        ).mean(),
    ),
    ("softmax_cross_entropy", -(LABELS * np.log(softmax(PREDICTIONS))).sum(1).mean()),
    ("hinge_loss", np.maximum(0, 1 - (2 * LABELS - 1) * PREDICTIONS).mean()),
]


@pytest.mark.parametrize(("name", "expected"), CASES, ids=[c[0] for c in CASES])
def test_values(name, expected) -> None:
    loss = getattr(tf.losses, name)(LABELS, PREDICTIONS)
    assert run(loss) == pytest.approx(expected, rel=1e-5)
    assert tf.losses.get_losses() == [loss]


def test_sparse_and_dense_labels_agree() -> None:
    sparse = tf.losses.sparse_softmax_cross_entropy([1, 0], PREDICTIONS)
    dense = tf.losses.softmax_cross_entropy(LABELS, PREDICTIONS)
    a, b = run([sparse, dense])
    assert a == pytest.approx(b)


def test_weights_and_reductions() -> None:
    def loss(weights, reduction):
        return run(tf.losses.mean_squared_error(LABELS, PREDICTIONS, weights, reduction=reduction))

    weights = [[1.0], [0.0]]
    R = tf.losses.Reduction
    squares = D**2
    assert loss(weights, R.SUM) == pytest.approx(squares[0].sum(), rel=1e-5)
    assert loss(weights, R.SUM_BY_NONZERO_WEIGHTS) == pytest.approx(squares[0].mean(), rel=1e-5)
    assert loss(weights, R.SUM_OVER_BATCH_SIZE) == pytest.approx(squares[0].sum() / 4, rel=1e-5)
    assert loss(0.0, R.MEAN) == 0  # nothing to divide by
    np.testing.assert_allclose(loss(2.0, R.NONE), 2 * squares, rtol=1e-5)
    with pytest.raises(ValueError, match="Reduction"):
        loss(1.0, "average")
    with pytest.raises(ValueError, match="broadcast"):
        loss([1.0, 2.0, 3.0], R.SUM)


def test_the_total() -> None:
    tf.losses.mean_squared_error(LABELS, PREDICTIONS)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(10.0))
    assert run(tf.losses.get_total_loss()) == pytest.approx((D**2).mean() + 10)
    assert run(tf.losses.get_total_loss(False)) == pytest.approx((D**2).mean())


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="incompatible"):
        tf.losses.mean_squared_error([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_squared_error(None, [1.0])


def test_shapes_that_only_a_run_knows() -> None:
    """A last dimension of 1 of labels and weights is dropped then, as where the shapes are known."""
    numbers, logits = [[2], [0], [1]], 10.0 * np.eye(3, dtype=np.float32)
    weights = np.array([[1.2], [3.4], [5.6]], np.float32)
    shapes = [((None, 3), (None, 1), None), (None, None, None), ((3, 3), (3, 1), (None, None))]
    with tf.Session() as sess:
        for logits_shape, labels_shape, weights_shape in shapes:
            fed = tf.placeholder(tf.float32, logits_shape)
            labels = tf.placeholder(tf.int32, labels_shape)
            fed_weights = tf.placeholder(tf.float32, weights_shape)
            feeds = {fed: logits, labels: numbers, fed_weights: weights}
            loss = tf.losses.sparse_softmax_cross_entropy(labels, fed, fed_weights)
            np.testing.assert_allclose(sess.run(loss, feeds), 10.2 * 10 / 3, rtol=1e-4)
            equal = tf.losses.sparse_softmax_cross_entropy(labels, fed)
            np.testing.assert_allclose(sess.run(equal, feeds), 10.0, rtol=1e-4)
            flat = {**feeds, labels: [2, 0, 1], fed_weights: weights[:, 0]}
            if logits_shape is None:
                np.testing.assert_allclose(sess.run(loss, flat), 10.2 * 10 / 3, rtol=1e-4)
        one_hot = np.eye(3, dtype=np.float32)[[2, 0, 1]]
        for old in (
            tf.contrib.losses.softmax_cross_entropy(logits, one_hot, fed_weights),
            tf.contrib.losses.sparse_softmax_cross_entropy(logits, [2, 0, 1], fed_weights),
        ):
            np.testing.assert_allclose(sess.run(old, feeds), 10.2 * 10 / 3, rtol=1e-4)


def test_weights_of_pairs_that_do_not_fit() -> None:
    """They were broadcast against the batch, and the loss was another one."""
    labels, predictions = np.zeros([2, 3, 3], np.float32), np.ones([2, 3, 3], np.float32)
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.losses.mean_pairwise_squared_error(labels, predictions, np.array([1.2, 3.4]))
    fed = tf.placeholder(tf.float32)
    loss = tf.losses.mean_pairwise_squared_error(labels, predictions, fed)
    with tf.Session() as sess:
        assert sess.run(loss, {fed: [[[1.0]], [[2.0]]]}) == 0.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
            sess.run(loss, {fed: [1.2, 3.4]})
