"""Texts and sequences as arrays; TensorFlow gives the same in the oracle."""

from __future__ import annotations

import random

import numpy as np
import pytest

import dataflow as tf

text = tf.keras.preprocessing.text
sequence = tf.keras.preprocessing.sequence


def test_a_tokenizer_numbers_words_by_frequency():
    tokenizer = text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["A cat, a dog!", "the cat; a rat", ["A", "list"]])
    assert list(tokenizer.word_index) == ["?", "a", "cat", "dog", "the", "rat", "list"]
    assert tokenizer.texts_to_sequences(["a dog, the cat"]) == [[2, 1, 1, 3]]
    assert tokenizer.sequences_to_texts([[2, 9, 3]]) == ["a ? cat"]
    counts = tokenizer.texts_to_matrix(["a a cat"], "count")
    assert counts.tolist() == [[0, 0, 2, 1]]
    rarity = tokenizer.texts_to_matrix(["cat"], "tfidf")[0, 3]
    assert rarity == pytest.approx(np.log(1 + 3 / (1 + 2)))
    again = text.tokenizer_from_json(tokenizer.to_json())
    assert again.texts_to_sequences(["a rat"]) == tokenizer.texts_to_sequences(["a rat"])
    with pytest.raises(ValueError, match="fit on some text"):
        text.Tokenizer().texts_to_matrix(["a"])


def test_hashes_are_in_range():
    found = text.hashing_trick("a rose is a rose", 20, "md5")
    assert len(found) == 5
    assert found[0] == found[3] and found[1] == found[4]
    assert all(1 <= n < 20 for n in text.one_hot("some other words", 20))


def test_skipgrams_are_neighbors_and_noise():
    random.seed(0)
    couples, labels = sequence.skipgrams([1, 2, 0, 3], 9, window_size=1, negative_samples=2.0)
    right = sorted(c for c, label in zip(couples, labels, strict=True) if label)
    assert right == [[1, 2], [2, 1]]
    assert labels.count(0) == 4
    kept = sequence.make_sampling_table(10_000)
    assert (np.diff(kept[1:]) >= 0).all() and kept[5] < 0.02 and kept[-1] <= 1


def test_a_series_is_cut_into_windows():
    generator = sequence.TimeseriesGenerator(
        np.arange(10.0)[:, None], np.arange(10.0), 3, batch_size=4
    )
    assert len(generator) == 2
    x, y = generator[0]
    assert x[:, :, 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert y.tolist() == [3, 4, 5, 6]
    model = tf.keras.Sequential(
        [tf.keras.layers.Flatten(input_shape=(3, 1)), tf.keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    model.fit_generator(generator, epochs=1, verbose=0)
    assert model.predict_generator(generator).shape == (7, 1)
    tf.keras.backend.clear_session()
