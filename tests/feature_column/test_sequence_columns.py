"""Columns of sequences; their values are held against TensorFlow's in the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

F = tf.feature_column
S = tf.contrib.feature_column


def test_from_examples_to_a_recurrent_network() -> None:
    words = F.sequence_categorical_column_with_vocabulary_list("words", ["a", "b"])
    columns = [F.embedding_column(words, 3), F.sequence_numeric_column("numbers", shape=2)]
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=text)),
                    "numbers": tf.train.Feature(
                        float_list=tf.train.FloatList(value=np.arange(2.0 * len(text)))
                    ),
                }
            )
        ).SerializeToString()
        for text in ([b"a", b"b", b"a"], [b"b"])
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = tf.parse_example(examples, F.make_parse_example_spec(columns))
        layer, lengths = S.sequence_input_layer(parsed, columns)
        both = S.concatenate_context_input(tf.constant([[7.0], [8.0]]), layer)
        outputs, _ = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(4), both, sequence_length=lengths, dtype=tf.float32
        )
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        got, length, joined, out = session.run([layer, lengths, both, outputs])
        names = [v.op.name for v in tf.global_variables()]
    assert "sequence_input_layer/words_embedding/embedding_weights" in names
    assert length.tolist() == [3, 1]
    assert got[0, :, :2].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert got[1, 1:].tolist() == [[0.0] * 5] * 2
    np.testing.assert_array_equal(got[0, 0, 2:], got[0, 2, 2:])
    assert joined[:, :, 5].tolist() == [[7.0] * 3, [8.0] * 3]
    assert (out[1, 1:] == 0).all()


def test_a_sequence_is_no_input_of_other_layers() -> None:
    words = F.sequence_categorical_column_with_identity("words", 3)
    features = {"words": tf.constant([[1, 2]])}
    with pytest.raises(ValueError, match="sequence_input_layer"):
        F.input_layer(features, [F.indicator_column(words)])
    with pytest.raises(ValueError, match="must be columns of sequences"):
        S.sequence_input_layer(features, [F.numeric_column("words")])


def test_different_lengths_are_refused() -> None:
    """Of one width, so that only the lengths tell."""
    features = {"a": tf.constant([[1, 2]]), "b": tf.constant([[1, -1]])}
    columns = [
        F.indicator_column(F.sequence_categorical_column_with_identity(key, 3)) for key in "ab"
    ]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="lengths"):
        session.run(S.sequence_input_layer(features, columns)[1])
