"""``tf.contrib.estimator``: recurrent networks over columns of sequences, and what extends an estimator."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import estimator as E
from dataflow.estimator import recurrent

RNG = np.random.default_rng(3)
ROWS = [list(RNG.integers(0, 10, RNG.integers(1, 6))) for _ in range(40)]
LARGE = [[int(row[-1] >= 5)] for row in ROWS]

SEQUENCES = tf.contrib.feature_column
TOKENS = tf.feature_column.embedding_column(
    SEQUENCES.sequence_categorical_column_with_identity("tokens", num_buckets=10), 4
)
PRICES = SEQUENCES.sequence_numeric_column("price")
SIZE = tf.feature_column.numeric_column("size")


def sparse(rows, dtype) -> tf.SparseTensor:
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([value for row in rows for value in row], dtype)
    return tf.SparseTensor(indices, values, [len(rows), max(map(len, rows))])


def features() -> dict:
    return {
        "tokens": sparse(ROWS, np.int64),
        "price": sparse([[v / 10 for v in row] for row in ROWS], np.float32),
        "size": tf.ones([len(ROWS), 1]),
        "count": tf.constant([[len(row)] for row in ROWS]),
    }


def classes():
    return features(), tf.constant(LARGE)


def sums():
    return features(), tf.constant([[sum(row) / 10] for row in ROWS], tf.float32)


@pytest.mark.parametrize("cell_type", ["basic_rnn", "lstm", "gru", tf.nn.rnn_cell.LSTMCell])
def test_a_recurrent_classifier_learns_from_the_last_step(cell_type, tmp_path) -> None:
    estimator = E.RNNClassifier(
        [TOKENS, PRICES], [SIZE], [8, 4], cell_type, model_dir=str(tmp_path), optimizer="Adam",
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )  # fmt: skip
    estimator.train(classes, steps=80)
    found = estimator.evaluate(classes, steps=1)
    assert found["accuracy"] > 0.85
    assert found["loss"] == pytest.approx(found["average_loss"], rel=1e-5)
    prediction = next(iter(estimator.predict(classes)))
    assert prediction["probabilities"].shape == (2,)
    names = estimator.get_variable_names()
    scope = "rnn/sequence_input_layer/sequence_input_layer"
    assert f"{scope}/tokens_embedding/embedding_weights" in names
    assert estimator.get_variable_value("rnn/logits/dense/kernel").shape == (4, 1)
    cell = {"basic_rnn": "basic_rnn_cell", "lstm": "basic_lstm_cell", "gru": "gru_cell/gates"}
    part = cell.get(cell_type if isinstance(cell_type, str) else "", "lstm_cell")
    kernel = estimator.get_variable_value(f"rnn/rnn/multi_rnn_cell/cell_0/{part}/kernel")
    assert kernel.shape[0] == 4 + 1 + 1 + 8


def test_the_logits_are_those_of_each_last_step() -> None:
    activations = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    with tf.Session() as sess:
        last = recurrent._select_last_activations(tf.constant(activations), tf.constant([1, 4]))
        whole = recurrent._select_last_activations(tf.constant(activations), None)
        assert last.shape.as_list() == [2, 3]
        np.testing.assert_array_equal(sess.run(last), [activations[0, 0], activations[1, 3]])
        np.testing.assert_array_equal(sess.run(whole), activations[:, 3])


def test_a_head_and_a_cell_function_of_the_caller_s(tmp_path) -> None:
    modes = []

    def cell(mode):
        modes.append(mode)
        return tf.nn.rnn_cell.GRUCell(6)

    estimator = E.RNNEstimator(
        E.regression_head(), [PRICES], rnn_cell_fn=cell, model_dir=str(tmp_path),
        optimizer=E.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(0.1), 1.0),
    )  # fmt: skip
    before = estimator.evaluate(sums, steps=1)["average_loss"]
    estimator.train(sums, steps=60)
    assert estimator.evaluate(sums, steps=1)["average_loss"] < before / 2
    assert modes == ["eval", "train", "eval"]


def test_cells_are_described_in_one_way() -> None:
    with pytest.raises(ValueError, match="must not be specified when using rnn_cell_fn"):
        E.RNNClassifier([TOKENS], num_units=[3], rnn_cell_fn=lambda mode: None)
    with pytest.raises(ValueError, match="Supported cell types"):
        E.RNNClassifier([TOKENS], num_units=[3], cell_type="none").train(classes, steps=1)
    with pytest.raises(ValueError, match="_SequentialHead"):
        E.RNNEstimator(E.regression_head(), [PRICES], num_units=[3], return_sequences=True)


def test_contexts_and_sequences_have_their_ranks() -> None:
    steps, context = tf.zeros([2, 3, 4]), tf.ones([2, 5])
    joined = recurrent._concatenate_context_input(steps, context)
    with tf.Session() as sess:
        assert sess.run(joined).shape == (2, 3, 9)
    with pytest.raises(ValueError, match="sequence_input must have rank 3"):
        recurrent._concatenate_context_input(context, context)
    with pytest.raises(TypeError, match="context_input must have dtype float32"):
        recurrent._concatenate_context_input(steps, tf.ones([2, 5], tf.float64))


@pytest.mark.parametrize("clip, expected", [(1.0, [-0.6, -0.8]), (10.0, [-3.0, -4.0])])
def test_gradients_are_clipped_by_their_global_norm(clip, expected) -> None:
    tf.reset_default_graph()  # all of its variables are initialized
    variables = [tf.Variable(0.0), tf.Variable(0.0)]
    loss = 3.0 * variables[0] + 4.0 * variables[1]
    optimizer = E.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), clip)
    step = optimizer.minimize(loss)
    assert optimizer.get_name() == "ClipByNormGradientDescent"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        np.testing.assert_allclose(sess.run(variables), expected, rtol=1e-6)


def test_the_slots_of_a_clipping_optimizer_are_the_inner_one_s() -> None:
    variable = tf.Variable(1.0)
    optimizer = E.clip_gradients_by_norm(tf.train.MomentumOptimizer(1.0, 0.9), 1.0)
    optimizer.minimize(variable * 2.0)
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(variable, "momentum") in optimizer.variables()


def linear(tmp_path) -> tf.estimator.Estimator:
    estimator = tf.estimator.LinearRegressor([SIZE], model_dir=str(tmp_path))
    estimator.train(sums, steps=1)
    return estimator


def test_features_are_forwarded_to_predictions(tmp_path) -> None:
    estimator = linear(tmp_path)
    predictions = E.forward_features(estimator, "count").predict(sums)
    assert [next(predictions)["count"][0] for _ in ROWS] == [len(row) for row in ROWS]
    every = E.forward_features(estimator, None, {"tokens": -1, "price": -1.0})
    first = next(iter(every.predict(sums)))
    assert set(first) == {"predictions", "tokens", "price", "size", "count"}
    padding = [-1] * (len(first["tokens"]) - len(ROWS[0]))
    assert list(first["tokens"]) == ROWS[0] + padding


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        ((3,), TypeError, "either a string or a list"),
        (([3],), TypeError, "should be a string"),
        (("absent",), ValueError, "not in features"),
        (("tokens",), ValueError, "should be a Tensor"),
        (("size", {"size": 0.0}), ValueError, "expected to be a `SparseTensor`"),
    ],
)
def test_features_that_cannot_be_forwarded(arguments, kind, message, tmp_path) -> None:
    estimator = linear(tmp_path)
    with pytest.raises(kind, match=message):
        next(iter(E.forward_features(estimator, *arguments).predict(sums)))
