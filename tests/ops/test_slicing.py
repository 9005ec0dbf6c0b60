"""Python's index syntax against NumPy, and the mistakes that are found when the node is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf

BOUND = st.one_of(st.none(), st.integers(-5, 5))
STEP = st.sampled_from([None, 1, 2, 3, -1, -2])


@st.composite
def indexed(draw: Any) -> tuple[list[int], tuple[Any, ...]]:
    """A shape (sizes may be 0) and an index that NumPy accepts for it."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    used = draw(st.integers(0, len(shape)))
    before = draw(st.integers(0, used))
    axes = [*range(before), *range(len(shape) - used + before, len(shape))]
    spec: list[Any] = []
    for position, axis in enumerate(axes):
        if position == before and used < len(shape):
            spec.append(Ellipsis)
        if draw(st.booleans()):
            spec.append(None)
        size = shape[axis]
        if size and draw(st.booleans()):
            spec.append(draw(st.integers(-size, size - 1)))
        else:
            spec.append(slice(draw(BOUND), draw(BOUND), draw(STEP)))
    return shape, tuple(spec)


@settings(max_examples=150, deadline=None)
@given(indexed())
def test_an_index_means_what_it_means_in_numpy(case: Any) -> None:
    shape, spec = case
    array = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    expected = array[spec]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(array)
        cut = x[spec]
        blind = tf.placeholder(tf.float64, [None] * len(shape))[spec]
        (grad,) = tf.gradients(cut * 2.0, x)
        value, grad_value = session.run([cut, grad])
    assert cut.shape.as_list() == list(expected.shape)
    assert blind.shape.is_compatible_with(expected.shape)
    np.testing.assert_array_equal(value, expected)
    reached = np.zeros(shape)
    reached[spec] = 2
    np.testing.assert_array_equal(grad_value, reached)


def test_bounds_may_be_tensors_and_dimensions() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(12).reshape(3, 4))
        i = tf.placeholder(tf.int32, [])
        j = tf.placeholder(tf.int64, [])
        parts = [x[i], x[:i, j], x[i : i + 1, tf.newaxis], x[..., : x.shape[0]]]
        values = session.run(parts, {i: 2, j: 1})
    assert [p.shape.as_list() for p in parts] == [[4], [None], [None, 1, 4], [3, 3]]
    np.testing.assert_array_equal(values[0], [8, 9, 10, 11])
    np.testing.assert_array_equal(values[1], [1, 5])
    np.testing.assert_array_equal(values[2], [[[8, 9, 10, 11]]])
    np.testing.assert_array_equal(values[3], np.arange(12).reshape(3, 4)[:, :3])


def test_nodes_are_named_as_in_tensorflow() -> None:
    with tf.Graph().as_default() as graph:
        tf.zeros([3, 4])[1:, 2]
        names = [op.name for op in graph.get_operations()]
    assert names == [
        "zeros",
        "strided_slice/stack",
        "strided_slice/stack_1",
        "strided_slice/stack_2",
        "strided_slice",
    ]


@pytest.mark.parametrize(
    ("index", "hint"),
    [
        (0.5, "tf.cast"),
        ("a", "valid indices"),
        ([0, 1], "tf.gather"),
        (np.array([1, 0]), "tf.gather"),
        (True, "tf.boolean_mask"),
    ],
)
def test_an_index_that_makes_no_sense_is_refused_with_a_hint(index: Any, hint: str) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=hint):
        tf.zeros([2, 3])[index]


@pytest.mark.parametrize("index", [(0, 0, 0), (5,), (slice(None, None, 0),), (Ellipsis, Ellipsis)])
def test_an_index_that_does_not_fit_is_found_when_the_node_is_made(index: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="StridedSlice"):
        tf.zeros([2, 3])[index]


