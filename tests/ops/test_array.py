"""Shape rules, mistakes, older spellings, and gradients of the array family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from dataflow import tensorflow_numbers
from tests.gradient_check import assert_gradients

SIZES = st.lists(st.integers(0, 4), min_size=1, max_size=3)


def run(*tensors: Any) -> Any:
    with tf.Session(graph=tensors[0].graph) as session:
        return session.run(list(tensors))


# ---- shapes -------------------------------------------------------------------------------


def test_reshape_infers_what_can_be_known() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 28, 28])
        batch = tf.shape(x)[0]
        assert tf.reshape(x, [-1, 784]).shape.as_list() == [None, 784]
        assert tf.reshape(x, [batch, 784]).shape.as_list() == [None, 784]
        assert tf.reshape(x, tf.stack([batch, 14, -1])).shape.as_list() == [None, 14, None]
        known = tf.zeros([6, 4])
        assert tf.reshape(known, [3, -1]).shape.as_list() == [3, 8]
        assert tf.reshape(known, [batch, 8]).shape.as_list() == [3, 8]
        assert tf.reshape(known, tf.placeholder(tf.int32)).shape.ndims is None
        assert tf.reshape(tf.zeros([0, 3]), [-1]).shape.as_list() == [0]


@pytest.mark.parametrize("shape", [[4, 2], [-1, 4], [-1, -1], [-2, 3], [[2, 3]]])
def test_reshape_finds_mistakes_when_the_node_is_made(shape: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Reshape 'Reshape'"):
        tf.reshape(tf.zeros([2, 3]), shape)


def test_reshape_names_the_node_at_run_time() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = tf.reshape(x, [-1, 4], name="grid")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"'grid'.*cannot reshape 6"):
            session.run(y, {x: np.zeros(6)})


def test_shape_is_a_constant_where_it_is_known() -> None:
    with tf.Graph().as_default():
        assert tf.shape(tf.zeros([2, 3])).op.type == "Const"
        assert tf.shape(tf.placeholder(tf.float32, [None, 3])).op.type == "Shape"
        assert tf.size(tf.zeros([2, 3])).op.type == "Const"
        assert tf.rank(tf.placeholder(tf.float32, [None, 3])).op.type == "Const"
        assert tf.shape(tf.zeros([2]), out_type=tf.int64).dtype == tf.int64


def test_fills_are_constants_while_they_are_small() -> None:
    with tf.Graph().as_default():
        assert tf.zeros([3, 3]).op.type == "Const"
        assert tf.zeros([100, 100]).op.type == "Fill"
        assert tf.ones([2], tf.bool).dtype == tf.bool
        assert tf.zeros([2], tf.string).dtype == tf.string
        x = tf.placeholder(tf.float32, [None, 3])
        assert tf.zeros_like(x).op.type == "ZerosLike"
        assert tf.ones_like(x, dtype=tf.int32).dtype == tf.int32
        assert tf.zeros([tf.shape(x)[0], 3]).shape.as_list() == [None, 3]


def test_squeeze_and_expand_dims_check_their_axes() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([2, 1, 3])
        assert tf.squeeze(x).shape.as_list() == [2, 3]
        assert tf.squeeze(x, squeeze_dims=[1]).shape.as_list() == [2, 3]
        assert tf.expand_dims(x, -1).shape.as_list() == [2, 1, 3, 1]
        assert tf.expand_dims(x, dim=0).shape.as_list() == [1, 2, 1, 3]
        with pytest.raises(ValueError, match="size is 2, not 1"):
            tf.squeeze(x, [0])
        with pytest.raises(ValueError, match="out of range"):
            tf.expand_dims(x, 5)
        with pytest.raises(ValueError, match="both"):
            tf.expand_dims(x, axis=0, dim=0)


def test_an_unknown_size_keeps_squeeze_from_knowing_the_rank() -> None:
    with tf.Graph().as_default():
        assert tf.squeeze(tf.placeholder(tf.float32, [None, 1])).shape.ndims is None


def test_ensure_shape_is_checked_when_it_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        y = tf.ensure_shape(x, [None, 3])
        assert y.shape.as_list() == [None, 3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
            session.run(y, {x: np.zeros((2, 4))})


def test_static_shapes_and_dimensions_become_tensors() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([2, 3])
        a, b = run(tf.reshape(x, x.shape[::-1]), tf.fill(x.get_shape(), 1.0))
        assert (a.shape, b.shape) == ((3, 2), (2, 3))
        with pytest.raises((ValueError, TypeError), match="partially known"):
            tf.zeros_like(x) + tf.reshape(x, tf.TensorShape([None, 3]))


# ---- joining ------------------------------------------------------------------------------


def test_concat_takes_both_orders_of_arguments() -> None:
    with tf.Graph().as_default():
        a, b = tf.constant([[1, 2]]), tf.constant([[3, 4]])
        new, old, named = run(
            tf.concat([a, b], 0), tf.concat(0, [a, b]), tf.concat(concat_dim=1, values=[a, b])
        )
    np.testing.assert_array_equal(new, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(old, new)
    np.testing.assert_array_equal(named, [[1, 2, 3, 4]])


def test_concat_of_one_is_an_identity() -> None:
    with tf.Graph().as_default():
        assert tf.concat([tf.zeros([2])], 0).op.type == "Identity"


def test_split_takes_both_orders_and_lists() -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.arange(12).reshape(2, 6))
        new, old = tf.split(x, 3, 1), tf.split(1, 3, x)
        assert [t.shape.as_list() for t in new] == [t.shape.as_list() for t in old] == [[2, 2]] * 3
        sizes = tf.split(x, [1, -1, 2], 1)
        assert [t.shape.as_list() for t in sizes] == [[2, 1], [2, 3], [2, 2]]
        with pytest.raises(ValueError, match="does not divide into 4"):
            tf.split(x, 4, 1)
        with pytest.raises(ValueError, match="add up to 5"):
            tf.split(x, [2, 3], 1)


def test_a_variable_stacked_along_the_first_axis_is_its_value(graph: Any) -> None:
    variable = tf.Variable([[1.0, 2.0]])
    assert tf.stack(variable).shape == (1, 2)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(tf.stack(variable)).tolist() == [[1.0, 2.0]]


def test_stack_and_unstack_know_their_older_names() -> None:
    assert tf.pack is tf.stack
    assert tf.unpack is tf.unstack
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        assert len(tf.unstack(x, axis=1)) == 3
        with pytest.raises(ValueError, match="Cannot infer argument `num`"):
            tf.unstack(x)
        with pytest.raises(ValueError, match="shapes differ"):
            tf.stack([tf.zeros([2]), tf.zeros([3])])
        assert tf.stack([1, 2, 3]).op.type == "Const"


def test_concat_of_unknown_sizes_has_a_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, 2])
        axis = tf.placeholder(tf.int32, [])
        y = tf.concat([a, b], axis)
        grads = tf.gradients(y * y, [a, b])
        values = session.run(grads, {a: np.ones((1, 2)), b: np.full((3, 2), 2.0), axis: -2})
    np.testing.assert_array_equal(values[0], np.full((1, 2), 2))
    np.testing.assert_array_equal(values[1], np.full((3, 2), 4))


# ---- gradients on random shapes -----------------------------------------------------------


def _input(shape: list[int], seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


@settings(max_examples=15, deadline=None)
@given(SIZES, st.integers(0, 2), st.integers(1, 3))
def test_gradients_of_joining(shape: list[int], axis: int, times: int) -> None:
    axis %= len(shape)
    x, y = _input(shape), _input(shape, 1)
    assert_gradients(tf, lambda tf, a, b: tf.concat([a, b, a], axis) ** 2, [x, y])
    assert_gradients(tf, lambda tf, a, b: tf.stack([a, b], axis) ** 2, [x, y])
    assert_gradients(tf, lambda tf, a: tf.tile(a, [times] * len(shape)) ** 2, [x])
    if shape[axis]:
        assert_gradients(tf, lambda tf, a: [p**2 for p in tf.unstack(a, axis=axis)], [x])


@settings(max_examples=15, deadline=None)
@given(SIZES, st.data())
def test_gradients_of_rearranging(shape: list[int], data: Any) -> None:
    x = _input(shape)
    order = data.draw(st.permutations(range(len(shape))))
    pads = data.draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 2)),
            min_size=len(shape),
            max_size=len(shape),
        )
    )
    assert_gradients(tf, lambda tf, a: tf.transpose(a, order) ** 2, [x])
    assert_gradients(tf, lambda tf, a: tf.pad(a, pads) ** 2, [x])
    assert_gradients(tf, lambda tf, a: tf.reverse(a, [0]) ** 2, [x])
    assert_gradients(tf, lambda tf, a: tf.broadcast_to(a, [2, *shape]) ** 2, [x])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_gradients_of_gathering(shape: list[int], data: Any) -> None:
    x = _input(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    batch_dims = data.draw(st.integers(0, axis))
    extra = data.draw(st.lists(st.integers(0, 3), max_size=2))
    indices = np.random.default_rng(1).integers(0, shape[axis], [*shape[:batch_dims], *extra])
    assert_gradients(
        tf, lambda tf, a: tf.gather(a, indices, axis=axis, batch_dims=batch_dims) ** 2, [x]
    )
    depth = data.draw(st.integers(1, len(shape)))
    points = np.stack([np.random.default_rng(i).integers(0, shape[i], 5) for i in range(depth)], 1)
    assert_gradients(tf, lambda tf, a: tf.gather_nd(a, points) ** 2, [x])
    updates = _input([5, *shape[depth:]])
    assert_gradients(tf, lambda tf, u: tf.scatter_nd(points, u, shape) ** 2, [updates])


# ---- gathering ----------------------------------------------------------------------------


def test_gather_refuses_indices_outside() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, i = tf.zeros([3, 2]), tf.placeholder(tf.int32, [None])
        y = tf.gather(x, i)
        for bad in (3, -1):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in \[0, 3\)"
            ):
                session.run(y, {i: [0, bad]})


def test_a_table_of_embeddings_may_be_an_array_or_a_list() -> None:
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    one = tf.nn.embedding_lookup(table, [2, 0], name="one")
    assert "one/params_0" in {op.name for op in one.graph.get_operations()}
    two = tf.nn.embedding_lookup([table[::2], table[1::2]], [2, 0], name="two")
    np.testing.assert_array_equal(run(one)[0], table[[2, 0]])
    np.testing.assert_array_equal(run(two)[0], table[[2, 0]])


def test_the_gradient_of_a_gather_is_sparse_end_to_end() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(np.ones((5, 2), np.float32))
        ids = tf.placeholder(tf.int32, [None])
        loss = tf.reduce_sum(tf.gather(table, ids) ** 2) + tf.reduce_sum(
            tf.nn.embedding_lookup(table, ids)
        )
        (grad,) = tf.gradients(loss, table)
        assert isinstance(grad, tf.IndexedSlices)
        session.run(tf.global_variables_initializer())
        value = session.run(grad, {ids: [1, 1]})
        assert isinstance(value, tf.IndexedSlicesValue)
        assert sorted(value.indices) == [1, 1, 1, 1]
        dense = session.run(tf.convert_to_tensor(grad), {ids: [1, 1]})
        np.testing.assert_array_equal(dense[1], [6, 6])
        assert not dense[[0, 2, 3, 4]].any()


def test_indexed_slices_may_be_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        slices = tf.IndexedSlices(tf.placeholder(tf.float32), tf.placeholder(tf.int64))
        total = tf.reduce_sum(slices.values) + tf.cast(slices.indices[0], tf.float32)
        value = tf.IndexedSlicesValue(np.ones((2, 2)), np.array([7, 8]))
        assert session.run(total, {slices: value}) == 11
        with pytest.raises(TypeError, match="IndexedSlicesValue"):
            session.run(total, {slices: 3})


def test_repeated_rows_add_up_in_every_dtype() -> None:
    from dataflow.kernels.gather_scatter import sum_rows

    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64, np.int64, np.complex64):
        for columns in ((), (1,), (3,), (2, 2)):
            numbers = rng.integers(0, 5, 40)
            rows = rng.integers(-4, 5, (40, *columns)).astype(dtype)
            expected = np.zeros((6, *columns), dtype)
            np.add.at(expected, numbers, rows)
            got = sum_rows(np, numbers, rows, 6)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, expected)


def test_where_refuses_shapes_that_do_not_fit() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Select"):
            tf.where([[True, False]], tf.zeros([2, 2]), tf.zeros([2, 2]))
        with pytest.raises(ValueError, match="both be"):
            tf.where([True], tf.zeros([1]))


def test_boolean_mask_and_sequence_mask() -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.arange(12).reshape(2, 3, 2))
        mask = tf.constant([[True, False, True], [False, False, True]])
        picked = tf.boolean_mask(x, mask)
        inner = tf.boolean_mask(x, [True, False, True], axis=1)
        lengths = tf.sequence_mask([1, 3, 0], dtype=tf.int32)
        values = run(picked, inner, lengths)
        assert picked.shape.as_list() == [None, 2]
        with pytest.raises(ValueError, match="incompatible"):
            tf.boolean_mask(x, [True, False, True])
    np.testing.assert_array_equal(values[0], [[0, 1], [4, 5], [10, 11]])
    np.testing.assert_array_equal(values[1], np.arange(12).reshape(2, 3, 2)[:, [0, 2]])
    np.testing.assert_array_equal(values[2], [[1, 0, 0], [1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("dtype", ["float32", "int64", "string", "bool"])
def test_one_hot_of_a_scalar_is_a_row_of_that_of_a_list(axis: int, dtype: str) -> None:
    on, off = {"string": ("yes", "no"), "bool": (True, False)}.get(dtype, (3, -1))
    with tf.Graph().as_default(), tf.Session() as sess:
        index = tf.placeholder(tf.int32)
        hot = tf.one_hot(index, 3, on, off, axis, dtype)
        for i in (-1, 0, 2, 3):
            row, rows = sess.run(hot, {index: i}), sess.run(hot, {index: [i]})
            assert row.tolist() == rows.reshape(-1).tolist()
            assert row.dtype == rows.dtype and row.shape == (3,)


def test_one_hot_checks_its_dtypes() -> None:
    with tf.Graph().as_default():
        assert tf.one_hot([1], 3).dtype == tf.float32
        assert tf.one_hot([1], 3, dtype=tf.int64).dtype == tf.int64
        assert tf.one_hot([1], 3, on_value=True, off_value=False).dtype == tf.bool
        assert tf.one_hot([[1]], tf.placeholder(tf.int32, [])).shape.as_list() == [1, 1, None]
        with pytest.raises(TypeError, match="on_value"):
            tf.one_hot([1], 3, on_value=tf.constant(1.0), dtype=tf.int32)
        with pytest.raises(TypeError, match="float32 of off_value .* int32"):
            tf.one_hot([1], 3, 1, np.float32(0.0), dtype=tf.int32)


# ---- sequences ----------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=12), st.sampled_from(["ASCENDING", "DESCENDING"]))
def test_sorting_is_stable(numbers: list[int], direction: str) -> None:
    array = np.array(numbers, np.int32)
    key = array if direction == "ASCENDING" else -array
    with tf.Graph().as_default():
        x = tf.constant(array)
        order, values = run(tf.argsort(x, direction=direction), tf.sort(x, direction=direction))
    np.testing.assert_array_equal(order, np.argsort(key, kind="stable"))
    np.testing.assert_array_equal(values, array[np.argsort(key, kind="stable")])


def test_sorting_knows_the_extremes_of_integers() -> None:
    array = np.array([0, np.iinfo(np.int32).min, np.iinfo(np.int32).max, -1], np.int32)
    with tf.Graph().as_default():
        up, down = run(tf.sort(array), tf.sort(array, direction="DESCENDING"))
    np.testing.assert_array_equal(up, np.sort(array))
    np.testing.assert_array_equal(down, np.sort(array)[::-1])


def test_range_takes_the_widest_dtype_and_checks_its_direction() -> None:
    with tf.Graph().as_default():
        assert tf.range(4).shape.as_list() == [4]
        assert tf.range(0, 1.5, 0.5).dtype == tf.float32
        assert tf.range(3, dtype=tf.float64).dtype == tf.float64
        with pytest.raises(ValueError, match="start must be <= limit"):
            tf.range(3, 0)
        with pytest.raises(ValueError, match="delta must not be 0"):
            tf.range(0, 3, 0)


def test_unique_keeps_the_order_of_first_appearance() -> None:
    array = np.random.default_rng(3).integers(0, 20, 200)
    with tf.Graph().as_default():
        y, index, count = run(*tf.unique_with_counts(array))
    first = list(dict.fromkeys(array.tolist()))
    np.testing.assert_array_equal(y, first)
    np.testing.assert_array_equal(y[index], array)
    np.testing.assert_array_equal(count, [(array == v).sum() for v in first])


def test_partition_and_stitch_undo_each_other() -> None:
    rows = np.random.default_rng(4).standard_normal((7, 2))
    which = np.array([2, 0, 1, 0, 2, 2, 0])
    with tf.Graph().as_default():
        parts = tf.dynamic_partition(rows, which, 3)
        places = tf.dynamic_partition(tf.range(7), which, 3)
        (whole,) = run(tf.dynamic_stitch(places, parts))
        np.testing.assert_array_equal(whole, rows)
    with tf.Graph().as_default(), tf.Session() as session:
        partitions = tf.placeholder(tf.int32, [None])
        out = tf.dynamic_partition(tf.zeros([2]), partitions, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0, 2\)"):
            session.run(out, {partitions: [0, 2]})


def test_repeat_knows_its_shape() -> None:
    rows, counts = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32)
    assert tf.repeat(tf.zeros([2, 3]), 2).shape.as_list() == [12]
    assert tf.repeat(5, [3]).shape.as_list() == [3]
    assert tf.repeat(rows, 3, axis=-1).shape.as_list() == [None, 12]
    by_number = tf.repeat(rows, tf.placeholder(tf.int32, []), axis=0)
    assert by_number.shape.as_list() == [None, 4]
    assert by_number.op.type == "Reshape"
    assert by_number.op.name.startswith("Repeat")
    for repeats in ([1, 2, 3], [[1, 2]]):
        with pytest.raises(ValueError):
            tf.repeat(tf.zeros([2, 3]), repeats, axis=0)
    repeated = tf.repeat(rows, counts, axis=0)
    (gradient,) = tf.gradients(repeated, rows)
    x = np.arange(8.0).reshape(2, 4)
    with tf.Session() as session:
        for fed in (2, [1, 3], [2]):
            got = session.run(repeated, {rows: x, counts: fed})
            np.testing.assert_array_equal(got, np.repeat(x, fed, 0))
        got = session.run(gradient, {rows: x, counts: [1, 3]})
        np.testing.assert_array_equal(got, [[1] * 4, [3] * 4])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(repeated, {rows: x, counts: [1, 2, 3]})


def test_shapes_that_other_inputs_know() -> None:
    lengths = tf.placeholder(tf.int64, [7])
    batch = tf.placeholder(tf.float32, [None, 4, 3])
    assert tf.reverse_sequence(batch, lengths, seq_axis=1).shape.as_list() == [7, 4, 3]
    alpha, beta = tf.placeholder(tf.float32, [2, None]), tf.placeholder(tf.float32, [None, 5])
    assert tf.random_gamma([3], alpha).shape.as_list() == [3, 2, None]
    assert tf.random_gamma([3], alpha, beta).shape.as_list() == [3, 2, 5]
    with pytest.raises(ValueError, match="scalar"):
        tf.concat([[1], [2]], [0])


def test_repeat_does_as_numpy() -> None:
    array = np.arange(6).reshape(2, 3)
    with tf.Graph().as_default():
        flat, rows, columns = run(
            tf.repeat(array, 2), tf.repeat(array, [2, 0], axis=0), tf.repeat(array, 3, axis=1)
        )
    np.testing.assert_array_equal(flat, np.repeat(array, 2))
    np.testing.assert_array_equal(rows, np.repeat(array, [2, 0], axis=0))
    np.testing.assert_array_equal(columns, np.repeat(array, 3, axis=1))


def test_meshgrid_does_as_numpy() -> None:
    with tf.Graph().as_default():
        for indexing in ("xy", "ij"):
            grids = run(*tf.meshgrid([1, 2, 3], [4, 5], indexing=indexing))
            for grid, expected in zip(
                grids, np.meshgrid([1, 2, 3], [4, 5], indexing=indexing), strict=True
            ):
                np.testing.assert_array_equal(grid, expected)


def test_space_and_batch_undo_each_other() -> None:
    x = np.random.default_rng(5).standard_normal((1, 4, 6, 2))
    with tf.Graph().as_default():
        blocks = tf.space_to_batch(x, [[0, 0], [0, 0]], 2)
        assert blocks.shape.as_list() == [4, 2, 3, 2]
        depth = tf.space_to_depth(x, 2)
        back, shallow = run(
            tf.batch_to_space(blocks, [[0, 0], [0, 0]], 2), tf.depth_to_space(depth, 2)
        )
        np.testing.assert_array_equal(back, x)
        np.testing.assert_array_equal(shallow, x)
        with pytest.raises(ValueError, match="not a multiple"):
            tf.space_to_depth(tf.zeros([1, 3, 4, 1]), 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5))
def test_the_largest_come_first_and_ties_in_their_order(seed: int, k: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 30, (3, 64)).astype(np.float32)
    with tf.Graph().as_default():
        values, index = run(*tf.nn.top_k(rows, k))
    expected = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(rows, expected, 1))


def test_a_sparse_gradient_through_a_concat_becomes_dense() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.constant(np.ones((2, 2))), tf.constant(np.ones((3, 2)))
        rows = tf.gather(tf.concat([a, b], 0), [0, 3, 3])
        grads = session.run(tf.gradients(rows, [a, b]))
    np.testing.assert_array_equal(grads[0], [[1, 1], [0, 0]])
    np.testing.assert_array_equal(grads[1], [[0, 0], [2, 2], [0, 0]])


def test_scalar_strings_pass_through_the_array_ops() -> None:
    with tf.Graph().as_default():
        a, b = tf.constant("a"), tf.constant("b")
        tensors = [
            tf.where(True, a, b),
            tf.stack([a, b]),
            tf.fill([2], a),
            tf.reshape(a, [1, 1]),
            tf.expand_dims(b, 0),
            tf.broadcast_to(a, [2]),
            tf.tile([a], [2]),
            tf.zeros_like(a),
            tf.unstack(tf.stack([a, b]))[1],
            tf.concat([[a], [b]], 0)[0],
            tf.gather([a, b], 1),
        ]
        values = [np.asarray(v, object).tolist() for v in run(*tensors)]
    assert values == [
        b"a", [b"a", b"b"], [b"a", b"a"], [[b"a"]], [b"b"], [b"a", b"a"], [b"a", b"a"], b"",
        b"b", b"a", b"b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [([0, -1, 3], (0, 2, 3)), ([0, -1], (0, 6)), ([-1, 0], (6, 0)), ([-1, 3], (0, 3))],
)
def test_the_size_that_is_inferred_of_an_empty_tensor(shape: Any, expected: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.reshape(tf.zeros([0, 6]), shape)).shape == expected


def test_strings_that_are_scattered_to_one_place_are_joined() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        joined = tf.scatter_nd([[0], [0], [2]], ["b", "c", "d"], [3])
        assert session.run(joined).tolist() == [b"bc", b"", b"d"]


def test_the_quotient_of_sparse_integers_is_floating() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        quotient = tf.SparseTensor([[0, 1]], [4], [1, 2]) / tf.constant(3)
        assert session.run(quotient.values).tolist() == [4 / 3]


@pytest.mark.parametrize(("dtype", "top"), [("uint8", 255), ("uint16", 65535)])
def test_negative_fill_values_wrap_around_in_unsigned_dtypes(dtype: str, top: int) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        hot = sess.run(tf.one_hot([1, 0], 2, on_value=-1, off_value=-2, dtype=dtype))
        padded = sess.run(tf.pad(tf.constant([1], dtype), [[1, 0]], constant_values=-1))
    assert hot.tolist() == [[top - 1, top], [top, top - 1]]
    assert padded.tolist() == [top, 1]
    assert hot.dtype == padded.dtype == dtype


def test_a_list_of_numpy_numbers_is_as_one_of_pythons() -> None:
    def of(value: object) -> str:
        return str(tf.constant(value).dtype.name)

    assert of([np.int64(3), np.int64(4)]) == "int32"
    assert of([np.float64(3)]) == "float32"
    assert of((np.float64(0.5), 2)) == "float32"
    assert of([np.int64(2**40)]) == "int64"
    assert of([np.uint8(3)]) == "uint8"
    assert of(np.int64(3)) == "int64"
    assert of(np.zeros(2)) == "float64"


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.uint8, tf.complex64])
def test_truth_values_are_numbers_where_numbers_are_wanted(dtype: Any) -> None:
    made = tf.constant([True, False], dtype)
    added = tf.placeholder_with_default(tf.constant(2, dtype), []) + True
    assert made.dtype == dtype
    with tf.Session() as sess:
        assert [v.tolist() for v in sess.run([made, added])] == [[1, 0], 3]
    for value, other in ((1, tf.bool), (1.0, tf.int32), (True, tf.string)):
        with pytest.raises(TypeError):
            tf.constant(value, other)


def test_mistakes_of_values_wait_for_the_run() -> None:
    """As in TensorFlow, these nodes can be built, and say what is wrong when they run."""
    x = tf.zeros([2, 2])
    reverse = tf.reverse_sequence(x, [1, 1], seq_axis=0)
    buckets = tf.raw_ops.Bucketize(input=[1], boundaries=[3.0, 1.0])
    with tf.Session() as session:
        for fetch, match in ((reverse, "batch_dim == seq_dim"), (buckets, "sorted boundaries")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                session.run(fetch)


def test_unique_slices() -> None:
    unique = tf.raw_ops.UniqueV2
    x = np.array([[1, 0, 0], [1, 0, 0], [2, 0, 0]])
    with tf.Session() as session:
        columns, numbers = session.run(unique(x=x, axis=[1]))
        assert columns.tolist() == [[1, 0], [1, 0], [2, 0]] and numbers.tolist() == [0, 1, 1]
        values, numbers = session.run(unique(x=np.array([np.nan, 1, np.nan]), axis=[]))
        assert len(values) == 3 and numbers.tolist() == [0, 1, 2]
    assert unique(x=x, axis=[-1]).y.shape.as_list() == [3, None]
    assert unique(x=x, axis=tf.placeholder(tf.int32)).idx.shape.as_list() == [None]
    for axis in ([[0]], [], [0, 1], [2]):
        with pytest.raises(ValueError, match=r"axis|x must|rank"):
            unique(x=x, axis=axis)


def test_a_shape_too_large_for_int32() -> None:
    shape = tf.TensorShape([2**31, 2])
    assert tf.convert_to_tensor(shape).dtype is tf.int64
    with pytest.raises(ValueError, match="to int32: a size is too large"):
        tf.convert_to_tensor(shape, tf.int32)


def test_arrays_of_numbers_are_conditions() -> None:
    """An array is cast to the type that is needed, as in TensorFlow; a list is not."""
    with tf.Session() as session:
        assert session.run(tf.where_v2(np.array([1, 0]), [1, 2], [3, 4])).tolist() == [1, 4]
        assert session.run(tf.constant(np.array([2.0, 0.0]), tf.bool)).tolist() == [True, False]
    with pytest.raises(TypeError, match="bool"):
        tf.where_v2([1, 0], [1, 2], [3, 4])


def test_scatter_into_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="empty output shape"):
        tf.scatter_nd([[0]], [1.0], [0])
    with tf.Session() as session:
        assert session.run(tf.scatter_nd(np.zeros([0, 1], np.int32), np.zeros(0), [0])).size == 0


def test_a_running_sum_has_one_axis() -> None:
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="axis must be a scalar"):
            session.run(tf.cumsum([1.0, 2.0], [0]))


def test_sizes_as_a_list() -> None:
    assert tf.placeholder(tf.float32, [None, 2])._shape_as_list() == [None, 2]
    assert tf.placeholder(tf.float32)._shape_as_list() is None


def test_a_join_of_other_sizes_says_which_as_tensorflow_does() -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(
            ValueError,
            match=r"Dimension 1 in both shapes must be equal, but are 5 and 4\. Shapes are \[2, 5, 1\] and \[2, 4, 1\]\.",
        ),
    ):
        tf.concat([tf.zeros([2, 5, 1]), tf.zeros([2, 4, 1])], 2)


def test_one_block_size_stands_for_both_sides() -> None:
    x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1))
    crops = [[0, 0], [0, 0]]
    there = tf.compat.v2.space_to_batch(x, 2, crops)
    with tf.Session() as session:
        for back in (
            tf.batch_to_space(there, crops, block_shape=2),
            tf.batch_to_space(there, crops, block_shape=[2, 2]),
            tf.compat.v2.batch_to_space(there, block_shape=2, crops=crops),
        ):
            assert session.run(there).shape == (4, 2, 2, 1)
            np.testing.assert_array_equal(*session.run([back, x]))


def test_all_of_a_transposed_tensor_in_order() -> None:
    """Its rows do not lie one after the other in memory."""
    values = np.random.RandomState(0).normal(size=[1000, 8]).astype(np.float32)
    ordered, places = tf.nn.top_k(tf.transpose(tf.constant(values)), 1000)
    with tf.Session() as session:
        found, index = session.run([ordered, places])
    np.testing.assert_array_equal(found, np.sort(values.T, axis=-1)[:, ::-1])
    np.testing.assert_array_equal(found, np.take_along_axis(values.T, index, -1))


def test_numbers_of_an_array_wrap_into_a_smaller_dtype() -> None:
    """As in TensorFlow, where number theory counts on it; numbers of Python's own are refused here."""
    with tf.Session() as session:
        large = np.array([2152988135])
        assert session.run(tf.constant(large, tf.int32)).tolist() == [-2141979161]
        assert session.run(tf.constant([3]) * large).tolist() == [-2130970187]
        unsigned = np.array([15297779988576995937], np.uint64)
        assert session.run(tf.constant(unsigned, tf.int64)).tolist() == [-3148964085132555679]
        assert session.run(tf.constant(np.int64(2**40 + 5), tf.int32)) == 5
    with pytest.raises(TypeError, match="does not fit into int32"):
        tf.constant([2**40], tf.int32)


