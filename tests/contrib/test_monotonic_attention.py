"""Attention that only moves forwards, against what would happen step by step."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.contrib.sequences import random, run

seq2seq = tf.contrib.seq2seq


pytestmark = pytest.mark.usefixtures("graph")


def expected(chosen: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Start at j with probability before[j]; walk on until a step is chosen."""
    result = np.zeros_like(before)
    for b, start in np.ndindex(before.shape):
        alive = before[b, start]
        for step in range(start, before.shape[1]):
            result[b, step] += alive * chosen[b, step]
            alive *= 1 - chosen[b, step]
    return result


def test_the_expected_place_is_that_of_the_walk() -> None:
    rng = np.random.RandomState(0)
    chosen = rng.uniform(0.05, 0.95, (4, 7))
    before = rng.dirichlet(np.ones(7), 4)
    for mode in ("recursive", "parallel"):
        found = run(seq2seq.monotonic_attention(chosen, before, mode))[0]
        np.testing.assert_allclose(found, expected(chosen, before), rtol=1e-6)
    choices = (chosen > 0.5).astype(float)
    starts = np.eye(7)[[0, 3, 6, 2]]
    found = run(seq2seq.monotonic_attention(choices, starts, "hard"))[0]
    np.testing.assert_allclose(found, expected(choices, starts))
    with pytest.raises(ValueError, match="got 'soft'"):
        seq2seq.monotonic_attention(chosen, before, "soft")


def test_the_cumulative_product_has_finite_gradients_at_zero() -> None:
    x = tf.constant([[0.5, 0.0, 0.25, 0.5]])
    product = seq2seq.safe_cumprod(x, axis=1, exclusive=True)
    values, slopes = run(product, tf.gradients(product, x)[0])
    np.testing.assert_allclose(values, [[1, 0.5, 0, 0]], atol=1e-30)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("kind", ["Bahdanau", "Luong"])
def test_mechanisms_within_a_cell(kind: str) -> None:
    memory = tf.constant(random(3, 6, 4))
    mechanism = getattr(seq2seq, kind + "MonotonicAttention")(
        5, memory, memory_sequence_length=[6, 4, 2], score_bias_init=-1.0
    )
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(5), mechanism, attention_layer_size=4)
    start = cell.zero_state(3, tf.float32)
    state, steps = start, []
    for step in range(8):
        _, state = cell(tf.constant(random(3, 2, seed=step)), state)
        steps.append(state.alignments)
    names = {v.op.name.rpartition("/")[2] for v in tf.trainable_variables()}
    assert "attention_score_bias" in names
    assert any(f"{kind.lower()}_monotonic_attention" in v.name for v in tf.trainable_variables())
    first, history, slopes = run(
        start.alignments, tf.stack(steps), tf.gradients(state.attention, memory)[0]
    )
    np.testing.assert_array_equal(first, np.eye(6)[[0, 0, 0]])
    assert (history[:, 2, 2:] == 0).all()  # beyond the sequence's end
    assert (history.sum(-1) <= 1 + 1e-5).all()
    reached = history.cumsum(-1)
    assert (np.diff(reached, axis=0) <= 1e-5).all()  # never backwards
    assert np.isfinite(slopes).all()


def test_hard_attention_is_at_one_place_and_noise_has_a_seed() -> None:
    memory = tf.constant(random(2, 6, 4))
    query = tf.constant(random(2, 5))
    hard = seq2seq.BahdanauMonotonicAttention(5, memory, mode="hard", score_bias_init=0.5)
    alignments, _ = hard(query, hard.initial_state(2, tf.float32))
    noisy = seq2seq.LuongMonotonicAttention(5, memory, sigmoid_noise=3.0, sigmoid_noise_seed=1)
    moved, _ = noisy(query, noisy.initial_state(2, tf.float32))
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        found, one, other = s.run(alignments), s.run(moved), s.run(moved)
    assert set(np.unique(found)) <= {0.0, 1.0}
    assert (found.sum(1) <= 1).all()
    assert (one != other).any()
    with pytest.raises(ValueError, match="got 'soft'"):
        seq2seq.LuongMonotonicAttention(5, memory, mode="soft")
