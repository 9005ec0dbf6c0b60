"""Sentences of film reviews, positive or negative (Pang, Lee 2005), cleaned as Kim 2014 did."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from .fetch import fetch
from .registry import DatasetInfo, RemoteFile
from .tables import split_rows

# The originals (Latin-1) are at Cornell; this copy in UTF-8 is the one that course code uses.
_URL = (
    "https://raw.githubusercontent.com/dennybritz/cnn-text-classification-tf/"
    "a0d0e9742b3dc42194955e78858f7be93027c75e/data/rt-polaritydata/"
)
NEGATIVE = RemoteFile(
    "movie_reviews",
    "rt-polarity.neg",
    (_URL + "rt-polarity.neg",),
    "2d11cfbc790f1cd96d78339f41ce53ced1efa83cd22d37d6788fa3fe3d17e2fd",
    612_506,
)
POSITIVE = RemoteFile(
    "movie_reviews",
    "rt-polarity.pos",
    (_URL + "rt-polarity.pos",),
    "4134882974a28d0c7b5151256f0e33a6169984ee7372c279e673f1114f475d58",
    626_395,
)
INFO = DatasetInfo(
    name="movie_reviews",
    title="10,662 sentences from film reviews, half positive, half negative",
    license="free for research (Pang and Lee 2005)",
    files=(NEGATIVE, POSITIVE),
)

Sentences = list[str]
Labels = np.ndarray[Any, Any]

# Kim 2014, "Convolutional Neural Networks for Sentence Classification", as in the code published
# with it: what is no letter, digit or one of the marks below becomes a space; contractions and
# marks become words of their own. (There, brackets came out with a backslash; here without.)
_NOT_KEPT = re.compile(r"[^A-Za-z0-9(),!?'`]")
_CONTRACTION = re.compile(r"('s|'ve|n't|'re|'d|'ll)")
_MARK = re.compile(r"([,!()?])")
_SPACES = re.compile(r"\s{2,}")


def clean(sentence: str) -> str:
    """The sentence in lower case, its words and marks set apart by single spaces (Kim 2014)."""
    text = _NOT_KEPT.sub(" ", sentence)
    text = _CONTRACTION.sub(r" \1", text)
    text = _MARK.sub(r" \1 ", text)
    return _SPACES.sub(" ", text).strip().lower()


def load_sentences(cleaned: bool = True) -> tuple[Sentences, Labels]:
    """All 10,662 sentences, and int64 labels ``[10662]``: 1 positive, 0 negative.

    The positive sentences come first. With ``cleaned`` each went through `clean`.
    """
    positive, negative = _read(fetch(POSITIVE)), _read(fetch(NEGATIVE))
    sentences = positive + negative
    if cleaned:
        sentences = [clean(sentence) for sentence in sentences]
    labels = np.repeat(np.array([1, 0], np.int64), [len(positive), len(negative)])
    return sentences, labels


def load_data(
    test_fraction: float = 0.1, seed: int = 0, cleaned: bool = True
) -> tuple[tuple[Sentences, Labels], tuple[Sentences, Labels]]:
    """``(train_x, train_y), (test_x, test_y)``: lists of sentences and int64 labels, shuffled."""
    sentences, labels = load_sentences(cleaned)
    train, test = split_rows(len(sentences), test_fraction, seed)
    return (
        ([sentences[i] for i in train], labels[train]),
        ([sentences[i] for i in test], labels[test]),
    )


def _read(path: Path) -> Sentences:
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:  # the files as Cornell serves them
        text = raw.decode("latin-1")
    # Not splitlines(): a stray U+0085 inside a sentence is no end of line.
    return [line.strip() for line in text.split("\n") if line.strip()]
