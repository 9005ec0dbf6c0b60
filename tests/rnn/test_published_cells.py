"""Cells of single papers in `tf.contrib.rnn` against NumPy, one step each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.rnn.one_step import CLOSE, C, H, X, pair, relu, sigmoid, step

rnn = tf.contrib.rnn


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
    j, f, o = np.split(np.concatenate([X, H], 1) @ w["W_0"] + w["B"], 3, 1)
    f = sigmoid(f + 1 + w["W_F_diag"] * C)
    c = f * C + (1 - f) * np.tanh(j)
    m = sigmoid(o + w["W_O_diag"] * c) * np.tanh(c)
    np.testing.assert_allclose(output, m, **CLOSE)
    np.testing.assert_allclose(
        np.concatenate(state, 1) if as_tuple else state, np.concatenate([c, m], 1), **CLOSE
    )


def test_coupled_gates_with_projection() -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(4, num_proj=2, proj_clip=0.1)
    output, _, w = step(cell, rnn.LSTMStateTuple(tf.constant(C), tf.constant(H[:, :2])))
    assert w["W_P_0"].shape == (4, 2) and output.shape == (3, 2)
    assert np.abs(output).max() <= 0.1


def test_coupled_gates_normalized() -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(
        4, layer_norm=True, norm_gain=1.5, norm_shift=0.2, num_unit_shards=2
    )
    output, state, w = step(cell, pair())

    def norm(x: Any) -> Any:
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) * 1.5 + 0.2

    kernel = np.concatenate([w["W_0"], w["W_1"]])
    j, f, o = (norm(g) for g in np.split(np.concatenate([X, H], 1) @ kernel, 3, 1))
    f = sigmoid(f + 1)
    c = norm(f * C + (1 - f) * np.tanh(j))
    np.testing.assert_allclose(state.c, c, **CLOSE)
    np.testing.assert_allclose(output, sigmoid(o) * np.tanh(c), **CLOSE)


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


def test_periods_of_float64() -> None:
    cell = rnn.PhasedLSTMCell(4)
    cell(tuple(tf.zeros([2, n], tf.float64) for n in (1, 3)), cell.zero_state(2, tf.float64))
    assert {v.dtype.base_dtype for v in cell.variables} == {tf.float64}


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


def test_attention_makes_its_variables_in_the_order_of_its_call() -> None:
    cell = rnn.AttentionCellWrapper(rnn.BasicLSTMCell(4), 3)
    tf.nn.dynamic_rnn(cell, tf.zeros([2, 5, 3]), dtype=tf.float32)
    places = (
        "kernel bias basic_lstm_cell/kernel basic_lstm_cell/bias attention/attn_w attention/attn_v "
        "attention/kernel attention/bias attn_output_projection/kernel attn_output_projection/bias"
    )
    made = [f"rnn/attention_cell_wrapper/{place}:0" for place in places.split()]
    assert [v.name for v in tf.trainable_variables()] == made
    assert set(made) >= {v.name for v in cell.trainable_variables} >= {made[0], made[-1]}


def test_a_loop_decided_by_a_function_keeps_the_states_of_ended_sequences() -> None:
    """Numbers that are states have no rows to keep."""
    inputs = tf.constant([[1.0], [1.0]])

    class Counting:
        state_size: Any = (1, tf.TensorShape([]))
        output_size = 1

        def __call__(self, inputs: Any, state: Any) -> Any:
            return inputs + state[0], (state[0] + 1.0, state[1] + 1.0)

    def step(time: Any, output: Any, state: Any, kept: Any) -> Any:
        ended = time >= tf.constant([2, 4])
        start = (tf.zeros([2, 1]), tf.constant(0.0))
        return ended, inputs, start if output is None else state, output, None

    cell: Any = Counting()
    outputs, state, _ = tf.nn.raw_rnn(cell, step)
    with tf.Session() as sess:
        found, (rows, number) = sess.run([outputs.stack(), state])
    np.testing.assert_array_equal(found[:, :, 0], [[1, 1], [2, 2], [0, 3], [0, 4]])
    np.testing.assert_array_equal(rows[:, 0], [2, 4])
    assert number == 4


def test_attention_with_one_tensor_as_state() -> None:
    past = np.random.RandomState(4).randn(3, 8).astype(np.float32)
    found = []
    for as_tuple in (True, False):
        with tf.variable_scope("", reuse=not as_tuple):
            inner = rnn.GRUCell(4, name="inner")
            cell = rnn.AttentionCellWrapper(inner, 2, state_is_tuple=as_tuple)
            parts = [H, C, past]
            state = (
                tuple(map(tf.constant, parts))
                if as_tuple
                else tf.constant(np.concatenate(parts, 1))
            )
            found.append(cell(tf.constant(X), state, scope="same"))
    assert cell.state_size == 16
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        (output, state), (same, joined) = sess.run(found)
    np.testing.assert_array_equal(output, same)
    np.testing.assert_array_equal(np.concatenate(state, 1), joined)
    with pytest.raises(ValueError, match="state_is_tuple is not set"):
        rnn.AttentionCellWrapper(rnn.BasicLSTMCell(4), 2, state_is_tuple=False)
