"""Film reviews, good or bad, as numbers of words."""

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
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """``(x_train, y_train), (x_test, y_test)``: lists of word numbers, and 0 or 1.

    Word 1 is the most common. Each list begins with ``start_char``, numbers are ``index_from``
    higher, and those outside [``skip_top``, ``num_words``) are ``oov_char`` (or left out where that
    is None). Reviews of ``maxlen`` words and more are left out. The file is looked for in
    ``~/.keras/datasets`` and in ``DATAFLOW_DATA``, and downloaded where it is in neither.

    Raises `FileNotFoundError` without file and network.
    """
    if "nb_words" in kwargs:
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"imdb.load_data: unexpected arguments {sorted(kwargs)}.")
    found = arrays(path)
    (x_train, y_train), (x_test, y_test) = shuffled_parts(
        seed, (found["x_train"], found["y_train"]), (found["x_test"], found["y_test"])
    )
    count = len(x_train)
    texts, labels = encoded(
        [*x_train, *x_test],
        [*y_train, *y_test],
        *(num_words, skip_top, maxlen, start_char, oov_char, index_from),
    )
    return in_two_parts(texts, labels, count)


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The number of each word, from 1 on, before ``index_from`` is added."""
    return word_numbers(path)
