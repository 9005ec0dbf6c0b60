"""Clipping: what is left out, rows of sparse gradients, and norms that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf


def test_global_norm_leaves_out_none_and_keeps_the_order() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        clipped, norm = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 1.0)
        assert clipped[1] is None
        first, last, size = session.run([clipped[0], clipped[2], norm])
    np.testing.assert_allclose([first[0], last[0], size], [0.6, 0.8, 5.0], rtol=1e-6)


def test_small_gradients_stay() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        (clipped,), _ = tf.clip_by_global_norm([tf.constant([0.1, 0.2])], 1.0)
        np.testing.assert_allclose(session.run(clipped), [0.1, 0.2], rtol=1e-6)
        zero = tf.clip_by_norm(tf.zeros([3]), 1.0)
        assert session.run(zero).tolist() == [0, 0, 0]


def test_an_infinite_norm_gives_nan() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        (clipped,), norm = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)
        value, size = session.run([clipped, norm])
    assert np.isnan(value).all()
    assert np.isinf(size)


def test_sparse_gradients_stay_sparse() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 7]))
        (by_norm,), _ = tf.clip_by_global_norm([rows], 1.0)
        by_value = tf.clip_by_value(rows, 0.0, 3.5)
        for result, expected in ((by_norm, [[0.6], [0.8]]), (by_value, [[3.0], [3.5]])):
            assert isinstance(result, tf.IndexedSlices)
            np.testing.assert_allclose(session.run(result.values), expected, rtol=1e-6)


def test_the_gradient_at_zero_is_finite() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([0.0, 0.0])
        (grad,) = tf.gradients(tf.clip_by_norm(x, 1.0), x)
        assert np.isfinite(session.run(grad)).all()


def test_mistakes() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="sequence"):
            tf.clip_by_global_norm(tf.zeros([2]), 1.0)
        with pytest.raises(TypeError, match="sequence"):
            tf.global_norm(tf.zeros([2]))
        with pytest.raises(ValueError, match="clip_value_min"):
            tf.clip_by_value(tf.zeros([2]), tf.zeros([3, 2]), 1.0)


def test_numbers_are_converted() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        clipped, norm = tf.clip_by_global_norm([[3.0], None, [4.0]], 1.0)
        assert clipped[1] is None
        np.testing.assert_allclose(sess.run([clipped[0], clipped[2]]), [[0.6], [0.8]], rtol=1e-6)
        assert sess.run([norm, tf.linalg.global_norm([[3.0], [4.0]])]) == [5.0, 5.0]
