"""Gradients count as as many nodes as TensorFlow's, so that the seeds of what follows are TensorFlow's."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow

tf: Any = dataflow


def gradients_of(make: Any, *shapes: Any) -> int:
    """How many nodes the gradients of ``make(*tensors of these shapes)`` count as."""
    with tf.Graph().as_default() as graph:
        tensors = [tf.placeholder(tf.float32, shape) for shape in shapes]
        result = make(*tensors)
        before = len(graph.operations) + graph.num_left_out
        tf.gradients(result, tensors)
        return len(graph.operations) + graph.num_left_out - before


ROWS, GIVEN = [None, 8], [4, 8]
COUNTED: dict[str, tuple[Any, ...]] = {
    "scaled": (lambda x: 2.0 * x, ROWS),
    "scaled-known": (lambda x: 2.0 * x, GIVEN),
    "bias": (lambda x, b: x + b, ROWS, [8]),
    "columns": (lambda x, y: x * y, GIVEN, [4, 1]),
    "twice-columns": (lambda x, y: x * y + x * y, GIVEN, [4, 1]),
    "quotient": (lambda x, y: x / y, GIVEN, GIVEN),
    "power": (lambda x: x**2, ROWS),
    "powers": (lambda x, y: x**y, GIVEN, GIVEN),
    "difference": (lambda x, y: tf.squared_difference(x, y), ROWS, ROWS),
    "larger": (lambda x: tf.maximum(0.01 * x, x), ROWS),
    "clipped": (lambda x: tf.clip_by_value(x, 0.0, 1.0), GIVEN),
    "mean": (lambda x: tf.reduce_mean(x), ROWS),
    "means": (lambda x: tf.reduce_mean(x, 1), ROWS),
    "means-known": (lambda x: tf.reduce_mean(x, 1), GIVEN),
    "means-unknown": (lambda x: tf.reduce_mean(x), None),
    "sum": (lambda x: tf.reduce_sum(x), GIVEN),
    "sums": (lambda x: tf.reduce_sum(x, [1, 2], keepdims=True), [None, 4, 8]),
    "sums-twice": (lambda x: tf.reduce_sum(x, 1) + tf.reduce_sum(x, 1), GIVEN),
    "largest": (lambda x: tf.reduce_max(x, 1), ROWS),
    "joined": (lambda x: tf.concat([x, x, x], 1), ROWS),
    "joined-known": (lambda x, y: tf.concat([x, y], 0), GIVEN, GIVEN),
    "taken": (lambda x: tf.gather(x, [1, 2]), GIVEN),
    "repeated": (lambda x: tf.tile(x, [1, 2]), ROWS),
    "softplus": (lambda x: tf.nn.softplus(x), ROWS),
    "classes": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=x),
        ROWS,
    ),
    "log-likelihood": (lambda x: tf.reduce_mean(-tf.reduce_sum(x * tf.log(x), 1)), ROWS),
}
NUM_GRADIENT_NODES = {
    "scaled": 12,
    "scaled-known": 12,
    "bias": 10,
    "columns": 12,
    "twice-columns": 20,
    "quotient": 15,
    "power": 26,
    "powers": 22,
    "difference": 15,
    "larger": 26,
    "clipped": 29,
    "mean": 18,
    "means": 30,
    "means-known": 26,
    "means-unknown": 30,
    "sum": 7,
    "sums": 19,
    "sums-twice": 29,
    "largest": 22,
    "joined": 12,
    "joined-known": 10,
    "taken": 16,
    "repeated": 15,
    "softplus": 5,
    "classes": 8,
    "log-likelihood": 47,
}


@pytest.mark.parametrize("name", COUNTED)
def test_gradients_count_as_those_of_tensorflow(name: str) -> None:
    """The numbers are those of the nodes that TensorFlow 1.15.5 makes."""
    assert gradients_of(*COUNTED[name]) == NUM_GRADIENT_NODES[name]
