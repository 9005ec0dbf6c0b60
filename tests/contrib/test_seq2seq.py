"""Decoders, helpers, attention and beam search, against NumPy and against each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dataflow as tf
from tests.contrib.sequences import random, run

pytestmark = pytest.mark.usefixtures("fresh_graph")

BATCH, STEPS, UNITS, SYMBOLS, END = 3, 5, 4, 6, 1


def wide(scale=1.0, seed=0):
    return tf.random_uniform_initializer(-scale, scale, seed=seed)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


# ---- decoding while training ----------------------------------------------------------------------


def decode_while_training(impute_finished):
    inputs, lengths = random(BATCH, STEPS, 2), [5, 2, 0]
    cell = tf.nn.rnn_cell.LSTMCell(UNITS, initializer=wide())
    helper = tf.contrib.seq2seq.TrainingHelper(tf.constant(inputs), lengths)
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32))
    outputs, state, found = tf.contrib.seq2seq.dynamic_decode(
        decoder, impute_finished=impute_finished, scope="rnn"
    )
    with tf.variable_scope("", reuse=True):
        twin = tf.nn.rnn_cell.LSTMCell(UNITS)
        expected = tf.nn.dynamic_rnn(twin, inputs, sequence_length=lengths, dtype=tf.float32)
    return outputs, state, found, expected


def test_teacher_forcing_is_a_dynamic_rnn() -> None:
    outputs, state, lengths, expected = decode_while_training(impute_finished=True)
    assert outputs.rnn_output.shape.as_list() == [BATCH, None, UNITS]
    assert outputs.sample_id.dtype == tf.int32
    (got, ids, last), found, (want, want_last) = run(
        (outputs.rnn_output, outputs.sample_id, state), lengths, expected
    )
    np.testing.assert_allclose(got, want, atol=1e-6)
    np.testing.assert_allclose(last.c, want_last.c, atol=1e-6)
    np.testing.assert_allclose(last.h, want_last.h, atol=1e-6)
    assert found.tolist() == [5, 2, 0]
    assert ids[0].tolist() == want[0].argmax(-1).tolist()


def test_without_imputing_the_finished_go_on_with_zeros() -> None:
    outputs, _, lengths, expected = decode_while_training(impute_finished=False)
    got, found, (want, _) = run(outputs.rnn_output, lengths, expected)
    for row, length in enumerate(found):
        np.testing.assert_allclose(got[row, :length], want[row, :length], atol=1e-6)
    assert np.abs(got[1, 3]).max() > 0


def test_gradients_flow_through_a_decoder() -> None:
    inputs = tf.constant(random(BATCH, STEPS, 2))
    cell = tf.nn.rnn_cell.GRUCell(UNITS)
    helper = tf.contrib.seq2seq.TrainingHelper(inputs, [STEPS] * BATCH)
    decoder = tf.contrib.seq2seq.BasicDecoder(
        cell, helper, cell.zero_state(BATCH, tf.float32), tf.layers.Dense(SYMBOLS)
    )
    outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, scope="rnn")
    with tf.variable_scope("rnn", reuse=True):
        kernel = tf.get_variable("dense/kernel")
    with tf.variable_scope("", reuse=True):
        whole, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(UNITS), inputs, dtype=tf.float32)
    other = tf.tensordot(whole, kernel, [[2], [0]])
    variables = tf.trainable_variables()[:4]
    got, want = run(
        tf.gradients(tf.reduce_sum(outputs.rnn_output**2), variables),
        tf.gradients(tf.reduce_sum(other**2), variables),
    )
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_maximum_iterations_and_time_major() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    helper = tf.contrib.seq2seq.TrainingHelper(
        tf.constant(random(STEPS, BATCH, 2)), [STEPS] * BATCH, time_major=True
    )
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32))
    outputs, _, lengths = tf.contrib.seq2seq.dynamic_decode(
        decoder, output_time_major=True, maximum_iterations=2
    )
    got, found = run(outputs.rnn_output, lengths)
    assert got.shape == (2, BATCH, UNITS)
    assert found.tolist() == [2, 2, 2]
    names = {v.op.name for v in tf.global_variables()}
    assert names == {"decoder/basic_rnn_cell/kernel", "decoder/basic_rnn_cell/bias"}


# ---- decoding on its own --------------------------------------------------------------------------


def chain(scale=3.0):
    """A decoder whose state is the last symbol's embedding: everything is known in NumPy."""
    table = random(SYMBOLS, UNITS, seed=1) * scale
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS, activation=tf.identity)
    layer = tf.layers.Dense(SYMBOLS, use_bias=False, kernel_initializer=wide(2.0, 5))
    return table, cell, layer


