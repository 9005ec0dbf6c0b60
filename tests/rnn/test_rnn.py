"""Recurrent cells and loops, held against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

X = np.random.RandomState(0).randn(3, 5, 4).astype(np.float32)
LENGTHS = [5, 2, 0]


pytestmark = pytest.mark.usefixtures("graph")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def basic(k: Any, b: Any, x: Any, s: Any) -> Any:
    h = np.tanh(np.concatenate([x, s], 1) @ k + b)
    return h, h


def lstm(k: Any, b: Any, x: Any, s: Any) -> Any:
    c, h = s
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ k + b, 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    h = np.tanh(c) * sigmoid(o)
    return h, (c, h)


def gru(gk: Any, gb: Any, ck: Any, cb: Any, x: Any, s: Any) -> Any:
    r, u = np.split(sigmoid(np.concatenate([x, s], 1) @ gk + gb), 2, 1)
    c = np.tanh(np.concatenate([x, r * s], 1) @ ck + cb)
    h = u * s + (1 - u) * c
    return h, h


def by_hand(step: Any, weights: list[Any], state: Any) -> tuple[Any, Any]:
    """Outputs and last state, sequences stopping at their lengths."""
    outputs = []
    lengths = np.array(LENGTHS)
    for t in range(X.shape[1]):
        out, new = step(*weights, X[:, t], state)
        active = (t < lengths)[:, None]
        outputs.append(np.where(active, out, 0))
        if isinstance(state, tuple):
            state = tuple(np.where(active, n, o) for n, o in zip(new, state, strict=True))
        else:
            state = np.where(active, new, state)
    return np.stack(outputs, 1), state


CELLS = [
    ("BasicRNNCell", basic, lambda: np.zeros((3, 6), np.float32)),
    ("BasicLSTMCell", lstm, lambda: (np.zeros((3, 6), np.float32),) * 2),
    ("LSTMCell", lstm, lambda: (np.zeros((3, 6), np.float32),) * 2),
    ("GRUCell", gru, lambda: np.zeros((3, 6), np.float32)),
]


@pytest.mark.parametrize(("name", "step", "zero"), CELLS, ids=[c[0] for c in CELLS])
def test_dynamic_rnn(name: str, step: Any, zero: Any) -> None:
    cell = getattr(tf.nn.rnn_cell, name)(6)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32)
    assert outputs.shape.as_list() == [3, 5, 6]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        weights = s.run(cell.weights)
        got, last = s.run([outputs, state])
    want, want_last = by_hand(step, weights, zero())
    np.testing.assert_allclose(got, want, atol=1e-5)
    np.testing.assert_allclose(np.asarray(last), np.asarray(want_last), atol=1e-5)


def test_static_and_dynamic_agree_and_share() -> None:
    cell = tf.nn.rnn_cell.GRUCell(6)
    with tf.variable_scope("both") as scope:
        dynamic, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32, scope="rnn")
        scope.reuse_variables()
        steps, _ = tf.nn.static_rnn(
            cell, tf.unstack(tf.constant(X), 5, 1), dtype=tf.float32, sequence_length=LENGTHS
        )
    assert len(tf.trainable_variables()) == 4
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        a, b = s.run([dynamic, tf.stack(steps, 1)])
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_gradients_through_time_agree() -> None:
    x = tf.constant(X)
    cell = tf.nn.rnn_cell.BasicLSTMCell(6)
    with tf.variable_scope("m") as scope:
        dynamic, _ = tf.nn.dynamic_rnn(cell, x, LENGTHS, dtype=tf.float32, scope="rnn")
        scope.reuse_variables()
        steps, _ = tf.nn.static_rnn(
            cell, tf.unstack(x, 5, 1), dtype=tf.float32, sequence_length=LENGTHS
        )
    one = tf.gradients(tf.reduce_sum(tf.square(dynamic)), [*cell.weights, x])
    two = tf.gradients(tf.reduce_sum(tf.square(tf.stack(steps, 1))), [*cell.weights, x])
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for a, b in zip(*s.run([one, two]), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


def test_names_of_variables() -> None:
    cells = [tf.nn.rnn_cell.BasicLSTMCell(3), tf.nn.rnn_cell.GRUCell(4)]
    tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), tf.constant(X), dtype=tf.float32)
    assert [v.op.name for v in tf.trainable_variables()] == [
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel",
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias",
        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel",
        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/bias",
        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/kernel",
        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/bias",
    ]


def test_zero_state() -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(3) for _ in range(2)])
    state = cell.zero_state(7, tf.float32)
    assert state[0].c.shape.as_list() == [7, 3]
    with tf.Session() as s:
        assert s.run(state)[1].h.sum() == 0


def test_both_directions() -> None:
    (fw, bw), _ = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.BasicRNNCell(2),
        tf.nn.rnn_cell.BasicRNNCell(2),
        tf.constant(X),
        LENGTHS,
        dtype=tf.float32,
    )
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        a, b = s.run([fw, bw])
    assert a.shape == b.shape == (3, 5, 2)
    assert not a[1, 2:].any()
    assert not b[1, 2:].any()
    assert b[1, :2].all()


def test_time_major() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    a, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32, scope="one")
    b, _ = tf.nn.dynamic_rnn(
        cell, tf.constant(X.transpose(1, 0, 2)), dtype=tf.float32, time_major=True, scope="one"
    )
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        x, y = s.run([a, b])
    np.testing.assert_allclose(x, y.transpose(1, 0, 2))


def test_dropout_keeps_the_scale() -> None:
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicRNNCell(200), output_keep_prob=0.5, seed=1
    )
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        zero = (s.run(outputs) == 0).mean()
    assert 0.4 < zero < 0.6
    with pytest.raises(ValueError, match="between 0 and 1"):
        tf.nn.rnn_cell.DropoutWrapper(cell, input_keep_prob=1.5)


def test_bad_input() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    with pytest.raises(ValueError, match="dtype"):
        tf.nn.dynamic_rnn(cell, tf.constant(X))
    with pytest.raises(TypeError, match="RNNCell"):
        tf.nn.dynamic_rnn(3, tf.constant(X), dtype=tf.float32)
    with pytest.raises(ValueError, match=r"inputs.shape\[-1\]"):
        tf.nn.dynamic_rnn(cell, tf.placeholder(tf.float32, [None, 5, None]), dtype=tf.float32)
    with pytest.raises(TypeError, match="sequence"):
        tf.nn.static_rnn(cell, tf.constant(X), dtype=tf.float32)


class _RecordingCell(tf.nn.rnn_cell.RNNCell):
    """Writes its inputs into an array that is part of its state."""

    output_size = 1
    state_size = (tf.TensorShape([]), ())

    def zero_state(self, batch_size, dtype):
        return tf.zeros([], tf.int32), tf.TensorArray(dtype, size=0, dynamic_size=True)

    def __call__(self, inputs, state, scope=None):
        return inputs, (state[0] + 1, state[1].write(state[0], inputs))


@pytest.mark.parametrize("lengths", [None, [2]])
def test_an_array_in_the_state(lengths) -> None:
    cell = _RecordingCell()
    inputs = np.array([[[1], [2], [3]]], np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        start = cell.zero_state(1, tf.float32)
        _, state = tf.nn.dynamic_rnn(cell, inputs, lengths, start, tf.float32)
        count, kept = sess.run([state[0], state[1].stack()])
    assert count == 3
    assert kept.ravel().tolist() == [1, 2, 3]


def test_lengths_are_a_vector() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must be a vector of length batch_size"):
            tf.nn.static_rnn(cell, [tf.ones([2, 3])], sequence_length=4, dtype=tf.float32)
        with pytest.raises(ValueError, match="must be a vector of length batch_size"):
            tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 4]), sequence_length=4, dtype=tf.float32)


def test_cells_of_keras_in_the_loops() -> None:
    ones = tf.keras.initializers.Ones()
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3, 2])
        cell = tf.keras.layers.SimpleRNNCell(
            4, activation=None, kernel_initializer=ones, recurrent_initializer="zeros"
        )
        outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=[2], dtype=tf.float32)
        steps, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        assert outputs.shape.as_list() == [None, 3, 4]
        assert len(cell.weights) == 3  # made once, outside of the loop
        stack = tf.keras.layers.StackedRNNCells([tf.keras.layers.LSTMCell(n) for n in (3, 5)])
        last, states = tf.nn.dynamic_rnn(stack, x, dtype=tf.float32)
        assert last.shape.as_list() == [None, 3, 5]
        assert [s.shape.as_list() for s in states[1]] == [[None, 5], [None, 5]]
        sess.run(tf.global_variables_initializer())
        found, kept, by_step = sess.run([outputs, state, steps], {x: [[[1, 2], [3, 4], [5, 6]]]})
    assert found[0, :, 0].tolist() == [3.0, 7.0, 0.0]
    assert kept[0].tolist() == [7.0] * 4
    assert [s[0, 0] for s in by_step] == [3.0, 7.0, 11.0]


def test_what_cells_refuse() -> None:
    cells = tf.nn.rnn_cell
    x = tf.placeholder(tf.float32, [None, 2])
    whole = tf.zeros([1, 2], tf.int32)
    for made in (cells.BasicRNNCell, cells.GRUCell, cells.BasicLSTMCell, cells.LSTMCell):
        with pytest.raises(ValueError, match="only supports floating point inputs.*int32"):
            made(2)(whole, tf.zeros([1, 2]))
    cell = cells.BasicRNNCell(5)
    with pytest.raises(ValueError, match="cannot be None while constructing initial state"):
        cell.get_initial_state()
    for batch in (50, tf.constant(50)):
        with pytest.raises(ValueError, match="batch size from input tensor is different"):
            cell.get_initial_state(x, batch)
    with pytest.raises(ValueError, match="dtype from input tensor is different.*int16"):
        cell.get_initial_state(x, dtype=tf.int16)
    assert cell.get_initial_state(tf.zeros([3, 2])).shape.as_list() == [3, 5]
    with pytest.raises(ValueError, match="state_is_tuple is not set"):
        cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False)
    with pytest.raises(ValueError, match="input_size must be provided"):
        cells.DropoutWrapper(cell, 0.5, variational_recurrent=True, dtype=tf.float32)


def test_a_cell_in_a_scope_with_a_partitioner_has_parts() -> None:
    with (
        tf.Graph().as_default(),
        tf.variable_scope("outer", partitioner=tf.fixed_size_partitioner(2)),
    ):
        cell = tf.nn.rnn_cell.LSTMCell(2, name="cell")
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([1, 3, 2]), dtype=tf.float32)
        names = [v.op.name for v in tf.trainable_variables()]
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(outputs).shape == (1, 3, 2)
    assert names == [f"outer/rnn/cell/{w}/part_{i}" for w in ("kernel", "bias") for i in (0, 1)]
