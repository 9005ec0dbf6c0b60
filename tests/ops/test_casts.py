"""Casts and sums of lists: what stays, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf


def test_a_cast_to_the_same_type_is_no_node() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32)
        assert tf.cast(x, tf.float32) is x
        assert tf.to_float(x) is x
        assert graph.version == 1


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1.9, -1.9], tf.int32, [1, -1]),
        ([0, 2], tf.bool, [False, True]),
        ([True, False], tf.float32, [1.0, 0.0]),
        ([300], tf.uint8, [44]),
        ([1.5], tf.complex64, [1.5 + 0j]),
    ],
)
def test_values(values: list, dtype: tf.DType, expected: list) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        result = session.run(tf.cast(values, dtype))
        assert result.dtype == dtype.as_numpy_dtype
        assert result.tolist() == expected


def test_strings_are_refused_with_advice() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match=r"to_number"):
            tf.cast(tf.constant(["1"]), tf.float32)
        with pytest.raises(TypeError, match=r"as_string"):
            tf.cast(tf.constant([1]), tf.string)


def test_saturation() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.saturate_cast([-3.5, 99.0, 1e9], tf.int8)).tolist() == [-3, 99, 127]
        assert session.run(tf.saturate_cast([-3, 300], tf.uint8)).tolist() == [0, 255]


def test_no_gradient_through_integers() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.5)
        assert tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x) == [None]


def test_rows_of_sparse_gradients_are_cast() -> None:
    with tf.Graph().as_default():
        rows = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
        assert tf.cast(rows, tf.float64).values.dtype == tf.float64


def test_sums_of_lists() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        assert tf.add_n([x]) is x
        assert session.run(tf.add_n([x, x, x])).tolist() == [3.0, 6.0]
        np.testing.assert_array_equal(session.run(x), [1.0, 2.0])
        for bad in ([], x):
            with pytest.raises(ValueError, match="at least one"):
                tf.add_n(bad)
        with pytest.raises(ValueError, match="same shape"):
            tf.add_n([x, tf.zeros([3])])
        with pytest.raises(TypeError, match="tensor_dtype"):
            tf.accumulate_n([x, x], tensor_dtype=tf.int32)
