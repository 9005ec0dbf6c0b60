"""Shapes of ragged tensors, and operands of other shapes."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf
from dataflow.ops.ragged_broadcast import (
    RaggedTensorDynamicShape,
    broadcast_dynamic_shape,
    broadcast_to,
)

SHAPE = RaggedTensorDynamicShape


def _sizes(session: tf.Session, shape: RaggedTensorDynamicShape) -> list[Any]:
    """The sizes, in one list."""
    parts, inner = session.run([list(shape.partitioned_dim_sizes), shape.inner_dim_sizes])
    return [*(x.tolist() for x in parts), *inner.tolist()]


@pytest.mark.parametrize(
    ("value", "sizes"),
    [
        (1.0, []),
        ([[1, 2, 3]], [1, 3]),
        (tf.ragged.constant_value([[1, 2], [], [3]]), [3, [2, 0, 1]]),
        (tf.ragged.constant_value([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1), [2, [1, 2], 2]),
        (tf.ragged.constant_value([[[1], []], [[2, 3]]]), [2, [2, 1], [1, 0, 2]]),
    ],
)
def test_the_shape_of_a_tensor(session: tf.Session, value: Any, sizes: list[Any]) -> None:
    shape = SHAPE.from_tensor(value)
    assert _sizes(session, shape) == sizes == _sizes(session, SHAPE.from_dim_sizes(sizes))
    assert shape.rank == len(sizes)
    assert [shape.is_ragged(i) for i in range(shape.rank)] == [isinstance(s, list) for s in sizes]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ([], [2, [1, 3]], [2, [1, 3]]),
        ([3], [4, 1], [4, 3]),
        ([1, [2]], [3, 1], [3, [2, 2, 2]]),
        ([2, [1, 2], 1], [1, 1, 4], [2, [1, 2], 4]),
        ([2, [2, 1], 2, 1], [1, 1, 2, [3, 1]], [2, [2, 1], 2, [3, 1, 3, 1, 3, 1]]),
        ([1, 2, [3, 0]], [2, 1, 1], [2, 2, [3, 0, 3, 0]]),
    ],
)
def test_the_shape_of_two(
    session: tf.Session, first: list[Any], second: list[Any], both: list[Any]
) -> None:
    x, y = SHAPE.from_dim_sizes(first), SHAPE.from_dim_sizes(second)
    assert _sizes(session, broadcast_dynamic_shape(x, y)) == both
    assert _sizes(session, broadcast_dynamic_shape(y, x)) == both


def test_slices_of_a_partitioned_dimension_are_repeated_each_by_itself(session: tf.Session) -> None:
    shape = SHAPE.from_dim_sizes([3, 1, [4, 0, 2], 5]).broadcast_dimension(1, [2, 1, 3])
    assert _sizes(session, shape) == [3, [2, 1, 3], [4, 4, 0, 2, 2, 2], 5]


def test_values_are_broadcast(session: tf.Session) -> None:
    rows = broadcast_to([[[1]], [[2]]], SHAPE.from_dim_sizes([2, [2, 1], [0, 2, 3]]))
    assert session.run(rows).to_list() == [[[], [1, 1]], [[2, 2, 2]]]
    assert session.run(broadcast_to(7, SHAPE.from_dim_sizes([2, [1, 2]]))).to_list() == [
        [7],
        [7, 7],
    ]
    assert session.run(broadcast_to([[1], [2]], SHAPE.from_dim_sizes([2, 3]))).tolist() == [
        [1, 1, 1],
        [2, 2, 2],
    ]


def test_operands_of_other_shapes(session: tf.Session) -> None:
    rows = tf.ragged.constant([[1, 2, 3], [], [4, 5]])
    column = tf.constant([[10], [20], [30]])
    assert session.run(rows + column).to_list() == [[11, 12, 13], [], [34, 35]]
    assert session.run(column * rows).to_list() == [[10, 20, 30], [], [120, 150]]
    one = tf.ragged.constant([[1, 2, 3]])
    assert session.run(tf.add(one, column)).to_list() == [
        [11, 12, 13],
        [21, 22, 23],
        [31, 32, 33],
    ]
    deep = tf.ragged.constant([[[1], [2]], [[3]]], ragged_rank=1)
    assert session.run(deep - tf.ragged.constant([[10, 20]])).to_list() == [
        [[-9, -19], [-8, -18]],
        [[-7, -17]],
    ]
    fed = tf.placeholder(tf.int32, [None, 1])
    assert session.run(rows + fed, {fed: [[7]]}).to_list() == [[8, 9, 10], [], [11, 12]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to broadcast"):
        session.run(rows + fed, {fed: [[7], [8]]})


def test_gradients_of_what_is_repeated_add_up(session: tf.Session) -> None:
    column = tf.constant([[1.0], [2.0]])
    rows = tf.ragged.constant([[1.0, 2.0, 3.0]])
    product = (rows * column).flat_values
    assert session.run(tf.gradients(product, column))[0].tolist() == [[6.0], [6.0]]


def test_what_does_not_fit(session: tf.Session) -> None:
    with pytest.raises(ValueError, match="dimension 0"):
        broadcast_dynamic_shape(SHAPE.from_dim_sizes([2, 3]), SHAPE.from_dim_sizes([3, 3]))
    other = broadcast_dynamic_shape(SHAPE.from_dim_sizes([1, [2]]), SHAPE.from_dim_sizes([1, [3]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="row lengths differ"):
        _sizes(session, other)
    with pytest.raises(ValueError, match="ragged one"):
        broadcast_dynamic_shape(SHAPE.from_dim_sizes([1, 2]), SHAPE.from_dim_sizes([1, [2]]))
    with pytest.raises(ValueError, match="must be uniform"):
        SHAPE.from_dim_sizes([[2]])
    with pytest.raises(ValueError, match="must be ragged"):
        RaggedTensorDynamicShape([1], [2])
    with pytest.raises(ValueError, match="rank"):
        SHAPE.from_dim_sizes([1, 2]).broadcast_to_rank(1)


def test_text_in_ragged_values_is_decoded(session: tf.Session) -> None:
    text = tf.ragged.constant_value([[b"ab", b""], [b"c"]])
    found = session.run(tf.strings.unicode_decode(text, "UTF-8"))
    assert found.to_list() == [[[97, 98], []], [[99]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="replacement_char"):
        session.run(tf.strings.unicode_decode(["a"], "UTF-8", replacement_char=0x110000))
