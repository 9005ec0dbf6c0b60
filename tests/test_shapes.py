"""Static shapes, and broadcasting held against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dataflow as tf
from dataflow import shapes

DIMS = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(DIMS, DIMS)
def test_broadcast_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(shapes.BroadcastError):
            shapes.broadcast(a, b)
    else:
        assert shapes.broadcast(a, b) == expected


@given(DIMS, DIMS, st.data())
def test_partial_shapes_broadcast_to_something_compatible(a, b, data) -> None:
    try:
        whole = np.broadcast_shapes(a, b)
    except ValueError:
        return
    partial = tuple(None if data.draw(st.booleans()) else d for d in a)
    result = shapes.broadcast(partial, b)
    assert shapes.compatible(result, whole)


@given(DIMS, st.data())
def test_merge_knows_what_either_knows(a, data) -> None:
    x = tuple(None if data.draw(st.booleans()) else d for d in a)
    y = tuple(None if data.draw(st.booleans()) else d for d in a)
    merged = shapes.merge(x, y)
    for m, i, j, d in zip(merged, x, y, a, strict=True):
        assert m == (d if i is not None or j is not None else None)


def test_merge_refuses_contradictions() -> None:
    with pytest.raises(ValueError, match="not compatible"):
        shapes.merge((2, 3), (2, 4))
    with pytest.raises(ValueError, match="not compatible"):
        tf.TensorShape([2]).merge_with([2, 2])


def test_printing() -> None:
    assert str(tf.TensorShape([None, 784])) == "(?, 784)"
    assert str(tf.TensorShape([3])) == "(3,)"
    assert str(tf.TensorShape([])) == "()"
    assert str(tf.TensorShape(None)) == "<unknown>"
    assert repr(tf.TensorShape([None, 2])) == "TensorShape([Dimension(None), Dimension(2)])"


def test_dimensions_are_unknown_rather_than_wrong() -> None:
    unknown = tf.Dimension(None)
    assert (unknown == 3) is None
    assert (unknown + 1).value is None
    assert tf.Dimension(3) * 2 == 6
    assert int(tf.TensorShape([None, 5])[1]) == 5


def test_as_list_and_rank() -> None:
    shape = tf.TensorShape([None, 3])
    assert shape.as_list() == [None, 3]
    assert shape.ndims == 2
    assert len(shape) == 2
    assert shape.num_elements() is None
    assert tf.TensorShape([2, 3]).num_elements() == 6
    with pytest.raises(ValueError, match="unknown"):
        tf.TensorShape(None).as_list()


def test_slices_and_concatenation() -> None:
    shape = tf.TensorShape([None, 3, 4])
    assert shape[1:] == [3, 4]
    assert shape[:1].concatenate([7]).as_list() == [None, 7]


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=">= 0"):
        tf.TensorShape([-1])


def test_lists_before_shapes_and_what_two_have_in_common() -> None:
    assert ([1] + tf.TensorShape([2])).as_list() == [1, 2]
    common = tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4])
    assert common.as_list() == [2, None]
    assert tf.TensorShape([2]).most_specific_compatible_shape([2, 4]).ndims is None


def test_dimensions_in_numbers_and_constants() -> None:
    assert int(5 % tf.Dimension(3)) == 2
    with tf.Graph().as_default(), tf.Session() as sess:
        sizes = tf.constant([10, tf.Dimension(20)])
        assert sizes.dtype == tf.int32
        assert sess.run(sizes).tolist() == [10, 20]


def test_what_is_no_shape_and_no_size() -> None:
    with pytest.raises(TypeError):
        tf.Dimension(tf.string)
    with pytest.raises(ValueError, match="Ambiguous"):
        tf.Dimension(1.5)
    with pytest.raises(TypeError, match="string"):
        tf.TensorShape("347")
    assert tf.TensorShape([3, 4, 7]) != "347"
    assert (tf.Dimension(None) == 12.99) is False
    assert [4] * tf.Dimension(3) == tf.Dimension(3) * [4] == [4, 4, 4]
    with pytest.raises(TypeError, match="use // instead"):
        tf.Dimension(4) / 2
    with pytest.raises(ValueError, match="undefined"):
        assert tf.TensorShape(None) != tf.TensorShape([1])
