"""A made-up language whose analogies hold by construction, to test word vectors with.

There are ``num_places`` invented places (``lumo``, ``tari``, ...), and each has one word for each
of four roles: ``lumonia`` the country, ``lumograd`` its capital, ``lumoni`` its people, ``lumotu``
its money. Every sentence is about one such word and says two kinds of things around it: words that
only its place uses (its river, its dish, ...), and words that only its role uses. Which of each is
drawn at random, and independently. So the log probability of a context word given
``word(place, role)`` depends on the place alone or on the role alone, which is the condition under
which vectors trained on co-occurrence (Levy and Goldberg 2014) satisfy
``v(p, r) - v(p, s) + v(q, s) = v(q, r)``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .registry import DatasetInfo

INFO = DatasetInfo(
    name="synthetic",
    title="a made-up language whose word analogies hold by construction",
    license="made by this package; Apache-2.0",
)

ROLES = ("country", "capital", "people", "money")
_ENDINGS = {"country": "nia", "capital": "grad", "people": "ni", "money": "tu"}
_ROLE_CONTEXT = {
    "country": ("borders", "mountains", "lakes", "provinces", "coasts", "map"),
    "capital": ("streets", "palace", "station", "mayor", "bridges", "square"),
    "people": ("sing", "dance", "speak", "laugh", "cook", "travel"),
    "money": ("coins", "price", "costs", "bank", "exchange", "purse"),
}
_PLACE_CONTEXT = ("river", "dish", "hero", "bird", "song", "tree")
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"

Question = tuple[str, str, str, str]


@dataclass(frozen=True)
class AnalogyCorpus:
    """A text and the analogies that hold in it.

    Attributes:
        sentences: each a list of words; co-occurrence is meant within a sentence.
        questions: ``(a, b, c, d)``: a is to b as c is to d.
    """

    sentences: list[list[str]]
    questions: list[Question]

    @property
    def words(self) -> list[str]:
        """The text as one list of words."""
        return list(itertools.chain.from_iterable(self.sentences))

    @property
    def vocabulary(self) -> list[str]:
        """The distinct words, the most frequent first, ties in alphabetical order."""
        words, counts = np.unique(self.words, return_counts=True)
        return [str(words[i]) for i in np.lexsort((words, -counts))]


def make_analogy_corpus(
    num_places: int = 12, num_sentences: int = 20_000, num_context: int = 2, seed: int = 0
) -> AnalogyCorpus:
    """Make the text; the same arguments give the same text.

    Args:
        num_places: how many places there are, 2 to 1820; the vocabulary has ten words for each.
        num_sentences: how many sentences of ``2 * num_context + 1`` words.
        num_context: how many context words stand on each side of the word that a sentence is
            about: one side speaks of the place, the other of the role, in random order.
        seed: of the random choices.

    Raises `ValueError` for arguments out of range.
    """
    names = _place_names()
    if not 2 <= num_places <= len(names):
        raise ValueError(f"num_places must be 2 to {len(names)}, got {num_places}.")
    if num_sentences < 1 or num_context < 1:
        raise ValueError(
            f"num_sentences and num_context must be 1 or more, got {num_sentences}, {num_context}."
        )
    rng = np.random.default_rng(seed)
    places = [names[i] for i in rng.permutation(len(names))[:num_places]]
    place_context = [[place + "_" + thing for thing in _PLACE_CONTEXT] for place in places]

    place_of = rng.integers(num_places, size=num_sentences)
    role_of = rng.integers(len(ROLES), size=num_sentences)
    place_picks = rng.integers(len(_PLACE_CONTEXT), size=(num_sentences, num_context))
    role_picks = rng.integers(len(_PLACE_CONTEXT), size=(num_sentences, num_context))
    place_first = rng.random(num_sentences) < 0.5

    sentences = []
    for i in range(num_sentences):
        role = ROLES[role_of[i]]
        about = places[place_of[i]] + _ENDINGS[role]
        of_place = [place_context[place_of[i]][k] for k in place_picks[i]]
        of_role = [_ROLE_CONTEXT[role][k] for k in role_picks[i]]
        left, right = (of_place, of_role) if place_first[i] else (of_role, of_place)
        sentences.append([*left, about, *right])
    return AnalogyCorpus(sentences, _questions(places))


def load_data(**arguments: Any) -> AnalogyCorpus:
    """The text that `make_analogy_corpus` makes from these arguments."""
    return make_analogy_corpus(**arguments)


def _questions(places: list[str]) -> list[Question]:
    """All (p.r : p.s :: q.r : q.s) of two different places and two different roles."""
    return [
        (p + _ENDINGS[r], p + _ENDINGS[s], q + _ENDINGS[r], q + _ENDINGS[s])
        for p, q in itertools.permutations(places, 2)
        for r, s in itertools.permutations(ROLES, 2)
    ]


def _place_names() -> list[str]:
    """Names of two syllables, no consonant twice and no vowel twice: ``lumo``, ``tari``, ..."""
    return [
        c1 + v1 + c2 + v2
        for c1, v1, c2, v2 in itertools.product(_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS)
        if c1 < c2 and v1 != v2
    ]
