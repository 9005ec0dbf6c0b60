"""Python's operators on tensors: names, types, reflected forms and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

X = np.array([[1.5, -2.0, 3.0]], np.float32)


@pytest.mark.parametrize(
    ("build", "name", "op_type"),
    [
        (lambda x: x + 1, "add", "AddV2"),
        (lambda x: 1 + x, "add", "AddV2"),
        (lambda x: tf.add(x, 1), "Add", "Add"),
        (lambda x: x - 1, "sub", "Sub"),
        (lambda x: 1 - x, "sub", "Sub"),
        (lambda x: x * 2, "mul", "Mul"),
        (lambda x: x / 2, "truediv", "RealDiv"),
        (lambda x: 2 / x, "truediv", "RealDiv"),
        (lambda x: x // 2, "floordiv", "FloorDiv"),
        (lambda x: x % 2, "mod", "FloorMod"),
        (lambda x: x**2, "pow", "Pow"),
        (lambda x: 2**x, "pow", "Pow"),
        (lambda x: -x, "Neg", "Neg"),
        (lambda x: abs(x), "Abs", "Abs"),
        (lambda x: x < 1, "Less", "Less"),
        (lambda x: x >= 1, "GreaterEqual", "GreaterEqual"),
        (lambda x: x > 1, "Greater", "Greater"),
    ],
)
def test_node_and_value(build: Callable[[Any], Any], name: str, op_type: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        result = build(tf.constant(X, name="x_in"))
        assert result.op.name == name
        assert result.op.type == op_type
        value = session.run(result)
    if name != "Add":
        np.testing.assert_allclose(value, build(X), rtol=1e-6)


def test_arrays_on_the_left() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        result = X + tf.constant(X)
        assert isinstance(result, tf.Tensor)
        np.testing.assert_array_equal(session.run(result), 2 * X)


def test_constants_take_the_dtype_of_the_tensor() -> None:
    with tf.Graph().as_default():
        for dtype in (tf.float16, tf.float64, tf.int64, tf.complex64):
            assert (2 * tf.zeros([2], dtype)).dtype == dtype


def test_integers_and_fractions_do_not_mix() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="int32"):
        tf.constant([1, 2]) * 2.5


def test_dtypes_that_differ_are_refused_with_advice() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=r"(?s)float32.*tf\.cast"):
        tf.constant(1) + tf.constant(1.0)


def test_equality_is_identity() -> None:
    with tf.Graph().as_default():
        x, y = tf.constant(1.0), tf.constant(1.0)
        assert x == x
        assert x != y
        assert len({x, y}) == 2


def test_logic_on_bool_and_integers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.constant([True, False]), tf.constant([True, True])
        assert session.run([a & b, a | b, a ^ b, ~a])[2].tolist() == [False, True]
        i = tf.constant([6, 3])
        assert session.run(i & 3).tolist() == [2, 3]
        assert session.run(~i).tolist() == [-7, -4]


def test_integer_division_by_zero() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        zero = tf.placeholder_with_default(0, [])
        for bad in (tf.constant(1) // zero, tf.constant(1) % zero):
            with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
                session.run(bad)


def test_a_class_of_ones_own_gets_to_reflect_the_operator() -> None:
    class Train:
        def __rmul__(self, other: object) -> str:
            return "mine"

    with tf.Graph().as_default():
        x = tf.constant(2.0)
        assert x * Train() == "mine"
        with pytest.raises(TypeError, match="needs a tensor|Failed to convert"):
            x + Train()
