"""Cells of single papers in `tf.contrib.rnn` against NumPy, one step each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

rnn = tf.contrib.rnn
X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
H = np.random.RandomState(1).randn(3, 4).astype(np.float32)
C = np.random.RandomState(2).randn(3, 4).astype(np.float32)
CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def step(cell: Any, state: Any, inputs: Any = X) -> tuple[Any, Any, dict[str, Any]]:
    with tf.variable_scope("net", initializer=tf.random_normal_initializer()):
        output, new_state = cell(inputs, state)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        weights = {v.op.name.split("/", 2)[2]: v for v in tf.global_variables()}
        return sess.run((output, new_state, weights))


def pair() -> Any:
    return rnn.LSTMStateTuple(tf.constant(C), tf.constant(H))


@pytest.mark.parametrize("projected", [None, 4])
def test_nas_cell(projected: int | None) -> None:
    cell = rnn.NASCell(4, num_proj=projected, use_bias=True)
    output, state, w = step(cell, pair())
    xs = np.split(X @ w["kernel"], 8, 1)
    hs = np.split(H @ w["recurrent_kernel"] + w["bias"], 8, 1)
    first = [
        f(x * h if i == 3 else x + h)
        for i, (f, x, h) in enumerate(
            zip(
                (sigmoid, relu, sigmoid, relu, np.tanh, sigmoid, np.tanh, sigmoid),
                xs,
                hs,
                strict=True,
            )
        )
    ]
    left = np.tanh(np.tanh(first[0] * first[1]) + C)
    c = left * np.tanh(first[2] + first[3])
    m = np.tanh(c * np.tanh(np.tanh(first[4] * first[5]) + sigmoid(first[6] + first[7])))
    if projected:
        m = m @ w["projection_weights"]
    np.testing.assert_allclose(state.c, c, **CLOSE)
    np.testing.assert_allclose(output, m, **CLOSE)
    assert cell.state_size == rnn.LSTMStateTuple(4, 4)


@pytest.mark.parametrize("as_tuple", [True, False])
def test_coupled_gates(as_tuple: bool) -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(4, use_peepholes=True, state_is_tuple=as_tuple)
    start = pair() if as_tuple else tf.constant(np.concatenate([C, H], 1))
    output, state, w = step(cell, start)
    j, f, o = np.split(np.concatenate([X, H], 1) @ w["kernel"] + w["bias"], 3, 1)
    f = sigmoid(f + 1 + w["w_f_diag"] * C)
    c = f * C + (1 - f) * np.tanh(j)
    m = sigmoid(o + w["w_o_diag"] * c) * np.tanh(c)
    np.testing.assert_allclose(output, m, **CLOSE)
    np.testing.assert_allclose(
        np.concatenate(state, 1) if as_tuple else state, np.concatenate([c, m], 1), **CLOSE
    )


def test_coupled_gates_with_projection() -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(4, num_proj=2, proj_clip=0.1)
    output, _, w = step(cell, rnn.LSTMStateTuple(tf.constant(C), tf.constant(H[:, :2])))
    assert w["projection/kernel"].shape == (4, 2) and output.shape == (3, 2)
    assert np.abs(output).max() <= 0.1


@pytest.mark.parametrize("width", [4, 3])
def test_intersection_cell(width: int) -> None:
    cell = rnn.IntersectionRNNCell(4, num_in_proj=4)
    output, state, w = step(cell, tf.constant(H), tf.constant(X[:, :width]))
    x = X if width == 4 else X[:, :3] @ w["in_projection/kernel"] + w["in_projection/bias"]
    both = np.concatenate([x, H], 1) @ w["kernel"] + w["bias"]
    gh, h, gy, y = np.split(both, 4, 1)
    gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
    np.testing.assert_allclose(state, gh * H + (1 - gh) * np.tanh(h), **CLOSE)
    np.testing.assert_allclose(output, gy * x + (1 - gy) * relu(y), **CLOSE)


def test_intersection_cell_needs_one_size() -> None:
    with pytest.raises(ValueError, match="inputs have 3 elements, the state has 4"):
        rnn.IntersectionRNNCell(4)(tf.constant(X[:, :3]), tf.constant(H))


def test_phased_lstm() -> None:
    cell = rnn.PhasedLSTMCell(4, use_peepholes=True, leak=0.01, ratio_on=0.4)
    time = np.array([[0.5], [7.0], [300.0]], np.float32)
    output, state, w = step(cell, pair(), (tf.constant(time), tf.constant(X)))

    def dense(name: str, *parts: Any) -> Any:
        return np.concatenate(parts, 1) @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    i, f = np.split(sigmoid(dense("mask_gates", X, H, C)), 2, 1)
    c = C * f + i * np.tanh(dense("new_input", X, H))
    h = np.tanh(c) * sigmoid(dense("output_gate", X, H, c))
    ratio = np.mod(time - w["phase"], w["period"]) / w["period"]
    k = np.where(ratio < 0.2, ratio / 0.2, np.where(ratio < 0.4, 2 - ratio / 0.2, 0.01 * ratio))
    np.testing.assert_allclose(state.c, k * c + (1 - k) * C, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(output, k * h + (1 - k) * H, rtol=1e-3, atol=1e-4)
    assert (w["phase"] <= w["period"]).all() and (w["period"] >= 1).all()


def test_phased_lstm_over_time() -> None:
    times, x = tf.constant(np.arange(10.0).reshape(2, 5, 1), tf.float32), tf.ones([2, 5, 3])
    outputs, _ = tf.nn.dynamic_rnn(rnn.PhasedLSTMCell(4), (times, x), dtype=tf.float32)
    assert all(g is not None for g in tf.gradients(outputs, tf.trainable_variables()))


def test_independent_units() -> None:
    output, state, w = step(rnn.IndRNNCell(4), tf.constant(H))
    wanted = np.tanh(X @ w["kernel_w"] + H * w["kernel_u"] + w["bias"])
    np.testing.assert_allclose(output, wanted, **CLOSE)
    np.testing.assert_array_equal(output, state)


def test_attention_over_the_last_outputs() -> None:
    cell = rnn.AttentionCellWrapper(rnn.GRUCell(4), attn_length=2, attn_vec_size=5)
    assert cell.state_size == (4, 4, 8)
    past = np.random.RandomState(4).randn(3, 8).astype(np.float32)
    state = (tf.constant(H), tf.constant(C), tf.constant(past))
    output, (inner, attention, outputs), w = step(cell, state, tf.constant(X))
    hidden = past.reshape(3, 2, 4)
    query = inner @ w["attention/kernel"] + w["attention/bias"]
    features = np.tanh(hidden @ w["attention/attn_w"][0, 0] + query[:, None])
    scores = (features * w["attention/attn_v"]).sum(2)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(attention, (weights[:, :, None] * hidden).sum(1), **CLOSE)
    kernel, bias = (w[f"attn_output_projection/{part}"] for part in ("kernel", "bias"))
    np.testing.assert_allclose(
        output, np.concatenate([inner, attention], 1) @ kernel + bias, **CLOSE
    )
    np.testing.assert_allclose(outputs, np.concatenate([past[:, 4:], output], 1), **CLOSE)
    with pytest.raises(ValueError, match="attn_length should be greater than zero"):
        rnn.AttentionCellWrapper(rnn.GRUCell(4), 0)


@pytest.mark.parametrize("dynamic", [True, False])
def test_fused_cells_and_their_reverse(dynamic: bool) -> None:
    x = np.random.RandomState(0).randn(5, 2, 3).astype(np.float32)
    lengths = tf.constant([5, 3])
    cell = rnn.GRUCell(4)
    with tf.variable_scope("a") as scope:
        fused = rnn.FusedRNNCellAdaptor(cell, use_dynamic_rnn=dynamic)
        back = rnn.TimeReversedFusedRNN(fused)
        outputs, state = back(
            tf.constant(x), dtype=tf.float32, sequence_length=lengths, scope=scope
        )
        reverse = tf.reverse_sequence(tf.constant(x), lengths, seq_axis=0, batch_axis=1)
        plain, last = tf.nn.dynamic_rnn(
            cell, reverse, lengths, dtype=tf.float32, time_major=True, scope=scope
        )
        plain = tf.reverse_sequence(plain, lengths, seq_axis=0, batch_axis=1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got, wanted, end, wanted_end = sess.run([outputs, plain, state, last])
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    np.testing.assert_allclose(end, wanted_end, rtol=1e-6)
