"""The axis of a softmax: any, told by a tensor, and one that is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

X = np.random.RandomState(0).randn(2, 3, 4).astype(np.float32)


def _softmax(x: Any, axis: int) -> Any:
    exp = np.exp(x - x.max(axis, keepdims=True))
    return exp / exp.sum(axis, keepdims=True)


@pytest.mark.parametrize("known", [True, False], ids=["rank known", "rank unknown"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_the_axis_may_be_told_by_the_run(axis: int, known: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3, None] if known else None)
        where = tf.placeholder_with_default(axis, [])
        told, fixed = tf.nn.softmax(x, axis=where), tf.nn.log_softmax(x, axis=axis)
        assert told.shape.as_list() == [None, 3, None] if known else told.shape.ndims is None
        values = session.run([told, tf.exp(fixed)], {x: X})
        for value in values:
            np.testing.assert_allclose(value, _softmax(X, axis), rtol=1e-5)


def test_an_axis_that_is_not_there_is_an_invalid_argument() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="axis 2 of rank 2.*-2 to 1"):
            tf.nn.softmax(tf.ones([2, 3]), axis=2)
        where = tf.placeholder_with_default(100, [])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.nn.softmax([1.0, 2.0], axis=where))
