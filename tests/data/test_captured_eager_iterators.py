"""An eager iterator that a dataset's function uses goes on at every element."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.python.eager import context


@pytest.fixture(autouse=True)
def eager():
    with context.eager_mode():
        yield


@pytest.mark.parametrize("following", [next, lambda iterator: iterator.get_next()])
def test_map_takes_another_element_of_it_each_time(following) -> None:
    squares = iter(tf.data.Dataset.range(5).map(lambda i: i * i))
    products = tf.data.Dataset.range(5).map(lambda x: x * following(squares))
    assert [int(value) for value in products] == [0, 1, 8, 27, 64]


def test_its_shapes_are_known_within_the_function() -> None:
    rows = iter(tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]]))
    seen = []

    def added(x):
        row = rows.get_next()
        seen.append(row.shape.as_list())
        return row + tf.cast(x, tf.float32)

    found = [value.numpy().tolist() for value in tf.data.Dataset.range(2).map(added)]
    assert found == [[1.0, 2.0], [4.0, 5.0]]
    assert seen == [[2]]


def test_its_end_is_the_end_of_the_dataset() -> None:
    short = iter(tf.data.Dataset.range(2))
    assert [int(v) for v in tf.data.Dataset.range(5).map(lambda x: short.get_next())] == [0, 1]
