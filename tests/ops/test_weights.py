"""Weights whose shape is known only at run time, as TensorFlow takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf


def run(fetch: Any, feeds: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        return session.run(fetch, feeds)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([[100.0], [1.0], [1.0]], 101 / 102), ([1.0, 1.0, 2.0], 0.5), (3.0, 2 / 3)],
)
def test_accuracy(weights: Any, expected: float) -> None:
    with tf.Graph().as_default():
        w, labels, predictions = tf.placeholder(tf.float32), [1, 0, 1], [1, 0, 0]
        _, update = tf.metrics.accuracy(tf.constant(labels), tf.constant(predictions), w)
        assert run(update, {w: weights}) == pytest.approx(expected)


def test_mean_per_class_accuracy_weighs_the_count() -> None:
    with tf.Graph().as_default():
        weights = tf.constant([1.0, 1.0, 0.0, 1.0, 0.0, 0.75])
        labels, predictions = tf.constant([0, 0, 0, 1, 1, 1]), tf.constant([0, 0, 1, 1, 0, 0])
        _, update = tf.metrics.mean_per_class_accuracy(labels, predictions, 2, weights)
        np.testing.assert_allclose(run(update, {}), [1.0, 1 / 1.75])


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(3.0, 3.0), ([[17.0], [1.0]], 9.0), ([1.0], None), ([[1.0, 2.0]], None)],
)
def test_weighted_loss(weights: Any, expected: float | None) -> None:
    with tf.Graph().as_default():
        w = tf.placeholder(tf.float32)
        loss = tf.losses.compute_weighted_loss(tf.ones([2, 3]), w)
        if expected is None:
            with pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
                run(loss, {w: weights})
        else:
            assert run(loss, {w: weights}) == pytest.approx(expected)
