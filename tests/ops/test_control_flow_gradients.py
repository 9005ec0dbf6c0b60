"""Gradients through loops and conditionals, against closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.gradient_check import assert_gradients

X = np.array([0.7, -0.4, 1.2])


pytestmark = pytest.mark.usefixtures("graph")


def hidden(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(tf.constant(value), [])


def power(x: Any, n: int) -> Any:
    return tf.while_loop(
        lambda i, _: i < n, lambda i, y: (i + 1, y * x), [tf.constant(0), tf.ones_like(x)]
    )[1]


def test_derivatives_of_a_loop_up_to_the_third() -> None:
    x = tf.placeholder(tf.float64, [])
    y = power(x, 5)
    (d1,) = tf.gradients(y, x)
    (d2,) = tf.gradients(d1, x)
    (d3,) = tf.gradients(d2, x)
    with tf.Session() as session:
        values = session.run([y, d1, d2, d3], {x: 1.5})
    np.testing.assert_allclose(values, [1.5**5, 5 * 1.5**4, 20 * 1.5**3, 60 * 1.5**2])


def test_no_rounds_give_no_gradient_to_the_body() -> None:
    x = tf.placeholder(tf.float64, [2])
    y = power(x, 0) + x
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.gradients(y, x)[0], {x: [1, 2]}), [1, 1])


def invariants_and_branches(tf: Any, x: Any, w: Any) -> Any:
    def body(i: Any, a: Any, b: Any) -> Any:
        a = tf.cond(
            tf.equal(i % 2, 0),
            lambda: tf.sin(a) * w,
            lambda: a + tf.cond(i < 2, lambda: b * x, lambda: w),
        )
        return i + 1, a, b * w + tf.reduce_sum(a)

    _, a, b = tf.while_loop(lambda i, *_: i < 4, body, [tf.constant(0), x, tf.ones_like(x)])
    return a * b


def nested_with_matrices(tf: Any, x: Any, w: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        _, c = tf.while_loop(
            lambda j, _: j <= i,
            lambda j, c: (j + 1, tf.tanh(tf.matmul(c, w))),
            [tf.constant(0), a],
        )
        return i + 1, a + c

    return tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), x])[1]


def loop_in_branch(tf: Any, x: Any) -> Any:
    def loop() -> Any:
        return tf.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, a * x + 1.0), [tf.constant(0), x]
        )[1]

    taken = tf.cond(hidden(tf, True), loop, lambda: x)
    return taken + tf.cond(hidden(tf, False), loop, lambda: tf.exp(x))


def unused_exit(tf: Any, x: Any) -> Any:
    """The second variable's last value is not used, but the first depends on it."""
    return tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, a, b: (i + 1, a + b * b, b * x),
        [tf.constant(0), tf.zeros_like(x), x],
    )[1]


def replaced(tf: Any, x: Any) -> Any:
    """A variable whose next value does not depend on the last one."""
    return tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, a, b: (i + 1, x * tf.cast(i, x.dtype), b + a * a),
        [tf.constant(0), x, tf.zeros_like(x)],
    )[2]


def arrays_in_loops(tf: Any, x: Any) -> Any:
    rows = tf.map_fn(lambda v: tf.scan(lambda a, b: a * b, v * x), tf.stack([x, x + 1.0]))
    return tf.foldl(lambda a, v: a + v * v, rows)


def gathered_rows(tf: Any, w: Any) -> Any:
    """A loop invariant with a sparse gradient."""
    return tf.while_loop(
        lambda i, _: i < 4,
        lambda i, a: (i + 1, a + tf.reduce_sum(tf.nn.embedding_lookup(w, [i % 3, 0]) ** 2.0)),
        [tf.constant(0), tf.zeros([], w.dtype)],
    )[1]


