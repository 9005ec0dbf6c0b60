"""`dataflow.data.grouping`: windows of one key, buckets by length, and several datasets as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

experimental = tf.data.experimental


pytestmark = pytest.mark.usefixtures("graph")


def values(dataset: Any) -> list[Any]:
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as sess:
        while True:
            try:
                found.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                return found


def as_lists(found: list[Any]) -> list[Any]:
    return [item.tolist() for item in found]


def test_windows_of_one_key() -> None:
    d = tf.data.Dataset.range(10)
    by_three = experimental.group_by_window(lambda x: x % 3, lambda key, w: w.batch(2), 2)
    # Full windows as they fill up, then what is left, by key.
    assert as_lists(values(d.apply(by_three))) == [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]
    sizes = experimental.group_by_window(
        lambda x: x % 2,
        lambda key, w: w.batch(9).map(lambda rows: (key, tf.reduce_sum(rows))),
        window_size_func=lambda key: key + 1,
    )
    assert values(d.take(5).apply(sizes)) == [(0, 0), (0, 2), (1, 4), (0, 4)]


def test_elements_of_a_window_keep_their_nesting() -> None:
    d = tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0, 3.0], "k": [1, 0, 1]})
    group = experimental.group_by_window(
        lambda e: tf.cast(e["k"], tf.int64), lambda key, w: w.batch(5), 5
    )
    first, second = values(d.apply(group))
    assert (first["x"].tolist(), second["x"].tolist()) == ([2.0], [1.0, 3.0])


def test_a_function_of_a_window_may_use_tensors_around_it() -> None:
    offset = tf.constant(100, tf.int64)
    group = experimental.group_by_window(
        lambda x: x % 2, lambda key, w: w.map(lambda x: x + offset), 2
    )
    assert values(tf.data.Dataset.range(4).apply(group)) == [100, 102, 101, 103]


def test_what_does_not_group() -> None:
    d = tf.data.Dataset.range(4)
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        experimental.group_by_window(lambda x: x, lambda k, w: w)
    with pytest.raises(ValueError, match=r"`key_func` must return a single tf\.int64"):
        d.apply(experimental.group_by_window(lambda x: tf.cast(x, tf.float32), lambda k, w: w, 1))
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        d.apply(experimental.group_by_window(lambda x: x, lambda k, w: k, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Window size must be greater"):
        values(d.apply(experimental.group_by_window(lambda x: x, lambda k, w: w, 0)))


def sequences(*lengths: int) -> Any:
    return tf.data.Dataset.from_tensor_slices(list(lengths)).map(lambda n: tf.fill([n], n))


def test_buckets_by_length() -> None:
    bucket = experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 1])
    found = values(sequences(1, 4, 2, 7, 3, 1).apply(bucket))
    assert as_lists(found) == [
        [[1, 0], [2, 2]],
        [[7] * 7],
        [[4, 4, 4, 4], [3, 3, 3, 0]],
        [[1]],
    ]


def test_buckets_pad_to_their_boundary() -> None:
    def make(*lengths: int, **more: Any) -> list[Any]:
        bucket = experimental.bucket_by_sequence_length(
            lambda x: tf.shape(x)[0], [3, 5], [2, 2, 1], pad_to_bucket_boundary=True, **more
        )
        return as_lists(values(sequences(*lengths).apply(bucket)))

    assert make(1, 1, 3, 3) == [[[1, 0], [1, 0]], [[3, 3, 3, 0]] * 2]
    assert make(1, padding_values=-1) == [[[1, -1]]]
    assert make(1, drop_remainder=True) == []
    with pytest.raises(tf.errors.InvalidArgumentError, match="longer than the last boundary"):
        make(5)


def test_pairs_in_buckets() -> None:
    d = sequences(1, 3, 2).map(lambda x: (x, tf.shape(x)[0]))
    bucket = experimental.bucket_by_sequence_length(lambda x, n: n, [3], [2, 2])
    (short, lengths), (longer, _) = values(d.apply(bucket))
    assert (short.tolist(), lengths.tolist()) == ([[1, 0], [2, 2]], [1, 2])
    assert longer.tolist() == [[3, 3, 3]]
    with pytest.raises(ValueError, match=r"len\(bucket_boundaries\) \+ 1"):
        experimental.bucket_by_sequence_length(lambda x: x, [3], [2])


def test_choosing_among_datasets() -> None:
    letters = [tf.data.Dataset.from_tensors(c).repeat(2) for c in ("a", "b", "c")]
    order = tf.data.Dataset.from_tensor_slices(np.array([2, 0, 0, 0, 1, 2, 2]))
    chosen = experimental.choose_from_datasets(letters, order)
    assert values(chosen) == [b"c", b"a", b"a", b"b", b"c"]
    stopped = experimental.choose_from_datasets(letters, order, stop_on_empty_dataset=True)
    assert values(stopped) == [b"c", b"a", b"a"]
    with pytest.raises(TypeError, match=r"scalar tf\.int64"):
        experimental.choose_from_datasets(letters, tf.data.Dataset.from_tensors("x"))
    with pytest.raises(TypeError, match="the same structure"):
        experimental.choose_from_datasets([*letters, tf.data.Dataset.range(2)], order)
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range: 3 of 3"):
        values(experimental.choose_from_datasets(letters, tf.data.Dataset.range(3, 4)))


def test_drawing_from_datasets() -> None:
    parts = [tf.data.Dataset.from_tensors(i).repeat() for i in range(3)]
    drawn = values(experimental.sample_from_datasets(parts, [0.2, 0.0, 0.8], seed=1).take(400))
    counts = np.bincount(drawn, minlength=3)
    assert counts[1] == 0 and 280 <= counts[2] <= 360
    even = values(experimental.sample_from_datasets(parts, seed=1).take(300))
    assert np.bincount(even).min() >= 60
    ends = [tf.data.Dataset.range(5), tf.data.Dataset.range(10, 12)]
    assert sorted(values(experimental.sample_from_datasets(ends, seed=1))) == [
        0,
        1,
        2,
        3,
        4,
        10,
        11,
    ]
    unweighted = [*ends, tf.data.Dataset.range(20, 22)]
    assert len(values(experimental.sample_from_datasets(unweighted, [0.5, 0.5, 0.0], 1))) == 7
    assert values(experimental.sample_from_datasets(ends, [0.0, 1.0])) == [10, 11]
    assert values(experimental.sample_from_datasets(ends, [0.0, 0.0])) == []
    with pytest.raises(ValueError, match="one number for each of 3 datasets, got 1"):
        experimental.sample_from_datasets(parts, [1.0])


def test_small_transformations() -> None:
    d = tf.data.Dataset.range(6)
    assert values(d.apply(experimental.take_while(lambda x: x < 3))) == [0, 1, 2]
    words = tf.data.Dataset.from_tensor_slices(["b", "a", "b"])
    assert values(words.apply(experimental.unique())) == [b"b", b"a"]
    with pytest.raises(TypeError, match="only supports inputs with a single"):
        tf.data.Dataset.from_tensors(1.0).apply(experimental.unique())
    assert values(words.apply(experimental.enumerate_dataset(5))) == [
        (5, b"b"),
        (6, b"a"),
        (7, b"b"),
    ]
    assert values(experimental.Counter(3, 2).take(3)) == [3, 5, 7]
    assert values(experimental.Counter(0, -1, tf.int32).take(2)) == [0, -1]
    with tf.Session() as sess:
        assert sess.run(experimental.get_single_element(tf.data.Dataset.from_tensors(4))) == 4
    assert tf.contrib.data.bucket_by_sequence_length is experimental.bucket_by_sequence_length
