"""Small packages of contrib: sparsemax, nn, resampler, and older places of what is elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetches)


def projected(row: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex, by trying each size of the support."""
    for size in range(len(row), 0, -1):
        largest = np.sort(row)[::-1][:size]
        threshold = (largest.sum() - 1) / size
        if largest[-1] > threshold:
            return np.maximum(0, row - threshold)
    raise AssertionError


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    logits = np.random.RandomState(0).normal(0, 2, [20, 6])
    labels = np.eye(6)[np.arange(20) % 6]
    z = tf.constant(logits)
    found = tf.contrib.sparsemax.sparsemax(z)
    loss = tf.contrib.sparsemax.sparsemax_loss(z, found, labels)
    values, losses, gradient = run([found, loss, tf.gradients(loss, z)[0]])
    np.testing.assert_allclose(values, [projected(row) for row in logits], atol=1e-12)
    np.testing.assert_allclose(gradient, values - labels, atol=1e-12)
    assert (losses >= 0).all() and (values == 0).any()
    with pytest.raises(ValueError, match="rank"):
        tf.contrib.sparsemax.sparsemax(tf.zeros([3]))


def test_dropout_for_selu_keeps_mean_and_variance() -> None:
    x = tf.random_normal([200_000], seed=1)
    dropped = run(tf.contrib.nn.alpha_dropout(x, 0.8, seed=2))
    assert abs(dropped.mean()) < 0.01 and abs(dropped.std() - 1) < 0.01
    assert tf.contrib.nn.alpha_dropout(x, 1.0) is x
    rows = run(tf.contrib.nn.alpha_dropout(tf.ones([4, 5]), 0.5, noise_shape=[4, 1], seed=3))
    np.testing.assert_array_equal(rows, np.tile(rows[:, :1], [1, 5]))
    with pytest.raises(ValueError, match="keep_prob"):
        tf.contrib.nn.alpha_dropout(x, 1.5)


def test_scaled_softplus_and_losses_with_logits_first() -> None:
    x = np.linspace(-3, 3, 7)
    scaled = run(tf.contrib.nn.scaled_softplus(x, 0.5, clip=2.0))
    np.testing.assert_allclose(scaled, np.minimum(0.5 * np.log1p(np.exp(x / 0.5)), 2.0))
    logits, labels = tf.constant([[1.0, 2.0]]), tf.constant([[0.0, 1.0]])
    nn = tf.contrib.nn
    pairs = [
        nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels),
        tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, [1]),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=logits),
        nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, labels),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits),
    ]
    found = run(pairs)
    for mine, theirs in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_resampler_weighs_the_four_pixels_around() -> None:
    image = np.arange(24.0).reshape(1, 3, 4, 2)
    places = np.array([[[1.0, 2.0], [0.25, 0.5], [3.5, 0.0], [-1.0, 0.0], [9.0, 9.0]]])
    data, warp = tf.constant(image), tf.constant(places)
    found = tf.contrib.resampler.resampler(data, warp)
    assert found.shape.as_list() == [1, 5, 2]
    quarter = 0.5 * (0.75 * image[0, :2, 0] + 0.25 * image[0, :2, 1]).sum(0)
    expected = [image[0, 2, 1], quarter, 0.5 * image[0, 0, 3], [0, 0], [0, 0]]
    np.testing.assert_allclose(run(found)[0], expected)
    inner = tf.constant([[[0.3, 0.6], [2.2, 1.4]]], tf.float64)
    for of in (data, inner):
        result = tf.contrib.resampler.resampler(data, inner) ** 2
        with tf.Session():
            assert tf.test.compute_gradient_error(of, of.shape, result, result.shape) < 1e-4
    with pytest.raises(ValueError):
        tf.contrib.resampler.resampler(tf.zeros([3, 4]), warp)


def test_vectors_in_the_poincare_ball() -> None:
    x = np.random.RandomState(0).normal(0, 3, [20, 4])
    found = run(tf.contrib.layers.poincare_normalize(tf.constant(x), 1, epsilon=0.04))
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(found, x * np.minimum(0.96 / lengths, 1.0))


def test_older_places() -> None:
    assert tf.contrib.data.ignore_errors is tf.data.experimental.ignore_errors
    assert tf.contrib.signal.stft is tf.signal.stft
    assert tf.contrib.stateless.stateless_random_uniform is tf.random.stateless_uniform
    assert tf.contrib.hooks.ProfilerHook is tf.train.ProfilerHook
    for package in ("signal", "stateless", "hooks", "nn", "sparsemax", "resampler"):
        with pytest.raises(AttributeError, match="no_such_name"):
            getattr(getattr(tf.contrib, package), "no_such_name")  # noqa: B009
