"""`AttentionExplorer`: which word looks at which, and what a mask forbids."""

from __future__ import annotations

from typing import Any

import ipywidgets
import numpy as np

import dataflow as tf
from dataflow_widgets.explorer.base import Explorer
from dataflow_widgets.explorer.challenges import Challenge
from dataflow_widgets.explorer.panels import Bars, Images, Panel, Tokens

_POSITIONS = 12
_KINDS = ("noun", "verb", "pronoun", "article", "adjective", "other")
_WORDS = {
    "noun": "animal street cat mat dog bone box cup",
    "verb": "cross sat was ate fits chased fell filled",
    "pronoun": "it he she they",
    "article": "the a",
    "adjective": "tired wide red small hungry big full",
}
SENTENCES = (
    "the animal did not cross the street because it was tired",
    "the hungry dog ate the bone and it was happy",
    "a red cup fell because it was full",
)
#: What each head looks for, as (query feature -> key feature) pairs; see `_projections`.
HEADS = ("the word before", "a noun for a pronoun", "words of its kind", "everything")


def kind_of(word: str) -> int:
    """The number of a word's kind in `_KINDS`."""
    for i, kind in enumerate(_KINDS[:-1]):
        if word in _WORDS[kind].split():
            return i
    return len(_KINDS) - 1


def embed(words: list[str]) -> np.ndarray:
    """[words, 18]: the kind of each word one-hot, then its position one-hot."""
    table = np.zeros([len(words), len(_KINDS) + _POSITIONS], np.float32)
    for i, word in enumerate(words):
        table[i, kind_of(word)] = 1
        table[i, len(_KINDS) + i] = 1
    return table


def _projections() -> tuple[np.ndarray, np.ndarray]:
    """Query and key matrices [heads, 18, 18], written by hand: each head looks for one thing."""
    size, kinds = len(_KINDS) + _POSITIONS, len(_KINDS)
    query = np.zeros([len(HEADS), size, size], np.float32)
    key = np.tile(np.eye(size, dtype=np.float32), [len(HEADS), 1, 1])
    for i in range(1, _POSITIONS):
        query[0, kinds + i, kinds + i - 1] = 1  # position i asks for position i - 1
    query[0, kinds, kinds] = 1
    noun, pronoun = _KINDS.index("noun"), _KINDS.index("pronoun")
    query[1, pronoun, noun] = 1
    query[2, :kinds, :kinds] = np.eye(kinds)
    return query, key  # head 3 asks for nothing: all scores are 0


