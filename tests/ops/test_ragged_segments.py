"""Segments of ragged tensors: `tf.math.unsorted_segment_sum` and its kin, by rows of one id."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dataflow as tf

ROWS = [[0.0, 1.0, 2.0, 3.0], [4.0], [], [5.0, 6.0], [7.0], [8.0, 9.0]]


def run(value: Any) -> Any:
    with tf.Session() as session:
        found = session.run(value)
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


def expected(ids: list[int], count: int, combine: Any) -> list[list[float]]:
    places: list[dict[int, list[float]]] = [{} for _ in range(count)]
    for row, number in zip(ROWS, ids, strict=True):
        for column, value in enumerate(row):
            places[number].setdefault(column, []).append(value)
    return [[combine(place[column]) for column in sorted(place)] for place in places]


@pytest.mark.parametrize(
    ("function", "combine"),
    [
        (tf.math.unsorted_segment_sum, sum),
        (tf.math.unsorted_segment_prod, math.prod),
        (tf.math.unsorted_segment_min, min),
        (tf.math.unsorted_segment_max, max),
        (tf.math.unsorted_segment_mean, lambda v: sum(v) / len(v)),
        (tf.math.unsorted_segment_sqrt_n, lambda v: sum(v) / math.sqrt(len(v))),
    ],
)
@pytest.mark.parametrize("ids", [[0, 0, 1, 1, 2, 2], [2, 1, 0, 2, 1, 0], [0, 0, 0, 4, 4, 4]])
def test_rows_of_one_id_are_combined_element_by_element(
    function: Any, combine: Any, ids: list[int]
) -> None:
    found = run(function(tf.ragged.constant(ROWS), ids, 5))
    for mine, its in zip(found, expected(ids, 5, combine), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-6)


def test_ids_may_be_ragged_as_the_rows_are() -> None:
    rows = tf.ragged.constant([[[111, 112], [121]], [], [[], [321, 322], [331]], [[411, 412]]])
    ids = tf.ragged.constant([[1, 2], [], [1, 1, 2], [2]])
    assert run(tf.math.unsorted_segment_sum(rows, ids, 3)) == [
        [],
        [111 + 321, 112 + 322],
        [121 + 331 + 411, 412],
    ]


def test_ids_of_other_rows_are_refused_when_built_and_in_the_run() -> None:
    rows = tf.ragged.constant([[1, 2], [3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="prefix of data.shape"):
        tf.math.unsorted_segment_sum(rows, tf.ragged.constant([[0], [0, 0]]), 1)
    with pytest.raises(ValueError, match="segment_ids is ragged and data is not"):
        tf.math.unsorted_segment_sum([1, 2, 3], tf.ragged.constant([[0], [0, 0]]), 1)
    ids = tf.RaggedTensor.from_row_splits(
        tf.placeholder_with_default([0, 0, 0], None),
        tf.placeholder_with_default(np.array([0, 1, 3]), None),
    )
    total = tf.math.unsorted_segment_sum(rows, ids, 1)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="prefix"):
        session.run(total)
