"""Grid and time-frequency LSTMs of `tf.contrib.rnn` against loops over the windows in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

rnn = tf.contrib.rnn
CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}
UNITS, BATCH = 3, 2
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(BATCH, 8).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step(cell: Any, state: Any) -> tuple[Any, Any, dict[str, Any]]:
    with tf.variable_scope("net", initializer=tf.random_normal_initializer()):
        output, new_state = cell(tf.constant(X), state)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        weights = {v.op.name.split("/", 2)[2]: v for v in tf.global_variables()}
        return sess.run((output, new_state, weights))


@pytest.mark.parametrize("peepholes", [True, False])
def test_time_frequency_lstm(peepholes: bool) -> None:
    cell = rnn.TimeFreqLSTMCell(
        UNITS,
        use_peepholes=peepholes,
        cell_clip=0.5,
        feature_size=4,
        frequency_skip=2,
        forget_bias=0.3,
    )
    assert cell.state_size == 2 * UNITS and cell.output_size == UNITS
    state = RANDOM.randn(BATCH, 2 * 3 * UNITS).astype(np.float32)
    output, new_state, w = step(cell, tf.constant(state))
    peeps = ["W_F_diag", "W_I_diag", "W_O_diag"] if peepholes else []
    assert sorted(w) == ["B", "W_0", *peeps]
    zero = np.zeros(UNITS, np.float32)
    w_f, w_i, w_o = (w.get(f"W_{g}_diag", zero) for g in "FIO")
    below, outputs, states = np.zeros((BATCH, UNITS)), [], []
    for n in range(3):
        c, m = np.split(state[:, 6 * n : 6 * n + 6], 2, 1)
        gates = np.concatenate([X[:, 2 * n : 2 * n + 4], m, below], 1) @ w["W_0"] + w["B"]
        i, j, f, o = np.split(gates, 4, 1)
        c_new = sigmoid(f + 0.3 + w_f * c) * c + sigmoid(i + w_i * c) * np.tanh(j)
        c_new = np.clip(c_new, -0.5, 0.5)
        below = sigmoid(o + w_o * c_new) * np.tanh(c_new)
        outputs.append(below)
        states += [c_new, below]
    np.testing.assert_allclose(output, np.concatenate(outputs, 1), **CLOSE)
    np.testing.assert_allclose(new_state, np.concatenate(states, 1), **CLOSE)


def grid_block(
    w: dict[str, Any],
    block: int,
    windows: list[Any],
    states: list[Any],
    *,
    shared: bool,
    coupled: bool,
    peepholes: bool,
    clip: float,
) -> tuple[list[Any], list[Any]]:
    """One block by the paper's equations: outputs and states of the windows in turn."""

    def peep(gate: str, lstm: str, by_frequency: Any, by_time: Any) -> Any:
        if not peepholes:
            return 0.0
        name = f"W_{gate}_diag_{'freq' if shared else lstm}"
        return w[f"{name}f_{block}"] * by_frequency + w[f"{name}t_{block}"] * by_time

    def gates(lstm: str, seen: Any) -> Any:
        letter = "f" if shared else lstm[0]
        parts = np.split(
            seen @ w[f"W_{letter}_{block}_0"] + w[f"B_{letter}_{block}"], 3 if coupled else 4, 1
        )
        return parts if not coupled else [*parts[:2], None, parts[2]]

    c_low = m_low = np.zeros((BATCH, UNITS))
    outputs, new = [], []
    for window, (c, m) in zip(windows, states, strict=True):
        seen = np.concatenate([window, m, m_low], 1)
        memory, out = {}, {}
        for lstm, before in (("freq", c_low), ("time", c)):
            i, j, f, o = gates(lstm, seen)
            i = sigmoid(i + peep("I", lstm, c_low, c))
            f = 1 - i if coupled else sigmoid(f + 1.0 + peep("F", lstm, c_low, c))
            memory[lstm] = np.clip(f * before + i * np.tanh(j), -clip, clip)
            out[lstm] = o
        for lstm in ("freq", "time"):
            gate = sigmoid(out[lstm] + peep("O", lstm, memory["freq"], memory["time"]))
            out[lstm] = gate * np.tanh(memory[lstm])
        c_low, m_low = memory["freq"], out["freq"]
        outputs += [out["time"], out["freq"]]
        new += [memory["time"], out["time"]]
    return outputs, new


def windows_of(start: int, count: int, x: Any = X) -> list[Any]:
    return [x[:, start + 2 * n : start + 2 * n + 2] for n in range(count)]


