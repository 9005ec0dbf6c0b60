"""`tf.contrib.cudnn_rnn`: values against NumPy, names against TensorFlow's checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

cudnn_rnn = tf.contrib.cudnn_rnn
X = np.random.RandomState(0).randn(5, 2, 3).astype(np.float32)  # time, batch, size


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run((fetches, {v.op.name: v for v in tf.global_variables()}))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(x: Any, kernel: Any, bias: Any) -> tuple[Any, Any, Any]:
    c = h = np.zeros((x.shape[1], 4))
    outputs = []
    for step in x:
        i, j, f, o = np.split(np.concatenate([step, h], 1) @ kernel + bias, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(j)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.array(outputs), h, c


def test_lstm_of_two_layers() -> None:
    layer = cudnn_rnn.CudnnLSTM(2, 4, kernel_initializer=tf.random_normal_initializer())
    (outputs, (h, c)), weights = run(layer(tf.constant(X)))
    stem = "cudnn_lstm/rnn/multi_rnn_cell/cell_{}/cudnn_compatible_lstm_cell/"
    names = [stem.format(n) + part for n in (0, 1) for part in ("kernel", "bias")]
    assert sorted(weights) == sorted(names)
    first, h0, c0 = lstm(X, weights[names[0]], weights[names[1]])
    second, h1, c1 = lstm(first, weights[names[2]], weights[names[3]])
    np.testing.assert_allclose(outputs, second, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h, [h0, h1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(c, [c0, c1], rtol=1e-4, atol=1e-5)
    assert layer.state_shape(2) == ([2, 2, 4], [2, 2, 4])
    assert len(layer.trainable_variables) == 4


def test_both_directions_go_on_from_a_state() -> None:
    layer = cudnn_rnn.CudnnLSTM(1, 4, direction="bidirectional")
    halves = [layer(tf.constant(X))]
    state = tuple(tf.constant(np.random.RandomState(i).randn(2, 2, 4), tf.float32) for i in (0, 1))
    halves.append(layer(tf.constant(X), initial_state=state))
    ((outputs, (h, _)), (moved, _)), weights = run(halves)
    stem = "cudnn_lstm/stack_bidirectional_rnn/cell_0/bidirectional_rnn/"
    assert {name.removeprefix(stem)[:3] for name in weights} == {"fw/", "bw/"}
    cell = "/cudnn_compatible_lstm_cell/"
    ahead, back = (
        lstm(x, weights[f"{stem}{way}{cell}kernel"], weights[f"{stem}{way}{cell}bias"])
        for x, way in ((X, "fw"), (X[::-1], "bw"))
    )
    np.testing.assert_allclose(outputs[..., :4], ahead[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs[..., 4:], back[0][::-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h, [ahead[1], back[1]], rtol=1e-4, atol=1e-5)
    assert np.abs(moved - outputs).max() > 0.01


def test_gru_applies_the_reset_gate_last() -> None:
    layer = cudnn_rnn.CudnnGRU(1, 4, bias_initializer=tf.constant_initializer(0.5))
    (outputs, (h,)), weights = run(layer(tf.constant(X), training=False))
    stem = "cudnn_gru/rnn/multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/"
    w = {name.removeprefix(stem): value for name, value in weights.items()}
    state = np.zeros((2, 4))
    for x in X:
        gates = np.concatenate([x, state], 1) @ w["gates/kernel"] + w["gates/bias"]
        r, u = np.split(sigmoid(gates), 2, 1)
        new = x @ w["candidate/input_projection/kernel"] + w["candidate/input_projection/bias"]
        hidden = state @ w["candidate/hidden_projection/kernel"]
        new = np.tanh(new + r * (hidden + w["candidate/hidden_projection/bias"]))
        state = (1 - u) * new + u * state
    np.testing.assert_allclose(outputs[-1], state, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h[0], state, rtol=1e-4, atol=1e-5)
    assert all((value == 0.5).all() for name, value in w.items() if name.endswith("bias"))


@pytest.mark.parametrize(
    ("kind", "activation"),
    [("CudnnRNNTanh", np.tanh), ("CudnnRNNRelu", lambda x: np.maximum(x, 0))],
)
def test_simple_units_batch_major_with_lengths(kind: str, activation: Any) -> None:
    layer = getattr(cudnn_rnn, kind)(1, 4)
    inputs = tf.constant(X.transpose(1, 0, 2))
    (outputs, _), weights = run(layer(inputs, sequence_lengths=[5, 2], time_major=False))
    (kernel,) = (value for name, value in weights.items() if name.endswith("kernel"))
    state = np.zeros((2, 4))
    for t, x in enumerate(X):
        state = activation(np.concatenate([x, state], 1) @ kernel)
        if t == 1:
            np.testing.assert_allclose(outputs[:, 1], state, rtol=1e-4, atol=1e-5)
    assert not outputs[1, 2:].any()


def test_dropout_is_between_layers_while_training() -> None:
    layer = cudnn_rnn.CudnnLSTM(2, 4, dropout=0.5, seed=3)
    training = tf.placeholder_with_default(True, [])
    outputs, _ = layer(tf.constant(X), training=training)
    plain, _ = layer(tf.constant(X), training=False)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        dropped, kept = sess.run([outputs, plain])
        assert np.abs(dropped - kept).max() > 1e-3
        np.testing.assert_array_equal(*sess.run([outputs, plain], {training: False}))


def test_what_is_not_possible_says_so() -> None:
    with pytest.raises(ValueError, match="direction must be 'unidirectional' or 'bidirectional'"):
        cudnn_rnn.CudnnLSTM(1, 4, direction="both")
