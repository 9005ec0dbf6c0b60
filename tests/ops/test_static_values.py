"""Values that are known before the graph runs: sizes and orders that programs compute from shapes."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf


def test_orders_and_sizes_that_are_computed_from_a_rank_are_known_early() -> None:
    """Axes counted from the end, ``[-1, 0] % tf.rank(x)``, as libraries write them."""
    x = tf.zeros([1, 2, 3, 4])
    axes = [0, -1, -2] % tf.rank(x)
    order = tf.concat([axes[:0], tf.range(tf.rank(x) - 2), axes[1:]], 0)
    assert tf.transpose(x, order).shape.as_list() == [1, 2, 4, 3]
    assert tf.zeros(tf.gather(tf.shape(x), [3, 0])).shape.as_list() == [4, 1]
    assert tf.zeros(tf.gather([[5, 6], [7, 8]], 1, axis=1)).shape.as_list() == [6, 8]


def test_what_the_run_refuses_is_not_computed_early() -> None:
    some = tf.shape(tf.zeros([2, 3]))
    by_zero, beyond = tf.zeros([5, 6] % tf.constant([3, 0])), tf.zeros(tf.gather(some, [0, 2]))
    assert by_zero.shape.as_list() == beyond.shape.as_list() == [None, None]
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(by_zero)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(beyond)


def test_a_shape_that_is_cut_by_an_ellipsis_is_whole() -> None:
    with tf.Graph().as_default():
        sizes = tf.constant([10, 20, 30])[...]
        assert tf.zeros(sizes).shape.as_list() == [10, 20, 30]
        assert tf.zeros(sizes[1:]).shape.as_list() == [20, 30]


def test_half_a_size_is_a_size() -> None:
    """``[tf.shape(x)[0] / 2, -1]``, as programs of Python 2 write it: a quotient becomes a size."""
    x = tf.zeros([4, 6])
    assert tf.reshape(x, [tf.shape(x)[0] / 2, -1]).shape.as_list() == [2, 12]
    batch = tf.placeholder(tf.float32, [None, 6])
    half = tf.reshape(batch, [tf.shape(batch)[0] / 2, 12])
    assert half.shape.as_list() == [None, 12]
    with tf.Session() as session:
        assert session.run(half, {batch: np.zeros([4, 6])}).shape == (2, 12)


def test_numbers_in_a_list_become_what_the_op_takes_by_default() -> None:
    x, two, wide = tf.ones([4, 6]), tf.constant(2.0), tf.constant(2, tf.int64)
    assert tf.tile(x, [wide, two]).shape.as_list() == [8, 12]
    assert tf.fill([two, 3], 1.0).shape.as_list() == [2, 3]
    assert tf.pad(x, [[two, 0], [0, 1]]).shape.as_list() == [6, 7]
    assert tf.transpose(x, [1, two - 2.0]).shape.as_list() == [6, 4]
    assert tf.reshape(x, [wide, -1]).op.inputs[1].dtype == tf.int32
    with pytest.raises(TypeError, match="begin.*float32"):
        tf.slice(x, [0, two], [1, 2])  # this op has no default: TensorFlow refuses it, too
    with pytest.raises(TypeError, match="shape.*float32"):
        tf.reshape(x, [2.0, -1])


def test_sizes_are_known_through_rounding() -> None:
    half = tf.cast(tf.constant([3, 5]), tf.float32) / 2
    low, high = (tf.cast(f(half), tf.int32) for f in (tf.floor, tf.ceil))
    assert tf.ones(low).shape.as_list() == [1, 2]
    assert tf.ones(high).shape.as_list() == [2, 3]


def test_a_size_alone_is_a_shape() -> None:
    """``tf.ones(tf.shape(x)[1])``: a scalar for a shape becomes a list of one size."""
    x = tf.placeholder(tf.float32, [None, 4])
    assert tf.ones(tf.shape(x)[1]).shape.as_list() == [4]
    assert tf.zeros(tf.shape(x)[0]).shape.as_list() == [None]
    assert tf.fill(tf.reshape(tf.shape(tf.zeros([5, 4])), [-1]), 1).shape.as_list() == [5, 4]
    unknown = tf.reshape(tf.constant([1, 2, 3, 4]), tf.placeholder(tf.int32, [2]))
    assert tf.get_static_value(unknown) is None


def test_shapes_that_are_cut_padded_and_reversed_are_known_early() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    shape = tf.shape(x)
    assert tf.reshape(x, tf.slice(shape, [0], [2])).shape.as_list() == [4, 3]
    assert tf.zeros(tf.slice(shape, [1], [-1])).shape.as_list() == [3]
    assert tf.reshape(x, tf.pad(shape, [[0, 1]], constant_values=1)).shape.as_list() == [4, 3, 1]
    assert tf.reshape(x, tf.reverse(shape, [0])).shape.as_list() == [3, 4]
    assert tf.zeros(tf.slice(shape, [tf.placeholder(tf.int32, [])], [2])).shape.as_list() == [
        None,
        None,
    ]
    ones = tf.slice(tf.ones([4, 3]), [1, 0], [2, 2])
    np.testing.assert_array_equal(tf.get_static_value(ones), np.ones([2, 2], np.float32))
