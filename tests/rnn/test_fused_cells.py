"""Cells under the names of TensorFlow's fused ones, wrappers of sequences, and states kept by the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.rnn.one_step import CLOSE, C, H, X, pair, sigmoid, step

rnn = tf.contrib.rnn


def test_block_lstm_with_peepholes_and_clipping() -> None:
    cell = rnn.LSTMBlockCell(4, forget_bias=0.5, cell_clip=0.7, use_peephole=True)
    output, state, w = step(cell, pair())
    assert sorted(w) == ["bias", "kernel", "w_f_diag", "w_i_diag", "w_o_diag"]
    assert tf.global_variables()[0].op.name == "net/lstm_cell/kernel"
    i, j, f, o = np.split(np.concatenate([X, H], 1) @ w["kernel"], 4, 1)
    c = sigmoid(f + 0.5 + w["w_f_diag"] * C) * C + sigmoid(i + w["w_i_diag"] * C) * np.tanh(j)
    c = np.clip(c, -0.7, 0.7)
    np.testing.assert_allclose(state.c, c, **CLOSE)
    np.testing.assert_allclose(output, sigmoid(o + w["w_o_diag"] * c) * np.tanh(c), **CLOSE)


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        (lambda: rnn.GRUBlockCell(4), ("w_ru", "b_ru", "w_c", "b_c")),
        (
            lambda: rnn.GRUBlockCellV2(cell_size=4),
            ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias"),
        ),
    ],
)
def test_block_gru(cell: Any, names: tuple[str, ...]) -> None:
    output, _, w = step(cell(), tf.constant(H))
    assert [v.op.name for v in tf.global_variables()] == [f"net/gru_cell/{n}" for n in names]
    gates, gate_bias, candidate, bias = (w[n] for n in names)
    r, u = np.split(sigmoid(np.concatenate([X, H], 1) @ gates + gate_bias), 2, 1)
    new = np.tanh(np.concatenate([X, r * H], 1) @ candidate + bias)
    np.testing.assert_allclose(output, u * H + (1 - u) * new, **CLOSE)


def test_a_block_gru_takes_one_size() -> None:
    for sizes in ({}, {"num_units": 4, "cell_size": 4}):
        with pytest.raises(ValueError, match="Exactly one of num_units or cell_size"):
            rnn.GRUBlockCell(**sizes)


def test_fused_lstm_of_a_list_clips_its_cell() -> None:
    fused = rnn.LSTMBlockFusedCell(4, cell_clip=0.1, use_peephole=True)
    assert isinstance(fused, rnn.LSTMBlockWrapper) and isinstance(fused, rnn.FusedRNNCell)
    assert fused.num_units == 4
    outputs, state = fused([tf.constant(X), tf.constant(2 * X)], dtype=tf.float32)
    assert len(outputs) == 2 and len(fused.trainable_variables) == 5
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        last, kept = sess.run([outputs[-1], state])
    assert np.abs(kept.c).max() <= np.float32(0.1)
    np.testing.assert_array_equal(last, kept.h)


def test_the_bases_of_fused_cells_are_abstract() -> None:
    for base in (rnn.FusedRNNCell, rnn.LSTMBlockWrapper):
        with pytest.raises(TypeError, match="abstract"):
            base()


def test_a_compiled_cell_is_the_cell_inside() -> None:
    cell = rnn.CompiledWrapper(rnn.BasicRNNCell(4))
    assert (cell.state_size, cell.output_size) == (4, 4)
    with tf.variable_scope("net"):
        output, _ = cell(tf.constant(X), tf.constant(H))
    assert tf.global_variables()[0].op.name == "net/basic_rnn_cell/kernel"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        value, kernel = sess.run([output, tf.global_variables()[0]])
    np.testing.assert_allclose(value, np.tanh(np.concatenate([X, H], 1) @ kernel), **CLOSE)


class Keeper:
    """Keeps states in variables."""

    def __init__(self, **sizes: int) -> None:
        self.kept = {
            name: tf.get_variable(name, [3, size], initializer=tf.zeros_initializer())
            for name, size in sizes.items()
        }

    def state(self, name: str) -> Any:
        return self.kept[name].read_value()

    def save_state(self, name: str, value: Any) -> Any:
        return self.kept[name].assign(value)


def test_a_network_that_goes_on_from_the_states_of_the_run_before() -> None:
    keeper = Keeper(c=4, h=4)
    steps = [tf.constant(X), tf.constant(-X)]
    cell = rnn.BasicLSTMCell(4)
    with tf.variable_scope("net") as scope:
        outputs, _ = tf.nn.static_state_saving_rnn(cell, steps, keeper, ("c", "h"), scope=scope)
        whole, _ = tf.nn.static_rnn(cell, steps * 2, dtype=tf.float32, scope=scope)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(outputs[-1])  # this alone saves the states
        np.testing.assert_allclose(sess.run(outputs[-1]), sess.run(whole[-1]), **CLOSE)
    with pytest.raises(ValueError, match="state_name should be the same type"):
        rnn.static_state_saving_rnn(cell, steps, keeper, "c")
    with pytest.raises(ValueError, match="with a name for each part"):
        rnn.static_state_saving_rnn(cell, steps, keeper, ("c",))


def test_batch_and_time_change_places() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    known = rnn.transpose_batch_time(x)
    assert known.shape.as_list() == [3, 2, 4]
    unknown = rnn.transpose_batch_time(tf.placeholder_with_default(x, None))
    with tf.Session() as sess:
        for value in sess.run([known, unknown]):
            np.testing.assert_array_equal(value, np.swapaxes(x, 0, 1))
    with pytest.raises(ValueError, match="rank at least 2"):
        rnn.transpose_batch_time(tf.zeros([3]))


def test_the_batch_size_of_what_tells_it() -> None:
    unknown = tf.placeholder(tf.float32, [5, None])
    assert rnn.best_effort_input_batch_size([unknown, tf.zeros([5, 3])]) == 3
    size = rnn.best_effort_input_batch_size([unknown])
    with tf.Session() as sess:
        assert sess.run(size, {unknown: np.zeros((5, 7))}) == 7


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


def test_a_fused_lstm_is_the_basic_one_over_time() -> None:
    sequences = np.random.RandomState(4).randn(5, 3, 4).astype(np.float32)
    fused = rnn.LSTMBlockFusedCell(4)
    outputs, state = fused(tf.constant(sequences), dtype=tf.float32, sequence_length=[5, 2, 3])
    names = [v.op.name for v in fused.trainable_variables]
    assert names == ["lstm_fused_cell/kernel", "lstm_fused_cell/bias"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values, last, kernel = sess.run([outputs, state, fused.trainable_variables[0]])
    h, c = np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)
    for t in range(5):
        i, j, f, o = np.split(np.concatenate([sequences[t], h], 1) @ kernel, 4, 1)
        active = (t < np.array([5, 2, 3]))[:, None]
        c_new = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        h_new = np.tanh(c_new) * sigmoid(o)
        np.testing.assert_allclose(values[t], np.where(active, h_new, 0), rtol=1e-4, atol=1e-5)
        h, c = np.where(active, h_new, h), np.where(active, c_new, c)
    np.testing.assert_allclose(last.h, h, rtol=1e-4, atol=1e-5)


def test_each_fused_lstm_has_variables_of_its_own() -> None:
    with tf.Graph().as_default():
        x = tf.zeros([3, 2, 4])
        first, second = rnn.LSTMBlockFusedCell(5), rnn.LSTMBlockFusedCell(5)
        for cell in (first, second, first):
            cell(x, dtype=tf.float32)
        with tf.variable_scope("s"):
            rnn.TimeReversedFusedRNN(rnn.LSTMBlockFusedCell(5, name="n"))(x, dtype=tf.float32)
            rnn.LSTMBlockFusedCell(5, name="n")(x, dtype=tf.float32)
        assert [v.op.name for v in tf.global_variables()[::2]] == [
            "lstm_fused_cell/kernel",
            "lstm_fused_cell_1/kernel",
            "s/n/kernel",
            "s/n_1/kernel",
        ]
