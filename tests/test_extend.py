"""`tf.extend`: ops, kernels and rewrites from outside of the engine, and again when a cell runs twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dataflow as tf


@pytest.fixture
def cube() -> Iterator[object]:
    op = define_cube()
    yield op
    tf.extend.remove("Cube")


def define_cube(factor: float = 1.0) -> object:
    @tf.extend.define_op("Cube", "x: T -> y: T", T=(tf.float32, tf.float64))
    def cube(x):
        """x * x * x"""
        return x.dims

    @cube.gradient
    def cube_gradient(op, dy):
        (x,) = op.inputs
        return [dy * 3.0 * tf.square(x)]

    @tf.extend.kernel("Cube")
    def cube_kernel(xp, x):
        return x * x * x * x.dtype.type(factor)

    return cube


def test_an_op_of_ones_own_runs_and_has_first_and_second_gradients(cube) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.tanh(cube(x, name="mine"))
    assert y.op.inputs[0].op.type == "Cube"
    (first,) = tf.gradients(cube(x), [x])
    (second,) = tf.gradients(first, [x])
    value = np.array([[1.0, -2.0]], np.float32)
    with tf.Session() as session:
        for _ in range(6):  # as written, and rewritten
            got = session.run([y, first, second], {x: value})
    np.testing.assert_allclose(got[0], np.tanh(value**3), rtol=1e-6)
    np.testing.assert_allclose(got[1], 3 * value**2)
    np.testing.assert_allclose(got[2], 6 * value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        cube(tf.constant(1))


def test_a_definition_that_is_run_again_takes_the_place_of_the_first(cube) -> None:
    again = define_cube(factor=10.0)
    with tf.Session() as session:
        assert session.run(again(tf.constant(2.0))) == 80.0


def test_the_engines_own_ops_cannot_be_replaced() -> None:
    with pytest.raises(ValueError, match="Relu is an op of the engine"):
        tf.extend.define_op("Relu", "x: T -> y: T")
    with pytest.raises(ValueError, match="define it first"):
        tf.extend.kernel("Relu")
    with pytest.raises(ValueError, match="neither an op nor a rule"):
        tf.extend.remove("Relu")
    with pytest.raises(ValueError, match="no op type 'Multiply'"):
        tf.extend.rewrite("Multiply")
    with pytest.raises(ValueError, match="give the op types"):
        tf.extend.rewrite()


def test_a_rule_is_used_once_however_often_it_is_defined_and_can_be_removed() -> None:
    def define() -> object:
        @tf.extend.rewrite("Square")
        def square_of_abs(t):
            """square(abs(x)) -> square(x)"""
            (inner,) = t.op.inputs
            return tf.square(inner.op.inputs[0]) if inner.op.type == "Abs" else None

        return square_of_abs

    x = tf.placeholder(tf.float32, [None])
    y = tf.square(tf.abs(x))
    define()
    rule = define()
    try:
        with tf.Session() as session:
            told = session.explain(y)
            assert [h["equation"] for h in told.journal] == ["square(abs(x)) -> square(x)"]
            for _ in range(6):
                assert session.run(y, {x: [-3.0]}).tolist() == [9.0]
    finally:
        tf.extend.remove(rule)
    with tf.Session() as session:
        assert session.explain(y).journal == []
    with pytest.raises(ValueError, match="neither"):
        tf.extend.remove(rule)
