"""`tf.py_function`: ops inside it are run at once. Values are TensorFlow's (tests/oracle/programs)."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.running import run

pytestmark = pytest.mark.usefixtures("graph")


def test_ops_inside() -> None:
    product = tf.py_function(tf.matmul, [tf.ones([2, 3]), tf.ones([3, 2])], tf.float32)
    np.testing.assert_array_equal(run(product), np.full((2, 2), 3.0))
    squares = tf.map_fn(
        lambda v: tf.py_function(lambda a: tf.square(a) + 1, [v], tf.float32),
        tf.constant([1.0, 2.0]),
    )
    np.testing.assert_array_equal(run(squares), [2.0, 5.0])


def test_python_looks_at_values() -> None:
    def function(x, n):
        total = 0.0
        for row in x:
            total += tf.reduce_sum(row)
        if total > 9.0:
            total = -total
        return total, np.sum(x), len(x), x.numpy().max(), float(x[0, 0]) + int(n), f"{n:03d}"

    types = [tf.float32, tf.float32, tf.int32, tf.float32, tf.float32, tf.string]
    made = tf.py_function(function, [tf.constant([[1.0, 2.0], [3.0, 4.0]]), 7], types)
    assert [v.tolist() for v in map(np.asarray, run(made))] == [-10, 10, 2, 4, 8, b"007"]


def test_text() -> None:
    joined = tf.py_function(lambda s: tf.strings.join([s, b"!"]), [tf.constant("a")], tf.string)
    decoded = tf.py_function(lambda s: s.numpy().decode() + "?", [tf.constant("a")], tf.string)
    assert run([joined, decoded]) == [b"a!", b"a?"]


def test_a_random_tensor_keeps_its_value_in_a_call() -> None:
    def function():
        drawn = tf.random_uniform([])
        return drawn, drawn.numpy() - drawn

    assert run(tf.py_function(function, [], [tf.float32, tf.float32]))[1] == 0.0


def test_effects_are_had_once(capfd) -> None:
    def function(x):
        tf.print("seen", x)
        return x + float(x)

    assert run(tf.py_function(function, [1.0], tf.float32)) == 2.0
    assert capfd.readouterr().err.count("seen 1") == 1


def test_gradient_goes_through_the_ops() -> None:
    def power(x, n):
        y = x
        for _ in range(int(n) - 1):
            y = y * x
        return y if y < 10.0 else tf.sqrt(y)

    x = tf.placeholder(tf.float32, [])
    y = tf.py_function(power, [x, 3], tf.float32)
    (grad,) = tf.gradients(2.0 * y, x)
    assert grad.shape.as_list() == []
    assert run([y, grad], {x: 2.0}) == pytest.approx([8.0, 24.0])
    assert run([y, grad], {x: 4.0}) == pytest.approx([8.0, 2 * 1.5 * 4.0**0.5])


def test_gradient_of_several_results_and_of_numpy() -> None:
    x = tf.constant([1.0, 2.0])
    both = tf.py_function(
        lambda a, b: [a * b, a + b], [x, tf.constant([3.0, 4.0])], [tf.float32] * 2
    )
    (grad,) = tf.gradients(2.0 * tf.reduce_sum(both[0]), x)
    np.testing.assert_allclose(run(grad), [6.0, 8.0])
    plain = tf.py_function(lambda a: np.sin(a), [x], tf.float32)
    (grad,) = tf.gradients(plain, x)
    np.testing.assert_allclose(run([plain, grad]), [np.sin([1.0, 2.0]), [0.0, 0.0]], rtol=1e-6)


def test_training_through_it() -> None:
    v = tf.Variable(2.0)
    loss = tf.py_function(lambda a: tf.reduce_sum(a**2), [v * 3.0], tf.float32)
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(step)
        assert sess.run(v) == pytest.approx(1.64)


def test_what_goes_wrong_inside_is_told() -> None:
    wrong = tf.py_function(lambda a: tf.matmul(a, a), [tf.ones([2, 3])], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="inner dimensions"):
        run(wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tensor had Inf"):
        run(tf.py_function(lambda a: tf.check_numerics(a / 0.0, "x"), [1.0], tf.float32))
