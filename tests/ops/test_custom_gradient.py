"""`tf.custom_gradient`."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING
from tests.rewrites.rewritten import rewritten, types
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


def test_the_given_gradient_is_used():
    @tf.custom_gradient
    def doubled(x, y):
        return x * y, lambda dy: (dy * 10.0, dy * y)

    with tf.Graph().as_default():
        x, y = tf.constant(2.0), tf.constant(3.0)
        z = doubled(x, y) * 2.0
        assert run_initialized([z, *tf.gradients(z, [x, y])]) == [12.0, 20.0, 6.0]


def test_several_results_and_one_without_a_gradient():
    @tf.custom_gradient
    def both(x):
        return (x * 2.0, x * 3.0), lambda da, db: da + 100.0 * db

    with tf.Graph().as_default():
        x = tf.constant([1.0, 1.0])
        first, second = both(x)
        assert run_initialized(tf.gradients(first, x)[0]).tolist() == [1.0, 1.0]
        assert run_initialized(tf.gradients([first, second], x)[0]).tolist() == [101.0, 101.0]


def test_mistakes_are_named():
    @tf.custom_gradient
    def too_many(x):
        return x * 1.0, lambda dy: (dy, dy)

    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="gradient"):
            tf.gradients(too_many(x), x)


def test_variables_that_the_function_makes():
    @tf.custom_gradient
    def scaled(x):
        v = tf.get_variable("v", initializer=3.0)

        def grad(dy, variables=None):
            return dy * 7.0, [dy * 5.0 for _ in variables]

        return x * x * v, grad

    with tf.Graph().as_default():
        x = tf.constant(2.0)
        y = scaled(x)
        assert run_initialized([y, *tf.gradients(y, [x, *tf.global_variables()])]) == [
            12.0,
            7.0,
            5.0,
        ]


def test_a_gradient_that_takes_no_variables():
    @tf.custom_gradient
    def scaled(x):
        return x * tf.get_variable("v", initializer=3.0), lambda dy: dy

    @tf.custom_gradient
    def uses(x):
        return x * outside, lambda dy: dy * 4.0

    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="keyword argument 'variables'"):
            scaled(tf.constant(1.0))
        outside = tf.Variable(2.0)
        x = tf.constant(1.0)
        assert run_initialized(tf.gradients(uses(x), x)) == [4.0]


def test_a_recomputed_block_has_its_gradients_and_its_variables_once() -> None:
    calls = []

    def block(x, is_recomputing):
        calls.append(is_recomputing)
        with tf.variable_scope("block"):
            w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        return tf.tanh(x * w), x + w

    x = tf.constant([1.0, 2.0])
    first, second = tf.recompute_grad(block)(x)
    (w,) = tf.global_variables()
    of_x, of_w = tf.gradients(first + 2 * second, [x, w])
    assert calls == [False, True]
    assert [v.name for v in tf.trainable_variables()] == ["block/w:0"]
    slope = 1 - np.tanh([1.0, 2.0]) ** 2
    with tf.Session() as s:
        s.run(w.initializer)
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            values = s.run([first, of_x, of_w])
            np.testing.assert_allclose(values[0], np.tanh([1.0, 2.0]), rtol=1e-6)
            np.testing.assert_allclose(values[1], slope + 2, rtol=1e-5)
            np.testing.assert_allclose(values[2], slope * [1.0, 2.0] + 2, rtol=1e-5)


def test_what_is_recomputed_is_not_taken_from_the_first_call() -> None:
    x = tf.placeholder(tf.float32, [3])
    y = tf.contrib.layers.recompute_grad(lambda v: tf.matrix_inverse(tf.diag(v)))(x)
    (gradient,) = tf.gradients(tf.reduce_sum(tf.square(y)), x)
    with tf.Session() as s:
        plan = rewritten(s, [y, gradient], [x])
        _, value = plan.run([np.array([1.0, 2.0, 4.0], np.float32)])
    np.testing.assert_allclose(value, [-2.0, -0.25, -0.03125], rtol=1e-6)
    assert types(plan).count("MatrixInverse") == 2


def test_a_recomputed_block_that_makes_new_variables_is_refused() -> None:
    x = tf.constant([1.0])
    y = tf.recompute_grad(lambda v: v * tf.Variable(2.0))(x)
    with pytest.raises(ValueError, match=r"other variables.*tf.get_variable"):
        tf.gradients(y, x)


def test_the_function_gets_the_tensors_themselves() -> None:
    """As in TensorFlow: a gradient function may find an argument in a list of its own."""
    x, side = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    known = [side]

    @tf.custom_gradient
    def scaled(*args):
        def gradient(dy):
            assert args[1] is known[0]
            return dy * args[1], dy * args[0]

        return args[0] * args[1], gradient

    y = scaled(x, side)
    grads = tf.gradients(y, [x, side])
    with tf.Session() as session:
        assert [g.tolist() for g in session.run(grads)] == [[3.0, 4.0], [1.0, 2.0]]