def test_an_index_outside_is_found_at_run_time_with_the_node() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        i = tf.placeholder(tf.int32, [])
        y = tf.zeros([3])[i]
        with pytest.raises(tf.errors.InvalidArgumentError, match="StridedSlice 'strided_slice'"):
            session.run(y, {i: 3})


def test_slice_checks_its_bounds() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([4, 5])
        with pytest.raises(ValueError, match="elements 3 to 6"):
            tf.slice(x, [3, 0], [3, 1])
        with pytest.raises(ValueError, match="rank 2"):
            tf.slice(x, [0], [1])
        assert tf.slice(x, [1, 2], [-1, 2]).shape.as_list() == [3, 2]
        size = tf.placeholder(tf.int32, [])
        assert tf.slice(x, [0, 1], [size, 3]).shape.as_list() == [None, 3]


def test_pad_checks_its_paddings() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([2, 3])
        with pytest.raises(ValueError, match="1 rows for an input of rank 2"):
            tf.pad(x, [[1, 1]])
        with pytest.raises(ValueError, match="at most 1"):
            tf.pad(x, [[2, 0], [0, 0]], mode="REFLECT")
        with pytest.raises(ValueError, match="Unknown padding mode"):
            tf.pad(x, [[0, 0], [0, 0]], mode="WRAP")


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (lambda x: x > 2, [5, 7]),
        (lambda x: np.array([False, True]), [[7, 2]]),
        (lambda x: np.array([[True, False], [False, True]]), [1, 2]),
    ],
)
def test_a_mask_picks_elements(mask: Any, expected: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1, 5], [7, 2]])
        np.testing.assert_array_equal(session.run(x[mask(x)]), expected)
        with pytest.raises(ValueError, match="mask must have the tensor's sizes"):
            x[np.array([True, False, True])]


def test_partly_known_paddings():
    free = tf.placeholder(tf.int32, [])
    rows = tf.stack([[1, free], [2, 3], tf.constant([0, 1])])
    assert tf.pad(tf.ones([2, 3, 4]), rows).shape.as_list() == [None, 8, 5]


def test_an_array_of_one_number_is_an_index():
    with tf.Session() as sess:
        assert sess.run(tf.constant([[1, 2], [3, 4]])[np.array(1)]).tolist() == [3, 4]
    with pytest.raises(TypeError, match="tf.gather"):
        tf.constant([1, 2])[np.array([1])]
    with pytest.raises(TypeError, match="only integers"):
        tf.constant([1, 2])[np.array(1.0)]


def test_a_list_of_slices_is_a_tuple_of_them() -> None:
    with tf.Graph().as_default():
        x = tf.reshape(tf.range(6), [2, 3])
        part = x[[slice(0, 1), slice(1, None)]]
        with tf.Session() as session:
            assert session.run(part).tolist() == [[1, 2]]
        with pytest.raises(TypeError, match="tf.gather"):
            x[[0, 1]]


def test_a_slice_of_a_variable_is_assigned_within_a_branch() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0])
        step = tf.cond(tf.constant(True), lambda: v[:1].assign([7.0]), lambda: v.assign([0.0, 0.0]))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            assert session.run(v).tolist() == [7.0, 2.0]


def test_a_slice_of_no_variable_refuses_to_be_assigned() -> None:
    with pytest.raises(ValueError, match="only supported for variables"):
        tf.constant([1, 2, 3])[:2].assign([1, 2])
    assert not hasattr(tf.constant([1, 2]), "assign")


def test_a_tensor_may_be_given_an_assign_of_its_own() -> None:
    """Tensor2Tensor's daisy chains stand a tensor in for its variable so."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        stand_in = tf.identity(v)
        assert not hasattr(stand_in, "assign")
        stand_in.assign = v.assign
        session.run(v.initializer)
        assert session.run(stand_in.assign([3.0, 4.0])).tolist() == [3.0, 4.0]
        assert session.run(v[1:].assign([5.0])).tolist() == [3.0, 5.0]
