"""News of the agency Reuters, of 46 topics, as numbers of words."""

from __future__ import annotations

from typing import Any

from dataflow.keras.datasets.stored import (
    arrays,
    encoded,
    in_two_parts,
    shuffled_parts,
    word_numbers,
)


def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """``(x_train, y_train), (x_test, y_test)``: lists of word numbers, and topics from 0 to 45.

    The last ``test_split`` of them are for tests; else as `tf.keras.datasets.imdb.load_data`.
    """
    if "nb_words" in kwargs:
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"reuters.load_data: unexpected arguments {sorted(kwargs)}.")
    found = arrays(path)
    ((x, y),) = shuffled_parts(seed, (found["x"], found["y"]))
    texts, labels = encoded(x, y, *(num_words, skip_top, maxlen, start_char, oov_char, index_from))
    count = int(len(texts) * (1 - test_split))
    return in_two_parts(texts, labels, count)


def get_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """The number of each word, from 1 on, before ``index_from`` is added."""
    return word_numbers(path)
