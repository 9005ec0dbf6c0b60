"""Movie reviews, books, analogies, text8, and the synthetic corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow_datasets import (
    analogies,
    books,
    movie_reviews,
    python_manual,
    synthetic,
    tables,
    text8,
)


@pytest.mark.parametrize(
    ("sentence", "cleaned"),
    [
        ("It's  so-so!", "it 's so so !"),
        ("They didn't, (really) know", "they did n't , ( really ) know"),
        ("I'd say we've won; she'll go?", "i 'd say we 've won she 'll go ?"),
        ("clichés -- 10%", "clich s 10"),
    ],
)
def test_cleaning_as_kim_2014(sentence: str, cleaned: str) -> None:
    assert movie_reviews.clean(sentence) == cleaned


def test_movie_reviews(real_data: Path) -> None:
    sentences, labels = movie_reviews.load_sentences()
    assert len(sentences) == 10662
    assert labels.sum() == 5331
    assert labels[0] == 1
    (train_x, train_y), (test_x, test_y) = movie_reviews.load_data()
    assert (len(train_x), len(test_x)) == (9596, 1066)
    assert sorted(train_x + test_x) == sorted(sentences)
    assert train_y.sum() + test_y.sum() == 5331
    again = movie_reviews.load_data()
    assert again[0][0] == train_x
    raw, _ = movie_reviews.load_sentences(cleaned=False)
    assert any("é" in sentence for sentence in raw)
    assert not any("Ã" in sentence for sentence in raw)


def test_movie_reviews_in_latin_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "movie_reviews"
    folder.mkdir()
    (folder / "rt-polarity.pos").write_bytes("a clich\xe9 \n\x85 b \n".encode("latin-1"))
    (folder / "rt-polarity.neg").write_bytes(b"bad \n")
    monkeypatch.setenv("DATAFLOW_DATA", str(tmp_path))
    sentences, labels = movie_reviews.load_sentences(cleaned=False)
    assert sentences == ["a cliché", "b", "bad"]
    assert labels.tolist() == [1, 1, 0]


def test_pythons_manual_is_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    words = python_manual.load_data()
    assert len(words) > 40_000
    assert {"statement", "expression", "three"} <= set(words)
    assert python_manual.load_text() == python_manual.load_text()


def test_books(real_data: Path) -> None:
    text = books.load_text("anna_karenina")
    assert text.startswith("Chapter 1\n\n\nHappy families are all alike")
    assert "\r" not in text
    assert len(books.load_data()) == 558_725
    with pytest.raises(KeyError, match="war_and_peace.*anna_karenina"):
        books.load_text("war_and_peace")


def test_split_words() -> None:
    assert books.split_words("Don't -- 'tis the Oblonskys\u2019 house") == [
        "don't",
        "tis",
        "the",
        "oblonskys",
        "house",
    ]


def test_analogies(real_data: Path) -> None:
    groups = analogies.load_data()
    assert len(groups) == 14
    assert sum(map(len, groups.values())) == 19_544
    assert groups["capital-common-countries"][0] == ("athens", "greece", "baghdad", "iraq")
    assert analogies.load_data(lower=False)["family"][0][0] == "boy"


@pytest.mark.parametrize("text", ["a b c d\n", ": group\na b c\n"])
def test_bad_analogy_names_file_and_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(text)
    with pytest.raises(tables.BadRowError, match=rf"questions.txt, line {text.count(chr(10))}"):
        analogies.read_questions(path)


def test_text8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words at the edge of a chunk (1 MiB) come out whole."""
    words = ["anarchism", "originated", "as"] * 60_000
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "text8").write_text(" " + " ".join(words))
    monkeypatch.setenv("DATAFLOW_DATA", str(tmp_path))
    assert text8.load_data() == words
    for num_words in (0, 1, 100_000, 179_999, 180_000, 200_000):
        assert text8.load_data(num_words) == words[:num_words]


def analogy_accuracy(vectors: np.ndarray[Any, Any], vocabulary: list[str], questions: Any) -> float:
    """Share of questions whose fourth word is nearest to b - a + c by cosine (3CosAdd)."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = {word: i for i, word in enumerate(vocabulary)}
    a, b, c, d = np.array([[ids[word] for word in question] for question in questions]).T
    scores = (unit[b] - unit[a] + unit[c]) @ unit.T
    rows = np.arange(len(a))
    for given in (a, b, c):
        scores[rows, given] = -np.inf
    return float((scores.argmax(axis=1) == d).mean())


def test_synthetic_analogies_hold() -> None:
    """Positive pointwise mutual information and its SVD answer them, without any training."""
    corpus = synthetic.make_analogy_corpus()
    vocabulary = corpus.vocabulary
    ids = {word: i for i, word in enumerate(vocabulary)}
    text = np.array([[ids[word] for word in sentence] for sentence in corpus.sentences])
    counts = np.zeros((len(vocabulary), len(vocabulary)))
    for i in range(text.shape[1]):
        for j in range(text.shape[1]):
            if i != j:
                np.add.at(counts, (text[:, i], text[:, j]), 1)
    total, per_word = counts.sum(), counts.sum(axis=1)
    with np.errstate(divide="ignore"):
        information = np.log(counts * total / np.outer(per_word, per_word))
    u, s, _ = np.linalg.svd(np.maximum(information, 0))
    vectors = u[:, :32] * np.sqrt(s[:32])
    assert analogy_accuracy(vectors, vocabulary, corpus.questions) >= 0.95
    shuffled = np.random.default_rng(0).permutation(vectors)
    assert analogy_accuracy(shuffled, vocabulary, corpus.questions) < 0.05


def test_synthetic_corpus_is_repeatable() -> None:
    one, two = (synthetic.make_analogy_corpus(5, 100, seed=4) for _ in range(2))
    assert one == two
    assert one != synthetic.make_analogy_corpus(5, 100, seed=5)
    assert len(one.sentences) == 100
    assert {len(sentence) for sentence in one.sentences} == {5}
    assert len(one.questions) == 5 * 4 * 4 * 3
    assert len(set(one.questions)) == len(one.questions)


@pytest.mark.parametrize("arguments", [{"num_places": 1}, {"num_sentences": 0}, {"num_context": 0}])
def test_synthetic_arguments(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(arguments))}.* got"):
        synthetic.make_analogy_corpus(**arguments)
