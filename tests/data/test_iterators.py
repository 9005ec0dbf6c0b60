"""Iterators by handle, by structure and in one shot: what they refuse, and what they tell."""

from __future__ import annotations

import warnings

import pytest

import dataflow as tf
from dataflow.data import iterators

pytestmark = pytest.mark.usefixtures("graph")


def test_the_handle_is_one_tensor_unless_it_is_named() -> None:
    iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
    handle = iterator.string_handle()
    assert iterator.string_handle() is handle
    assert iterator.string_handle(name="mine") is not handle


@pytest.mark.parametrize(
    ("types", "shapes"),
    [(tf.float32, []), (tf.int64, [2]), ((tf.int64, tf.int64), ([], []))],
    ids=["dtype", "shape", "number"],
)
def test_a_handle_of_an_iterator_with_other_elements_is_refused(
    types: object, shapes: object
) -> None:
    iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
    fed = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(fed, types, shapes).get_next()
    fitting = tf.data.Iterator.from_string_handle(fed, tf.int64).get_next()
    with tf.Session() as session:
        handle = session.run(iterator.string_handle())
        with pytest.raises(tf.errors.InvalidArgumentError, match="needs its types and shapes"):
            session.run(element, {fed: handle})
        assert session.run(fitting, {fed: handle}) == 0


def test_a_function_with_a_variable_is_refused_in_one_shot() -> None:
    variable = tf.Variable(37.0, name="mine")
    dataset = tf.data.Dataset.from_tensor_slices([0.0, 1.0]).map(lambda x: x + variable)
    with pytest.raises(ValueError, match="stateful node .name:mine"):
        dataset.make_one_shot_iterator()


def test_a_dataset_within_a_function_with_a_variable_is_refused_in_one_shot() -> None:
    variable = tf.Variable(37.0, name="mine")
    inner = lambda x: tf.data.Dataset.from_tensors(x).map(lambda y: y + variable)
    dataset = tf.data.Dataset.from_tensor_slices([0.0, 1.0]).flat_map(inner)
    with pytest.raises(ValueError, match="stateful node .name:mine"):
        dataset.make_one_shot_iterator()


def test_shapes_in_another_nesting_than_the_types_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="nesting of output_types"):
        tf.data.Iterator.from_structure((tf.int64, tf.float64), [[]])


def test_every_call_beyond_the_threshold_warns() -> None:
    iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
    threshold = iterators.GET_NEXT_CALL_WARNING_THRESHOLD
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(threshold + 3):
            iterator.get_next()
    assert [str(w.message) for w in caught] == [iterators.GET_NEXT_CALL_WARNING_MESSAGE] * 3
