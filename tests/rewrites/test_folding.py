"""Constants that wait for something: in loops, in branches, behind control dependencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.registry import get_op
from dataflow.rewrites.folding import fold
from tests.rewrites.rewritten import rewritten, types


def test_constants_of_a_loop_fold() -> None:
    x = tf.placeholder(tf.float32, [3])

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + x * tf.fill([3], 2.0) + tf.constant([1.0, 2.0, 3.0]) * 4.0

    _, total = tf.while_loop(lambda i, _: i < tf.constant(2) + 1, body, [0, tf.zeros([3])])
    value = np.array([1, 2, 3], np.float32)
    with tf.Session() as s:
        plain = s.run(total, {x: value})
        plan = rewritten(s, total, [x])
        np.testing.assert_array_equal(plan.run([value]), plain)
    assert "Fill" not in types(plan)
    assert types(plan).count("Mul") <= 1


@pytest.mark.parametrize("taken", [True, False])
def test_constants_of_a_branch_fold_and_the_branch_still_decides(taken: bool) -> None:
    p = tf.placeholder("bool", [])
    y = tf.cond(p, lambda: tf.fill([2], 3.0) * 2.0, lambda: tf.fill([2], 1.0) - 2.0)
    with tf.Session() as s:
        plan = rewritten(s, y, [p])
        np.testing.assert_array_equal(plan.run([taken]), [6, 6] if taken else [-1, -1])
    assert not {"Fill", "Mul", "Sub"}.intersection(types(plan))


def test_a_folded_constant_of_the_other_branch_is_dead() -> None:
    p = tf.placeholder("bool", [])
    false, true = get_op("Switch")(tf.constant(1.0), p)
    with tf.control_dependencies([tf.identity(true)]):
        dead = tf.fill([2], 3.0) * 2.0
    y = get_op("Merge")([dead, tf.fill([2], false)]).output + 1.0
    with tf.Session() as s:
        plan = rewritten(s, [y, dead], [p])
        np.testing.assert_array_equal(plan.run([True]), [[7, 7], [6, 6]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not taken"):
            plan.run([False])
        np.testing.assert_array_equal(rewritten(s, y, [p]).run([False]), [2, 2])


@pytest.mark.parametrize("who", ["constant", "node", "both", "other constant"])
def test_what_a_constant_waits_for_still_happens(who: str) -> None:
    v = tf.Variable(0.0)

    def made(names: str, make: Any) -> Any:
        waits = who in names.split(", ")
        with tf.control_dependencies([tf.assign_add(v, 1.0)] if waits else []):
            return make()

    a = made("constant, both", lambda: tf.constant([1.0, 2.0]))
    b = made("other constant", lambda: tf.constant([3.0, 4.0]))
    y = made("node, both", lambda: a * b)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, y - 1.0, [])
        for count in (1, 2):
            np.testing.assert_array_equal(plan.run([]), [2, 7])
            assert s.run(v) == count * (2 if who == "both" else 1)
    assert "Mul" not in types(plan)


def test_a_predicate_that_folds_in_a_loop_is_known() -> None:
    x = tf.placeholder(tf.float32, [])
    _, total = tf.while_loop(
        lambda i, _: i < 5,
        lambda i, t: (
            i + 1,
            tf.cond(tf.equal(tf.constant(2) * 3, 6), lambda: t + x, lambda: t * x),
        ),
        [0, 0.0],
    )
    with tf.Session() as s:
        plan = rewritten(s, total, [x])
        assert plan.run([2.0]) == 10.0
    assert "Mul" not in types(plan)
    assert "merge_of_one_branch" in {hit.rule for hit in plan.journal}


def test_gradients_of_loops_with_constant_parts() -> None:
    x = tf.placeholder(tf.float32, [4])

    def body(i: Any, y: Any) -> Any:
        z = y * tf.fill([4], 0.5) + tf.cast(tf.constant([1, 2, 3, 4]), tf.float32)
        return i + 1, tf.where(tf.constant([True, False, True, False]), z, tf.zeros([4]) + y)

    _, y = tf.while_loop(lambda i, _: i < 4, body, [0, x])
    (gradient,) = tf.gradients(tf.reduce_sum(y * y), x)
    value = np.array([0.5, -1, 2, 3], np.float32)
    with tf.Session() as s:
        plain = s.run([y, gradient], {x: value})
        plan = rewritten(s, [y, gradient], [x])
        for got, wanted in zip(plan.run([value]), plain, strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert "Fill" not in types(plan)


@pytest.mark.parametrize(
    "one_of",
    [
        lambda x: tf.split(x, 1, 0)[0],
        lambda x: tf.split(x, [3], 0)[0],
        lambda x: tf.unstack(tf.expand_dims(x, 0))[0],
    ],
)
def test_a_list_of_one_part_folds_to_the_part(one_of: Any) -> None:
    scale = tf.placeholder(tf.float32, [])
    part = one_of(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    y = tf.reduce_sum(part, -1) * scale
    with tf.Session() as sess:
        for _ in range(6):
            assert sess.run(y, {scale: 2.0}).tolist() == [6.0, 14.0, 22.0]


def test_as_many_bytes_as_allowed_fold_and_one_less_does_not() -> None:
    total = tf.constant([1.0, 2.0, 3.0, 4.0]) + tf.constant([1.0, 1.0, 1.0, 1.0])
    folded = fold(total, 16)
    assert folded is not None
    np.testing.assert_array_equal(folded.op.attrs["value"], [2, 3, 4, 5])
    assert fold(total, 15) is None
