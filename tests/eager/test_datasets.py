"""Datasets are gone through by Python's own loops."""

import numpy as np
import pytest

import dataflow as tf


def numbers(dataset):
    return [element.numpy().tolist() for element in dataset]


def test_elements_have_values():
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(5, dtype="f"), [b"a"] * 5))
    for x, text in dataset.map(lambda a, b: (a * 2, b)).batch(2).take(1):
        np.testing.assert_array_equal(x.numpy(), [0.0, 2.0])
        assert text.numpy().tolist() == [b"a", b"a"]
    assert numbers(tf.data.Dataset.range(3).repeat(2)) == [0, 1, 2, 0, 1, 2]


def test_an_iterator_goes_through_once():
    iterator = tf.data.Dataset.range(2).make_one_shot_iterator()
    assert (iterator.get_next().numpy(), iterator.next().numpy()) == (0, 1)
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()
    assert [x.numpy() for x in tf.contrib.eager.Iterator(tf.data.Dataset.range(2))] == [0, 1]
    assert iterator.output_types is tf.int64
    with pytest.raises(RuntimeError, match="for element in dataset"):
        tf.data.Dataset.range(2).make_initializable_iterator()


def test_functions_read_variables_and_tensors_of_eager_code():
    v, added = tf.Variable(3.0), tf.constant(1.0)
    dataset = tf.data.Dataset.range(3).map(lambda i: tf.cast(i, tf.float32) * v + added)
    assert numbers(dataset) == [1.0, 4.0, 7.0]
    v.assign(5.0)
    assert numbers(dataset) == [1.0, 6.0, 11.0]


def test_structures_and_generators():
    (element,) = tf.data.Dataset.from_tensors({"a": [1, 2], "b": "x"})
    assert element["a"].numpy().tolist() == [1, 2]
    generated = tf.data.Dataset.from_generator(lambda: iter([(1, [1, 1])]), (tf.int32, tf.int32))
    ((one, row),) = generated
    assert (one.numpy(), row.numpy().tolist()) == (1, [1, 1])


def test_elements_that_are_datasets_are_gone_through_and_transformed():
    windows = list(tf.data.Dataset.range(7).window(3))
    assert [numbers(window) for window in windows] == [[0, 1, 2], [3, 4, 5], [6]]
    first, second, _ = windows
    assert numbers(first.batch(2)) == [[0, 1], [2]]
    assert numbers(tf.data.Dataset.zip((first, second)).map(lambda a, b: a * b)) == [0, 4, 10]
    assert numbers(first.concatenate(second).repeat(2))[3:9] == [3, 4, 5, 0, 1, 2]
    zero = np.int64(0)
    assert second.reduce(zero, lambda a, b: a + b).numpy() == 12
    assert tf.function(lambda w: w.reduce(zero, lambda a, b: a + b))(second).numpy() == 12
    pairs = tf.data.Dataset.zip((tf.data.Dataset.range(2), tf.data.Dataset.range(4).window(2)))
    assert [(n.numpy(), numbers(w)) for n, w in pairs] == [(0, [0, 1]), (1, [2, 3])]


def test_optionals_are_elements_and_tell_the_end_of_an_iterator():
    optional = tf.data.experimental.Optional
    dataset = tf.data.Dataset.range(3).map(lambda x: optional.from_value(x * 2))
    assert [o.get_value().numpy() for o in dataset] == [0, 2, 4]
    iterator = iter(tf.data.Dataset.range(2))
    found = [tf.data.experimental.get_next_as_optional(iterator) for _ in range(3)]
    assert [o.has_value().numpy() for o in found] == [True, True, False]
    assert found[1].get_value().numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError):
        found[2].get_value()
