"""Checks of lesson 16: MapReduce as dataflow."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_number, expect_tensor, expect_type
from dataflow.course.variants import drawn


def _decoded(value: Any) -> list[str]:
    return [v.decode() if isinstance(v, bytes) else str(v) for v in np.asarray(value).reshape(-1)]


@exercise(
    "First make all letters small, then take out what is neither a letter nor a space, then split.",
    "What removes must run after the letters are small, or the large ones go, too. Keep the "
    "spaces: the words are split at them.",
    'tf.strings.regex_replace(lower, "[^a-z ]", "") removes; tf.string_split(...).values are the '
    "words of all lines.",
)
def ex1(tokens: Callable[[Any], Any]) -> str:
    """Words in lower case, without punctuation."""
    cases = [
        ["The cat, the Cat. THE CAT!", "(and) a dog?"],
        ["One"],
        ["don't -- stop", "  two   spaces "],
    ]
    for case in cases:
        with tf.Graph().as_default(), tf.Session() as session:
            result = tokens(tf.constant(case))
            expect_type(
                not isinstance(result, tf.SparseTensor),
                "what tokens returns is SparseTensor, a table with a row for each line; its .values are the words",
            )
            expect_tensor("what tokens returns", result)
            got = _decoded(session.run(result))
        want = [w for line in case for w in re.sub("[^a-z ]", "", line.lower()).split()]
        expect(got == want, f"of {case} you make {got}, needed {want}")
    return "Right: Cat, cat and CAT are one word now, and so is the count."


@exercise(
    "The key is a letter of the word, the value the length. Which op reduces by key to a mean?",
    "Number the different letters first, as tf.unique does; then reduce the lengths by these "
    "numbers.",
    lambda v: (
        f"letters, number = tf.unique(tf.strings.substr(words, {v.place}, 1)); then "
        "tf.unsorted_segment_mean of the lengths as floats."
    ),
)
def ex2(mean_length: Callable[[Any], Any]) -> str:
    """The mean length of the words that begin (or end) with each letter."""
    v = drawn("lesson16.ex2")
    for words in (
        ["cat", "dog", "concatenate", "a", "apple", "mat"],
        ["x"],
        ["bb", "b", "bbb", "a"],
    ):
        lengths: dict[str, list[int]] = collections.defaultdict(list)
        for word in words:
            lengths[word[int(v.place)]].append(len(word))
        with tf.Graph().as_default(), tf.Session() as session:
            result = mean_length(tf.constant(words))
            expect_type(
                isinstance(result, (tuple, list)) and len(result) == 2,
                "mean_length is to return two tensors, the letters and the means",
            )
            letters, means = session.run(list(result))
        got = dict(zip(_decoded(letters), np.asarray(means, float).tolist(), strict=False))
        want = {letter: sum(n) / len(n) for letter, n in lengths.items()}
        expect(
            len(_decoded(letters)) == len(want),
            f"there are {len(want)} such letters in {words}; you return {len(_decoded(letters))}",
        )
        for letter, mean in want.items():
            expect(
                letter in got and abs(got[letter] - mean) < 1e-4,
                f"for {words}: {letter!r} has the mean {mean:g}, you say {got.get(letter)}",
            )
    return "Right. Only key and value changed; the shape of the job is that of a word count."


@exercise(
    "A word can come from several mappers. What has to be added up is no longer a 1.",
    "Put the words of all mappers into one tensor, and their counts into another in the same "
    "order. Then it is a sum by key.",
    "Concatenate the words, concatenate the counts, tf.unique the words, and sum the counts by "
    "their numbers.",
)
def ex3(merge: Callable[[Sequence[Any], Sequence[Any]], Any]) -> str:
    """Counts of several mappers, put together."""
    cases = [
        [{"cat": 2, "dog": 1}, {"cat": 5, "a": 1}],
        [{"cat": 3}],
        [{"a": 1, "b": 2}, {"b": 2, "c": 9}, {"c": 1, "a": 4}],
    ]
    for case in cases:
        with tf.Graph().as_default(), tf.Session() as session:
            result = merge(
                [tf.constant(list(m)) for m in case],
                [tf.constant(list(m.values()), tf.int32) for m in case],
            )
            expect_type(
                isinstance(result, (tuple, list)) and len(result) == 2,
                "merge is to return two tensors, the words and their counts",
            )
            words, counts = session.run(list(result))
        want: collections.Counter[str] = collections.Counter()
        for mapped in case:
            want.update(mapped)
        names = _decoded(words)
        expect(len(set(names)) == len(names), f"a word is there twice: {names}")
        got = dict(zip(names, np.asarray(counts).tolist(), strict=False))
        expect(got == dict(want), f"of {case} you make {got}, needed {dict(want)}")
    return "Right: the combiner's sums are summed, and nothing is counted twice."


@exercise(
    "Splitting keeps for every word the line that it stood in: look at .indices.",
    "Mark each word that is the one asked for, then count the marks of each line. Which part "
    "of a split says the line?",
    "tf.equal(split.values, word) marks the words; sum the marks by split.indices[:, 0]; "
    "tf.boolean_mask takes the lines that have any.",
)
def ex4(grep: Callable[[Any, Any], Any]) -> str:
    """The lines that contain a word."""
    text = ["the cat sat", "a dog", "concatenate these", "", "dog and cat", "cat cat"]
    for word in ("cat", "dog", "the", "bird"):
        with tf.Graph().as_default(), tf.Session() as session:
            result = grep(tf.constant(text), tf.constant(word))
            expect_tensor("what grep returns", result)
            got = _decoded(session.run(result))
        want = [line for line in text if word in line.split()]
        expect(got == want, f"for {word!r} you find {got}, needed {want}")
    return "Right. A map without a reduce needs no shuffle: every machine works alone."


@exercise(
    "Of which reductions do you know that the order does not matter? Not only of sums.",
    "The largest, the smallest, the product. What must each of them be combined with to stay as it is?",
    "combine = tf.maximum, with a zero that is below everything: -1000.",
)
def ex5(zero: Any, combine: Callable[[Any, Any], Any]) -> str:
    """Any commutative monoid that is not the sum."""
    zero = expect_number("zero", zero)
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, c = (tf.placeholder(tf.float64, [50]) for _ in range(3))
        ab = combine(a, b)
        expect_type(isinstance(ab, tf.Tensor), f"combine returned {type(ab).__name__}, no tensor")
        fetches = {
            "combine(a, b)": ab,
            "combine(b, a)": combine(b, a),
            "combine(combine(a, b), c)": combine(ab, c),
            "combine(a, combine(b, c))": combine(a, combine(b, c)),
            "combine(a, zero)": combine(a, tf.fill([50], tf.constant(zero, tf.float64))),
        }
        values = rng.uniform(-100, 100, size=(3, 50))
        got = session.run(fetches, dict(zip((a, b, c), values, strict=True)))
    got["a"] = values[0]
    for left, right in (
        ("combine(a, b)", "combine(b, a)"),
        ("combine(combine(a, b), c)", "combine(a, combine(b, c))"),
        ("combine(a, zero)", "a"),
    ):
        differ = ~np.isclose(got[left], got[right], rtol=1e-9)
        if differ.any():
            i = int(differ.argmax())
            told = ", ".join(f"{n} = {v[i]:.3f}" for n, v in zip("abc", values, strict=True))
            expect(
                False,
                f"for {told}, {left} is {got[left][i]:.3f} and {right} is {got[right][i]:.3f}",
            )
    expect(
        not np.allclose(got["combine(a, b)"], values[0] + values[1]),
        "that is the sum; find another",
    )
    return "Right: any order, any grouping, and a neutral element. It may be combined anywhere."