def numpy_chain(table, kernel, bias, projection, start, state, steps):
    """Greedy symbols of one sequence, up to and with the end token."""
    ids, symbol = [], start
    for _ in range(steps):
        state = np.concatenate([table[symbol], state]) @ kernel + bias
        symbol = int((state @ projection).argmax())
        ids.append(symbol)
        if symbol == END:
            break
    return ids


def variables_of(scope="decoder"):
    with tf.variable_scope(scope, reuse=True):
        return [
            tf.get_variable("basic_rnn_cell/kernel"),
            tf.get_variable("basic_rnn_cell/bias"),
            tf.get_variable("dense/kernel"),
        ]


def test_greedy_feeds_its_own_symbols_back() -> None:
    table, cell, layer = chain()
    start = np.array([0, 2, 3], np.int32)
    helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.constant(table), start, END)
    decoder = tf.contrib.seq2seq.BasicDecoder(
        cell, helper, cell.zero_state(BATCH, tf.float32), layer
    )
    outputs, _, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=12)
    ids, found, (kernel, bias, projection) = run(outputs.sample_id, lengths, variables_of())
    ended = 0
    for row in range(BATCH):
        want = numpy_chain(table, kernel, bias, projection, start[row], np.zeros(UNITS), 12)
        assert found[row] == len(want)
        assert ids[row, : len(want)].tolist() == want
        ended += want[-1] == END
    assert ended, "no sequence ends: the test would not see the end token"


def test_cold_samples_are_greedy_and_warm_ones_vary() -> None:
    table, cell, layer = chain()
    made = {}
    for name, temperature in (("cold", 1e-4), ("warm", 50.0)):
        helper = tf.contrib.seq2seq.SampleEmbeddingHelper(
            tf.constant(table), tf.zeros([200], tf.int32), -1, temperature, seed=3
        )
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
            decoder = tf.contrib.seq2seq.BasicDecoder(
                cell, helper, cell.zero_state(200, tf.float32), layer
            )
            made[name], _, _ = tf.contrib.seq2seq.dynamic_decode(
                decoder, maximum_iterations=3, scope=tf.get_variable_scope()
            )
    cold, warm, (kernel, bias, projection) = run(
        made["cold"].sample_id, made["warm"].sample_id, variables_of()
    )
    want = numpy_chain(table, kernel, bias, projection, 0, np.zeros(UNITS), 1)
    assert (cold[:, 0] == want[0]).all()
    assert set(np.unique(warm)) == set(range(SYMBOLS))


def test_scheduled_sampling_at_both_ends() -> None:
    inputs = tf.constant(random(BATCH, STEPS, 2))
    table = tf.constant(random(UNITS, 2))
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS)
    results = {}
    for probability in (0.0, 1.0):
        with tf.variable_scope("d", reuse=tf.AUTO_REUSE) as scope:
            helper = tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper(
                inputs, [STEPS] * BATCH, table, probability, seed=1
            )
            decoder = tf.contrib.seq2seq.BasicDecoder(
                cell, helper, cell.zero_state(BATCH, tf.float32)
            )
            results[probability] = tf.contrib.seq2seq.dynamic_decode(decoder, scope=scope)[0]
            helper = tf.contrib.seq2seq.TrainingHelper(inputs, [STEPS] * BATCH)
            decoder = tf.contrib.seq2seq.BasicDecoder(
                cell, helper, cell.zero_state(BATCH, tf.float32)
            )
            forced = tf.contrib.seq2seq.dynamic_decode(decoder, scope=scope)[0]
    never, always, want = run(results[0.0], results[1.0], forced.rnn_output)
    assert (never.sample_id == -1).all()
    np.testing.assert_allclose(never.rnn_output, want, atol=1e-6)
    assert (always.sample_id >= 0).all()
    assert np.abs(always.rnn_output[:, 1:] - want[:, 1:]).max() > 1e-3


