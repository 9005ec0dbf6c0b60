"""Sparse tensors, slices and ragged tensors as fetches and as keys of a feed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("graph")


SPARSE = tf.SparseTensorValue([[0, 1], [1, 0]], [3.0, 4.0], [2, 3])


def test_a_sparse_tensor_comes_back_as_its_three_arrays() -> None:
    got = run(tf.SparseTensor(*SPARSE))
    assert isinstance(got, tf.SparseTensorValue)
    assert got.indices.tolist() == SPARSE.indices and got.values.tolist() == SPARSE.values
    assert got.dense_shape.tolist() == SPARSE.dense_shape


@pytest.mark.parametrize("value", [SPARSE, tuple(SPARSE), [np.array(p) for p in SPARSE]])
def test_a_sparse_placeholder_takes_a_triple(value: Any) -> None:
    s = tf.sparse_placeholder(tf.float32)
    assert run(tf.sparse_tensor_to_dense(s), {s: value}).tolist() == [[0, 3, 0], [4, 0, 0]]


def test_where_the_shape_is_known_a_pair_is_enough() -> None:
    s = tf.sparse_placeholder(tf.float32, [2, 3])
    dense = tf.sparse_tensor_to_dense(s)
    assert run(dense, {s: tuple(SPARSE[:2])}).tolist() == [[0, 3, 0], [4, 0, 0]]
    free = tf.sparse_placeholder(tf.float32)
    with pytest.raises(TypeError, match="tf.SparseTensorValue or a triple .*got tuple"):
        run(tf.sparse_tensor_to_dense(free), {free: tuple(SPARSE[:2])})


def test_a_sparse_value_without_elements_has_the_rank_of_its_shape() -> None:
    s = tf.sparse_placeholder(tf.float32)
    got = run(s, {s: ([], [], [2, 3])})
    assert got.indices.shape == (0, 2) and got.values.shape == (0,)
    assert got.dense_shape.tolist() == [2, 3]


@pytest.mark.parametrize("value", [3.0, [1.0, 2.0, 3.0, 4.0], "text", None])
def test_a_sparse_placeholder_takes_nothing_else(value: Any) -> None:
    s = tf.sparse_placeholder(tf.float32)
    with pytest.raises(TypeError, match=f"a triple .*got {type(value).__name__}"):
        run(tf.sparse_reduce_sum(s), {s: value})


@pytest.mark.parametrize("with_shape", [False, True])
def test_slices_come_back_and_are_fed(with_shape: bool) -> None:
    shape = tf.constant([5, 2]) if with_shape else None
    slices = tf.IndexedSlices(tf.zeros([2, 2]), tf.constant([1, 3]), shape)
    got = run(slices)
    assert isinstance(got, tf.IndexedSlicesValue)
    assert got.values.tolist() == [[0, 0], [0, 0]] and got.indices.tolist() == [1, 3]
    assert (got.dense_shape is None) is not with_shape
    ones = np.ones((2, 2), np.float32)
    fed = run([slices.values, slices.indices], {slices: (ones, [0, 4])})
    assert fed[0].tolist() == ones.tolist() and fed[1].tolist() == [0, 4]
    fed = run(slices, {slices: tf.IndexedSlicesValue(ones, [0, 4], [9, 2])})
    assert fed.indices.tolist() == [0, 4]
    if with_shape:
        assert fed.dense_shape.tolist() == [9, 2]
        fed = run(slices, {slices: (ones, [0, 4], None)})
        assert fed.dense_shape.tolist() == [5, 2]
    with pytest.raises(TypeError, match="IndexedSlicesValue or a tuple .*got int"):
        run(slices, {slices: 3})


def test_ragged_tensors_of_any_depth() -> None:
    for lists in ([[1, 2], [], [3]], [[[1], [2, 3]], [], [[], [4]]]):
        value = tf.ragged.constant_value(lists, dtype=np.int32)
        constant = tf.ragged.constant(lists, dtype=tf.int32)
        assert run(constant).to_list() == lists
        r = tf.ragged.placeholder(tf.int32, value.ragged_rank)
        got = run(r, {r: value})
        assert isinstance(got, tf.ragged.RaggedTensorValue) and got.to_list() == lists
        assert run(r.flat_values, {r: value}).tolist() == value.flat_values.tolist()


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (tf.ragged.constant_value([[[1]]], dtype=np.int32), "of ragged rank 2"),
        ([[1], []], "list"),
    ],
)
def test_a_ragged_placeholder_takes_its_own_rank(value: Any, got: str) -> None:
    r = tf.ragged.placeholder(tf.int32, 1)
    with pytest.raises(TypeError, match=f"of ragged rank 1, got {got}"):
        run(r, {r: value})


def test_a_callable_is_fed_a_sparse_tensor_and_a_pair() -> None:
    s, a, b = tf.sparse_placeholder(tf.float32), *(tf.placeholder(tf.float32, []) for _ in "ab")
    with tf.Session() as session:
        call = session.make_callable([s.values * 2.0, a - b], feed_list=[s, (a, b)])
        doubled, difference = call(SPARSE, (5.0, 3.0))
    assert doubled.tolist() == [6.0, 8.0]
    assert difference == 2.0
