"""Kim 2014's sentence CNN on the movie reviews: vectors learnt from nothing, as in his CNN-rand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow_datasets import movie_reviews

VECTOR_SIZE = 96
WINDOWS = (3, 4, 5)
NUM_FILTERS = 64


def as_ids(sentences: list[str], vocabulary: dict[str, int], length: int) -> Any:
    """Word numbers [len(sentences), length]; 0 stands for no word, and for unknown ones."""
    ids = np.zeros([len(sentences), length], np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        known = [vocabulary.get(word, 0) for word in sentence.split()][:length]
        row[: len(known)] = known
    return ids


@pytest.mark.slow
def test_sentence_cnn_reads_a_held_out_tenth(real_data: Path) -> None:
    (train_s, train_y), (test_s, test_y) = movie_reviews.load_data()
    counts = Counter(word for sentence in train_s for word in sentence.split())
    vocabulary = {word: i for i, word in enumerate(counts, start=1)}
    length = max(len(sentence.split()) for sentence in train_s)
    train_x, test_x = (as_ids(s, vocabulary, length) for s in (train_s, test_s))

    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(0)
        words = tf.placeholder(tf.int32, [None, length])
        labels = tf.placeholder(tf.int64, [None])
        keep_prob = tf.placeholder_with_default(1.0, [])
        vectors = tf.Variable(
            tf.random_uniform([len(vocabulary) + 1, VECTOR_SIZE], -0.25, 0.25), name="vectors"
        )
        sentence = tf.expand_dims(tf.nn.embedding_lookup(vectors, words), -1)
        pooled = []
        for size in WINDOWS:
            filters = tf.Variable(
                tf.truncated_normal([size, VECTOR_SIZE, 1, NUM_FILTERS], stddev=0.1)
            )
            bias = tf.Variable(tf.constant(0.1, shape=[NUM_FILTERS]))
            conv = tf.nn.conv2d(sentence, filters, [1, 1, 1, 1], "VALID")
            pooled.append(tf.reduce_max(tf.nn.relu(conv + bias), axis=[1, 2]))
        features = tf.nn.dropout(tf.concat(pooled, 1), keep_prob)
        logits = tf.layers.dense(features, 2)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        step = tf.train.AdamOptimizer(1e-3).minimize(loss)
        guesses = tf.argmax(logits, 1)
        sess.run(tf.global_variables_initializer())
        rng = np.random.RandomState(0)
        for _ in range(5):
            order = rng.permutation(len(train_x))
            for start in range(0, len(order), 64):
                chosen = order[start : start + 64]
                sess.run(step, {words: train_x[chosen], labels: train_y[chosen], keep_prob: 0.5})
        reached = float(np.mean(sess.run(guesses, {words: test_x}) == test_y))
    print(f"Movie reviews: {reached:.4f}")
    assert reached >= 0.74
