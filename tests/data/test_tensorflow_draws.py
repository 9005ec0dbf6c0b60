"""Datasets that are drawn in programs that run as TensorFlow's: the elements of TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
Dataset: Any = tf.data.Dataset
experimental: Any = tf.data.experimental
pytestmark = pytest.mark.usefixtures("as_tensorflow")


def first(dataset: Any, count: int) -> list[Any]:
    """The first elements of a dataset, or all that there are."""
    element = dataset.make_one_shot_iterator().get_next()
    found: list[Any] = []
    with tf.Session() as session:
        while len(found) < count:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                break
    return found


def test_random_numbers_go_on_within_one_stream() -> None:
    with tf.Graph().as_default():
        numbers = experimental.RandomDataset(seed=7)
        expected = [1992159687, 3200305987, 237021325, 2601514894, 1165454560, 2413105643]
        assert first(numbers, 6) == expected
        assert first(numbers, 6) == expected  # each iteration begins anew
        found = [first(experimental.RandomDataset(), 4) for _ in range(2)]
        assert found[0] != found[1]
        assert all(0 <= x < 2**32 for x in np.ravel(found))


def test_samples_from_datasets() -> None:
    with tf.Graph().as_default():
        three = [Dataset.from_tensors(i).repeat(4) for i in range(3)]
        drawn = experimental.sample_from_datasets(three, [0.5, 0.3, 0.2], seed=7)
        assert first(drawn, 20) == [1, 0, 2, 0, 0, 1, 1, 2, 0, 1, 2, 2]
        two = [Dataset.range(5), Dataset.range(10, 15)]
        drawn = experimental.sample_from_datasets(two, seed=3)
        assert first(drawn, 20) == [10, 11, 12, 0, 13, 14, 1, 2, 3, 4]
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        two = [Dataset.range(5), Dataset.range(10, 15)]
        found = first(experimental.sample_from_datasets(two), 20)
        assert found == [0, 10, 11, 12, 13, 1, 2, 3, 14, 4]


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        ([0.6, 0.2, 0.2], [1, 0, 0, 1, 0, 2, 2, 1, 2, 0, 2, 0]),
        (None, [1, 0, 0, 1, 0, 2, 2, 1, 0, 0, 2, 1]),
    ],
)
def test_resampling_by_rejection(initial: Any, expected: list[int]) -> None:
    """Without ``initial_dist`` classes are counted in groups of 32, as if each had been met ten times."""
    with tf.Graph().as_default():
        given = Dataset.from_tensor_slices(np.array([0, 0, 1, 0, 2] * 200))
        wanted = experimental.rejection_resample(lambda x: x, [0.3, 0.3, 0.4], initial, seed=1)
        assert [int(number) for number, _ in first(given.apply(wanted), 12)] == expected


def test_counts_without_reading() -> None:
    def one_less(x: Any) -> Any:
        return x - 1

    with tf.Graph().as_default(), tf.Session() as session:
        counts = [
            Dataset.range(3).map(one_less),
            Dataset.range(3).map(one_less, num_parallel_calls=2),
            Dataset.range(5).apply(experimental.map_and_batch(one_less, 2)),
            Dataset.range(4).map(one_less).shuffle(3).repeat(3),
            Dataset.range(5).apply(experimental.ignore_errors()),
        ]
        assert session.run([experimental.cardinality(d) for d in counts]) == [3, 3, 3, 12, 5]


def test_options_have_types() -> None:
    options = tf.data.Options()
    for group, name, value in (
        (options, "experimental_deterministic", 3),
        (options, "experimental_threading", None),
        (options.experimental_optimization, "map_fusion", 1),
        (options.experimental_optimization, "map_vectorization", True),
        (options.experimental_threading, "private_threadpool_size", "2"),
    ):
        with pytest.raises(TypeError, match=name):
            setattr(group, name, value)
    options.experimental_optimization.autotune_cpu_budget = 3
    options.experimental_deterministic = False


def test_a_queue_that_never_has_enough() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="capacity must be larger than min_after_dequeue"):
            tf.train.shuffle_batch([tf.constant(1)], 2, capacity=10, min_after_dequeue=10)