def test_programs_of_tensorflow_1_wrap_numbers_of_pythons_too() -> None:
    """The values are 1.15.5's: programs write masks such as ``~(1 << 31)`` and hashes such as 0xffffffff."""
    tensorflow_numbers.draw_as_tensorflow()
    try:
        mask = tf.constant(~(1 << 31), tf.int32)
        made = [mask, tf.constant(0xFFFFFFFF, tf.int32), tf.constant([300, -1], tf.uint8)]
    finally:
        tensorflow_numbers.draw_as_tensorflow(False)
    with tf.Session() as session:
        found = [value.tolist() for value in session.run(made)]
    assert found == [2147483647, -1, [44, 255]]


def test_rows_of_a_variable_come_from_its_read(graph: tf.Graph) -> None:
    """As in TensorFlow, whose programs look for `table/read` among what a lookup takes."""
    table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
    rows = tf.gather(table, [1, 1, 3])
    looked_up = tf.nn.embedding_lookup(table, [0])
    gathers = [op for op in graph.get_operations() if op.type == "GatherV2"]
    assert [op.inputs[0].name for op in gathers] == ["table/read:0", "table/read:0"]
    loss = tf.reduce_sum(rows) + tf.reduce_sum(looked_up)
    (gradient,) = tf.gradients(loss, [table])
    assert isinstance(gradient, tf.IndexedSlices)
    update = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(table)[:, 0].tolist() == [0.75, 0.5, 1, 0.75, 1]
