"""What checks say of mistakes that learners make, and right answers that were once refused."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.course import attempts, check


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    attempts.forget()
    with tf.Graph().as_default():
        yield
    attempts.forget()


def verdict(exercise: str, source: str, *names: str) -> Any:
    lesson, name = exercise.split(".")
    made: dict[str, Any] = {"np": np, "tf": tf}
    exec(textwrap.dedent(source), made)
    return getattr(getattr(check, lesson), name)(*[made[n] for n in names])


TOLD = {
    "a tensor compared by Python": (
        "lesson06.ex1",
        """
        def f(limit):
            even = tf.data.Dataset.range(limit).filter(lambda n: n % 2 == 0)
            return even.map(lambda n: n * n).batch(4)
        """,
        "tf.equal asks about the numbers",
    ),
    "a Python loop without an end": (
        "lesson13.ex2",
        """
        def f(a, b):
            while b != 0:
                a, b = b, a % b
            return a
        """,
        "The loop has to be in the graph: tf.while_loop",
    ),
    "the measure that was given": (
        "lesson10.ex4",
        "def f(u, v):\n    return u @ v / np.linalg.norm(u) / np.linalg.norm(v)",
        "that is the cosine; find another",
    ),
    "a list and its length": (
        "lesson12.ex3",
        "def f(gradients, limit):\n    return tf.clip_by_global_norm(gradients, limit)",
        "are list, Tensor, needed a tensor for each gradient",
    ),
    "slopes by differences": (
        "lesson05.ex1",
        "def f(g):\n    return lambda x: (g(x + 1e-3) - g(x - 1e-3)) / 2e-3",
        "the slope of exp(2 x) at 2 came out as 109.",
    ),
    "words by line": (
        "lesson16.ex1",
        "def f(lines):\n    return tf.string_split(tf.strings.lower(lines))",
        "its .values are the words",
    ),
    "a small letter": ("lesson01.ex2", "f = 'outer/inner/add:0'", "has a small letter"),
    "a factor of no known shape": (
        "lesson01.ex3",
        "f = tf.matmul(tf.placeholder(tf.float32, [5, 3]), tf.placeholder(tf.float32))",
        "the factors have shapes [[5, 3], '<unknown>'], so the graph cannot know",
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_a_mistake_is_told_by_its_cause(case: str) -> None:
    exercise, source, words = TOLD[case]
    found = verdict(exercise, source, "f")
    assert found.state == "wrong"
    assert words in found.words


RIGHT = {
    "a list in place of a tuple": (
        "lesson09.ex1",
        """
        def f():
            slope, offset = tf.get_variable("slope", []), tf.get_variable("offset", [])
            return [slope, offset, tf.train.Saver({"Variable": slope, "Variable_1": offset})]
        """,
        ["f"],
    ),
    "a number of NumPy": (
        "lesson16.ex5",
        "zero = np.float32(-1000)\ndef f(a, b):\n    return tf.maximum(a, b)",
        ["zero", "f"],
    ),
    "three in a list": (
        "lesson25.ex2",
        """
        def f(scale, good, finite):
            if not finite:
                return [scale / 2, 0, False]
            return [scale * 2, 0, True] if good == 999 else [scale, good + 1, True]
        """,
        ["f"],
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_answer_of_another_kind_is_right(case: str) -> None:
    exercise, source, names = RIGHT[case]
    found = verdict(exercise, source, *names)
    assert found.state == "right", found.words
