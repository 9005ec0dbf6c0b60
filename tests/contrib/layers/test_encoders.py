"""``tf.contrib.layers``: bags of words, and embeddings that are looked up once."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

layers = tf.contrib.layers


def test_bag_of_words_is_the_mean_of_the_embeddings() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.constant_initializer(np.arange(8.0).reshape(4, 2))
        dense = layers.bow_encoder([[0, 1], [3, 3], [0, 0]], 4, 2, initializer=table)
        texts = [[0, 1], [3, 3]]
        every = layers.bow_encoder(texts, 4, 2, sparse_lookup=False, initializer=table, scope="a")
        ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([0, 1, 3], tf.int64), [3, 2])
        sparse = layers.bow_encoder(ids, 4, 2, initializer=table, scope="b")
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(dense), [[2, 3], [6, 7], [0, 1]])  # 0 is padding
        np.testing.assert_allclose(session.run(every), [[1, 2], [6, 7]])
        np.testing.assert_allclose(session.run(sparse), [[1, 2], [0, 1], [6, 7]])
        assert tf.trainable_variables()[0].op.name == "bow_encoder/embeddings"
        with pytest.raises(TypeError, match="sparse_lookup=False"):
            layers.bow_encoder(ids, 4, 2, sparse_lookup=False)


def test_embeddings_are_variables_of_the_model() -> None:
    with tf.Graph().as_default():
        layers.embed_sequence([[1]], 4, 2)
        layers.bow_encoder([[1]], 4, 2)
        names = [v.op.name for v in tf.contrib.framework.get_model_variables()]
        assert names == ["EmbedSequence/embeddings", "bow_encoder/embeddings"]


def test_lookup_of_each_id_once_gives_what_a_lookup_gives() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.constant(np.arange(12.0).reshape(6, 2))
        ids = tf.placeholder(tf.int32, [None, 3])
        once, plain = layers.embedding_lookup_unique(table, ids), tf.nn.embedding_lookup(table, ids)
        assert once.shape.as_list() == [None, 3, 2]
        mixed = layers.embedding_lookup_unique([table[:3], table[3:]], ids, "div")
        np.testing.assert_array_equal(*session.run([mixed, plain], {ids: [[0, 5, 4]]}))
        a, b = session.run([once, plain], {ids: [[1, 5, 1], [0, 1, 1]]})
        np.testing.assert_array_equal(a, b)


def test_dense_tensors_as_sparse_ones() -> None:
    from dataflow.contrib.layers.python.ops import sparse_ops

    with tf.Graph().as_default(), tf.Session() as sess:
        words = sess.run(sparse_ops.dense_to_sparse_tensor([["", "a"], ["b", ""]]))
        assert words.indices.tolist() == [[0, 1], [1, 0]] and words.values.tolist() == [b"a", b"b"]
        kept = sess.run(sparse_ops.dense_to_sparse_tensor([[0, 1], [5, 0]], ignore_value=5))
        assert kept.values.tolist() == [0, 1, 0]
        marks = [[[0, 0, 1, 0], [0, 0, 0, 0]], [[1, 0, 1, 1], [0, 0, 1, 0]]]
        ids = sess.run(sparse_ops.indicators_to_sparse_ids(marks))
        assert ids.indices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 1, 0]]
        assert ids.values.tolist() == [2, 0, 2, 3, 2]
        assert ids.dense_shape.tolist() == [2, 2, 3]
        rows = tf.SparseTensor([[0, 0], [2, 0], [2, 1], [2, 2]], [0, 1, 2, 3], [3, 3])
        assert sess.run(sparse_ops.sparse_row_envelope(rows)).tolist() == [1, 0, 3]
        with pytest.raises(ValueError, match="integer"):
            sparse_ops.indicators_to_sparse_ids(marks, dtype=tf.float32)
        unknown = tf.placeholder(tf.int32)
        found = sparse_ops.indicators_to_sparse_ids(unknown)
        assert sess.run(found, {unknown: [[0, 1], [0, 0]]}).values.tolist() == [1]
