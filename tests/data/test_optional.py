"""Optionals. Values are TensorFlow's: tests/oracle/programs/optionals.py asks it the same."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

Optional = tf.data.experimental.Optional


pytestmark = pytest.mark.usefixtures("graph")


def test_the_end_of_an_iterator_is_an_optional_without_a_value() -> None:
    iterator = tf.data.Dataset.range(2).make_initializable_iterator()
    element = tf.data.experimental.get_next_as_optional(iterator)
    value = tf.cond(element.has_value(), element.get_value, lambda: tf.constant(-1, tf.int64))
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="not been initialized"):
            sess.run(element.has_value())
        sess.run(iterator.initializer)
        assert [sess.run(value) for _ in range(4)] == [0, 1, -1, -1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            sess.run(element.get_value())


def test_a_value_keeps_its_nesting_shapes_and_sparse_tensors() -> None:
    sparse = tf.SparseTensor([[0, 1]], [7.0], [1, 3])
    optional = Optional.from_value({"s": sparse, "t": (tf.constant("text"), [1, 2])})
    assert optional.value_structure == {
        "s": tf.SparseTensorSpec([1, 3], tf.float32),
        "t": (tf.TensorSpec([], tf.string), tf.TensorSpec([2], tf.int32)),
    }
    with tf.Session() as sess:
        value = sess.run(optional.get_value())
    assert value["s"].values.tolist() == [7.0]
    assert value["t"][0] == b"text"
    assert value["t"][1].tolist() == [1, 2]


def test_none_has_the_shape_that_its_structure_says() -> None:
    none = Optional.none_from_structure(tf.TensorSpec([None, 3], tf.int64))
    assert none.get_value().shape.as_list() == [None, 3]
    with tf.Session() as sess:
        assert not sess.run(none.has_value())


def test_gradients_pass_through_and_are_added() -> None:
    x = tf.constant([1.0, 2.0])
    optional = Optional.from_value((x * x, tf.constant(1)))
    first, second = optional.get_value()[0], 3 * optional.get_value()[0]
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(tf.gradients([first, second], x)[0]), [8.0, 16.0])


def test_optionals_are_elements_of_datasets() -> None:
    wrapped = tf.data.Dataset.range(4).map(lambda x: Optional.from_value((x, x + 1)))
    assert wrapped.element_spec == tf.OptionalSpec((tf.TensorSpec([], tf.int64),) * 2)
    assert wrapped.output_classes == wrapped.element_spec
    again = tf.data.Iterator.from_structure(
        wrapped.output_types, wrapped.output_shapes, output_classes=wrapped.output_classes
    )
    values = again.get_next().get_value()
    with tf.Session() as sess:
        sess.run(again.make_initializer(wrapped.filter(Optional.has_value).skip(2)))
        assert sess.run(values) == (2, 3)
    with pytest.raises(TypeError, match=r"cannot be batched.*get_value"):
        wrapped.batch(2)


def test_what_is_no_optional_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a tf.data.Iterator"):
        tf.data.experimental.get_next_as_optional(tf.constant(1))
    with pytest.raises(TypeError, match="TensorSpec"):
        Optional.none_from_structure(3)
    with pytest.raises(ValueError, match="must have a component"):
        Optional.from_value(())


def test_optionals_pass_through_conditionals_and_loops() -> None:
    numbers = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    following = lambda: tf.data.experimental.get_next_as_optional(numbers)
    choose = tf.placeholder(tf.bool, [])
    seven = tf.constant(7, tf.int64)
    chosen = tf.cond(choose, lambda: Optional.from_value(seven), following)
    _, total, _ = tf.while_loop(
        lambda i, total, o: o.has_value(),
        lambda i, total, o: (i + 1, total + o.get_value(), following()),
        [0, tf.constant(0, tf.int64), following()],
    )
    with tf.Session() as sess:
        assert sess.run(chosen.get_value(), {choose: True}) == 7
        assert sess.run(chosen.get_value(), {choose: False}) == 0
        assert sess.run(total) == 1 + 2


def test_the_spec_of_a_dataset_names_its_elements() -> None:
    element = {"a": tf.TensorSpec([2], tf.int32)}
    assert tf.data.DatasetSpec(element, ()).element_spec == element
    with pytest.raises(NotImplementedError, match="no arrays of them"):
        tf.data.DatasetSpec(element, dataset_shape=[3])
