"""The order of a shuffled dataset in eager code: drawn when the dataset is made, as in TensorFlow 1.15.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.eager import eager_graph

tf: Any = dataflow
Dataset: Any = tf.data.Dataset


def numbers(dataset: Any) -> list[int]:
    return [int(x) for x in dataset]


@pytest.mark.parametrize("reshuffle", [None, True, False])
def test_iterators_begin_alike(reshuffle: bool | None) -> None:
    with use_graph(eager_graph()):
        dataset = Dataset.range(50).shuffle(50, reshuffle_each_iteration=reshuffle)
        first = numbers(dataset)
        assert numbers(dataset) == first
        assert sorted(first) == list(range(50))
        assert numbers(Dataset.range(50).shuffle(50)) != first
        twice = numbers(dataset.repeat(2))
        assert twice[:50] == first
        assert (twice[50:] == first) is (reshuffle is False)


def test_rows_left_out_are_never_met() -> None:
    with use_graph(eager_graph()):
        dataset = Dataset.range(40).shuffle(40, reshuffle_each_iteration=False)
        for _ in range(2):
            assert not set(numbers(dataset.take(30))) & set(numbers(dataset.skip(30)))


def test_a_dataset_of_numbers_drawn_and_samples() -> None:
    with use_graph(eager_graph()):
        words = tf.data.experimental.RandomDataset().take(5)
        assert numbers(words) == numbers(words)
        mixed = tf.data.experimental.sample_from_datasets(
            [Dataset.range(30), Dataset.range(100, 130)], np.array([0.5, 0.5])
        )
        assert numbers(mixed) == numbers(mixed)


def test_each_start_draws_in_a_session() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = Dataset.range(50).shuffle(50).make_initializable_iterator()
        element = iterator.get_next()
        orders = []
        for _ in range(2):
            session.run(iterator.initializer)
            orders.append([int(session.run(element)) for _ in range(50)])
    assert orders[0] != orders[1]