@pytest.mark.parametrize(
    "build, inputs",
    [
        (invariants_and_branches, [X, X + 0.3]),
        (nested_with_matrices, [np.outer(X, X[:2]), np.array([[0.3, -0.2], [0.5, 0.9]])]),
        (loop_in_branch, [X]),
        (unused_exit, [X]),
        (replaced, [X]),
        (arrays_in_loops, [X]),
        (gathered_rows, [np.outer(X, X)]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_first_and_second_derivatives(build: Any, inputs: Any) -> None:
    assert_gradients(tf, build, inputs, tolerance=1e-4)


def test_back_prop_false_cuts_the_gradient() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, a * x), [tf.constant(0), x], back_prop=False
    )[1]
    assert tf.gradients(y, x) == [None]


def test_gradients_taken_inside_a_loop() -> None:
    """Newton's method: the derivative is part of the body."""

    def body(i: Any, x: Any) -> Any:
        f = x * x - 2.0
        return i + 1, x - f / tf.gradients(f, x)[0]

    root = tf.while_loop(lambda i, _: i < 6, body, [tf.constant(0), tf.constant(1.0)])[1]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(root), np.sqrt(2), rtol=1e-6)


def test_sparse_gradient_of_a_loop_invariant_stays_sparse() -> None:
    w = tf.Variable(np.ones((5, 2), np.float32))
    (grad,) = tf.gradients(gathered_rows(tf, w), w)
    assert isinstance(grad, tf.IndexedSlices)
    with tf.Session() as session:
        session.run(w.initializer)
        value = session.run(grad)
    dense = np.zeros((5, 2))
    np.add.at(dense, value.indices, value.values)
    np.testing.assert_array_equal(dense[:, 0], [12, 2, 2, 0, 0])


def test_training_through_a_loop() -> None:
    w = tf.Variable(0.1)
    y = tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, a * w), [tf.constant(0), tf.constant(1.0)]
    )[1]
    step = tf.train.GradientDescentOptimizer(0.002).minimize(tf.square(y - 8.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(w, 1.5))
        for _ in range(200):
            session.run(step)
        np.testing.assert_allclose(session.run(w), 2.0, rtol=1e-3)


def _loop(x):
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), (tf.constant(0), x))[1]


def _loop_in_a_loop(x):
    def outer(i, a):
        return i + 1, tf.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, b * x), (0, a))[1]

    return tf.while_loop(lambda i, _: i < 2, outer, (tf.constant(0), x))[1]


def _branch_in_a_loop(x):
    def body(i, a):
        return i + 1, tf.cond(tf.equal(i, 1), lambda: a * x, lambda: a + x)

    return tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), x))[1]


@pytest.mark.parametrize(
    ("build", "value", "slope"),
    [(_loop, 16.0, 32.0), (_loop_in_a_loop, 32.0, 80.0), (_branch_in_a_loop, 10.0, 9.0)],
)
@pytest.mark.parametrize("scope", ["", "m"])
def test_loops_of_an_imported_graph(build, value, slope, scope) -> None:
    with tf.Graph().as_default() as made:
        tf.identity(build(tf.placeholder(tf.float32, [], name="x")), name="y")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(made.as_graph_def(), name=scope)
        prefix = f"{scope}/" if scope else ""
        x, y = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in "xy")
        (grad,) = tf.gradients(y, x)
        assert sess.run([y, grad], {x: 2.0}) == [value, slope]
        (again,) = tf.gradients(y, x)  # of the loop that counts its rounds by now
        assert sess.run(again, {x: 2.0}) == slope


def test_lookups_of_ids_of_two_types_share_a_table() -> None:
    """As a decoder has it that is fed its own answers: int32 first, then what argmax gives."""
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(np.ones((4, 2)))
        first = tf.nn.embedding_lookup(table, tf.constant([0, 1], tf.int32))
        second = tf.nn.embedding_lookup(table, tf.constant([1, 3], tf.int64))
        (gradient,) = tf.gradients(first + second, [table])
        assert gradient.indices.dtype == tf.int64
        counted = session.run(tf.convert_to_tensor(gradient))
        np.testing.assert_array_equal(counted[:, 0], [1, 2, 0, 1])


@pytest.mark.parametrize("known", [True, False])
def test_a_branch_that_is_not_taken_has_no_gradient(known: bool) -> None:
    from dataflow.ops.control_flow import switch

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        pred = tf.placeholder_with_default(True, [])
        for value in (True, False):
            on_false, on_true = switch(x, tf.constant(value) if known else pred)
            gradients = [tf.gradients(3 * on_true, x)[0], tf.gradients(on_false, x)[0]]
            got = session.run(gradients, {pred: value})
            assert got == ([3.0, 0.0] if value else [0.0, 1.0])