@pytest.mark.parametrize("with_auxiliary", [True, False])
def test_scheduled_sampling_of_outputs(with_auxiliary: bool) -> None:
    """A "cell" whose output is the sum of its inputs, so that each step's input can be read off."""
    x = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3, 1)
    extra = np.full((2, 3, 1), 100, np.float32) if with_auxiliary else None
    seen = {}
    for chance in (0.0, 1.0):
        with tf.variable_scope("sum", initializer=tf.ones_initializer(), reuse=tf.AUTO_REUSE):
            cell = tf.nn.rnn_cell.BasicRNNCell(1, activation=tf.identity)
            helper = tf.contrib.seq2seq.ScheduledOutputTrainingHelper(
                x,
                [3, 2],
                chance,
                next_inputs_fn=lambda outputs: 10 * outputs,
                auxiliary_inputs=extra,
            )
            decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
            seen[chance] = tf.contrib.seq2seq.dynamic_decode(decoder, impute_finished=True)[0]
    never, always = run(seen[0.0], seen[1.0])
    added = 100 if with_auxiliary else 0
    # Outputs are the state, the sum of all inputs so far.
    steps = x[..., 0] + added
    np.testing.assert_allclose(
        never.rnn_output[..., 0], np.cumsum(steps, 1) * [[1, 1, 1], [1, 1, 0]]
    )
    first = steps[:, 0]
    second = first + 10 * first + added
    third = second + 10 * second + added
    np.testing.assert_allclose(
        always.rnn_output[..., 0], np.stack([first, second, third], 1) * [[1, 1, 1], [1, 1, 0]]
    )
    np.testing.assert_array_equal(never.sample_id, np.zeros((2, 3)))
    np.testing.assert_array_equal(always.sample_id, [[1, 1, 1], [1, 1, 0]])
    with pytest.raises(ValueError, match="scalar or a vector"):
        tf.contrib.seq2seq.ScheduledOutputTrainingHelper(x, [3, 2], [[0.5]])


def test_custom_and_inference_helpers_count() -> None:
    """A "cell" that adds one: 0, 1, 2 ... until a number is 3."""
    cell = tf.nn.rnn_cell.BasicRNNCell(1, activation=tf.identity)
    ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
    start = tf.constant([[0.0], [2.0]])

    def next_inputs(time, outputs, state, sample_ids):
        return sample_ids >= 3.0, outputs[:, :1] + 1, tf.zeros_like(state)

    custom = tf.contrib.seq2seq.CustomHelper(
        initialize_fn=lambda: (tf.constant([False, False]), start),
        sample_fn=lambda time, outputs, state: outputs[:, 0],
        next_inputs_fn=next_inputs,
        sample_ids_dtype=tf.float32,
    )
    inference = tf.contrib.seq2seq.InferenceHelper(
        sample_fn=lambda outputs: outputs,
        sample_shape=[1],
        sample_dtype=tf.float32,
        start_inputs=start,
        end_fn=lambda samples: samples[:, 0] >= 3.0,
    )
    found = []
    with tf.variable_scope("d", initializer=ones, reuse=tf.AUTO_REUSE) as scope:
        for helper in (custom, inference):
            decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, zeros([2, 1]))
            found.append(
                tf.contrib.seq2seq.dynamic_decode(
                    decoder, scope=scope, maximum_iterations=6, impute_finished=True
                )
            )
    counted, summed = run(*found)
    assert counted[0].sample_id.tolist() == [[0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 0.0, 0.0]]
    assert counted[2].tolist() == [4, 2]
    # The state is added to the input: 0 for ever, and 2, 4.
    assert summed[0].sample_id[:, :, 0].tolist() == [[0.0] * 6, [2.0, 4.0, *[0.0] * 4]]


# ---- beam search ----------------------------------------------------------------------------------


def beam(width, penalty, start, maximum=5, batch=2):
    table, cell, layer = chain(scale=1.0)
    state = tf.contrib.seq2seq.tile_batch(tf.constant(random(batch, UNITS, seed=7)), width)
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(
        cell,
        tf.constant(table),
        start,
        END,
        state,
        width,
        output_layer=layer,
        length_penalty_weight=penalty,
    )
    outputs, last, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=maximum)
    values = run(outputs, last.log_probs, lengths, variables_of())
    return table, random(batch, UNITS, seed=7), values


