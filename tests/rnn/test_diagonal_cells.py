"""Cells with few recurrent weights against NumPy, one step each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.rnn.one_step import CLOSE, C, H, X, pair, sigmoid, step

rnn = tf.contrib.rnn


def test_independent_cell() -> None:
    output, state, w = step(rnn.IndRNNCell(4), tf.constant(H))
    assert w["kernel_u"].shape == (1, 4) and np.abs(w["kernel_u"]).max() <= 1
    np.testing.assert_allclose(
        output, np.tanh(X @ w["kernel_w"] + H * w["kernel_u"] + w["bias"]), **CLOSE
    )
    np.testing.assert_array_equal(output, state)


def test_independent_gru() -> None:
    output, state, w = step(rnn.IndyGRUCell(4), tf.constant(H))
    assert sorted(w) == [
        *(f"candidate/{n}" for n in ("bias", "kernel", "kernel_u")),
        *(f"gates/{n}" for n in ("bias", "kernel_u", "kernel_w")),
    ]
    np.testing.assert_array_equal(w["gates/bias"], np.ones(8))
    u = w["gates/kernel_u"]
    both = X @ w["gates/kernel_w"] + 1
    r, z = sigmoid(both[:, :4] + H * u[:, :4]), sigmoid(both[:, 4:] + H * u[:, 4:])
    new = np.tanh(X @ w["candidate/kernel"] + r * H * w["candidate/kernel_u"])
    np.testing.assert_allclose(output, z * H + (1 - z) * new, **CLOSE)
    np.testing.assert_array_equal(output, state)


def test_independent_lstm() -> None:
    cell = rnn.IndyLSTMCell(4, forget_bias=0.5, bias_initializer=tf.constant_initializer(0.25))
    output, state, w = step(cell, pair())
    by_state = np.concatenate([H, H, H, H], 1) * w["kernel_u"]
    i, j, f, o = np.split(X @ w["kernel_w"] + by_state + 0.25, 4, 1)
    c = C * sigmoid(f + 0.5) + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(state.c, c, **CLOSE)
    np.testing.assert_allclose(output, np.tanh(c) * sigmoid(o), **CLOSE)


@pytest.mark.parametrize("projected", [None, 2])
def test_lstm_in_groups(projected: int | None) -> None:
    cell = rnn.GLSTMCell(4, number_of_groups=2, num_proj=projected, forget_bias=0.5)
    h = H[:, : projected or 4]
    output, state, w = step(cell, rnn.LSTMStateTuple(tf.constant(C), tf.constant(h)))
    size = h.shape[1] // 2
    gates: dict[str, list[Any]] = {name: [] for name in "ijfo"}
    for n in range(2):
        own = np.concatenate([X[:, 2 * n : 2 * n + 2], h[:, size * n : size * n + size]], 1)
        for name, part in zip("ijfo", np.split(own @ w[f"group{n}/kernel"], 4, 1), strict=True):
            gates[name].append(part)
    i, j, f, o = (np.concatenate(gates[n], 1) + w[f"bias_{n}"] for n in "ijfo")
    c = sigmoid(f + 0.5) * C + sigmoid(i) * np.tanh(j)
    m = sigmoid(o) * np.tanh(c)
    if projected:
        m = m @ w["projection/kernel"]
    np.testing.assert_allclose(state.c, c, **CLOSE)
    np.testing.assert_allclose(output, m, **CLOSE)


def test_groups_must_divide_the_units() -> None:
    with pytest.raises(ValueError, match="num_units must be divisible"):
        rnn.GLSTMCell(5, number_of_groups=2)
    with pytest.raises(ValueError, match="num_proj must be divisible"):
        rnn.GLSTMCell(4, num_proj=3, number_of_groups=2)
