"""Sequence to sequence over lists of steps, against NumPy and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from tests.contrib.sequences import random, run

pytestmark = pytest.mark.usefixtures("fresh_graph")

BATCH, UNITS, SIZE = 3, 4, 2
legacy = tf.contrib.legacy_seq2seq


def variables():
    return {v.op.name: v for v in tf.trainable_variables()}


def steps(count, seed=0):
    return [tf.constant(x) for x in random(count, BATCH, SIZE, seed=seed)]


def ids(count, symbols, seed=0):
    values = np.random.default_rng(seed).integers(0, symbols, (count, BATCH)).astype(np.int32)
    return [tf.constant(v) for v in values], values


def numpy_rnn(kernel, bias, inputs, state):
    outputs = []
    for x in inputs:
        state = np.tanh(np.concatenate([x, state], 1) @ kernel + bias)
        outputs.append(state)
    return outputs, state


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_it_is_also_tf_nn_seq2seq() -> None:
    assert tf.nn.seq2seq.model_with_buckets is legacy.model_with_buckets


def test_basic_rnn_seq2seq_has_two_sets_of_weights() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    outputs, state = legacy.basic_rnn_seq2seq(steps(3), steps(2, seed=1), cell)
    named = variables()
    assert sorted(named) == [
        "basic_rnn_seq2seq/rnn/basic_rnn_cell/bias",
        "basic_rnn_seq2seq/rnn/basic_rnn_cell/kernel",
        "basic_rnn_seq2seq/rnn_decoder/basic_rnn_cell/bias",
        "basic_rnn_seq2seq/rnn_decoder/basic_rnn_cell/kernel",
    ]
    got, last, (b1, k1, b2, k2) = run(outputs, state, [named[n] for n in sorted(named)])
    _, hidden = numpy_rnn(k1, b1, random(3, BATCH, SIZE), np.zeros((BATCH, UNITS)))
    want, hidden = numpy_rnn(k2, b2, random(2, BATCH, SIZE, seed=1), hidden)
    np.testing.assert_allclose(got, want, atol=1e-6)
    np.testing.assert_allclose(last, hidden, atol=1e-6)


def test_tied_rnn_seq2seq_has_one() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    outputs, _ = legacy.tied_rnn_seq2seq(steps(3), steps(2, seed=1), cell)
    (bias, kernel) = sorted(variables())
    assert kernel == "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_rnn_cell/kernel"
    got, b, k = run(outputs, variables()[bias], variables()[kernel])
    both = [*random(3, BATCH, SIZE), *random(2, BATCH, SIZE, seed=1)]
    want, _ = numpy_rnn(k, b, both, np.zeros((BATCH, UNITS)))
    np.testing.assert_allclose(got, want[3:], atol=1e-6)


def test_embedding_rnn_seq2seq() -> None:
    encoder, encoder_ids = ids(3, 5)
    decoder, decoder_ids = ids(2, 6, seed=1)
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    outputs, _ = legacy.embedding_rnn_seq2seq(encoder, decoder, cell, 5, 6, SIZE)
    named = variables()
    top = "embedding_rnn_seq2seq"
    inner = f"{top}/embedding_rnn_decoder"
    wrapped = f"{inner}/rnn_decoder/output_projection_wrapper"
    assert set(named) == {
        f"{top}/rnn/embedding_wrapper/embedding",
        f"{top}/rnn/embedding_wrapper/basic_rnn_cell/kernel",
        f"{top}/rnn/embedding_wrapper/basic_rnn_cell/bias",
        f"{inner}/embedding",
        f"{wrapped}/basic_rnn_cell/kernel",
        f"{wrapped}/basic_rnn_cell/bias",
        f"{wrapped}/kernel",
        f"{wrapped}/bias",
    }
    got, w = run(outputs, named)
    table = w[f"{top}/rnn/embedding_wrapper/embedding"]
    assert np.abs(table).max() <= np.sqrt(3)
    first = f"{top}/rnn/embedding_wrapper/basic_rnn_cell"
    _, hidden = numpy_rnn(
        w[f"{first}/kernel"], w[f"{first}/bias"], table[encoder_ids], np.zeros((BATCH, UNITS))
    )
    hidden_steps, _ = numpy_rnn(
        w[f"{wrapped}/basic_rnn_cell/kernel"],
        w[f"{wrapped}/basic_rnn_cell/bias"],
        w[f"{inner}/embedding"][decoder_ids],
        hidden,
    )
    want = [h @ w[f"{wrapped}/kernel"] + w[f"{wrapped}/bias"] for h in hidden_steps]
    np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.mark.parametrize("model", ["rnn", "attention", "tied_rnn"])
def test_a_fed_switch_chooses_between_truth_and_own_output(model) -> None:
    encoder, _ = ids(3, 6)
    decoder, _ = ids(3, 6, seed=1)
    cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
    symbols = (6,) if model == "tied_rnn" else (6, 6)
    function = getattr(legacy, f"embedding_{model}_seq2seq")
    feed_previous = tf.placeholder(tf.bool, [])

    def build(value):
        return function(encoder, decoder, cell, *symbols, SIZE, feed_previous=value)

    with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-2, 2, seed=1)):
        switched, state = build(feed_previous)
    assert isinstance(state, tf.nn.rnn_cell.LSTMStateTuple)
    count = len(tf.trainable_variables())
    with tf.variable_scope("model", reuse=True):
        truth, _ = build(False)
        own, _ = build(True)
    assert len(tf.trainable_variables()) == count
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, want in ((False, truth), (True, own)):
            got, expected = session.run([switched, want], {feed_previous: value})
            np.testing.assert_allclose(got, expected, atol=1e-6)
        first, second = session.run([truth, own])
    np.testing.assert_allclose(first[0], second[0], atol=1e-6)
    assert np.abs(first[2] - second[2]).max() > 1e-4


def test_feeding_back_takes_the_likeliest_symbol() -> None:
    decoder, decoder_ids = ids(3, 6)
    cell = tf.contrib.rnn.OutputProjectionWrapper(tf.nn.rnn_cell.BasicRNNCell(UNITS), 6)
    outputs, _ = legacy.embedding_rnn_decoder(
        decoder, tf.zeros([BATCH, UNITS]), cell, 6, SIZE, feed_previous=True
    )
    got, w = run(outputs, variables())
    wrapped = "embedding_rnn_decoder/rnn_decoder/output_projection_wrapper"
    symbols, hidden = decoder_ids[0], np.zeros((BATCH, UNITS))
    for step in range(3):
        _, hidden = numpy_rnn(
            w[f"{wrapped}/basic_rnn_cell/kernel"],
            w[f"{wrapped}/basic_rnn_cell/bias"],
            [w["embedding_rnn_decoder/embedding"][symbols]],
            hidden,
        )
        logits = hidden @ w[f"{wrapped}/kernel"] + w[f"{wrapped}/bias"]
        np.testing.assert_allclose(got[step], logits, atol=1e-5)
        symbols = logits.argmax(1)


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("initial", [False, True])
def test_attention_decoder(num_heads, initial) -> None:
    memory = random(BATCH, 5, 3, seed=2)
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    start = random(BATCH, UNITS, seed=3)
    outputs, _ = legacy.attention_decoder(
        steps(2),
        tf.constant(start),
        tf.constant(memory),
        cell,
        output_size=6,
        num_heads=num_heads,
        initial_state_attention=initial,
    )
    got, w = run(outputs, variables())
    w = {name.removeprefix("attention_decoder/"): value for name, value in w.items()}

    def attend(query):
        result = []
        for head in range(num_heads):
            asked = query @ w[f"Attention_{head}/kernel"] + w[f"Attention_{head}/bias"]
            features = memory @ w[f"AttnW_{head}"][0, 0]
            score = np.tanh(features + asked[:, None]) @ w[f"AttnV_{head}"]
            result.append(np.einsum("bt,btd->bd", softmax(score), memory))
        return result

    hidden = start
    attended = attend(start) if initial else [np.zeros((BATCH, 3))] * num_heads
    for step, x in enumerate(random(2, BATCH, SIZE)):
        x = np.concatenate([x, *attended], 1) @ w["kernel"] + w["bias"]
        _, hidden = numpy_rnn(w["basic_rnn_cell/kernel"], w["basic_rnn_cell/bias"], [x], hidden)
        attended = attend(hidden)
        want = np.concatenate([hidden, *attended], 1) @ w["AttnOutputProjection/kernel"]
        np.testing.assert_allclose(got[step], want + w["AttnOutputProjection/bias"], atol=1e-5)


def test_an_output_projection_is_left_to_the_caller() -> None:
    encoder, _ = ids(2, 5)
    weights, biases = tf.constant(random(UNITS, 6)), tf.zeros([6])
    outputs, _ = legacy.embedding_attention_seq2seq(
        encoder,
        encoder,
        tf.nn.rnn_cell.GRUCell(UNITS),
        5,
        6,
        SIZE,
        output_projection=(weights, biases),
        feed_previous=True,
    )
    assert outputs[0].shape.as_list() == [None, UNITS] or outputs[0].shape.as_list() == [
        BATCH,
        UNITS,
    ]
    with pytest.raises(ValueError, match="output_projection"):
        legacy.embedding_rnn_decoder(
            encoder, None, tf.nn.rnn_cell.GRUCell(2), 7, 2, output_projection=(weights, biases)
        )


def test_buckets_share_their_weights() -> None:
    """The translation tutorial's way: one cell, which holds a fed keep_prob, for every bucket."""
    buckets = [(2, 2), (4, 3)]
    encoder, _ = ids(4, 6)
    decoder, decoder_ids = ids(4, 6, seed=1)
    weights = [tf.ones([BATCH]) for _ in range(3)]
    keep_prob = tf.placeholder_with_default(1.0, [])
    cell = tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(UNITS), keep_prob) for _ in range(2)]
    )

    def seq2seq(encoder_inputs, decoder_inputs):
        return legacy.embedding_attention_seq2seq(
            encoder_inputs, decoder_inputs, cell, 6, 6, SIZE, feed_previous=False
        )

    outputs, losses = legacy.model_with_buckets(
        encoder, decoder[:3], decoder[1:], weights, buckets, seq2seq
    )
    assert [len(o) for o in outputs] == [2, 3]
    count = len(tf.trainable_variables())
    with tf.variable_scope("", reuse=True):
        alone, _ = seq2seq(encoder[:4], decoder[:3])
    assert len(tf.trainable_variables()) == count
    got, want, found = run(outputs[1], alone, losses)
    np.testing.assert_allclose(got, want, atol=1e-6)
    log_probs = np.log(softmax(np.array(want)))
    each = -np.take_along_axis(log_probs, decoder_ids[1:, :, None], 2)[..., 0]
    np.testing.assert_allclose(found[1], each.mean(), rtol=1e-5)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(losses[0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(losses)
        for _ in range(20):
            session.run(train, {keep_prob: 1.0})
        after = session.run(losses)
    assert after[0] < before[0]


def test_buckets_longer_than_the_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="encoder_inputs"):
        legacy.model_with_buckets(steps(2), steps(3), steps(3), steps(3), [(3, 3)], None)


def test_wrappers_project_inputs() -> None:
    cell = tf.contrib.rnn.InputProjectionWrapper(tf.nn.rnn_cell.BasicRNNCell(UNITS), 3)
    output, _ = cell(tf.constant(random(BATCH, SIZE)), cell.zero_state(BATCH, tf.float32))
    got, w = run(output, variables())
    top = "input_projection_wrapper"
    x = random(BATCH, SIZE) @ w[f"{top}/kernel"] + w[f"{top}/bias"]
    inner = f"{top}/basic_rnn_cell"
    want, _ = numpy_rnn(w[f"{inner}/kernel"], w[f"{inner}/bias"], [x], np.zeros((BATCH, UNITS)))
    np.testing.assert_allclose(got, want[0], atol=1e-6)