class AttentionExplorer(Explorer):
    """Scaled dot-product attention with heads whose projections were written by hand.

        AttentionExplorer(masked=True, sharpness=6.0)

    Each word is its kind and its position; a head's query and key matrices make it look for one
    thing. The weights are ``softmax(sharpness * q k^T + mask)`` by `tf.matmul` and `tf.nn.softmax`,
    one row for each word, with a sum of 1.

    Values: ``text`` (one of three sentences), ``head`` ("all" or what it looks for), ``sharpness``
    (0 to 10: what a trained model has in the size of its matrices), ``order`` (0 to 1: how strongly
    positions are encoded), ``masked`` (a word sees only those before it and itself), ``word`` (the
    number of the word whose lines alone are shown, -1 for all).
    """

    heading = "Attention"
    lead = "The word “it” looks at two nouns. Click other words; then hide what comes later."
    state = {"word": 8}  # it

    def make_controls(self) -> dict[str, Any]:
        return {
            "text": ipywidgets.Dropdown(options=list(SENTENCES), description="sentence"),
            "head": ipywidgets.Dropdown(options=["all", *HEADS], description="a head looks for"),
            "sharpness": ipywidgets.FloatSlider(
                4, min=0, max=10, step=0.1, description="sharpness of the softmax"
            ),
            "order": ipywidgets.FloatSlider(
                1, min=0, max=1, step=0.05, description="positions encoded"
            ),
            "masked": ipywidgets.Checkbox(False, description="masked: later words are hidden"),
        }

    def build(self) -> None:
        query, key = _projections()
        with tf.Graph().as_default() as self.graph:
            self._x = tf.placeholder(tf.float32, [None, query.shape[1]], name="words")
            self._sharpness = tf.placeholder(tf.float32, [], name="sharpness")
            self._hidden = tf.placeholder(tf.float32, [None, None], name="hidden")
            heads = len(HEADS)
            x = tf.tile(self._x[None], [heads, 1, 1])
            q = tf.matmul(x, tf.constant(query, name="query"), name="q")
            k = tf.matmul(x, tf.constant(key, name="key"), name="k")
            scores = tf.matmul(q, k, transpose_b=True, name="scores")
            self._weights = tf.nn.softmax(self._sharpness * scores - 1e9 * self._hidden)
        self.session = tf.Session(graph=self.graph)

    def tokens(self) -> list[str]:
        """The words of the sentence."""
        return str(self.values["text"]).split()

    def changed(self, names: set[str]) -> None:
        if "text" in names and "word" not in names:
            self.adjust(word=self.tokens().index("it"))

    def _feeds(self) -> dict[Any, Any]:
        words = self.tokens()
        x = embed(words)
        x[:, len(_KINDS) :] *= np.sqrt(self.values["order"])
        hidden = np.triu(np.ones([len(words)] * 2), 1) * bool(self.values["masked"])
        return {self._x: x, self._sharpness: self.values["sharpness"], self._hidden: hidden}

    def weights(self) -> np.ndarray:
        """[heads, words, words]; the sum of each row is 1."""
        return np.asarray(self.session.run(self._weights, self._feeds()))

    def frame(self) -> list[Panel]:
        words, weights = self.tokens(), self.weights()
        names, shown = list(HEADS), weights
        if self.values["head"] != "all":
            at = HEADS.index(self.values["head"])
            names, shown = [HEADS[at]], weights[at : at + 1]
        chosen = int(self.values["word"]) if self.values["word"] < len(words) else -1
        panels: list[Panel] = [
            Tokens(
                title="Who looks (left) at whom (right)",
                tokens=words,
                targets=words,
                weights=shown,
                chosen=("word", chosen),
                note="; ".join(f"head {i + 1}: {name}" for i, name in enumerate(names)),
            ),
            Images(
                title="Weights: a row for each word that looks",
                values=shown,
                labels=[name if len(name) < 22 else name[:21] + "…" for name in names],
                columns=min(2, len(names)),
                value_range=(0.0, 1.0),
            ),
        ]
        if chosen >= 0:
            panels.append(
                Bars(
                    title=f"{words[chosen]} looks at",
                    values=dict(zip(names, shown[:, chosen], strict=True)),
                    labels=words,
                    y_label="weight",
                    y_range=(0.0, 1.0),
                    wide=True,
                )
            )
        return panels

    def sentence(self) -> str:
        words, weights = self.tokens(), self.weights()
        at = int(self.values["word"])
        if not 0 <= at < len(words):
            at = next((i for i, w in enumerate(words) if kind_of(w) == 2), 0)
        told = []
        for name, head in zip(HEADS, weights, strict=True):
            to = int(head[at].argmax())
            told.append(f"{name}: {words[to]} ({head[at, to]:.2f})")
        return f"{words[at]} looks most, by head, at {', '.join(told)}."

    def one_step(self) -> tuple[Any, Any]:
        return self._weights, self._feeds()

    def code(self) -> str:
        return f"""import dataflow as tf

# x: [words, features], query and key: [features, features] of one head
q, k = tf.matmul(x, query), tf.matmul(x, key)
scores = {self.values["sharpness"]:.3g} * tf.matmul(q, k, transpose_b=True)
size = tf.shape(scores)[0]
hidden = 1 - tf.matrix_band_part(tf.ones([size, size]), -1, 0)  # what comes later
weights = tf.nn.softmax(scores - 1e9 * hidden * {int(bool(self.values["masked"]))})  # rows sum to 1
mixed = tf.matmul(weights, values)
"""


def _noun_found(explorer: Any) -> tuple[bool, str]:
    words = explorer.tokens()
    at = words.index("it")
    head = explorer.weights()[HEADS.index("a noun for a pronoun"), at]
    best = int(head.argmax())
    share = float(sum(head[i] for i, w in enumerate(words) if kind_of(w) == 0))
    where = f"“it” gives {share:.0%} to nouns, most to “{words[best]}”."
    return share >= 0.95 and bool(explorer.values["masked"]), where + (
        "" if explorer.values["masked"] else " Hide the later words too."
    )


def _all_alike(explorer: Any) -> tuple[bool, str]:
    weights = explorer.weights()
    spread = float((weights.max(axis=2) - weights.min(axis=2)).max())
    return spread < 1e-3, f"The largest difference within a row is {spread:.3g}."


def _order_is_lost(explorer: Any) -> tuple[bool, str]:
    if explorer.values["sharpness"] < 3:
        return False, "Keep the sharpness at 3 or more: then it is the positions that matter."
    head = explorer.weights()[0]
    most = float(head[1:].max()) if not explorer.values["masked"] else 1.0
    words = f"The head for the word before gives at most {most:.2f} to one word."
    return most < 0.2, words + (" Without the mask, please." if explorer.values["masked"] else "")


AttentionExplorer.challenges = (
    Challenge("a masked setting in which “it” gives 95 % to nouns in one head?", _noun_found),
    Challenge("a setting in which every word looks at all words alike?", _all_alike),
    Challenge(
        "one in which the head for the word before cannot find it, though it is sharp?",
        _order_is_lost,
    ),
)
