"""Conditionals: what their branches may give."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf


def test_slices_of_two_index_types_in_branches():
    def slices(kind):
        return lambda: tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3], kind))

    chosen = tf.cond(tf.constant(True), slices(tf.int32), slices(tf.int64))
    assert chosen.indices.dtype == tf.int64
    with tf.Session() as sess:
        assert sess.run(chosen.indices).tolist() == [3]


def test_a_predicate_of_constants_decides_while_the_graph_is_built() -> None:
    from dataflow.python.framework import smart_cond

    def never() -> Any:
        raise AssertionError("the branch is not taken")

    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(1), tf.constant(2)
        for pred in (x * y > 0, x <= y, tf.logical_not(x > y), tf.logical_and(x < y, x >= 1)):
            value = smart_cond.smart_cond(pred, lambda: tf.constant(7), never)
            assert session.run(value) == 7
        assert (
            session.run(smart_cond.smart_cond(tf.logical_or(x > y, y < x), never, lambda: y)) == 2
        )


def test_a_branch_that_never_runs_may_not_fit() -> None:
    """Sizes from outside a branch, as object detection resizes masks: none there, or all of one size."""
    masks = tf.zeros([2, 10, 10])
    size = tf.stack([20, 20])
    resized = tf.cond(
        tf.shape(masks)[0] > 0,
        lambda: tf.ones([2, 20, 20]),
        lambda: tf.reshape(masks, [-1, size[0], size[1]]),
    )
    with tf.Session() as session:
        assert session.run(resized).shape == (2, 20, 20)
    with pytest.raises(tf.errors.InvalidArgumentError), tf.Session() as session:
        session.run(
            tf.cond(tf.constant(True), lambda: tf.reshape(masks, [-1, size[0], 7]), lambda: masks)
        )
    with pytest.raises(ValueError, match="not a multiple of 400"):
        tf.cond(tf.constant(True), lambda: masks, lambda: tf.reshape(masks, [-1, 20, 20]))


def test_a_smart_condition_has_its_name() -> None:
    from dataflow.python.layers import utils

    with tf.Graph().as_default():
        fed = tf.placeholder(tf.bool, [])
        value = utils.smart_cond(fed, lambda: tf.constant(1), lambda: tf.constant(2), name="chosen")
        assert value.op.name == "chosen/Merge"
        assert utils.smart_cond(True, lambda: 1, lambda: 2, name="chosen") == 1
