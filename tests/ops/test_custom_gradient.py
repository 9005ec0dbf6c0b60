"""`tf.custom_gradient`."""

from __future__ import annotations

import pytest

import dataflow as tf


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_the_given_gradient_is_used():
    @tf.custom_gradient
    def doubled(x, y):
        return x * y, lambda dy: (dy * 10.0, dy * y)

    with tf.Graph().as_default():
        x, y = tf.constant(2.0), tf.constant(3.0)
        z = doubled(x, y) * 2.0
        assert run([z, *tf.gradients(z, [x, y])]) == [12.0, 20.0, 6.0]


def test_several_results_and_one_without_a_gradient():
    @tf.custom_gradient
    def both(x):
        return (x * 2.0, x * 3.0), lambda da, db: da + 100.0 * db

    with tf.Graph().as_default():
        x = tf.constant([1.0, 1.0])
        first, second = both(x)
        assert run(tf.gradients(first, x)[0]).tolist() == [1.0, 1.0]
        assert run(tf.gradients([first, second], x)[0]).tolist() == [101.0, 101.0]


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
        assert run([y, *tf.gradients(y, [x, *tf.global_variables()])]) == [12.0, 7.0, 5.0]


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
        assert run(tf.gradients(uses(x), x)) == [4.0]
