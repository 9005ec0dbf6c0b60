"""Edit distances of all pairs of sequences at once are those of each pair alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf


def _alone(first: list[Any], second: list[Any]) -> int:
    previous = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        current = [i]
        for j, b in enumerate(second, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (a != b)))
        previous = current
    return previous[-1]


def _sparse(sequences: list[list[Any]], shape: list[int], dtype: tf.DType) -> Any:
    places = [np.unravel_index(i, shape[:-1]) for i in range(len(sequences))]
    at = [[*p, j] for p, s in zip(places, sequences, strict=True) for j in range(len(s))]
    values = tf.constant([x for s in sequences for x in s], dtype)
    return tf.SparseTensor(np.array(at, np.int64).reshape(-1, len(shape)), values, shape)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dtype", [tf.int32, tf.string], ids=str)
def test_all_pairs(graph: tf.Graph, dtype: tf.DType, normalize: bool) -> None:
    rng = np.random.default_rng(0)
    both: list[list[list[Any]]] = [
        [rng.integers(0, 3, rng.integers(0, 7)).tolist() for _ in range(42)] for _ in range(2)
    ]
    if dtype == tf.string:
        both = [[[b"%d" % x for x in s] for s in sequences] for sequences in both]
    first, second = (_sparse(s, [6, 7, 9], dtype) for s in both)
    fetch = tf.edit_distance(first, second, normalize)
    wanted = []
    for a, b in zip(*both, strict=True):
        distance = np.float32(_alone(a, b))
        without = np.float32(np.inf if a else 0)
        wanted.append((distance / np.float32(len(b)) if b else without) if normalize else distance)
    with tf.Session() as session:
        found = session.run(fetch)
    np.testing.assert_array_equal(found, np.array(wanted, np.float32).reshape(6, 7))


def test_no_sequences_and_places_outside(graph: tf.Graph) -> None:
    none = tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.int32), [3, 4])
    at = tf.placeholder(tf.int64, [None, 2])
    one = tf.SparseTensor(at, np.array([7], np.int32), [3, 4])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.edit_distance(none, none)), np.zeros(3))
        one_to_none = session.run(tf.edit_distance(one, none, normalize=False), {at: [[2, 0]]})
        np.testing.assert_array_equal(one_to_none, [0, 0, 1])
        with pytest.raises(tf.errors.InvalidArgumentError, match="outside"):
            session.run(tf.edit_distance(one, none), {at: [[3, 0]]})
