"""Reductions: shapes that are not known when the graph is built, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from dataflow.kernels import reduce
from tests.gradient_check import assert_gradients

REDUCTIONS = {
    "sum": (tf.reduce_sum, np.sum),
    "mean": (tf.reduce_mean, np.mean),
    "prod": (tf.reduce_prod, np.prod),
    "max": (tf.reduce_max, np.max),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=15, deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    data=st.data(),
    keep=st.booleans(),
)
def test_gradients_agree_however_much_is_known(
    name: str, shape: list[int], data: Any, keep: bool
) -> None:
    ours, numpy_function = REDUCTIONS[name]
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    value = np.random.default_rng(0).random(shape) + 0.5
    expected = numpy_function(value, axis=tuple(axes), keepdims=keep)
    results = []
    for static, dynamic_axes in ((shape, False), ([None] * len(shape), False), (None, True)):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, static)
            axis: Any = sorted(axes)
            feeds = {x: value}
            if dynamic_axes:
                axis = tf.placeholder(tf.int32, [None])
                feeds[axis] = np.array(sorted(axes), np.int32)
            y = ours(x, axis, keepdims=keep)
            (grad,) = tf.gradients(tf.square(y), x)
            y_value, grad_value = session.run([y, grad], feeds)
            np.testing.assert_allclose(y_value, expected)
            assert y.shape.is_compatible_with(y_value.shape)
            assert grad_value.shape == value.shape
            results.append(grad_value)
    np.testing.assert_allclose(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("shape", [(6000,), (2000, 3), (90, 64), (90, 65), (9, 11, 200), (600, 9)])
def test_products_of_rows(shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1, 1, 1, 2, 0.5], shape) if dtype != np.int32 else rng.integers(-9, 9, shape)
    x = x.astype(dtype)
    for keep_dims in (False, True):  # powers of two: products are exact
        got = reduce.prod_kernel(np, x, np.array(-1), keep_dims=keep_dims)
        wanted = np.prod(x, -1, keepdims=keep_dims, dtype=dtype)
        assert type(got) is type(wanted) and got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@settings(max_examples=15, deadline=None)
@given(shape=st.lists(st.integers(0, 3), min_size=0, max_size=3))
def test_all_axes_of_any_shape(shape: list[int]) -> None:
    value = np.random.default_rng(0).random(shape)
    assert_gradients(tf, lambda _, x: tf.reduce_sum(tf.square(x)), [value])


def test_axes_that_are_not_there() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([2, 3])
        for function in (tf.reduce_sum, tf.argmax):
            with pytest.raises(ValueError, match="axis 2 is out of range"):
                function(x, 2)


def test_both_spellings_at_once() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="reduction_indices"):
        tf.reduce_sum([1.0], axis=0, reduction_indices=0)


def test_empty_maximum_is_the_neutral_element() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        empty = np.zeros((0, 2), np.float32)
        assert session.run(tf.reduce_max(tf.constant(empty), 0)).tolist() == [-np.inf, -np.inf]
        assert (
            session.run(tf.reduce_min(tf.constant(empty, tf.int32), 0)).tolist() == [2**31 - 1] * 2
        )


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0,), (3, 0, 2)])
def test_an_empty_maximum_has_the_shape_of_any_other(shape: tuple[int, ...]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for axis in range(-len(shape), len(shape)):
            for keep in (False, True):
                x = tf.zeros(shape)
                for reduce in (tf.reduce_max, tf.reduce_min, tf.reduce_sum):
                    reduced = reduce(x, axis, keepdims=keep)
                    assert session.run(reduced).shape == reduced.shape


def test_an_axis_that_is_named_twice_counts_once() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        for axes in ((0, 0), (0, -2)):
            for reduce, expected in ((tf.reduce_sum, [4, 6]), (tf.reduce_max, [3, 4])):
                assert session.run(reduce(x, axes)).tolist() == expected
        (gradient,) = tf.gradients(tf.reduce_mean(x, (0, 0)), x)
        assert session.run(gradient).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_argmax_of_an_empty_axis() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty"):
            session.run(tf.argmax(tf.zeros([0, 2]), 0))


def test_integers_do_not_widen() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.reduce_sum(tf.constant([1, 2]))).dtype == np.int32
        assert session.run(tf.reduce_mean(tf.constant([1, 2]))).dtype == np.int32


@settings(max_examples=20, deadline=None)
@given(ids=st.lists(st.integers(-1, 4), min_size=0, max_size=12))
def test_unsorted_segment_sum_of_any_ids(ids: list[int]) -> None:
    data = np.random.default_rng(0).random((len(ids), 2))
    expected = np.zeros((5, 2))
    for i, row in zip(ids, data, strict=True):
        if i >= 0:
            expected[i] += row
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.unsorted_segment_sum(tf.constant(data), np.array(ids, np.int32), 5)
        np.testing.assert_allclose(session.run(result), expected)


def test_segment_ids_must_be_sorted_and_in_range() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not increasing"):
            session.run(tf.segment_sum(tf.zeros([2]), [1, 0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(tf.unsorted_segment_sum(tf.zeros([2]), [0, 3], 3))
        with pytest.raises(ValueError, match="3 rows"):
            tf.segment_sum(tf.zeros([3]), [0, 1])


def test_confusion_matrix_refuses_classes_outside() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.int64, [2])
        matrix = tf.confusion_matrix(labels, [0, 1], num_classes=2)
        assert session.run(matrix, {labels: [0, 0]}).tolist() == [[1, 1], [0, 0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="labels"):
            session.run(matrix, {labels: [0, 2]})


@pytest.mark.parametrize("few_elements", [0, 1 << 15])
def test_the_largest_is_found_beside_what_is_not_a_number(
    monkeypatch: pytest.MonkeyPatch, few_elements: int
) -> None:
    monkeypatch.setattr(reduce, "_FEW_ELEMENTS", few_elements)
    n = np.nan
    values = [[1, n, 3], [n, n, n], [n, -np.inf, n], [2, 1, n], [5, 4, 6]]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [5, 3])
        found = session.run([f(x, i) for i in (1, 0) for f in (tf.argmax, tf.argmin)], {x: values})
    assert [x.tolist() for x in found] == [[2, 0, 0, 0, 2], [0, 0, 1, 1, 1], [4, 4, 4], [0, 2, 0]]


def test_all_of_a_tensor_of_unknown_rank_is_one_number() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        for reduce in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max):
            assert reduce(x).shape.as_list() == []
            assert reduce(x, keepdims=True).shape.ndims is None
            assert reduce(x, axis=0).shape.ndims is None
