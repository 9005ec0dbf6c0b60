"""Functions count as as many nodes as TensorFlow 1.15 makes, so that the seeds of what follows are TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dataflow
from dataflow.tensorflow_numbers import draw_as_tensorflow

tf: Any = dataflow


@pytest.fixture(autouse=True)
def as_tensorflow() -> Iterator[None]:
    draw_as_tensorflow()
    try:
        yield
    finally:
        draw_as_tensorflow(False)


def count(graph: Any) -> int:
    return len(graph.operations) + graph.num_left_out


def rows(*sizes: int) -> Any:
    return tf.placeholder(tf.float32, [None, *sizes])


def given(*sizes: int) -> Any:
    return tf.placeholder(tf.float32, sizes)


def numbers() -> Any:
    return tf.placeholder(tf.int64, [None, 1])


def words() -> Any:
    return tf.placeholder(tf.string, [None, 1])


def squared(**kwargs: Any) -> Any:
    return tf.losses.mean_squared_error(rows(3), rows(3), **kwargs)


def average(**kwargs: Any) -> Any:
    means = tf.train.ExponentialMovingAverage(0.9, **kwargs)
    return means.apply([tf.Variable(1.0), tf.get_variable("v", [3])])


def column(make: Any, **features: Any) -> Any:
    return tf.feature_column.input_layer(features, make())


columns: Any = tf.feature_column
COUNTED: dict[str, Any] = {
    "weights": lambda: squared(weights=rows(1)),
    "weights-list": lambda: squared(weights=[[1.0], [2.0]]),
    "weights-scalar": lambda: squared(weights=given()),
    "weights-known": lambda: tf.losses.absolute_difference(given(2, 3), given(2, 3), given(2, 1)),
    "no-reduction": lambda: squared(reduction=tf.losses.Reduction.NONE),
    "mean": lambda: squared(reduction=tf.losses.Reduction.MEAN),
    "hinge": lambda: tf.losses.hinge_loss(rows(3), rows(3)),
    "classes": lambda: tf.losses.sparse_softmax_cross_entropy([1, 2], rows(3), weights=rows()),
    "average-weights": lambda: tf.metrics.mean(rows(), rows()),
    "matrices": lambda: tf.einsum("ij,jk->ik", rows(4), given(4, 3)),
    "sequences": lambda: tf.einsum("bij,jk->bik", rows(5, 4), given(4, 3)),
    "heads": lambda: tf.einsum("bhld,bhmd->bhlm", rows(2, 3, 4), rows(2, 5, 4)),
    "rows": lambda: tf.einsum("ij,ij->i", rows(4), rows(4)),
    "outer": lambda: tf.einsum("i,j->ij", rows(), rows()),
    "turned": lambda: tf.einsum("ijk->ki", rows(2, 3)),
    "three": lambda: tf.einsum("ij,jk,kl->il", given(2, 3), given(3, 4), rows(5)),
    "softmax": lambda: tf.nn.softmax(rows(5, 3), axis=1),
    "crossentropy": lambda: tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=rows(5, 3), logits=rows(5, 3), axis=1
    ),
    "eye": lambda: tf.eye(3),
    "eye-oblong": lambda: tf.eye(3, 4),
    "eye-unknown": lambda: tf.eye(tf.shape(rows(3))[0]),
    "trace": lambda: tf.trace(given(3, 3)),
    "values": lambda: tf.one_hot([1, 2], 3, on_value=2.0, off_value=0.5),
    "averages": lambda: average(),
    "averages-counted": lambda: average(num_updates=tf.train.get_or_create_global_step()),
    "copied": lambda: tf.Variable(tf.Variable([1.0]).initialized_value() * 2.0),
    "buckets": lambda: column(
        lambda: [columns.bucketized_column(columns.numeric_column("a"), [1, 2])], a=rows(1)
    ),
    "embedded-words": lambda: column(
        lambda: [
            columns.embedding_column(
                columns.categorical_column_with_vocabulary_list("a", ["x", "y"]), 3
            )
        ],
        a=words(),
    ),
    "embedded-numbers": lambda: column(
        lambda: [columns.embedding_column(columns.categorical_column_with_identity("a", 5), 3)],
        a=numbers(),
    ),
    "crossed": lambda: column(
        lambda: [columns.indicator_column(columns.crossed_column(["a", "b"], 5))],
        a=words(),
        b=words(),
    ),
}
NUM_NODES = {
    "weights": 149,
    "weights-list": 150,
    "weights-scalar": 33,
    "weights-known": 34,
    "no-reduction": 11,
    "mean": 22,
    "hinge": 42,
    "classes": 150,
    "average-weights": 90,
    "matrices": 16,
    "sequences": 19,
    "heads": 30,
    "rows": 23,
    "outer": 7,
    "turned": 5,
    "three": 12,
    "softmax": 32,
    "crossentropy": 55,
    "eye": 2,
    "eye-oblong": 3,
    "eye-unknown": 14,
    "trace": 4,
    "values": 7,
    "averages": 74,
    "averages-counted": 85,
    "copied": 31,
    "buckets": 19,
    "embedded-words": 91,
    "embedded-numbers": 120,
    "crossed": 23,
}


@pytest.mark.parametrize("name", COUNTED)
def test_as_many_nodes_count_as_tensorflow_makes(name: str) -> None:
    with tf.Graph().as_default() as graph:
        COUNTED[name]()
        assert count(graph) == NUM_NODES[name]
