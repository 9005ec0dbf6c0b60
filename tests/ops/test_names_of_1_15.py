"""What programs print: names of nodes, and texts of tensors and datasets, are TensorFlow 1.15's."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.graph.graph import Graph


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as made:
        yield made


def matrix():
    return tf.placeholder(tf.float32, [None, 3], name="x")


def squared_slope(x):
    return tf.gradients(tf.square(x), x)[0]


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: tf.random_uniform([2]), "random_uniform:0"),
        (lambda: tf.random_uniform([2], 0, 5.0), "random_uniform:0"),
        (lambda: tf.nn.dropout(matrix(), 0.5), "dropout/mul_1:0"),
        (lambda: tf.nn.dropout(matrix(), rate=tf.constant(0.5)), "dropout/mul_1:0"),
        (lambda: tf.reduce_logsumexp(matrix()), "ReduceLogSumExp/Add:0"),
        (lambda: tf.tensordot(tf.ones([2, 3]), tf.ones([3, 4]), 1), "Tensordot:0"),
        (lambda: squared_slope(matrix()), "gradients/Square_grad/Mul_1:0"),
    ],
)
def test_composed_functions_end_in_its_nodes(build, name):
    assert build().name == name


def test_dropout_has_its_nodes(graph):
    tf.nn.dropout(tf.ones([2], name="x"), rate=0.5, name="d")
    short = [op.name.removeprefix("d/") for op in graph.get_operations()]
    assert " ".join(short) == (
        "x rate Shape random_uniform/min random_uniform/max random_uniform/RandomUniform "
        "random_uniform/sub random_uniform/mul random_uniform sub/x sub truediv/x truediv "
        "GreaterEqual mul Cast mul_1"
    )


def test_dropout_scales_what_stays_and_its_gradient():
    x = tf.ones([400])
    y = tf.nn.dropout(x, rate=0.25, seed=1)
    found, slope = tf.Session().run([y, tf.gradients(y, x)[0]])
    np.testing.assert_allclose(sorted(set(found.tolist())), [0, 4 / 3], rtol=1e-6)
    np.testing.assert_array_equal(found, slope)
    assert 200 < np.count_nonzero(found) < 390


def test_updates_of_batch_normalization_are_operations():
    tf.layers.batch_normalization(matrix(), training=True)
    assert [str(type(op).__name__) for op in tf.get_collection(tf.GraphKeys.UPDATE_OPS)] == [
        "Operation",
        "Operation",
    ]
    assert [op.name for op in tf.get_collection(tf.GraphKeys.UPDATE_OPS)] == [
        "batch_normalization/AssignMovingAvg",
        "batch_normalization/AssignMovingAvg_1",
    ]


def test_an_lstm_cell_adds_and_multiplies_with_functions():
    steps = [matrix(), matrix()]
    outputs, state = tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(2), steps, dtype=tf.float32)
    assert [y.name for y in outputs] == [
        "rnn/basic_lstm_cell/Mul_2:0",
        "rnn/basic_lstm_cell/Mul_5:0",
    ]
    assert state.c.name == "rnn/basic_lstm_cell/Add_3:0"


def test_a_tensor_of_unknown_rank_is_printed_without_a_shape():
    x = tf.placeholder(tf.float32)
    assert str(x) == 'Tensor("Placeholder:0", dtype=float32)'
    assert repr(x) == "<tf.Tensor 'Placeholder:0' shape=<unknown> dtype=float32>"


def test_datasets_are_printed_with_their_shapes():
    data = tf.data.Dataset
    pair = data.from_tensor_slices({"a": [1, 2], "b": [[1.0], [2.0]]}).batch(2)
    assert str(pair) == (
        "<DatasetV1Adapter shapes: {a: (?,), b: (?, 1)}, types: {a: tf.int32, b: tf.float32}>"
    )
    lines = tf.data.TextLineDataset("x")
    assert str(lines) == "<TextLineDatasetV1 shapes: (), types: tf.string>"
