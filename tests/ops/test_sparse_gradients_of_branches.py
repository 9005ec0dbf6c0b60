"""A gradient of gathered rows stays one of rows through `tf.cond`: TensorFlow 1.15.5's rows and training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")

TABLE = np.arange(12.0, dtype=np.float32).reshape(6, 2)
ALL_ROWS = [(i, [0.0, 0.0]) for i in range(6)]
TAKEN = [(1, [4.0, 6.0]), (3, [12.0, 14.0])]

Loss = Callable[[Callable[[Any], tf.Tensor], tf.Tensor, tf.Tensor], tf.Tensor]


def _in_one(rows: Callable[[Any], tf.Tensor], ids: tf.Tensor, pred: tf.Tensor) -> tf.Tensor:
    return tf.cond(pred, lambda: rows(ids), lambda: tf.constant(0.0))


def _in_both(rows: Callable[[Any], tf.Tensor], ids: tf.Tensor, pred: tf.Tensor) -> tf.Tensor:
    return tf.cond(pred, lambda: rows(ids), lambda: rows(ids + 1))


def _nested(rows: Callable[[Any], tf.Tensor], ids: tf.Tensor, pred: tf.Tensor) -> tf.Tensor:
    return tf.cond(
        pred,
        lambda: tf.cond(ids[0] > 0, lambda: rows(ids), lambda: rows(ids + 1)),
        lambda: tf.constant(0.0),
    )


def _constant_ids(rows: Callable[[Any], tf.Tensor], ids: tf.Tensor, pred: tf.Tensor) -> tf.Tensor:
    return tf.cond(pred, lambda: rows([1, 3]), lambda: tf.constant(0.0))


def _in_a_loop(rows: Callable[[Any], tf.Tensor], ids: tf.Tensor, pred: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(
        lambda i, _: i < 2,
        lambda i, total: (i + 1, total + tf.cond(pred, lambda: rows(ids), lambda: 0.0)),
        (0, 0.0),
    )[1]


def _network(loss: Loss, use_resource: bool = False) -> tuple[Any, ...]:
    with tf.variable_scope("table", use_resource=use_resource):
        table = tf.get_variable("rows", initializer=TABLE)
    ids = tf.placeholder(tf.int32, [None])
    pred = tf.placeholder(tf.bool, [])
    value = loss(lambda i: tf.reduce_sum(tf.square(tf.gather(table, i))), ids, pred)
    return table, ids, pred, value


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize(
    "loss,taken,other",
    [
        (_in_one, TAKEN, ALL_ROWS),
        (_constant_ids, TAKEN, ALL_ROWS),
        (_in_both, ALL_ROWS + TAKEN, [*ALL_ROWS, (2, [8.0, 10.0]), (4, [16.0, 18.0])]),
        (_nested, ALL_ROWS + TAKEN, ALL_ROWS),
        (_in_a_loop, [ALL_ROWS[0], *TAKEN * 2], [ALL_ROWS[0], *ALL_ROWS * 2]),
    ],
    ids=["in one branch", "constant ids", "in both", "nested", "in a loop"],
)
def test_the_rows_of_a_branch(loss: Loss, taken: Any, other: Any, use_resource: bool) -> None:
    table, ids, pred, value = _network(loss, use_resource)
    gradient = tf.gradients(value, table)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.shape.as_list() == [6, 2]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for flag, expected in ((True, taken), (False, other)):
            got = session.run(gradient, {ids: [1, 3], pred: flag})
            rows = zip(got.indices.tolist(), got.values.tolist(), strict=True)
            assert sorted(rows) == sorted(expected)


def test_a_whole_gradient_of_the_other_branch_makes_the_sum_whole() -> None:
    table, ids, pred, value = _network(
        lambda rows, i, p: tf.cond(
            p, lambda: rows(i), lambda: tf.reduce_sum(tf.global_variables()[0])
        )
    )
    gradient = tf.gradients(value, table)[0]
    assert isinstance(gradient, tf.Tensor)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run(gradient, {ids: [1, 3], pred: True})
        np.testing.assert_array_equal(got, 2 * TABLE * [[0], [1], [0], [1], [0], [0]])
        np.testing.assert_array_equal(session.run(gradient, {ids: [1], pred: False}), 1.0)


def test_rows_of_what_a_branch_chose() -> None:
    first, second = (tf.Variable(TABLE + i) for i in (0, 1))
    pred = tf.placeholder(tf.bool, [])
    chosen = tf.cond(pred, lambda: tf.identity(first), lambda: tf.identity(second))
    gradients = tf.gradients(tf.reduce_sum(tf.gather(chosen, [4, 4, 0])), [first, second])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for flag in (True, False):
            values = [
                session.run(tf.convert_to_tensor(gradient), {pred: flag}) for gradient in gradients
            ]
            rows = np.array([[1], [0], [0], [0], [2], [0]]) * np.ones(2)
            np.testing.assert_array_equal(values[0], rows * flag)
            np.testing.assert_array_equal(values[1], rows * (not flag))


def test_momentum_moves_only_the_rows_of_the_branch_that_ran() -> None:
    """As TensorFlow's: rows rest while others are looked up; all roll on in a step of the other branch."""
    table, ids, pred, value = _network(_in_one)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(value)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {ids: [1, 3], pred: True})
        after_one = session.run(table)
        np.testing.assert_allclose(after_one[[1, 3]], 0.8 * TABLE[[1, 3]], rtol=1e-6)
        session.run(train, {ids: [5], pred: True})
        np.testing.assert_array_equal(session.run(table)[:5], after_one[:5])
        session.run(train, {ids: [5], pred: False})
        expected = after_one[[1, 3]] - 0.1 * 0.9 * 2 * TABLE[[1, 3]]
        np.testing.assert_allclose(session.run(table)[[1, 3]], expected, rtol=1e-5)
