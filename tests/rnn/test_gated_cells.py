"""The cells of `tf.contrib.rnn` against NumPy, one step or one sequence each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

rnn = tf.contrib.rnn
X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
H = np.random.RandomState(1).randn(3, 4).astype(np.float32)
C = np.random.RandomState(2).randn(3, 4).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step(cell: Any, state: Any, inputs: Any = X) -> tuple[Any, Any, dict[str, Any]]:
    with tf.variable_scope("net", initializer=tf.random_normal_initializer()):
        output, new_state = cell(tf.constant(inputs), state)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        weights = {v.op.name.removeprefix("net/"): v for v in tf.global_variables()}
        return sess.run((output, new_state, weights))


def test_layer_norm_lstm() -> None:
    cell = rnn.LayerNormBasicLSTMCell(4, norm_gain=1.5, norm_shift=0.2)
    output, state, weights = step(cell, rnn.LSTMStateTuple(tf.constant(C), tf.constant(H)))
    names = [
        f"{part}/{v}"
        for part in ("input", "transform", "forget", "output", "state")
        for v in ("gamma", "beta")
    ]
    assert sorted(weights) == sorted(f"layer_norm_basic_lstm_cell/{n}" for n in ["kernel", *names])

    def norm(x: Any) -> Any:
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) * 1.5 + 0.2

    gates = np.concatenate([X, H], 1) @ weights["layer_norm_basic_lstm_cell/kernel"]
    i, j, f, o = map(norm, np.split(gates, 4, 1))
    c = norm(C * sigmoid(f + 1) + sigmoid(i) * np.tanh(j))
    np.testing.assert_allclose(state.c, c, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(output, np.tanh(c) * sigmoid(o), rtol=1e-4, atol=1e-5)


def test_layer_norm_lstm_without_norm_is_a_basic_lstm() -> None:
    cell = rnn.LayerNormBasicLSTMCell(4, layer_norm=False)
    output, _, weights = step(cell, rnn.LSTMStateTuple(tf.constant(C), tf.constant(H)))
    gates = np.concatenate([X, H], 1) @ weights["layer_norm_basic_lstm_cell/kernel"]
    i, j, f, o = np.split(gates, 4, 1)
    c = C * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(output, np.tanh(c) * sigmoid(o), rtol=1e-4, atol=1e-5)


def test_update_gate_cell() -> None:
    output, state, weights = step(rnn.UGRNNCell(4), tf.constant(H))
    g, c = np.split(np.concatenate([X, H], 1) @ weights["ugrnn_cell/kernel"], 2, 1)
    g = sigmoid(g + 1)
    np.testing.assert_allclose(output, g * H + (1 - g) * np.tanh(c), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(output, state)


def test_simple_recurrent_unit() -> None:
    output, state, weights = step(rnn.SRUCell(4), tf.constant(C))
    bar, f, r, skipped = np.split(X @ weights["sru_cell/kernel"], 4, 1)
    f, r = sigmoid(f), sigmoid(r)
    c = f * C + (1 - f) * bar
    np.testing.assert_allclose(state, c, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(output, r * np.tanh(c) + (1 - r) * skipped, rtol=1e-4, atol=1e-5)


def test_convolutional_lstm() -> None:
    images = np.random.RandomState(3).randn(2, 5, 6, 3).astype(np.float32)
    cell = rnn.Conv2DLSTMCell(input_shape=[5, 6, 3], output_channels=2, kernel_shape=[1, 1])
    assert cell.output_size.as_list() == [5, 6, 2]
    output, _, weights = step(cell, cell.zero_state(2, tf.float32), images)
    kernel = weights["conv_2d_lstm_cell/kernel"][0, 0, :3]
    i, j, _, o = np.split(images @ kernel, 4, -1)
    expected = np.tanh(sigmoid(i) * np.tanh(j)) * sigmoid(o)
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    video = tf.zeros([2, 4, 5, 6, 3])
    skipping = rnn.ConvLSTMCell(2, [5, 6, 3], 2, [3, 3], skip_connection=True, name="skipping")
    outputs, _ = tf.nn.dynamic_rnn(skipping, video, dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 4, 5, 6, 5]
    with pytest.raises(ValueError, match="conv_ndims"):
        rnn.ConvLSTMCell(1, [5, 6, 3], 2, [3])


@pytest.mark.parametrize("coupled", [True, False])
def test_highway(coupled: bool) -> None:
    cell = rnn.HighwayWrapper(rnn.BasicRNNCell(4), coupled, carry_bias_init=0.5)
    output, _, weights = step(cell, tf.constant(H))
    inner = np.tanh(np.concatenate([X, H], 1) @ weights["basic_rnn_cell/kernel"])
    carry = sigmoid(X @ weights["carry_w"] + 0.5)
    transform = 1 - carry if coupled else sigmoid(X @ weights["transform_w"] - 0.5)
    np.testing.assert_allclose(output, X * carry + inner * transform, rtol=1e-4, atol=1e-5)


def test_stacks_of_bidirectional_layers() -> None:
    inputs = tf.random_normal([2, 5, 3], seed=1)
    cells = [[rnn.GRUCell(n) for n in (4, 6)] for _ in range(2)]
    outputs, forward, backward = rnn.stack_bidirectional_dynamic_rnn(
        *cells, inputs, dtype=tf.float32, sequence_length=[5, 3]
    )
    assert outputs.shape.as_list() == [2, 5, 12] and len(forward) == len(backward) == 2
    first = tf.trainable_variables()[0].op.name
    assert first == "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/gru_cell/gates/kernel"
    steps, last, _ = rnn.stack_bidirectional_rnn(
        *[[rnn.GRUCell(n) for n in (4, 6)] for _ in range(2)],
        tf.unstack(inputs, axis=1),
        dtype=tf.float32,
        scope="static",
    )
    assert len(steps) == 5 and steps[0].shape.as_list() == [2, 12]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values, state, final = sess.run([outputs, forward, last])
    np.testing.assert_allclose(values[0, 4, :6], state[1][0], rtol=1e-5)
    np.testing.assert_allclose(values[1, 2, :6], state[1][1], rtol=1e-5)
    assert not values[1, 3:].any() and final[1].shape == (2, 6)
    with pytest.raises(ValueError, match="same depth"):
        rnn.stack_bidirectional_dynamic_rnn(cells[0], cells[1][:1], inputs, dtype=tf.float32)