def pairs(count: int) -> list[Any]:
    return [
        (
            RANDOM.randn(BATCH, UNITS).astype(np.float32),
            RANDOM.randn(BATCH, UNITS).astype(np.float32),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_grid_lstm(shared: bool, coupled: bool, peepholes: bool) -> None:
    cell = rnn.GridLSTMCell(
        UNITS,
        use_peepholes=peepholes,
        share_time_frequency_weights=shared,
        cell_clip=0.8,
        feature_size=2,
        frequency_skip=2,
        num_frequency_blocks=[4],
        couple_input_forget_gates=coupled,
    )
    assert cell.output_size == 4 * 2 * UNITS
    assert cell.state_size._fields[:3] == ("state_f00_b00_c", "state_f00_b00_m", "state_f01_b00_c")
    states = pairs(4)
    flat = [tf.constant(part) for pair in states for part in pair]
    output, new_state, w = step(cell, cell.state_tuple_type(*flat))
    outputs, wanted = grid_block(
        w,
        0,
        windows_of(0, 4),
        states,
        shared=shared,
        coupled=coupled,
        peepholes=peepholes,
        clip=0.8,
    )
    np.testing.assert_allclose(output, np.concatenate(outputs, 1), **CLOSE)
    for found, want in zip(new_state, wanted, strict=True):
        np.testing.assert_allclose(found, want, **CLOSE)


def test_grid_lstm_of_two_blocks() -> None:
    cell = rnn.GridLSTMCell(
        UNITS,
        feature_size=2,
        frequency_skip=2,
        num_frequency_blocks=[1, 2],
        start_freqindex_list=[0, 4],
        end_freqindex_list=[2, 8],
    )
    states = pairs(3)
    flat = [tf.constant(part) for pair in states for part in pair]
    output, new_state, w = step(cell, cell.state_tuple_type(*flat))
    assert new_state._fields[2] == "state_f00_b01_c"
    plain: Any = {"shared": False, "coupled": False, "peepholes": False, "clip": np.inf}
    first = grid_block(w, 0, windows_of(0, 1), states[:1], **plain)
    second = grid_block(w, 1, windows_of(4, 2), states[1:], **plain)
    np.testing.assert_allclose(output, np.concatenate(first[0] + second[0], 1), **CLOSE)
    np.testing.assert_allclose(
        np.concatenate(new_state, 1), np.concatenate(first[1] + second[1], 1), **CLOSE
    )


def test_grid_lstm_with_one_tensor_as_state_and_weights_in_shards() -> None:
    cell = rnn.GridLSTMCell(
        UNITS,
        num_unit_shards=2,
        feature_size=2,
        frequency_skip=2,
        num_frequency_blocks=[4],
        state_is_tuple=False,
    )
    assert cell.state_size == 4 * 2 * UNITS and cell.state_tuple_type is None
    states = pairs(4)
    flat = np.concatenate([part for pair in states for part in pair], 1)
    output, new_state, w = step(cell, tf.constant(flat))
    assert w["W_f_0_0"].shape == w["W_f_0_1"].shape == (4, 12)
    joined = {f"{n}_0": np.concatenate([w[f"{n}_0"], w[f"{n}_1"]]) for n in ("W_f_0", "W_t_0")}
    plain: Any = {"shared": False, "coupled": False, "peepholes": False, "clip": np.inf}
    outputs, wanted = grid_block({**w, **joined}, 0, windows_of(0, 4), states, **plain)
    np.testing.assert_allclose(output, np.concatenate(outputs, 1), **CLOSE)
    np.testing.assert_allclose(new_state, np.concatenate(wanted, 1), **CLOSE)


@pytest.mark.parametrize("offset", [0, 1, -1])
def test_bidirectional_grid_lstm(offset: int) -> None:
    cell = rnn.BidirectionalGridLSTMCell(
        UNITS,
        feature_size=2,
        frequency_skip=2,
        num_frequency_blocks=[4],
        backward_slice_offset=offset,
    )
    assert cell.output_size == 2 * 4 * 2 * UNITS
    states = pairs(8)
    flat = [tf.constant(part) for pair in states for part in pair]
    output, new_state, w = step(cell, cell.state_tuple_type(*flat))
    assert new_state._fields[8] == "bwd_state_f00_b00_c"
    plain: Any = {"shared": False, "coupled": False, "peepholes": False, "clip": np.inf}
    # Past the inputs' ends are zeros: [x, 0] from the second element on, or [0, x] from the first.
    padded = np.pad(X, [(0, 0), (max(-offset, 0), max(offset, 0))])
    back = windows_of(max(offset, 0), 4, padded)[::-1]
    directions = {
        d: {n.removeprefix(d + "/"): v for n, v in w.items() if n.startswith(d)}
        for d in ("fwd", "bwd")
    }
    forward = grid_block(directions["fwd"], 0, windows_of(0, 4), states[:4], **plain)
    backward = grid_block(directions["bwd"], 0, back, states[4:], **plain)
    np.testing.assert_allclose(output, np.concatenate(forward[0] + backward[0], 1), **CLOSE)
    np.testing.assert_allclose(
        np.concatenate(new_state, 1), np.concatenate(forward[1] + backward[1], 1), **CLOSE
    )


def test_grid_lstm_over_time_learns() -> None:
    cell = rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=2, num_frequency_blocks=[4])
    inputs = tf.random_normal([BATCH, 5, 8], seed=1)
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    assert outputs.shape.as_list() == [BATCH, 5, cell.output_size]
    assert type(state) is cell.state_tuple_type
    grads = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert all(np.abs(g).max() > 0 for g in sess.run(grads))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="num_frequency_blocks"):
        rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=2)
    with pytest.raises(ValueError, match="needs feature_size"):
        rnn.GridLSTMCell(UNITS, num_frequency_blocks=[4])
    with pytest.raises(ValueError, match="needs feature_size"):
        rnn.TimeFreqLSTMCell(UNITS)
    cell = rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=2, num_frequency_blocks=[3])
    with pytest.raises(ValueError, match="requires 3 but gets 4"):
        cell(tf.constant(X), cell.zero_state(BATCH, tf.float32))
    cell = rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=2, num_frequency_blocks=[2, 2])
    with pytest.raises(ValueError, match="num_frequency_blocks has 2 blocks"):
        cell(tf.constant(X), cell.zero_state(BATCH, tf.float32))
    cell = rnn.GridLSTMCell(
        UNITS, feature_size=2, frequency_skip=2, num_frequency_blocks=[4], num_unit_shards=99
    )
    with pytest.raises(ValueError, match="Too many shards"):
        cell(tf.constant(X), cell.zero_state(BATCH, tf.float32))
