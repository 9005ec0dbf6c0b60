"""Words of texts as numbers."""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    text: str, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text: ``filters`` lists characters that become ``split``, which parts them."""
    if lower:
        text = text.lower()
    text = text.translate({ord(mark): split for mark in filters})
    return [word for word in text.split(split) if word]


def hashing_trick(
    text: str,
    n: int,
    hash_function: Any = None,
    filters: str = _FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """Words as numbers 1 to n - 1 by their hash; two words may share one.

    ``hash_function``: "md5", a function of a string, or ``None`` for Python's `hash`, which gives
    other numbers in every process.
    """
    if hash_function is None:
        hash_function = hash
    elif hash_function == "md5":
        hash_function = lambda word: int(hashlib.md5(word.encode()).hexdigest(), 16)
    words = text_to_word_sequence(text, filters, lower, split)
    return [hash_function(word) % (n - 1) + 1 for word in words]


def one_hot(
    text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[int]:
    """`hashing_trick` with Python's `hash`: numbers, despite its name."""
    return hashing_trick(text, n, hash, filters, lower, split)


class Tokenizer:
    """Counts words in texts, numbers them by frequency from 1, and turns texts into numbers.

    Only the ``num_words - 1`` most frequent words are kept; others become ``oov_token``'s number
    where there is one, and are left out where there is none. ``char_level`` takes characters for
    words. A text may be a list of words already.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        document_count: int = 0,
    ) -> None:
        self.num_words = num_words
        self.filters = filters
        self.lower = lower
        self.split = split
        self.char_level = char_level
        self.oov_token = oov_token
        self.document_count = document_count
        self.word_counts: collections.OrderedDict[str, int] = collections.OrderedDict()
        self.word_docs: dict[str, int] = collections.defaultdict(int)
        self.index_docs: dict[int, int] = collections.defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if self.char_level or isinstance(text, (list, tuple)):
            return [w.lower() for w in text] if self.lower else list(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Any) -> None:
        """Counts the words of ``texts`` too, and numbers all anew."""
        for text in texts:
            words = self._words(text)
            self.document_count += 1
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts.items(), key=lambda item: item[1], reverse=True)
        first = [] if self.oov_token is None else [self.oov_token]
        names = [*first, *(word for word, _ in ordered)]
        self.word_index = {word: i for i, word in enumerate(names, start=1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Counts numbers in place of words, for `sequences_to_matrix`."""
        for sequence in sequences:
            self.document_count += 1
            for number in set(sequence):
                self.index_docs[number] += 1

    def _known(self, number: int | None) -> int | None:
        """The number, or that of the token for other words."""
        if number is not None and not (self.num_words and number >= self.num_words):
            return number
        return self.word_index.get(self.oov_token) if self.oov_token is not None else None

    def texts_to_sequences(self, texts: Any) -> list[list[int]]:
        """Each text as a list of numbers."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Any) -> Iterator[list[int]]:
        """The same, one after the other."""
        for text in texts:
            found = (self._known(self.word_index.get(word)) for word in self._words(text))
            yield [number for number in found if number is not None]

    def sequences_to_texts(self, sequences: Any) -> list[str]:
        """Each list of numbers as a text, its words set apart by spaces."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Any) -> Iterator[str]:
        """The same, one after the other."""
        for sequence in sequences:
            found = (self._known(n if n in self.index_word else None) for n in sequence)
            yield " ".join(self.index_word[n] for n in found if n is not None)

    def texts_to_matrix(self, texts: Any, mode: str = "binary") -> np.ndarray[Any, Any]:
        """As `sequences_to_matrix`, from texts."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray[Any, Any]:
        """A row for each sequence, a column for each number.

        ``mode``: "binary" (1 where it occurs), "count", "freq" (its share of the sequence) or
        "tfidf": ``(1 + log(count)) * log(1 + texts / (1 + texts with it))``.

        Raises `ValueError` where the number of columns, or of texts, is not known.
        """
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}")
        columns = self.num_words or (len(self.word_index) + 1 if self.word_index else None)
        if columns is None:
            raise ValueError(
                "Specify a dimension (`num_words` argument), or fit on some text data first."
            )
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        matrix = np.zeros((len(sequences), columns))
        for row, sequence in zip(matrix, sequences, strict=True):
            for number, count in collections.Counter(sequence).items():
                if number >= columns:
                    continue
                if mode == "binary":
                    row[number] = 1
                elif mode == "count":
                    row[number] = count
                elif mode == "freq":
                    row[number] = count / len(sequence)
                else:
                    containing = self.index_docs.get(number, 0)
                    rarity = np.log(1 + self.document_count / (1 + containing))
                    row[number] = (1 + np.log(count)) * rarity
        return matrix

    def get_config(self) -> dict[str, Any]:
        """The settings, and the counts as JSON texts."""
        return {
            "num_words": self.num_words,
            "filters": self.filters,
            "lower": self.lower,
            "split": self.split,
            "char_level": self.char_level,
            "oov_token": self.oov_token,
            "document_count": self.document_count,
            **{name: json.dumps(getattr(self, name)) for name in _COUNTED},
        }

    def to_json(self, **kwargs: Any) -> str:
        """All as JSON, for `tokenizer_from_json`."""
        return json.dumps({"class_name": "Tokenizer", "config": self.get_config()}, **kwargs)


_COUNTED = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_json` described."""
    config = json.loads(json_string)["config"]
    counted = {name: json.loads(config.pop(name)) for name in _COUNTED}
    tokenizer = Tokenizer(**config)
    for name, found in counted.items():
        if name.startswith("index_"):
            found = {int(key): value for key, value in found.items()}
        getattr(tokenizer, name).update(found)
    return tokenizer
