"""``tf.contrib.learn.preprocessing``: words become numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

_WORDS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for value in iterator:
        yield _WORDS.findall(value)


class CategoricalVocabulary:
    """Words and their numbers; 0 is the unknown word."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping = {unknown_token: 0}
        self._reverse = [unknown_token]
        self._counts: dict[str, int] = {}
        self._frozen = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From now on new words are unknown."""
        self._frozen = freeze

    def get(self, category: str) -> int:
        """The number of a word; new ones get the next number until the vocabulary is frozen."""
        found = self._mapping.get(category)
        if found is None:
            if self._frozen:
                return 0
            found = self._mapping[category] = len(self._mapping)
            self._reverse.append(category)
        return found

    def add(self, category: str, count: int = 1) -> None:
        """Counts a word."""
        if self.get(category) > 0:
            self._counts[category] = self._counts.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps words that occur more often than ``min_frequency``, by frequency, then by name, numbers first."""
        by_name = sorted(self._counts.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        order = sorted(by_name, key=lambda item: item[1], reverse=True)
        self._mapping = {self._unknown_token: 0}
        self._reverse = [self._unknown_token]
        for word, count in order:
            if count <= min_frequency:
                break
            if 0 < max_frequency <= count:
                continue
            self._mapping[word] = len(self._mapping)
            self._reverse.append(word)
        self._counts = {w: c for w, c in order if w in self._mapping}

    def reverse(self, class_id: int) -> str:
        """The word of a number."""
        return self._reverse[class_id]


class CategoricalProcessor:
    """Columns of categories, texts or numbers, as columns of their numbers; 0 is NaN and what is unknown.

    ``share``: all columns have one vocabulary. Categories that occur ``min_frequency`` times or less are unknown.
    """

    def __init__(
        self,
        min_frequency: int = 0,
        share: bool = False,
        vocabularies: Sequence[CategoricalVocabulary] | None = None,
    ) -> None:
        self.min_frequency = min_frequency
        self.share = share
        self.vocabularies_ = vocabularies

    def freeze(self, freeze: bool = True) -> None:
        """From now on new categories are unknown, or are not."""
        for vocabulary in self.vocabularies_ or ():
            vocabulary.freeze(freeze)

    def fit(self, x: Any, unused_y: Any = None) -> CategoricalProcessor:
        """Learns the categories of the columns of ``x``: rows, or a frame."""
        for row in _rows_of(x):
            if self.vocabularies_ is None:
                if self.share:
                    self.vocabularies_ = [CategoricalVocabulary()] * len(row)
                else:
                    self.vocabularies_ = [CategoricalVocabulary() for _ in row]
            for vocabulary, value in zip(self.vocabularies_, row, strict=False):
                if not _is_nan(value):
                    vocabulary.add(value)
        if self.min_frequency > 0:
            for vocabulary in {id(v): v for v in self.vocabularies_ or ()}.values():
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(self, x: Any, unused_y: Any = None) -> Iterator[Any]:
        """`fit`, then `transform`."""
        rows = list(_rows_of(x))
        self.fit(rows)
        return self.transform(rows)

    def transform(self, x: Any) -> Iterator[Any]:
        """Each row as a row of int64; raises `ValueError` before `fit`."""
        if self.vocabularies_ is None:
            raise ValueError("CategoricalProcessor has no vocabularies: call fit first.")
        self.freeze()
        for row in _rows_of(x):
            yield np.array(
                [
                    0 if _is_nan(value) else vocabulary.get(value)
                    for vocabulary, value in zip(self.vocabularies_, row, strict=False)
                ],
                np.int64,
            )


def _rows_of(x: Any) -> Iterable[Any]:
    return x.to_numpy() if hasattr(x, "to_numpy") else x  # type: ignore[no-any-return]


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


class ByteProcessor:
    """Texts as rows of their bytes in UTF-8, cut or filled with 0 to ``max_document_length``."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> ByteProcessor:
        """Nothing is learned."""
        return self

    def transform(self, x: Iterable[str | bytes]) -> Iterator[Any]:
        """Each text as a row of uint8."""
        for document in x:
            data = document.encode() if isinstance(document, str) else document
            row = np.zeros(self.max_document_length, np.uint8)
            found = np.frombuffer(data[: self.max_document_length], np.uint8)
            row[: len(found)] = found
            yield row

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[Any]:
        """The same as `transform`."""
        return self.transform(x)

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """Rows of bytes as texts; a letter that was cut in two is the empty text."""
        for row in x:
            try:
                yield np.trim_zeros(np.asarray(row).astype(np.uint8), "b").tobytes().decode()
            except UnicodeDecodeError:
                yield ""


class VocabularyProcessor:
    """Texts as rows of word numbers, cut or filled with 0 to ``max_document_length``."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterator[list[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of all texts."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """Each text as a row of int64."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for i, token in enumerate(tokens[: self.max_document_length]):
                row[i] = self.vocabulary_.get(token)
            yield row

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """`fit`, then `transform`."""
        documents = list(raw_documents)
        self.fit(documents)
        return self.transform(documents)

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """Rows of numbers as texts."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(int(i)) for i in row)

    def save(self, filename: str) -> None:
        """Writes the vocabulary as JSON."""
        from dataflow.gfile import GFile

        content = {
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "words": self.vocabulary_._reverse,
        }
        with GFile(filename, "w") as file:
            file.write(json.dumps(content))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads what `save` wrote; raises `ValueError` for another kind of file."""
        from dataflow.gfile import GFile

        with GFile(filename, "rb") as file:
            data = file.read()
        try:
            content = json.loads(data)
            words = list(content["words"])
        except (ValueError, KeyError, TypeError) as e:
            raise ValueError(
                f"{filename} was not written by VocabularyProcessor.save of dataflow "
                "(TensorFlow's is a pickle, which is not read)."
            ) from e
        vocabulary = CategoricalVocabulary(words[0])
        for word in words[1:]:
            vocabulary.get(word)
        vocabulary.freeze()
        return cls(content["max_document_length"], content["min_frequency"], vocabulary)