def best_sequences(table, weights, start, state, maximum, penalty):
    """Every sequence of at most ``maximum`` symbols, by score: (score, log probability, ids)."""
    kernel, bias, projection = weights
    found = []

    def grow(ids, total, symbol, state):
        if ids and (ids[-1] == END or len(ids) == maximum):
            length = len(ids) - (ids[-1] == END)
            found.append((total / ((5 + length) / 6) ** penalty, total, ids))
            return
        state = np.concatenate([table[symbol], state]) @ kernel + bias
        for following, gain in enumerate(log_softmax(state @ projection)):
            grow([*ids, following], total + gain, following, state)

    grow([], 0.0, start, state)
    return sorted(found, reverse=True)


def test_a_wide_beam_finds_the_likeliest_of_all_sequences() -> None:
    start, maximum = np.array([0, 3], np.int32), 3
    width = SYMBOLS * SYMBOLS + 10  # as many as there are sequences before the last step
    table, states, (outputs, log_probs, _, weights) = beam(width, 0.0, start, maximum)
    for row in range(2):
        want = best_sequences(table, weights, start[row], states[row], maximum, 0.0)
        for place, (score, total, ids) in enumerate(want[:8]):
            got = outputs.predicted_ids[row, :, place].tolist()
            assert got[: len(ids)] == ids
            assert all(i == END for i in got[len(ids) :])
            np.testing.assert_allclose(log_probs[row, place], total, rtol=1e-4)
            scores = outputs.beam_search_decoder_output.scores[row, -1]
            np.testing.assert_allclose(scores[place], score, rtol=1e-4)


def test_a_beam_of_one_is_greedy() -> None:
    start = np.array([0, 3], np.int32)
    table, states, (outputs, _, _, weights) = beam(1, 0.0, start, 6)
    for row in range(2):
        want = numpy_chain(table, *weights, start[row], states[row], 6)
        assert outputs.predicted_ids[row, : len(want), 0].tolist() == want


def numpy_beam(table, weights, start, state, width, maximum, penalty):
    """The search as the paper has it, with plain lists: (score, ids) of each beam, best first."""
    kernel, bias, projection = weights
    beams = [(0.0, 0.0, [], start, state)]
    for _ in range(maximum):
        grown = []
        for total, score, ids, symbol, state in beams:
            if ids and ids[-1] == END:
                grown.append((total, score, ids, symbol, state))
                continue
            after = np.concatenate([table[symbol], state]) @ kernel + bias
            for following, gain in enumerate(log_softmax(after @ projection)):
                length = len(ids) + (following != END)
                value = (total + gain) / ((5 + length) / 6) ** penalty
                grown.append((total + gain, value, [*ids, following], following, after))
        beams = sorted(grown, key=lambda b: -b[1])[:width]
        if all(b[2][-1] == END for b in beams):
            break
    return [(score, ids) for _, score, ids, _, _ in beams]


def test_a_narrow_beam_without_penalty_is_the_textbook_search() -> None:
    start = np.array([0, 3], np.int32)
    table, states, (outputs, _, _, weights) = beam(3, 0.0, start, 5)
    for row in range(2):
        want = numpy_beam(table, weights, start[row], states[row], 3, 5, 0.0)
        for place, (_, ids) in enumerate(want):
            assert outputs.predicted_ids[row, : len(ids), place].tolist() == ids


def test_the_length_penalty_ranks_sequences_that_have_not_ended() -> None:
    """One step: the end token counts no symbol, so that all others are divided by (6 / 6) ** w."""
    start = np.array([0, 3], np.int32)
    table, states, (outputs, _, _, weights) = beam(SYMBOLS, 2.0, start, 1)
    for row in range(2):
        want = best_sequences(table, weights, start[row], states[row], 1, 2.0)
        got = outputs.beam_search_decoder_output.scores[row, 0]
        np.testing.assert_allclose(got, [score for score, _, _ in want], rtol=1e-4)
        assert outputs.predicted_ids[row, 0].tolist() == [ids[0] for _, _, ids in want]


