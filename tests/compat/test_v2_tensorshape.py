"""`tf.enable_v2_tensorshape`: items of shapes are plain numbers, as in TensorFlow 1.15."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture(autouse=True)
def plain_sizes() -> Iterator[None]:
    tf.enable_v2_tensorshape()
    yield
    tf.disable_v2_tensorshape()


def test_items_are_numbers() -> None:
    shape = tf.placeholder(tf.float32, [None, 3]).shape
    assert list(shape) == [None, 3] and type(shape[1]) is int and shape[0] is None
    assert shape[1:] == tf.TensorShape([3])
    assert isinstance(shape.dims[1], tf.Dimension)
    assert tf.dimension_value(shape[1]) == 3
    assert tf.TensorShape(None)[0] is None
    tf.disable_v2_tensorshape()
    assert isinstance(shape[1], tf.Dimension)


def test_layers_and_cells_build() -> None:
    x = tf.placeholder(tf.float32, [2, 5, 4])
    cell = tf.nn.rnn_cell.LSTMCell(3)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    y = tf.layers.batch_normalization(tf.layers.dense(outputs, 6), training=True)
    y = tf.layers.conv1d(y, 2, 3, padding="same")
    z = tf.keras.layers.GRU(3)(tf.keras.layers.Dense(4)(x))
    scores = tf.contrib.layers.fully_connected(tf.contrib.layers.flatten(y), 2)
    memory = tf.contrib.seq2seq.LuongAttention(3, outputs)
    assert memory.alignments_size == 5
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run([scores, z], {x: np.ones([2, 5, 4])})
    assert [g.shape for g in got] == [(2, 2), (2, 3)]
    ragged = tf.ragged.constant([[1], [2, 3]]) * tf.constant([[2], [3]])
    assert run_initialized(ragged).to_list() == [[2], [6, 9]]
