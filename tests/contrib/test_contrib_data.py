"""Transformations that only `tf.contrib.data` had."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

old = tf.contrib.data


def elements(dataset: Any) -> list[Any]:
    """All elements, as lists."""
    found = []
    next_element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        while True:
            try:
                found.append(sess.run(next_element))
            except tf.errors.OutOfRangeError:
                return found


def numbers(count: int = 7) -> Any:
    return tf.data.Dataset.range(count)


def test_batches_without_the_rest() -> None:
    ragged = numbers(5).map(lambda x: tf.fill([x], x))
    made = elements(ragged.apply(old.padded_batch_and_drop_remainder(2, [None])))
    assert [batch.tolist() for batch in made] == [[[0], [1]], [[2, 2, 0], [3, 3, 3]]]
    made = elements(ragged.apply(old.padded_batch_and_drop_remainder(3, [4], np.int64(-1))))
    assert [batch.shape for batch in made] == [(3, 4)]
    assert made[0][0].tolist() == [-1] * 4


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]),
        ({"stride": 2}, [[0, 1, 2], [2, 3, 4], [4, 5, 6]]),
        ({"window_shift": 2, "window_stride": 2}, [[0, 2, 4], [2, 4, 6]]),
    ],
)
def test_windows_that_slide(arguments: dict[str, int], expected: list[list[int]]) -> None:
    pairs = numbers().map(lambda x: (x, {"twice": x * 2}))
    made = elements(pairs.apply(old.sliding_window_batch(3, **arguments)))
    assert [first.tolist() for first, _ in made] == expected
    assert made[1][1]["twice"].tolist() == [2 * x for x in expected[1]]
    with pytest.raises(ValueError, match="both"):
        old.sliding_window_batch(3, 1, 1)


def test_shapes_of_elements_are_asserted() -> None:
    pairs = numbers().map(lambda x: (tf.fill([x], x), x))
    checked = pairs.apply(old.assert_element_shape(([2], [])))
    assert checked.output_shapes == (tf.TensorShape([2]), tf.TensorShape([]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0\]"):
        elements(checked)
    with pytest.raises(ValueError, match="not compatible"):
        numbers().map(lambda x: tf.fill([3], x)).apply(old.assert_element_shape([2]))
    assert len(elements(numbers().apply(old.assert_element_shape([])))) == 7


def test_one_element_of_all_and_an_order_that_does_not_wait() -> None:
    total = old.reduce_dataset(numbers(), old.Reducer(lambda _: np.int64(1), tf.add, lambda x: x))
    with tf.Session() as sess:
        assert sess.run(total) == 22
    with pytest.raises(TypeError, match="Dataset"):
        old.reduce_dataset([1], None)
    twice = numbers(3).apply(
        old.sloppy_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), 1)
    )
    assert elements(twice) == [0, 0, 1, 1, 2, 2]


def test_features_are_read_in_batches(tmp_path: Any) -> None:
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(5):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            features = tf.train.Features(feature={"n": feature})
            writer.write(tf.train.Example(features=features).SerializeToString())
    spec = {"n": tf.FixedLenFeature([], tf.int64)}
    batch = old.read_batch_features(path, 2, spec, randomize_input=False, num_epochs=1)
    endless = old.read_batch_features(path, 4, spec)
    with tf.Session() as sess:
        assert [sess.run(batch)["n"].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(batch)
        seen = np.concatenate([sess.run(endless)["n"] for _ in range(20)])
        assert seen.shape == (80,)
        assert set(seen.tolist()) == set(range(5))
