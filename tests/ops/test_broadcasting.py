"""Broadcasting: values and gradients on random shapes, known and unknown when the graph is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dataflow as tf
from tests.gradient_check import assert_gradients

SIZES = st.integers(0, 3)


@st.composite
def fitting_shapes(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast, empty and missing axes included."""
    whole = draw(st.lists(SIZES, min_size=0, max_size=3))
    shapes = []
    for _ in range(2):
        shape = [1 if draw(st.booleans()) else d for d in whole]
        shapes.append(tuple(shape[draw(st.integers(0, len(shape))) :]))
    return shapes[0], shapes[1]


BINARY = {
    "add": (tf.add, np.add),
    "subtract": (tf.subtract, np.subtract),
    "multiply": (tf.multiply, np.multiply),
    "divide": (tf.divide, np.true_divide),
    "squared_difference": (tf.squared_difference, lambda x, y: (x - y) ** 2),
    "maximum": (tf.maximum, np.maximum),
    "pow": (tf.pow, np.power),
    "atan2": (tf.atan2, np.arctan2),
}


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=12, deadline=None)
@given(shapes=fitting_shapes(), seed=st.integers(0, 1000))
def test_gradients_have_the_shapes_of_the_inputs(name: str, shapes: Any, seed: int) -> None:
    ours, numpy_function = BINARY[name]
    rng = np.random.default_rng(seed)
    x, y = (rng.random(s) + 0.5 for s in shapes)
    with tf.Graph().as_default(), tf.Session() as session:
        np.testing.assert_allclose(
            session.run(ours(tf.constant(x), tf.constant(y))), numpy_function(x, y)
        )
    assert_gradients(tf, lambda _, a, b: ours(a, b), [x, y], order=2)


@settings(max_examples=40, deadline=None)
@given(shapes=fitting_shapes(), hidden=st.lists(st.booleans(), min_size=6, max_size=6))
def test_static_and_dynamic_gradients_agree(shapes: Any, hidden: list[bool]) -> None:
    """Whatever is known about the shapes when the graph is built, the gradients are the same."""
    rng = np.random.default_rng(1)
    values = [rng.random(s) for s in shapes]
    flags = iter(hidden)
    partial = [[None if next(flags) else d for d in s] for s in shapes]

    def run(static: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = (tf.placeholder(tf.float64, s) for s in static)
            grads = tf.gradients(tf.square(x * y), [x, y])
            return session.run(grads, {x: values[0], y: values[1]})

    known = run(shapes)
    for static in (partial, [None, None]):
        for a, b, value in zip(known, run(static), values, strict=True):
            assert b.shape == value.shape
            np.testing.assert_allclose(a, b)


def test_shapes_that_do_not_fit_are_refused_when_built() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        y = tf.placeholder(tf.float32, [4], name="y")
        with pytest.raises(ValueError, match=r"(?s)\[2, 3\] and \[4\].*x:0.*y:0"):
            x + y


def test_shapes_that_do_not_fit_are_refused_when_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        total = tf.add(x, y, name="total")
        with pytest.raises(tf.errors.InvalidArgumentError, match="total"):
            session.run(total, {x: np.zeros((2, 3)), y: np.zeros(4)})


def test_known_shapes_need_no_shape_nodes() -> None:
    """What is repeated is known when the graph is built: the gradient is one sum."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 10])
        bias = tf.placeholder(tf.float32, [10])
        tf.gradients(x + bias, bias)
        types = [op.type for op in graph.get_operations() if "add_grad" in op.name]
    assert "BroadcastGradientArgs" not in types
    assert types.count("Sum") == 1


def test_sizes_that_only_the_run_tells_may_differ() -> None:
    """Both unknown, they look the same while the graph is built."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    with tf.Session() as session:
        feeds = {x: [2.0], y: [1.0, 3.0, 5.0]}
        found = session.run(tf.gradients(x * y, [x, y]), feeds)
    assert [value.tolist() for value in found] == [[9.0], [2.0, 2.0, 2.0]]


@pytest.mark.parametrize("size", [None, 3])
def test_an_axis_that_was_repeated_beside_one_that_came_first(size: int | None) -> None:
    """The shape that the sum is given is asked for at the run only where it is not known before."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [1, size]), tf.placeholder(tf.float32, [2, 5, 1])
        (gradient,) = tf.gradients(x * y, [x])
        types = [op.type for op in graph.get_operations() if "mul_grad" in op.name]
        assert types.count("Shape") == (size is None)
        found = session.run(gradient, {x: np.ones([1, 3]), y: np.ones([2, 5, 1])})
    assert found.tolist() == [[10.0, 10.0, 10.0]]
