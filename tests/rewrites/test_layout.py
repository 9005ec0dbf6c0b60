"""Transposes and pads that are computed away: the same numbers from fewer nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.rewrites.rewritten import rewritten, types

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = np.arange(12, dtype=np.float32).reshape(3, 4)


def run(build: Callable[[Any], Any], value: np.ndarray) -> list[str]:
    """The types of the nodes that compute it; the result is that of the plan as it was built."""
    x = tf.placeholder(tf.float32, value.shape)
    y = build(x)
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(config=off) as plain, tf.Session() as session:
        want = plain.run(y, {x: value})
        plan = rewritten(session, [y], [x])
        np.testing.assert_allclose(plan.run([value])[0], want, rtol=1e-6)
        return types(plan)


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ([1, 0, 2], [1, 0, 2], 0),
        ([1, 2, 0], [2, 0, 1], 0),
        ([1, 2, 0], [1, 2, 0], 1),
        ([0, 2, 1], [1, 0, 2], 1),
        ([0, 1, 2], [0, 1, 2], 0),
        ([0, 1, 2], [2, 1, 0], 1),
        ([2, 1, 0], [0, 1, 2], 1),
    ],
)
def test_two_transposes_are_one_or_none(first: Any, second: Any, left: int) -> None:
    kinds = run(lambda x: tf.transpose(tf.transpose(x, first), second) + 1.0, X)
    assert kinds.count("Transpose") == left


def test_an_order_that_is_computed_stays() -> None:
    order = tf.placeholder(tf.int32, [3])
    x = tf.placeholder(tf.float32, X.shape)
    y = tf.transpose(tf.transpose(x, order), [1, 0, 2])
    z = tf.transpose(tf.transpose(x, [1, 0, 2]), order)
    with tf.Session() as session:
        plan = rewritten(session, [y, z], [x, order])
        got = plan.run([X, np.int32([2, 0, 1])])
        assert types(plan).count("Transpose") == 4
    np.testing.assert_array_equal(got[0], X.transpose(2, 0, 1).transpose(1, 0, 2))
    np.testing.assert_array_equal(got[1], X.transpose(1, 0, 2).transpose(2, 0, 1))


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_a_product_takes_its_operands_transposed(a: bool, b: bool, flags: Any) -> None:
    def build(x: Any) -> Any:
        left = tf.transpose(x) if a else x
        right = tf.transpose(x * 2.0) if b else x * 2.0
        transpose_a, transpose_b = flags
        if (a != transpose_a) == (b != transpose_b):  # the shapes would not fit
            transpose_b = not transpose_b
        return tf.matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b)

    assert "Transpose" not in run(build, M)


def padded(x: Any, sizes: list[int], axis: int) -> list[Any]:
    """Parts of x along an axis, each padded with zeros to the whole's size."""
    parts, at, total = [], 0, sum(sizes)
    for part, size in zip(tf.split(x, sizes, axis), sizes, strict=True):
        paddings = [[0, 0] for _ in x.shape]
        paddings[axis] = [at, total - at - size]
        parts.append(tf.pad(part * 2.0, paddings))
        at += size
    return parts


@pytest.mark.parametrize(("sizes", "axis"), [([1, 2], 1), ([2, 1, 1], 2), ([1, 1], 0)])
@pytest.mark.parametrize("backward", [False, True])
def test_padded_parts_that_are_added_are_joined(
    sizes: list[int], axis: int, backward: bool
) -> None:
    def build(x: Any) -> Any:
        parts = padded(x, sizes, axis)
        return tf.add_n(parts[::-1] if backward else parts)

    kinds = run(build, X)
    assert "Pad" not in kinds and "AddN" not in kinds and "ConcatV2" in kinds


@pytest.mark.parametrize(
    "pads",
    [
        [[[0, 0], [0, 1]], [[0, 0], [0, 1]]],  # both at one place
        [[[0, 0], [0, 2]], [[0, 0], [2, 0]]],  # a gap between them
        [[[0, 1], [0, 0]], [[0, 0], [1, 0]]],  # along two axes
        [[[0, 1], [0, 1]], [[1, 0], [1, 0]]],
    ],
)
def test_parts_that_do_not_lie_side_by_side_are_added(pads: Any) -> None:
    def build(x: Any) -> Any:
        rows, columns = (max(p[axis][0] + p[axis][1] for p in pads) for axis in (0, 1))
        parts = []
        for p in pads:
            size = [4 - sum(p[0]), 5 - sum(p[1])]
            assert rows < 4 and columns < 5
            parts.append(tf.pad(tf.ones(size) * x[0, 0] + 1.0, p))
        return tf.add_n(parts)

    run(build, M)


def test_something_that_is_not_padded_is_added() -> None:
    def build(x: Any) -> Any:
        first, second = padded(x, [1, 2], 1)
        return tf.add_n([first, second, x])

    assert "Pad" in run(build, X)


def test_padded_parts_that_wait_for_a_change_stay() -> None:
    x = tf.placeholder(tf.float32, [2, 4])
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            late = tf.pad(x, [[2, 0], [0, 0]])
        y = tf.add_n([late, tf.pad(x, [[0, 2], [0, 0]])])
        plan = rewritten(session, y, [x])
        assert plan.run([np.ones((2, 4))]).tolist() == np.ones((4, 4)).tolist()
        assert session.run(v) == 2.0


@pytest.mark.parametrize(
    ("rows", "shape", "left"),
    [(3, [-1, 4], 0), (0, [-1, 4], 0), (3, [3, -1], 1), (3, [-1, 2], 1), (3, [-1], 1)],
)
def test_a_reshape_that_leaves_one_size_to_be_found(rows: int, shape: list[int], left: int) -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    value = np.ones((rows, 4), np.float32)
    with tf.Session() as session:
        y = tf.reshape(tf.tanh(x), shape) * 2
        plan = rewritten(session, y, [x])
        assert plan.run([value]).shape == np.reshape(value, shape).shape
    assert types(plan).count("Reshape") == left


def test_a_reshape_of_nothing_still_fails() -> None:
    """Any number of rows without elements is one."""
    x = tf.placeholder(tf.float32, [None, 0])
    with tf.Session() as session:
        plan = rewritten(session, tf.reshape(tf.tanh(x), [-1, 0]), [x])
        assert "Reshape" in types(plan)


@pytest.mark.parametrize("waits", [False, True])
def test_the_number_of_gathered_rows_is_that_of_the_indices(waits: bool) -> None:
    """But what the rows wait for happens, though nobody asks for their values."""
    x, i = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    calls: list[str] = []
    noted = tf.py_func(lambda: calls.append("noted"), [], [])
    axis = tf.constant(0)
    with tf.control_dependencies([noted] if waits else []):
        rows = tf.raw_ops.GatherV2(params=x, indices=i, axis=axis)
    number = tf.shape(rows)[0] + 1
    with tf.Session() as session:
        plan = rewritten(session, [number], [x, i])
        assert ("GatherV2" in types(plan)) == waits
        assert plan.run([M, np.int32([2, 0])])[0] == 3
    assert len(calls) == waits
