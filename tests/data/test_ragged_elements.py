"""Ragged tensors as components of datasets. Values are TensorFlow 1.15's, where it has them."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.python.eager import context

Dataset = tf.data.Dataset


@pytest.fixture(params=["graph", "eager"])
def elements(request):
    """What gives the elements of the dataset that a function makes, as lists, in a graph and in eager code."""

    def plain(value):
        if isinstance(value, tuple):
            return tuple(plain(part) for part in value)
        return value.to_list() if hasattr(value, "to_list") else value.tolist()

    def in_graph(make):
        with tf.Graph().as_default(), tf.Session() as sess:
            iterator = make().make_initializable_iterator()
            element = iterator.get_next()
            sess.run(iterator.initializer)
            found = []
            while True:
                try:
                    found.append(plain(sess.run(element)))
                except tf.errors.OutOfRangeError:
                    return found

    def numbers(value):
        if isinstance(value, tuple):
            return tuple(numbers(part) for part in value)
        return value.to_list() if hasattr(value, "to_list") else value.numpy().tolist()

    def eagerly(make):
        with context.eager_mode():
            return [numbers(element) for element in make()]

    return in_graph if request.param == "graph" else eagerly


def rows():
    return tf.ragged.constant([[[1], [2, 3]], [], [[4]]])


def test_one_is_an_element(elements) -> None:
    assert elements(lambda: Dataset.from_tensors(rows())) == [[[[1], [2, 3]], [], [[4]]]]
    value = tf.ragged.constant_value([[1, 2], []])
    assert elements(lambda: Dataset.from_tensors((value, 7))) == [([[1, 2], []], 7)]


def test_functions_give_and_take_them(elements) -> None:
    def made(i):
        return tf.RaggedTensor.from_tensor(i * [[1], [-1]])

    assert elements(lambda: Dataset.range(2).map(made)) == [[[0], [0]], [[1], [-1]]]
    flat = lambda: (
        Dataset.range(3)
        .map(made)
        .flat_map(lambda ragged: Dataset.from_tensor_slices(ragged.to_tensor()))
    )
    assert elements(flat) == [[0], [0], [1], [-1], [2], [-2]]
    assert elements(lambda: Dataset.range(3).map(made).filter(lambda r: r.flat_values[0] > 1)) == [
        [[2], [-2]]
    ]


def test_their_rows_are_elements(elements) -> None:
    assert elements(lambda: Dataset.from_tensor_slices(rows())) == [[[1], [2, 3]], [], [[4]]]
    pairs = elements(lambda: Dataset.from_tensor_slices((tf.ragged.constant([[1, 2], []]), [8, 9])))
    assert pairs == [([1, 2], 8), ([], 9)]
    padded = lambda: Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3]])).padded_batch(
        2, [None]
    )
    assert elements(padded) == [[[1, 2], [3, 0]]]


def test_the_spec_says_which_axes_are_ragged() -> None:
    with tf.Graph().as_default():
        dataset = Dataset.from_tensors(rows())
        spec = tf.RaggedTensorSpec([3, None, None], tf.int32, ragged_rank=2)
        assert dataset.element_spec == spec
        assert (dataset.output_types, dataset.output_shapes.as_list()) == (
            tf.int32,
            [3, None, None],
        )
        assert tf.data.experimental.RaggedTensorStructure(tf.int32, [3, None, None], 2) == spec
        assert spec.is_compatible_with(rows())
        assert not spec.is_compatible_with(tf.RaggedTensorSpec([3, None, None], tf.int32, 1))
        assert not spec.is_compatible_with(tf.constant(1))
    assert tf.RaggedTensorSpec([None, None, 3]) == tf.RaggedTensorSpec(
        [None, None, 3], tf.float32, 2
    )
    with pytest.raises(ValueError, match="Must specify ragged_rank"):
        tf.RaggedTensorSpec()
    with pytest.raises(ValueError, match=r"ragged_rank \(2\) must be less than rank \(2\)"):
        tf.RaggedTensorSpec([None, None], tf.int32, 2)


def test_what_is_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="cannot be batched here.*to_tensor"):
            Dataset.from_tensors(rows()).batch(2)
        with pytest.raises(TypeError, match="cannot be taken apart into rows"):
            Dataset.from_tensors(rows()).unbatch()
        sparse = tf.SparseTensor([[0]], [1], [3])
        with pytest.raises(TypeError, match="zip both"):
            Dataset.from_tensor_slices((rows(), sparse))
        wrong = Dataset.from_tensor_slices((rows(), tf.zeros([2])))
        iterator = wrong.make_initializable_iterator()
        with (
            tf.Session() as sess,
            pytest.raises(tf.errors.InvalidArgumentError, match="number of rows"),
        ):
            sess.run(iterator.initializer)
            sess.run(iterator.get_next()[1])


def test_eager_iterators_give_them_and_sparse_ones_within_functions() -> None:
    with context.eager_mode():
        ragged = iter(Dataset.from_tensor_slices(rows()))
        total = Dataset.range(3).map(lambda i: tf.reduce_sum(next(ragged).flat_values))
        assert [int(value) for value in total] == [6, 0, 4]
        sparse = iter(Dataset.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])))

        @tf.function
        def following():
            return tf.sparse.to_dense(sparse.get_next())

        assert [following().numpy().tolist() for _ in range(2)] == [[0, 5], [6, 0]]
