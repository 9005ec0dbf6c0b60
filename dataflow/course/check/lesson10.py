"""Checks of lesson 10: word vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_type
from dataflow.course.variants import drawn


def _values(build: Callable[..., Any], name: str, *arrays: Any) -> tuple[Any, Any]:
    """What ``build`` made of placeholders, and its value when they are fed with ``arrays``."""
    with tf.Graph().as_default():
        inputs = [tf.placeholder(array.dtype, [None, *array.shape[1:]]) for array in arrays]
        made = build(*inputs)
        expect_type(
            isinstance(made, tf.Tensor), f"{name} returned {type(made).__name__}, not a tensor"
        )
        with tf.Session() as session:
            return made, session.run(made, dict(zip(inputs, arrays, strict=True)))


@exercise(
    "Look up all the words at once: embedding_lookup takes a table of numbers too. Which shape "
    "comes out?",
    lambda v: (
        f"A lookup of [batch, {v.num}] numbers gives [batch, {v.num}, size] vectors. Over which axis is "
        "the average?"
    ),
    lambda v: (
        f"The lookup gives [batch, {v.num}, size]; tf.reduce_mean over axis 1 leaves [batch, size]."
    ),
)
def ex1(cbow: Callable[[Any, Any], Any]) -> str:
    """The average vector of some neighbors."""
    num = drawn("lesson10.ex1").num
    rng = np.random.default_rng(3)
    table = rng.normal(size=(9, 5)).astype(np.float32)
    contexts = np.array([range(num), [8] * num, [7, 1, 7, 4, 2, 2][:num]], np.int32)
    _, got = _values(cbow, "cbow", table, contexts)
    needed = table[contexts].mean(axis=1)
    expect(
        np.shape(got) == needed.shape,
        f"for 3 examples and vectors of 5 numbers the shape is {np.shape(got)}, needed (3, 5)",
    )
    expect(
        np.allclose(got[1], table[8], atol=1e-5),
        "the same word every time should give that word's vector, and gives another",
    )
    expect(np.allclose(got, needed, atol=1e-5), "the result is not the average of the vectors")
    return "Right: one vector for each example, the average of its neighbors' vectors."


@exercise(
    "Two parts: the true neighbor should be answered yes (label 1), every noise word no (label 0).",
    "Both parts use the same loss, with other labels. The first is one number for each "
    "example; the second has to be summed over the noise words.",
    "labels=tf.ones_like(true), logits=true, plus the sum over axis 1 of the same with "
    "tf.zeros_like(noise).",
)
def ex2(noise_loss: Callable[[Any, Any], Any]) -> str:
    """Loss of negative sampling from scores (Mikolov and others, 2013)."""
    rng = np.random.default_rng(4)
    true = rng.normal(size=6).astype(np.float32)
    noise = rng.normal(size=(6, 3)).astype(np.float32)
    _, got = _values(noise_loss, "noise_loss", true, noise)
    expect(
        np.shape(got) == (6,),
        f"for 6 examples with 3 noise words the shape is {np.shape(got)}, needed (6,): one loss "
        "for each example",
    )
    needed = np.logaddexp(0, -true) + np.logaddexp(0, noise).sum(axis=1)
    sure = _values(noise_loss, "noise_loss", true * 0 + 20, noise * 0 - 20)[1]
    expect(
        np.all(np.asarray(sure) < 1e-3),
        f"a model that is sure and right (true 20, noise -20) has a loss of {float(sure[0]):.3g}, "
        "needed nearly 0",
    )
    expect(
        np.allclose(got, needed, atol=1e-4),
        f"the first example has a loss of {float(got[0]):.3f}, needed {float(needed[0]):.3f} for "
        f"true {float(true[0]):.2f} and noise {noise[0].round(2).tolist()}",
    )
    return "Right: one yes and three times no for each example, added up."


_GROUPS = (
    (("nia", "nia", "nia", "grad"), "three countries and a capital"),
    (("tu", "ni", "tu", "tu"), "three kinds of money and a people"),
    (("grad", "grad", "grad", "grad", "nia"), "four capitals and a country"),
)


@exercise(
    "Bring all vectors to length 1. How near is each to all the others?",
    "The cosine of two vectors is the dot product of both, scaled to length 1. Add up those "
    "of each vector with all the others.",
    "unit @ unit.T has all the cosines; the odd one has the lowest sum in its row (np.argmin).",
)
def ex3(odd_one_out: Callable[[Any], Any], vectors: Any) -> str:
    """Which row fits least."""
    from dataflow_datasets import synthetic

    plain = np.array([[1.0, 0.1], [2.0, 0.1], [0.0, 1.0], [3.0, -0.2]])
    got = odd_one_out(plain)
    expect_type(
        isinstance(got, int | np.integer),
        f"it returned {type(got).__name__}, needed the number of a row",
    )
    expect(
        got == 2, f"of four arrows, three to the right and number 2 upwards, it chose number {got}"
    )
    long = plain * np.array([[1.0], [1.0], [1.0], [100.0]])
    got = odd_one_out(long)
    expect(got == 2, f"when an arrow to the right is 100 times longer, it chooses number {got}")
    corpus = synthetic.make_analogy_corpus()
    ids = {word: number for number, word in enumerate(corpus.vocabulary)}
    places = [word[:-3] for word in corpus.vocabulary if word.endswith("nia")]
    right, num = 0, 0
    for start in range(len(places)):
        for endings, _ in _GROUPS:
            chosen = [places[(start + i) % len(places)] + e for i, e in enumerate(endings)]
            odd = next(i for i, e in enumerate(endings) if endings.count(e) == 1)
            right += odd_one_out(np.asarray(vectors)[[ids[word] for word in chosen]]) == odd
            num += 1
    expect(
        right >= 0.9 * num,
        f"of {num} groups of words, such as {_GROUPS[0][1]}, it finds the odd one in {right}",
    )
    return f"Right: {right} of {num} groups of words, such as {_GROUPS[0][1]}."


@exercise(
    "What becomes of two vectors when only their directions shall count?",
    "Bring both to length 1. Then many things grow or shrink with the angle: distances, products, the angle itself.",
    "With both at length 1: minus their distance, or np.exp of their product.",
)
def ex4(alike: Callable[[Any, Any], Any]) -> str:
    """Any measure that falls with the angle, and knows nothing else."""
    rng = np.random.default_rng(0)
    is_cosine = True
    for _ in range(20):
        plane = np.linalg.qr(rng.normal(size=(16, 2)))[0]
        angles = np.sort(rng.uniform(0, np.pi, 6))
        u = plane[:, 0] * rng.uniform(0.1, 10)
        others = [plane @ [np.cos(a), np.sin(a)] for a in angles]
        got = [expect_number("what alike returned", alike(u, v)) for v in others]
        is_cosine = is_cosine and np.allclose(got, np.cos(angles), atol=1e-6)
        for (a, x), (b, y) in zip(
            zip(angles, got, strict=True), zip(angles[1:], got[1:], strict=True), strict=False
        ):
            expect(
                x > y or b - a < 1e-3,
                f"at {np.degrees(a):.0f} degrees it is {x:.4g}, at {np.degrees(b):.0f} degrees {y:.4g}: "
                "it must fall",
            )
        v = others[2]
        expect(abs(alike(u, v) - alike(v, u)) < 1e-6, "alike(u, v) and alike(v, u) differ")
        longer = float(alike(u, v * 37.0))
        expect(
            abs(longer - got[2]) < 1e-6 * (1 + abs(longer)),
            f"it is {got[2]:.4g}, and {longer:.4g} when v is 37 times as long",
        )
    expect(not is_cosine, "that is the cosine; find another")
    return "Right: symmetric, blind to length, and falling with the angle."
