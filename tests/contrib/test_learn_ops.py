"""``tf.contrib.learn.ops``."""

import numpy as np
import pytest

import dataflow as tf

ops = tf.contrib.learn.ops


pytestmark = pytest.mark.usefixtures("graph")


def run(fetch):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetch)


def test_classifiers():
    weights, biases = tf.fill([3, 2], 0.1), tf.constant([0.2, 0.3])
    given = [[0.2, 0.3, 0.2]]
    loss = ops.softmax_classifier(given, [[0.0, 1.0]], weights, biases, [0.1, 0.9])[1]
    predictions, error = ops.mean_squared_error_regressor(
        given, [1.0], tf.fill([3, 1], 0.1), tf.constant([0.2])
    )
    found = run([loss, predictions, error])
    assert found[0] == pytest.approx(0.55180627)
    assert found[1] == pytest.approx([0.27]) and found[2] == pytest.approx(0.5329)


def test_embeddings():
    embedded = ops.categorical_variable(tf.constant([[0, 1], [2, 0]]), 3, 4, "words")
    (table,) = tf.global_variables()
    assert table.op.name == "words/words_embeddings"
    found, rows = run([embedded, table])
    assert np.array_equal(found, rows[[[0, 1], [2, 0]]])


def test_sequences():
    x, y = np.arange(12.0).reshape(2, 3, 2), np.arange(8.0).reshape(2, 2, 2)
    steps, inputs, outputs = run(ops.seq2seq_inputs(x, y, 3, 2))
    assert np.array_equal(steps, x.swapaxes(0, 1))
    assert np.array_equal(inputs, [np.zeros([2, 2]), y[:, 0], y[:, 1]])
    assert np.array_equal(outputs, [y[:, 0], y[:, 1], np.zeros([2, 2])])
    logits = [tf.constant([[0.1, 0.9], [0.7, 0.3]]), tf.constant([[0.9, 0.1], [0.8, 0.2]])]
    labels = [tf.constant([[1.0, 0.0], [0.0, 1.0]])] * 2
    predictions, loss = run(ops.sequence_classifier(logits, labels, logits[::-1]))
    both = np.array([[[0.1, 0.9], [0.7, 0.3]], [[0.9, 0.1], [0.8, 0.2]]])
    said = np.exp(both[::-1]) / np.exp(both[::-1]).sum(2, keepdims=True)
    assert predictions == pytest.approx(said.swapaxes(0, 1))
    losses = np.log(np.exp(both).sum(2)) - both[:, [0, 1], [0, 1]]
    assert loss == pytest.approx(losses.sum())


def test_decoders():
    cell = tf.nn.rnn_cell.GRUCell(2)
    steps = [tf.ones([3, 2]), tf.zeros([3, 2])]
    outputs, states, sampled, sampled_states = ops.rnn_seq2seq(steps, steps, cell)
    assert (len(outputs), len(states), len(sampled), len(sampled_states)) == (2, 3, 2, 3)
    again, _ = cell(outputs[0], states[1])
    found = run([sampled[0], outputs[0], sampled[1], again])
    assert np.array_equal(found[0], found[1]) and found[2] == pytest.approx(found[3])
