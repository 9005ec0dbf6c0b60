"""Gradients count as as many nodes as TensorFlow's, so that the seeds of what follows are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    "joined-many": (lambda x: tf.concat([x] * 17, 1), ROWS),
    "joined-many-known": (lambda x: tf.concat([x] * 20, 1), GIVEN),
    "stacks": (lambda x, y: x @ y, [2, None, 3], [2, 3, 4]),
    "stacks-known": (lambda x, y: x @ y, [2, 3, 3], [2, 3, 3]),
    "part": (lambda x: tf.slice(x, [1, 0], [2, -1]), GIVEN),
    "taken": (lambda x: tf.gather(x, [1, 2]), GIVEN),
    "repeated": (lambda x: tf.tile(x, [1, 2]), ROWS),
    "softplus": (lambda x: tf.nn.softplus(x), ROWS),
    "classes": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=x),
        ROWS,
    ),
    "many-classes": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1] * 400, logits=x),
        [400, 10],
    ),
    "probabilities": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=np.ones((4, 8)), logits=x),
        GIVEN,
    ),
    "probabilities-of-steps": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=np.ones((2, 4, 8)), logits=x),
        [2, None, 8],
    ),
    "sequences": (
        lambda x: tf.contrib.seq2seq.sequence_loss(x, tf.ones([3, 4], tf.int32), tf.ones([3, 4])),
        [3, 4, 5],
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
    "joined-many": 15,
    "joined-many-known": 33,
    "stacks": 20,
    "stacks-known": 5,
    "part": 15,
    "taken": 16,
    "repeated": 15,
    "softplus": 5,
    "classes": 8,
    "many-classes": 8,
    "probabilities": 16,
    "probabilities-of-steps": 16,
    "sequences": 28,
    "log-likelihood": 47,
}


@pytest.mark.parametrize("name", COUNTED)
def test_gradients_count_as_those_of_tensorflow(name: str) -> None:
    """The numbers are those of the nodes that TensorFlow 1.15.5 makes."""
    assert gradients_of(*COUNTED[name]) == NUM_GRADIENT_NODES[name]


def made_by(make: Any, *shapes: Any) -> int:
    """How many nodes ``make(*placeholders of these shapes)`` counts as."""
    with tf.Graph().as_default() as graph:
        tensors = [tf.placeholder(tf.float32, shape) for shape in shapes]
        before = len(graph.operations) + graph.num_left_out
        make(*tensors)
        return len(graph.operations) + graph.num_left_out - before


def classes_of(x: Any) -> Any:
    labels = tf.placeholder(tf.int32, x.shape[:-1])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def sequences(**kwargs: Any) -> Any:
    """A maker of `sequence_loss`, whose numbers and weights are placeholders."""

    def make(x: Any) -> Any:
        targets, weights = (tf.placeholder(t, x.shape[:2]) for t in (tf.int32, tf.float32))
        return tf.contrib.seq2seq.sequence_loss(x, targets, weights, **kwargs)

    return make


def steps_of(x: Any) -> Any:
    """The loss of three steps, the old way."""
    targets, weights = ([tf.placeholder(t, [4])] * 3 for t in (tf.int32, tf.float32))
    return tf.contrib.legacy_seq2seq.sequence_loss([x] * 3, targets, weights)


STEPS, UNKNOWN = [3, 4, 5], [None, None, 5]
MADE: dict[str, tuple[Any, ...]] = {
    "classes": (classes_of, [4, 5]),
    "classes-of-steps": (classes_of, STEPS),
    "classes-of-unknown": (classes_of, UNKNOWN),
    "classes-of-unsaid": (classes_of, [None, None, None]),
    "probabilities": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x),
        STEPS,
    ),
    "sequences": (sequences(), STEPS),
    "sequences-of-unknown": (sequences(), UNKNOWN),
    "sequences-steps": (sequences(average_across_batch=False), STEPS),
    "steps": (steps_of, [4, 5]),
    "slice": (lambda x, i: tf.strided_slice(x, [0, 1], [2, tf.cast(i, tf.int32)]), [4, 5], []),
    "slice-from": (lambda x, i: tf.strided_slice(x, [0, tf.cast(i, tf.int32)], [2, 4]), [4, 5], []),
    "kept": (lambda x: tf.sparse_retain(tf.SparseTensor([[0]], x, [2]), [True]), [1]),
}
NUM_MADE = {
    "classes": 3,
    "classes-of-steps": 19,
    "classes-of-unknown": 35,
    "classes-of-unsaid": 35,
    "probabilities": 31,
    "sequences": 22,
    "sequences-of-unknown": 22,
    "sequences-steps": 28,
    "steps": 31,
    "slice": 9,
    "slice-from": 10,
    "kept": 11,
}


@pytest.mark.parametrize("name", MADE)
def test_functions_count_as_those_of_tensorflow(name: str) -> None:
    """The numbers are those of the nodes that TensorFlow 1.15.5 makes."""
    assert made_by(*MADE[name]) == NUM_MADE[name]