def test_gather_tree_walks_back() -> None:
    # The example of TensorFlow's own documentation of gather_tree: one batch, three beams.
    ids = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]], np.int32)
    (got,) = run(tf.contrib.seq2seq.gather_tree(ids, parents, [3], 10))
    assert got[:, 0].tolist() == [[2, 2, 2], [6, 5, 6], [7, 8, 9], [10, 10, 10]]


def test_after_its_end_token_a_sequence_is_over() -> None:
    ids = np.array([[[1]], [[10]], [[3]]], np.int32)
    (got,) = run(tf.contrib.seq2seq.gather_tree(ids, np.zeros_like(ids), [3], 10))
    assert got[:, 0, 0].tolist() == [1, 10, 10]


def test_tile_batch() -> None:
    values = random(2, 3)
    tiled = tf.contrib.seq2seq.tile_batch((tf.constant(values), tf.constant([1, 2])), 3)
    assert tiled[0].shape.as_list() == [6, 3]
    got = run(*tiled)
    np.testing.assert_array_equal(got[0], np.repeat(values, 3, 0))
    assert got[1].tolist() == [1, 1, 1, 2, 2, 2]
    with pytest.raises(ValueError, match="batch axis"):
        tf.contrib.seq2seq.tile_batch(tf.constant(1.0), 2)


# ---- attention ------------------------------------------------------------------------------------


def softmax(x):
    return np.exp(log_softmax(x))


LENGTHS = np.array([5, 3, 1])
HIDDEN = np.arange(STEPS)[None, :] >= LENGTHS[:, None]


@pytest.mark.parametrize("normalize", [False, True])
def test_bahdanau(normalize) -> None:
    memory, query = random(BATCH, STEPS, 3), random(BATCH, 2, seed=1)
    mechanism = tf.contrib.seq2seq.BahdanauAttention(UNITS, memory, LENGTHS, normalize=normalize)
    alignments, state = mechanism(tf.constant(query), mechanism.initial_state(BATCH, tf.float32))
    assert state is alignments
    named = {v.op.name: v for v in tf.trainable_variables()}
    assert set(named) >= {
        "memory_layer/kernel",
        "bahdanau_attention/query_layer/kernel",
        "bahdanau_attention/attention_v",
    }
    got, weights = run(alignments, named)
    v = weights["bahdanau_attention/attention_v"]
    total = (memory * ~HIDDEN[..., None]) @ weights["memory_layer/kernel"]
    total = total + (query @ weights["bahdanau_attention/query_layer/kernel"])[:, None]
    if normalize:
        assert weights["bahdanau_attention/attention_g"] == np.float32(0.5)  # sqrt(1 / 4)
        v = 0.5 * v / np.linalg.norm(v)
    score = np.where(HIDDEN, -np.inf, np.tanh(total) @ v)
    np.testing.assert_allclose(got, softmax(score), atol=1e-6)
    assert (got[HIDDEN] == 0).all()


@pytest.mark.parametrize("scale", [False, True])
def test_luong(scale) -> None:
    memory, query = random(BATCH, STEPS, 3), random(BATCH, UNITS, seed=1)
    mechanism = tf.contrib.seq2seq.LuongAttention(UNITS, memory, LENGTHS, scale=scale)
    alignments, _ = mechanism(tf.constant(query), None)
    named = {v.op.name: v for v in tf.trainable_variables()}
    assert ("luong_attention/attention_g" in named) == scale
    got, kernel = run(alignments, named["memory_layer/kernel"])
    score = np.einsum("bd,btd->bt", query, memory @ kernel)
    np.testing.assert_allclose(got, softmax(np.where(HIDDEN, -np.inf, score)), atol=1e-5)


def test_luong_wants_a_query_of_its_width() -> None:
    mechanism = tf.contrib.seq2seq.LuongAttention(UNITS, random(BATCH, STEPS, 3))
    with pytest.raises(ValueError, match="num_units"):
        mechanism(tf.zeros([BATCH, UNITS + 1]), None)


def test_hardmax() -> None:
    (got,) = run(tf.contrib.seq2seq.hardmax(tf.constant([[1.0, 3.0, 2.0], [5.0, 0.0, 0.0]])))
    assert got.tolist() == [[0, 1, 0], [1, 0, 0]]


