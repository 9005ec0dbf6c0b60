"""What ops do with unusual arguments, as TensorFlow 1.15 has it; its own tests ask for this."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.metrics.streaming import remove_squeezable_dimensions


def test_a_negative_length_takes_the_rest_in_bytes_and_nothing_in_characters() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rest = tf.substr(["abcdef", "xyz"], [1, -2], [-1, -5])
        assert session.run(rest).tolist() == [b"bcdef", b"yz"]
        nothing = tf.substr(["abc"], 0, -1, unit="UTF8_CHAR")
        assert session.run(nothing).tolist() == [b""]


def test_nothing_to_join_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="nothing to join"):
        tf.string_join([])


@pytest.mark.parametrize("count", [-1, [3]])
def test_the_number_of_segments_is_a_scalar_that_is_not_negative(count: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="num_segments"):
        tf.unsorted_segment_sum([1.0, 2.0], [0, 1], count)


def test_a_count_of_segments_that_shows_later_leaves_the_shape_open() -> None:
    with tf.Graph().as_default():
        later = tf.unsorted_segment_max([1.0, 2.0], [0, 1], tf.placeholder(tf.int32))
        assert later.shape.as_list() == [None]


def test_the_number_of_draws_is_a_scalar() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="num_samples"):
        tf.multinomial([[1.0, 2.0]], [3])


@pytest.mark.parametrize("perm", [[0], [0, 1, 2]])
def test_a_sparse_transpose_names_every_axis(perm: list[int]) -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
        with pytest.raises(ValueError, match="the sparse tensor 2"):
            tf.sparse_transpose(sparse, perm)


def test_parts_of_a_variable_are_assigned_from_a_whole_or_from_a_list() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable(
            "v",
            [4],
            initializer=tf.zeros_initializer(),
            partitioner=tf.fixed_size_partitioner(2),
        )
        session.run(v.initializer)
        session.run(v.assign([tf.constant([1.0, 2.0]), np.array([3.0, 4.0], np.float32)]))
        assert session.run(v.as_tensor()).tolist() == [1, 2, 3, 4]
        session.run(v.assign([5.0, 6.0, 7.0, 8.0]))
        assert session.run(v.as_tensor()).tolist() == [5, 6, 7, 8]
        one, two = tf.Variable([1.0, 1.0]), tf.constant(2.0)
        session.run(one.initializer)
        session.run(v.assign_add([one, [two, two]]))
        session.run(v.assign_sub(tf.constant([0.0, 6.0, 0.0, 10.0])))
        assert session.run(v.as_tensor()).tolist() == [6, 1, 9, 0]


def test_more_parts_than_rows_are_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="cuts into 11 parts"):
            tf.create_partitioned_variables([10], [11], tf.zeros_initializer())
        assert len(tf.create_partitioned_variables([10], [10], tf.zeros_initializer())) == 10


@pytest.mark.parametrize("value", [np.zeros(2, np.float32), np.float32(1.0), [1.0, 2.0]])
def test_a_constant_initializer_brings_its_own_shape(value: Any) -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="do not specify shape"):
            tf.get_variable("v", np.shape(value), initializer=value)
        assert tf.get_variable("w", initializer=value).shape == np.shape(value)


def test_branches_are_given_and_their_index_is_an_integer() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="a function for each index"):
            tf.switch_case(tf.constant(0), [])
        with pytest.raises(TypeError, match="int32"):
            tf.switch_case(1.5, [lambda: tf.constant(1)])


def test_a_dimension_too_many_must_be_one() -> None:
    with tf.Graph().as_default():
        for labels, predictions in (([1], [[1, 2]]), ([[1, 2]], [1])):
            with pytest.raises(ValueError, match="2"):
                remove_squeezable_dimensions(labels, predictions)


def test_a_batch_is_gathered_by_indices_with_an_axis() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="got a scalar"):
        tf.batch_gather([1], 1)


def test_shapes_are_asserted_by_letters_or_not_at_all() -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.ones((2, 3)))
        tf.debugging.assert_shapes([(x, "NQ"), (x, None), (x, "2.")])
        with pytest.raises(ValueError, match="'N'"):
            tf.debugging.assert_shapes([(x, "NN")])
        with pytest.raises(ValueError, match=r"got 0\.5"):
            tf.debugging.assert_shapes([(x, (0.5, 3))])


def test_a_dense_table_needs_both_reserved_keys() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="deleted_key"):
        tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0)
