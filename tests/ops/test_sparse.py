"""Sparse tensors: feeds, fetches, mistakes, and what the samples do not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from tests.gradient_check import assert_gradients


@st.composite
def sparse_values(draw: Any, rank: int | None = None) -> tuple[Any, Any, Any]:
    """(indices, values, shape) in row-major order, without repetition; may be empty."""
    rank = draw(st.integers(1, 3)) if rank is None else rank
    shape = draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    total = int(np.prod(shape))
    flat = sorted(draw(st.sets(st.integers(0, total - 1), max_size=total)))
    indices = (
        np.stack(np.unravel_index(np.array(flat, np.int64), shape), 1)
        .astype(np.int64)
        .reshape(-1, rank)
    )
    values = np.random.default_rng(len(flat)).standard_normal(len(flat))
    return indices, values, np.array(shape, np.int64)


def dense_of(indices: Any, values: Any, shape: Any) -> Any:
    out = np.zeros(tuple(shape))
    out[tuple(indices.T)] = values
    return out


@settings(max_examples=25, deadline=None)
@given(sparse_values(), st.data())
def test_reductions_and_transposes_agree_with_dense_ones(case: Any, data: Any) -> None:
    rank = len(case[2])
    axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=rank))
    perm = data.draw(st.permutations(range(rank)))
    dense = dense_of(*case)
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.SparseTensor(*case)
        total, sparse_total, turned, again = session.run(
            [
                tf.sparse_reduce_sum(sp, axes or None),
                tf.sparse_reduce_sum_sparse(sp, axes or None),
                tf.sparse_tensor_to_dense(tf.sparse_transpose(sp, perm)),
                tf.sparse_tensor_to_dense(tf.sparse.from_dense(dense)),
            ]
        )
    expected = dense.sum(tuple(axes) if axes else None)
    np.testing.assert_allclose(total, expected, atol=1e-12)
    if expected.shape:
        np.testing.assert_allclose(dense_of(*sparse_total), expected, atol=1e-12)
    np.testing.assert_array_equal(turned, dense.transpose(perm))
    np.testing.assert_array_equal(again, dense)


@settings(max_examples=15, deadline=None)
@given(sparse_values(rank=2), st.integers(1, 3))
def test_gradients_of_products_and_sums(case: Any, columns: int) -> None:
    indices, values, shape = case
    b = np.random.default_rng(1).standard_normal((shape[1], columns))
    assert_gradients(
        tf,
        lambda tf, v, b: tf.sparse_tensor_dense_matmul(tf.SparseTensor(indices, v, shape), b) ** 2,
        [values, b],
    )
    assert_gradients(
        tf,
        lambda tf, v: tf.sparse_reduce_sum(tf.SparseTensor(indices, v, shape), 0) ** 2,
        [values],
    )
    assert_gradients(
        tf,
        lambda tf, v: tf.sparse_softmax(tf.SparseTensor(indices, v, shape)).values ** 2,
        [values],
    )


def test_a_placeholder_is_fed_with_a_value_or_a_triple() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.sparse_placeholder(tf.float32, [None, 3], name="sp")
        assert sp.shape.as_list() == [None, 3]
        dense = tf.sparse_tensor_to_dense(sp)
        value = tf.SparseTensorValue([[0, 1]], [5.0], [1, 3])
        np.testing.assert_array_equal(session.run(dense, {sp: value}), [[0, 5, 0]])
        np.testing.assert_array_equal(session.run(dense, {sp: ([], [], [2, 3])}), np.zeros((2, 3)))
        fetched = session.run({"sp": sp}, {sp: value})["sp"]
        assert isinstance(fetched, tf.SparseTensorValue)
        np.testing.assert_array_equal(fetched.indices, [[0, 1]])
        np.testing.assert_array_equal(session.run(dense, {sp: fetched}), [[0, 5, 0]])
        with pytest.raises(TypeError, match="SparseTensorValue"):
            session.run(dense, {sp: np.zeros((1, 3))[0, 0]})


def test_a_sum_with_a_dense_tensor_is_checked_by_the_run() -> None:
    """As in TensorFlow, whose graph is made: inputs may be looked up in it (TensorFlow Transform)."""
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.sparse_add(tf.SparseTensor([[0, 1]], [2.0], [2, 2]), tf.constant(1.0))
        assert total.shape.as_list() == []
        with pytest.raises(tf.errors.InvalidArgumentError, match="shapes differ"):
            session.run(total)


def test_parts_that_do_not_fit_are_refused_when_it_is_made() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="2 indices and 1 values"):
            tf.SparseTensor([[0, 0], [1, 1]], [1.0], [2, 2])
        with pytest.raises(ValueError, match="have 2 numbers, its dense_shape has 3"):
            tf.SparseTensor([[0, 0]], [1.0], [2, 2, 2])
        with pytest.raises(TypeError, match="SparseTensor"):
            tf.sparse_reorder(tf.zeros([2, 2]))
        with pytest.raises(TypeError, match="tf.add"):
            tf.sparse_add(tf.zeros([2]), tf.zeros([2]))
        with pytest.raises(ValueError, match="inner dimensions differ"):
            tf.sparse_tensor_dense_matmul(
                tf.SparseTensor([[0, 0]], [1.0], [2, 2]), tf.zeros([3, 1])
            )


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[1, 0], [0, 1]], "out of order"),
        ([[0, 1], [0, 1]], "repeated"),
        ([[0, 0], [0, 9]], "out of bounds"),
    ],
)
def test_to_dense_checks_the_indices(indices: Any, message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        dense = tf.sparse_tensor_to_dense(tf.SparseTensor(indices, [1.0, 2.0], [2, 3]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(dense)


def test_unchecked_indices_may_come_in_any_order() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.SparseTensor([[1, 0], [0, 1]], [1.0, 2.0], [2, 3])
        value = session.run(tf.sparse_tensor_to_dense(sp, validate_indices=False))
        np.testing.assert_array_equal(value, [[0, 2, 0], [1, 0, 0]])


def test_merging_ids_and_values() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [3, 2, 0], [2, 2])
        values = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [0.5, 1.5, 2.5], [2, 2])
        merged, flags = session.run(
            [
                tf.sparse_tensor_to_dense(tf.sparse_merge(ids, values, 4)),
                tf.sparse_to_indicator(ids, 4),
            ]
        )
    np.testing.assert_array_equal(merged, [[0, 0, 0, 0.5], [2.5, 0, 1.5, 0]])
    np.testing.assert_array_equal(flags, merged != 0)


def test_strings_fill_with_empty_ones() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.string_split(["a b", "c"])
        assert session.run(tf.sparse_tensor_to_dense(words, "")).tolist() == [
            [b"a", b"b"],
            [b"c", b""],
        ]
        filled, empty = tf.sparse_fill_empty_rows(tf.string_split(["", "c"]), "?")
        value, flags = session.run([filled, empty])
        assert value.values.tolist() == [b"?", b"c"]
        assert flags.tolist() == [True, False]


def test_retain_and_reset_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.SparseTensor([[0, 1], [2, 2]], [1.0, 2.0], [9, 9])
        kept, smallest, larger = session.run(
            [
                tf.sparse_retain(sp, [False, True]),
                tf.sparse_reset_shape(sp).dense_shape,
                tf.sparse_reset_shape(sp, [10, 9]).dense_shape,
            ]
        )
        assert kept.values.tolist() == [2]
        assert smallest.tolist() == [3, 3]
        assert larger.tolist() == [10, 9]
        with pytest.raises(ValueError, match="must not be smaller"):
            tf.sparse_reset_shape(sp, [3, 3])


def test_a_pair_feeds_what_has_a_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.sparse_placeholder(tf.float32, [2, 2])
        pair = (np.array([[0, 1]]), np.array([3.0], np.float32))
        assert sess.run(tf.sparse_tensor_to_dense(fed), {fed: pair}).tolist() == [[0, 3], [0, 0]]
        with pytest.raises(TypeError, match="got tuple"):
            sess.run(fed.values, {tf.sparse_placeholder(tf.float32): pair})


def test_static_shapes_of_transposed_and_joined() -> None:
    with tf.Graph().as_default():
        sp = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [3, 4])
        assert tf.sparse_transpose(sp).shape.as_list() == [4, 3]
        assert tf.sparse_concat(0, [sp, sp]).shape.as_list() == [6, 4]
        assert tf.sparse_concat(-1, [sp, sp]).shape.as_list() == [3, 8]
        with pytest.raises(ValueError, match="At most one"):
            tf.sparse_reshape(sp, [-1, -1])


@pytest.mark.parametrize("name", ["abs", "negative", "square", "sign", "tanh", "erf"])
def test_functions_that_keep_zeros(name) -> None:
    function = getattr(tf.math, name)
    with tf.Graph().as_default(), tf.Session() as sess:
        sparse = tf.SparseTensor([[0, 0], [1, 1]], [4.0, -2.0], [2, 2])
        dense = tf.sparse_tensor_to_dense(sparse)
        found = tf.sparse_tensor_to_dense(function(sparse))
        got, expected = sess.run([found, function(dense)])
    np.testing.assert_array_equal(got, expected)


def test_functions_that_do_not_keep_zeros() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 0]], [4.0], [2, 2])
        for function in (tf.exp, tf.convert_to_tensor):
            with pytest.raises(TypeError, match="to_dense"):
                function(sparse)


def test_indices_as_objects_of_pandas() -> None:
    indices = np.array([[0, 1], [2, 0]], dtype=object)  # what `DataFrame.values` gives at times
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.SparseTensor(indices, [1.0, 2.0], [3, 2])
        found = session.run(tf.sparse_tensor_to_dense(made))
    assert found.tolist() == [[0, 1], [0, 0], [2, 0]]
    with pytest.raises(TypeError, match="Expected int64"):
        tf.convert_to_tensor(np.array([1, "a"], dtype=object), tf.int64)


@pytest.mark.parametrize("shape", [[-1, 7], [-1, 2, -1], [4, 7]])
def test_reshapes_that_cannot_be_are_refused_where_that_is_known(shape: list[int]) -> None:
    sparse = tf.SparseTensor([[0, 0]], [1.0], [5, 6])
    with pytest.raises(ValueError, match=r"Cannot reshape|At most one"):
        tf.sparse.reshape(sparse, shape)
    fed = tf.sparse_placeholder(tf.float32)
    late = tf.sparse.reshape(fed, shape)  # the old shape is not known yet
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(late, {fed: ([[0, 0]], [1.0], [5, 6])})


def test_joined_sparse_tensors_have_one_rank() -> None:
    matrix = tf.SparseTensor([[0, 0]], [1.0], [1, 1])
    cube = tf.SparseTensor([[0, 0, 0]], [1.0], [1, 1, 1])
    with pytest.raises(ValueError, match=r"the same rank, got \[2, 3\]"):
        tf.sparse_concat(0, [matrix, cube])


def test_the_default_of_a_dense_tensor_is_a_scalar_when_it_runs() -> None:
    dense = tf.sparse_to_dense([1], [3], 1, default_value=[0])
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="default_value should be a scalar"
        ):
            session.run(dense)


def test_sizes_and_axes_that_are_tensors() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        size = tf.placeholder(tf.int32, [])
        eye = tf.sparse.eye(size, tf.constant(2))
        found = sess.run(eye, {size: 3})
        assert found.indices.tolist() == [[0, 0], [1, 1]]
        assert (found.values.tolist(), found.dense_shape.tolist()) == ([1, 1], [3, 2])
        wider = tf.sparse.expand_dims(tf.sparse.eye(2), tf.constant(0))
        assert wider.shape.as_list() == [1, 2, 2]
        with pytest.raises(ValueError, match="known when the graph is built"):
            tf.sparse.expand_dims(eye, size)


def test_a_shape_that_is_fed_is_checked_as_it_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sp, wanted = tf.sparse.placeholder(tf.int32), tf.placeholder(tf.int32)
        larger = tf.sparse.reset_shape(sp, wanted)
        value = tf.SparseTensorValue([[0, 1]], [5], [2, 3])
        found = session.run(larger, {sp: value, wanted: [2, 4]})
        assert found.dense_shape.tolist() == [2, 4] and found.values.tolist() == [5]
        for wrong in ([2, 2], [2, 3, 4]):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(larger, {sp: value, wanted: wrong})
        with pytest.raises(ValueError, match="rank 2"):
            tf.sparse.reset_shape(tf.sparse.placeholder(tf.int32, [None, None]), [1, 2, 3])


def test_ids_have_the_size_of_the_vocabulary_where_other_sizes_are_not_known() -> None:
    with tf.Graph().as_default():
        sizes = tf.placeholder_with_default(tf.constant([2, 2], tf.int64), [2])
        ids = tf.SparseTensor([[0, 0], [0, 1]], [1, 3], sizes)
        merged = tf.sparse.merge(ids, tf.SparseTensor([[0, 0], [0, 1]], [0.4, 0.7], sizes), 5)
        assert merged.get_shape().as_list() == [None, 5]


def test_a_sparse_scalar_is_dense_as_a_scalar() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.sparse.reduce_max_sparse(tf.SparseTensor([[0, 1], [1, 0]], [3, 7], [2, 2]))
        assert session.run(tf.sparse.to_dense(total)) == 7


def test_the_dense_shape_after_a_reshape_is_a_constant_where_it_is_known() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = tf.constant([5, 4, 3], tf.int64)
        sparse = tf.SparseTensor([[1, 2, 0]], [1.0], sizes)
        flat = tf.sparse.reshape(sparse, [-1, 3])
        again = tf.sparse.reshape(flat, tf.concat([sizes[:2], flat.dense_shape[1:]], 0))
        assert [flat.shape.as_list(), again.shape.as_list()] == [[20, 3], [5, 4, 3]]
        found = session.run(again)
        assert found.indices.tolist() == [[1, 2, 0]] and found.dense_shape.tolist() == [5, 4, 3]
