"""Checks of lesson 11: a CNN that reads sentences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn


@exercise(
    "Begin with an array of zeros that has the right shape, and fill its rows.",
    "Make the whole array of zeros first. Then each sentence, cut to the length, goes to the "
    "beginning of its row.",
    "np.zeros([len(sentences), length], np.int32); row[:len(kept)] = kept with kept = "
    "numbers[:length].",
)
def ex1(pad: Callable[[list[list[int]], int], Any]) -> str:
    """Rows of one length."""
    cases: list[tuple[list[list[int]], int]] = [
        ([[3, 1, 2], [5]], 3),
        ([[1, 2, 3, 4], [], [7, 8]], 2),
        ([[9]], 5),
    ]
    for sentences, length in cases:
        got = pad([list(s) for s in sentences], length)
        expect_type(
            isinstance(got, np.ndarray), f"it returned {type(got).__name__}, needed a NumPy array"
        )
        expect(
            got.shape == (len(sentences), length),
            f"{len(sentences)} sentences and length {length} gave the shape {got.shape}",
        )
        expect(
            np.issubdtype(got.dtype, np.integer), f"the numbers are {got.dtype}, needed integers"
        )
        want = [(s + [0] * length)[:length] for s in sentences]
        expect(got.tolist() == want, f"of {sentences} you make {got.tolist()}, needed {want}")
    return "Right: every row has one length, and zeros stand for no word."


@exercise(
    "tf.nn.top_k takes the largest along the last axis. Along which axis are the places?",
    "top_k looks along the last axis, and the places are in the middle. Exchange these two "
    "axes first.",
    lambda v: (
        f"tf.transpose(seen, [0, 2, 1]) puts the places last; then tf.nn.top_k(..., {v.num}).values, and "
        "their mean."
    ),
)
def ex2(strongest: Callable[[Any], Any]) -> str:
    """The mean of each filter's largest values."""
    v = drawn("lesson11.ex2")
    rng = np.random.RandomState(6)
    for shape in ((2, 7, 3), (1, v.num, 1), (4, 5, 8)):
        value = rng.randn(*shape).astype(np.float32)
        with tf.Graph().as_default(), tf.Session() as session:
            result = strongest(tf.constant(value))
            expect_type(
                isinstance(result, tf.Tensor),
                f"{v.name} returned {type(result).__name__}, needed a tensor",
            )
            got = session.run(result)
        want = np.sort(value, axis=1)[:, -v.num :].mean(1)
        expect(
            got.shape == want.shape,
            f"of a shape {list(shape)} you make {list(got.shape)}, needed {list(want.shape)}",
        )
        expect(
            np.allclose(got, want, atol=1e-5),
            f"the values are not the means of the {v.num} largest along the places",
        )
    return f"Right: {v.num} witnesses for each filter in place of one."


def _is_friendly(words: list[str]) -> bool:
    """By the rule of the lesson: the last of good or bad decides, turned round by a not before."""
    for before, word in zip(["", *words], words, strict=False):
        if word in ("good", "bad"):
            return (word == "good") != (before == "not")
    raise ValueError("no opinion")


@exercise(
    "Four windows matter: good and bad, each with and without not before it. Which two are friendly?",
    "The window of the friendly word decides, with what stands before it: not good is "
    "unfriendly, not bad is friendly. All other windows must be below 0.",
    'Above 0 for ("", "good") and ("not", "bad"); below for all other windows, also ("good", "").',
)
def ex3(value: Callable[[str, str], float]) -> str:
    """Numbers for windows of two words."""
    words = ("not", "good", "bad")
    for a, b in itertools.product(("", *words), repeat=2):
        number = value(a, b)
        expect_type(
            isinstance(number, (int, float, np.number)),
            f"value({a!r}, {b!r}) is {number!r}, needed a number",
        )
    sentences = [["good"], ["bad"], ["not", "good"], ["not", "bad"]]
    for sentence in sentences:
        for padded in (sentence, ["", *sentence], [*sentence, ""], ["", *sentence, "", ""]):
            windows = list(itertools.pairwise(padded)) or [("", padded[0])]
            if padded[0] != "":
                windows.insert(0, ("", padded[0]))
            most = max(value(a, b) for a, b in windows)
            expect(
                (most > 0) == _is_friendly(sentence),
                f"{' '.join(sentence)!r} has {most:g} as the largest of its windows "
                f"{windows}; it is {'friendly' if _is_friendly(sentence) else 'unfriendly'}",
            )
    return (
        "Right. With one number for each word this has no solution: not would have to lift bad and "
        "lower good."
    )
