"""Sparse tensors as components of datasets. Values are TensorFlow's (tests/oracle/programs)."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tf.SparseTensorValue):
        return tuple(part.tolist() for part in value)
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    return value.tolist()


def elements(dataset):
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    found = []
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        while True:
            try:
                found.append(plain(sess.run(element)))
            except tf.errors.OutOfRangeError:
                return found


def rows():
    """Three rows of four numbers, one of them not zero."""
    return tf.data.Dataset.from_tensor_slices(
        tf.SparseTensor([[0, 0], [1, 2], [2, 1]], [1, 2, 3], [3, 4])
    )


ROW = [([[0]], [1], [4]), ([[2]], [2], [4]), ([[1]], [3], [4])]


def example(values):
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Example(features=tf.train.Features(feature={"v": feature})).SerializeToString()


def test_features_of_any_length_are_parsed_in_map() -> None:
    features = {"v": tf.VarLenFeature(tf.int64)}
    parsed = tf.data.Dataset.from_tensor_slices([example([1, 2]), example([]), example([3])]).map(
        lambda e: tf.parse_single_example(e, features)
    )
    assert parsed.output_classes == {"v": tf.SparseTensor}
    assert elements(parsed) == [
        {"v": ([[0], [1]], [1, 2], [2])},
        {"v": ([], [], [0])},
        {"v": ([[0]], [3], [1])},
    ]
    assert elements(parsed.batch(2)) == [
        {"v": ([[0, 0], [0, 1]], [1, 2], [2, 2])},
        {"v": ([[0, 0]], [3], [1, 1])},
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d, ROW),
        (lambda d: d.batch(2), [([[0, 0], [1, 2]], [1, 2], [2, 4]), ([[0, 1]], [3], [1, 4])]),
        (lambda d: d.filter(lambda s: tf.equal(tf.reduce_sum(s.values), 2)), ROW[1:2]),
        (lambda d: d.repeat(2).shuffle(1).prefetch(1).take(4).skip(1).cache(), [*ROW[1:], ROW[0]]),
        (lambda d: d.flat_map(tf.data.Dataset.from_tensors), ROW),
        (lambda d: d.window(2).flat_map(lambda w: w.batch(2)).unbatch(), ROW),
        (lambda d: d.map(tf.sparse_tensor_to_dense).take(1), [[1, 0, 0, 0]]),
        (lambda d: tf.data.Dataset.zip((d, d)).map(lambda a, b: b), ROW),
        (lambda d: d.concatenate(d.take(1)), [*ROW, ROW[0]]),
    ],
)
def test_what_datasets_do(change, expected) -> None:
    assert elements(change(rows())) == expected


def test_from_sparse_values_beside_dense_ones() -> None:
    value = tf.SparseTensorValue([[0, 0], [1, 2], [2, 1]], [1, 2, 3], [3, 4])
    pairs = elements(tf.data.Dataset.from_tensor_slices((value, [7, 8, 9])))
    assert pairs == list(zip(ROW, [7, 8, 9], strict=True))
    with pytest.raises(ValueError, match="3 rows"):
        tf.data.Dataset.from_tensor_slices((value, [7, 8]))


def test_other_spellings() -> None:
    sparse = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 4])
    triples = elements(tf.data.Dataset.from_sparse_tensor_slices(sparse))
    assert triples == [([[0]], [1], [4]), ([[2]], [2], [4])]
    fill = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
    batched = fill.apply(tf.data.experimental.dense_to_sparse_batch(2, [4]))
    assert elements(batched) == [
        ([[0, 0], [1, 0], [1, 1]], [1, 2, 2], [2, 4]),
        ([[0, 0], [0, 1], [0, 2]], [3, 3, 3], [1, 4]),
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="larger than row_shape"):
        elements(fill.apply(tf.data.experimental.dense_to_sparse_batch(2, [2])))


def test_batched_features_of_files(tmp_path) -> None:
    path = str(tmp_path / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for values in ([1, 2], [], [3]):
            writer.write(example(values))
    features = {"v": tf.VarLenFeature(tf.int64)}
    made = tf.data.experimental.make_batched_features_dataset(
        path, 2, features, num_epochs=1, shuffle=False
    )
    assert elements(made) == [
        {"v": ([[0, 0], [0, 1]], [1, 2], [2, 2])},
        {"v": ([[0, 0]], [3], [1, 1])},
    ]


def test_padding_is_refused() -> None:
    with pytest.raises(TypeError, match="padded sparse"):
        rows().padded_batch(2, [None])


def test_iterators_told_by_classes() -> None:
    d = rows()
    iterator = tf.data.Iterator.from_structure(
        d.output_types, d.output_shapes, None, d.output_classes
    )
    element = iterator.get_next()
    start = iterator.make_initializer(d)
    with pytest.raises(TypeError):
        iterator.make_initializer(tf.data.Dataset.from_tensors([1, 2, 3, 4]))
    with tf.Session() as sess:
        sess.run(start)
        assert plain(sess.run(element)) == ROW[0]
        assert element.get_shape().as_list() == [4]


def test_fed_sparse_tensors_and_text() -> None:
    fed = tf.sparse_placeholder(tf.string, [2, 2])
    iterator = tf.data.Dataset.from_tensor_slices(fed).cache().make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        value = tf.SparseTensorValue([[1, 0], [0, 1]], np.array([b"a", b"b"], object), [2, 2])
        sess.run(iterator.initializer, {fed: value})
        assert plain(sess.run(element)) == ([[1]], [b"b"], [2])
        assert plain(sess.run(element)) == ([[0]], [b"a"], [2])


def test_eager_sparse_tensors_are_elements() -> None:
    """They are encoded in the iterator's graph: an encoded one is no array that two graphs could hold."""
    from dataflow.python.eager import context

    with context.eager_mode():
        table = tf.SparseTensor([[0, 0], [1, 2]], [5, 6], [2, 3])
        whole = tf.data.Dataset.from_tensors(table)
        assert [element.values.numpy().tolist() for element in whole] == [[5, 6]]
        one_by_one = tf.data.Dataset.from_tensor_slices((table, [1, 2]))
        for dataset in (one_by_one, one_by_one.batch(2).unbatch()):
            found = [(tf.sparse.to_dense(row).numpy().tolist(), int(n)) for row, n in dataset]
            assert found == [([5, 0, 0], 1), ([0, 0, 6], 2)]