def test_attention_wrapper_step_by_step() -> None:
    memory, inputs = random(BATCH, STEPS, 3), random(BATCH, 2, seed=1)
    mechanism = tf.contrib.seq2seq.LuongAttention(UNITS, memory)
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.BasicRNNCell(UNITS), mechanism, attention_layer_size=7
    )
    assert cell.output_size == 7
    state = cell.zero_state(BATCH, tf.float32)
    first, state = cell(tf.constant(inputs), state)
    second, state = cell(tf.constant(inputs), state)
    named = {v.op.name: v for v in tf.trainable_variables()}
    assert set(named) == {
        "memory_layer/kernel",
        "attention_wrapper/basic_rnn_cell/kernel",
        "attention_wrapper/basic_rnn_cell/bias",
        "attention_wrapper/attention_layer/kernel",
    }
    got, time, weights = run([first, second], state.time, named)
    assert time == 2
    attention, hidden = np.zeros((BATCH, 7)), np.zeros((BATCH, UNITS))
    for step in range(2):
        joined = np.concatenate([inputs, attention, hidden], 1)
        kernel = weights["attention_wrapper/basic_rnn_cell/kernel"]
        hidden = np.tanh(joined @ kernel + weights["attention_wrapper/basic_rnn_cell/bias"])
        score = np.einsum("bd,btd->bt", hidden, memory @ weights["memory_layer/kernel"])
        context = np.einsum("bt,btd->bd", softmax(score), memory)
        attention = np.concatenate([hidden, context], 1)
        attention = attention @ weights["attention_wrapper/attention_layer/kernel"]
        np.testing.assert_allclose(got[step], attention, atol=1e-5)


def test_two_mechanisms_without_layers_and_their_history() -> None:
    memory = random(BATCH, STEPS, 3)
    both = [
        tf.contrib.seq2seq.LuongAttention(UNITS, memory, name="one"),
        tf.contrib.seq2seq.BahdanauAttention(UNITS, memory, name="two"),
    ]
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(UNITS), both, alignment_history=True, output_attention=False
    )
    helper = tf.contrib.seq2seq.TrainingHelper(tf.constant(random(BATCH, 4, 2)), [4] * BATCH)
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32))
    outputs, state, _ = tf.contrib.seq2seq.dynamic_decode(decoder)
    histories = [h.stack() for h in state.alignment_history]
    got, attention, (one, two) = run(outputs.rnn_output, state.attention, histories)
    assert got.shape == (BATCH, 4, UNITS)
    assert attention.shape == (BATCH, 6)
    assert one.shape == two.shape == (4, BATCH, STEPS)
    np.testing.assert_allclose(one.sum(-1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(
        attention[:, :3], np.einsum("bt,btd->bd", one[-1], memory), atol=1e-5
    )


def test_attention_and_beam_search_together() -> None:
    width, batch = 4, 2
    memory = tf.constant(random(batch, STEPS, 3))
    table = tf.constant(random(SYMBOLS, 2))
    tiled = tf.contrib.seq2seq.tile_batch(memory, width)
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.LSTMCell(UNITS, initializer=wide(2.0)),
        tf.contrib.seq2seq.BahdanauAttention(UNITS, tiled),
        attention_layer_size=UNITS,
        alignment_history=True,
    )
    encoder_state = tf.nn.rnn_cell.LSTMStateTuple(
        *[
            tf.contrib.seq2seq.tile_batch(tf.constant(random(batch, UNITS, seed=s)), width)
            for s in (2, 3)
        ]
    )
    state = cell.zero_state(batch * width, tf.float32).clone(cell_state=encoder_state)
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(
        cell, table, [0, 0], END, state, width, tf.layers.Dense(SYMBOLS)
    )
    outputs, last, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    found, history = run(outputs, last.cell_state.alignment_history.stack())
    assert found.predicted_ids.shape[0] == batch
    scores = found.beam_search_decoder_output.scores[:, -1]
    assert (np.diff(scores, axis=1) <= 0).all(), "the best beam comes first"
    np.testing.assert_allclose(history.sum(-1), 1.0, rtol=1e-4)


def test_arrays_are_sorted_as_their_beams() -> None:
    """Beam 0 of the last step came through beam 1: so does the array's row."""
    parents = np.array([[[0, 0]], [[1, 0]], [[0, 1]]], np.int32)
    values = np.arange(6, dtype=np.float32).reshape(3, 1, 2)
    lengths = np.array([[3, 3]])
    history = tf.TensorArray(tf.float32, size=3).unstack(tf.constant(values.reshape(3, 2)))
    got = run(
        tf.contrib.seq2seq.gather_tree_from_array(tf.constant(values), parents, lengths),
        tf.contrib.seq2seq.gather_tree_from_array(history, parents, lengths).stack(),
    )
    want = [[1, 0], [2, 3], [4, 5]]
    assert got[0][:, 0].tolist() == want
    assert got[1].tolist() == want


def test_a_batch_that_is_not_the_memorys_is_refused() -> None:
    mechanism = tf.contrib.seq2seq.LuongAttention(UNITS, tf.placeholder(tf.float32, [None, 2, 3]))
    cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), mechanism)
    state = cell.zero_state(4, tf.float32)
    memory = tf.get_default_graph().get_tensor_by_name("Placeholder:0")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="tile_batch"):
        session.run(tf.global_variables_initializer())
        session.run(state.cell_state, {memory: np.zeros((3, 2, 3))})


