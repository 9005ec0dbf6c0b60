"""The order of shuffled datasets in programs that run as TensorFlow's: that of TensorFlow 1.15.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
Dataset: Any = tf.data.Dataset
pytestmark = pytest.mark.usefixtures("as_tensorflow")


def order(make: Callable[[], Any], most: int = 100, num_starts: int = 1) -> list[int]:
    """The numbers that an iterator gives after its last start; the graph's seed is 5."""
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        iterator = make().make_initializable_iterator()
        element = iterator.get_next()
        found: list[int] = []
        with tf.Session() as session:
            for _ in range(num_starts):
                session.run(iterator.initializer)
                found = []
                while len(found) < most:
                    try:
                        found += np.ravel(session.run(element)).tolist()
                    except tf.errors.OutOfRangeError:
                        break
    return found


def numbers(count: int) -> Any:
    return Dataset.range(count)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: numbers(10).shuffle(10, seed=3), [8, 3, 0, 6, 7, 2, 9, 1, 5, 4]),
        (lambda: numbers(10).shuffle(100, seed=3), [8, 3, 0, 6, 7, 2, 9, 1, 5, 4]),
        (lambda: numbers(12).shuffle(4, seed=3), [0, 3, 4, 2, 5, 7, 9, 1, 8, 6, 10, 11]),
        (lambda: numbers(5).shuffle(1, seed=3), [0, 1, 2, 3, 4]),
        (
            lambda: numbers(8).shuffle(8, seed=3).batch(3).repeat(2),
            [4, 6, 0, 7, 5, 3, 2, 1, 6, 2, 1, 7, 4, 0, 5, 3],
        ),
        (
            lambda: numbers(8).shuffle(8, seed=3, reshuffle_each_iteration=False).repeat(2),
            [2, 4, 1, 0, 6, 5, 7, 3, 2, 4, 1, 0, 6, 5, 7, 3],
        ),
        (
            lambda: numbers(5).repeat(3).shuffle(7, seed=3),
            [2, 1, 1, 0, 0, 1, 3, 3, 2, 4, 2, 4, 4, 3, 0],
        ),
        (
            lambda: numbers(8).shuffle(8, seed=3).shuffle(3, seed=4).repeat(2),
            [4, 7, 6, 5, 0, 1, 2, 3, 2, 7, 4, 0, 1, 3, 6, 5],
        ),
    ],
    ids=["whole", "larger", "smaller", "one", "again", "not-again", "repeated-first", "twice"],
)
def test_orders_are_those_of_tensorflow(make: Any, expected: list[int]) -> None:
    assert order(make) == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: numbers(8).shuffle(3, seed=3).repeat(3),
            [2, 3, 4, 5, 0, 1, 7, 6, 0, 3, 2, 5, 1, 7, 4, 6, 0, 1, 3, 4, 2, 7, 6, 5],
        ),
        (
            lambda: numbers(3).shuffle(20, seed=3).repeat(5),
            [2, 0, 1, 2, 1, 0, 1, 0, 2, 2, 0, 1, 1, 2, 0],
        ),
        (
            lambda: numbers(6).apply(tf.data.experimental.shuffle_and_repeat(4, 3, seed=2)),
            [3, 2, 5, 4, 1, 0, 0, 3, 5, 1, 4, 2, 3, 4, 0, 1, 5, 2],
        ),
        (lambda: numbers(0).shuffle(3, seed=1).repeat(), []),
        (lambda: numbers(3).shuffle(3, seed=1).repeat(0), []),
    ],
    ids=["small", "large", "shuffle-and-repeat", "nothing", "never"],
)
def test_a_shuffle_that_is_repeated_goes_on_in_one_stream(make: Any, expected: list[int]) -> None:
    assert order(make) == expected


def test_an_endless_one() -> None:
    found = order(lambda: numbers(6).shuffle(4, seed=1).repeat(), most=20)
    assert found == [0, 4, 3, 1, 2, 5, 1, 3, 2, 4, 0, 5, 2, 1, 5, 0, 3, 4, 0, 4]


def test_many_elements_are_a_permutation() -> None:
    found = order(lambda: numbers(30000).shuffle(20000, seed=3).batch(30000), most=30000)
    assert sorted(found) == list(range(30000)) and found != sorted(found)
    tail = order(lambda: numbers(3000).shuffle(2000, seed=3), most=3000)[-5:]
    assert tail == [1880, 1907, 2374, 2132, 2620]


def test_an_iterator_that_starts_again_has_the_same_order() -> None:
    make = lambda: numbers(8).shuffle(8, seed=3)
    assert order(make) == order(make, num_starts=3) == [4, 6, 0, 7, 5, 3, 2, 1]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: numbers(8).shuffle(8), [3, 2, 0, 4, 6, 1, 5, 7]),
        (lambda: Dataset.from_tensor_slices(np.arange(8)).shuffle(8), [4, 6, 0, 7, 5, 3, 2, 1]),
        (
            lambda: Dataset.from_tensor_slices(np.arange(8)).map(lambda x: x).shuffle(8).repeat(2),
            [0, 4, 3, 6, 7, 1, 2, 5, 0, 7, 4, 1, 6, 3, 5, 2],
        ),
        (
            lambda: numbers(8).map(lambda x: x, num_parallel_calls=2).cache().shuffle(8),
            [1, 4, 2, 3, 6, 7, 0, 5],
        ),
        (lambda: numbers(8).padded_batch(2, []).shuffle(5), [6, 7, 4, 5, 0, 1, 2, 3]),
        (lambda: numbers(9).take(8).skip(1).shard(2, 0).shuffle(4), [1, 5, 7, 3]),
        (
            lambda: numbers(8).shuffle(5).batch(2).repeat(2).shuffle(2),
            [2, 0, 4, 3, 6, 1, 5, 7, 2, 5, 6, 7, 3, 4, 1, 0],
        ),
        (lambda: numbers(3).interleave(lambda x: numbers(2), 2).shuffle(6), [1, 0, 0, 0, 1, 1]),
        (
            lambda: Dataset.from_generator(lambda: iter(range(5)), tf.int64).shuffle(5),
            [0, 2, 3, 4, 1],
        ),
        (
            lambda: Dataset.zip((numbers(4), numbers(4))).map(lambda a, b: a).shuffle(4),
            [0, 2, 3, 1],
        ),
        (
            lambda: numbers(4).concatenate(numbers(3)).filter(lambda x: x < 3).shuffle(9),
            [2, 2, 0, 0, 1, 1],
        ),
    ],
)
def test_without_a_seed_of_its_own_the_nodes_before_count(make: Any, expected: list[int]) -> None:
    """A dataset has all its nodes in TensorFlow when it is made, here when an iterator is."""
    assert order(make) == expected


def test_dense_layers_after_a_dataset_begin_at_the_weights_of_tensorflow() -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(42)
        features = np.zeros((6, 4), np.float32), np.zeros(6, np.int64)
        dataset = Dataset.from_tensor_slices(features).shuffle(6).repeat().batch(3).prefetch(1)
        x, _ = dataset.make_one_shot_iterator().get_next()
        tf.layers.dense(x, 2)
        drawn = [op for op in graph.get_operations() if op.type == "RandomUniform"]
        assert [op.get_attr("seed2") for op in drawn] == [27]
        shuffles = [op for op in graph.get_operations() if op.type == "ShuffleDataset"]
        assert not shuffles  # it is in the function of the iterator