MISTAKES = [
    (lambda s: s.dynamic_decode(1), TypeError, "Expected decoder"),
    (lambda s: s.TrainingHelper(tf.zeros([2, 3, 4]), 3), ValueError, "to be a vector"),
    (lambda s: s.GreedyEmbeddingHelper(tf.zeros([2, 2]), 0, 1), ValueError, "start_tokens"),
    (lambda s: s.GreedyEmbeddingHelper(tf.zeros([2, 2]), [0], [1]), ValueError, "end_token"),
    (
        lambda s: s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(2), "memory"),
        TypeError,
        "AttentionMechanism",
    ),
    (
        lambda s: s.AttentionWrapper(
            tf.nn.rnn_cell.GRUCell(2), s.LuongAttention(2, tf.zeros([1, 2, 2])), [2, 2]
        ),
        ValueError,
        "exactly one integer per",
    ),
    (lambda s: s.LuongAttention(2, tf.zeros([1, 2])), ValueError, "batch, steps, depth"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES, ids=[m[2] for m in MISTAKES])
def test_mistakes_are_named(call, error, text) -> None:
    with pytest.raises(error, match=text):
        call(tf.contrib.seq2seq)


def test_a_small_model_learns_to_reverse() -> None:
    """Encoder, attention, decoder: trained with teacher forcing, used greedily, nine of ten right."""
    rng = np.random.default_rng(0)
    symbols, length, units = 8, 4, 24
    source = rng.integers(2, symbols, (64, length)).astype(np.int32)
    target = source[:, ::-1]
    table = tf.get_variable("table", [symbols, 8])
    encoded, state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(units), tf.nn.embedding_lookup(table, source), dtype=tf.float32
    )
    mechanism = tf.contrib.seq2seq.LuongAttention(units, encoded)
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(units), mechanism, attention_layer_size=units
    )
    layer = tf.layers.Dense(symbols)
    first = cell.zero_state(64, tf.float32).clone(cell_state=state)

    def decode(helper):
        with tf.variable_scope("decode", reuse=tf.AUTO_REUSE) as scope:
            decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, first, layer)
            return tf.contrib.seq2seq.dynamic_decode(
                decoder, scope=scope, maximum_iterations=length
            )[0]

    shifted = np.concatenate([np.zeros((64, 1), np.int32), target[:, :-1]], 1)
    helper = tf.contrib.seq2seq.TrainingHelper(
        tf.nn.embedding_lookup(table, shifted), [length] * 64
    )
    logits = decode(helper).rnn_output
    loss = tf.contrib.seq2seq.sequence_loss(logits, target, tf.ones([64, length]))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    greedy = decode(
        tf.contrib.seq2seq.GreedyEmbeddingHelper(table, tf.zeros([64], tf.int32), END)
    ).sample_id
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(120):
            session.run(train)
        got = session.run(greedy)
    assert (got == target).mean() > 0.9
    assert len(list(itertools.chain(*got))) == 64 * length


def test_coverage_penalty_of_finished_beams() -> None:
    """Of what ended, the score loses where a place of the memory got little attention."""
    memory = tf.constant(random(2, STEPS, 3))
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.BasicRNNCell(4), tf.contrib.seq2seq.LuongAttention(4, memory)
    )
    table, layer = tf.constant(random(SYMBOLS, 2)), tf.layers.Dense(SYMBOLS)
    found = []
    for weight in (0.0, 0.5):
        decoder = tf.contrib.seq2seq.BeamSearchDecoder(
            cell, table, [1, 1], END, cell.zero_state(2, tf.float32), 1, layer,
            coverage_penalty_weight=weight,
        )  # fmt: skip
        _, inputs, state = decoder.initialize()
        _, state, inputs, _ = decoder.step(0, inputs, state)
        before = state.accumulated_attention_probs
        state = state._replace(finished=tf.constant([[True], [False]]))
        outputs, state, _, _ = decoder.step(1, inputs, state)
        found.append((outputs.scores, before, state.accumulated_attention_probs))
    (plain, empty, _), (scores, before, after) = found
    assert empty == ()
    plain, scores, before, after = run(plain, scores, before, after)
    np.testing.assert_allclose(before.sum(2), 1.0, rtol=1e-5)
    np.testing.assert_allclose(after.sum(2), [[1.0], [2.0]], rtol=1e-5)
    covered = np.log(np.minimum(after[0, 0], 1.0)).sum()
    np.testing.assert_allclose(scores[0, 0], plain[0, 0] + 0.5 * covered, rtol=1e-5)
    np.testing.assert_allclose(scores[1, 0], plain[1, 0], rtol=1e-5)


def test_coverage_penalty_needs_attention() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(4)
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(
        cell, tf.ones([3, 2]), [1], 2, cell.zero_state(2, tf.float32), 2, tf.layers.Dense(3),
        coverage_penalty_weight=0.1,
    )  # fmt: skip
    with pytest.raises(ValueError, match="AttentionWrapper"):
        decoder.initialize()


def test_private_parts_that_decoders_of_programs_read() -> None:
    with tf.Graph().as_default():
        memory = tf.ones([2, 4, 3])
        mechanism = tf.contrib.seq2seq.LuongAttention(3, memory)
        assert mechanism._keys is mechanism.keys and mechanism._values is mechanism.values
        cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), mechanism)
        assert cell._attention_mechanisms == [mechanism]
        assert cell._item_or_tuple(m._keys.shape[1].value for m in [mechanism]) == 4


def test_sums_of_sequence_losses_divide_by_what_counts():
    logits = tf.zeros([2, 3, 4])
    targets, weights = tf.zeros([2, 3], tf.int32), tf.constant([[1.0, 0.5, 0.0], [1.0, 0.0, 0.0]])

    def loss(steps, batch):
        return tf.contrib.seq2seq.sequence_loss(
            logits,
            targets,
            weights,
            average_across_timesteps=False,
            average_across_batch=False,
            sum_over_timesteps=steps,
            sum_over_batch=batch,
        )

    one = np.log(4.0)
    both, over_steps, over_batch = run(loss(True, True), loss(True, False), loss(False, True))
    np.testing.assert_allclose(both, 2.5 * one / 3, rtol=1e-6)
    np.testing.assert_allclose(over_steps, [0.75 * one, one], rtol=1e-6)
    np.testing.assert_allclose(over_batch, [one, 0.5 * one, 0.0], rtol=1e-6)
    with pytest.raises(ValueError, match="cannot be set to True at same time"):
        tf.contrib.seq2seq.sequence_loss(logits, targets, weights, sum_over_batch=True)


def test_attention_layers_of_two_mechanisms_have_the_names_of_checkpoints():
    memory = tf.ones([2, 5, 6])
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(4),
        [tf.contrib.seq2seq.LuongAttention(4, memory) for _ in range(2)],
        attention_layer_size=[3, 4],
    )
    cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    names = {v.op.name for v in tf.trainable_variables()}
    assert {f"attention_wrapper/attention_layer{end}/kernel" for end in ("", "_1")} <= names


def test_a_state_without_parts_is_cloned() -> None:
    empty = tf.contrib.seq2seq.AttentionWrapperState(*[None] * 6)
    assert empty.clone(time=1) == (None, None, 1, None, None, None)
