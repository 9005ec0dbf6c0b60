"""Checks of lesson 22: attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.compat.v1 as tf
from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn

_NUM_POSITIONS = 32


def _softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@exercise(
    "Two products and a softmax, as in the section on the soft lookup. Which of the three inputs "
    "make the scores?",
    "Scores are the dot products of each row of q with each row of k, divided by the root of d. "
    "The softmax runs along the keys.",
    "tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / root_of_d), v).",
)
def ex1(attend: Callable[[Any, Any, Any], Any]) -> str:
    """Scaled dot-product attention."""
    rng = np.random.default_rng(1)
    for n, m, d, e in ((3, 5, 4, 2), (1, 7, 16, 3), (4, 4, 9, 4)):
        given = [rng.normal(size=s).astype(np.float32) for s in ((n, d), (m, d), (m, e))]
        with tf.Graph().as_default():
            made = attend(*(tf.constant(value) for value in given))
            expect_type(
                isinstance(made, tf.Tensor), f"it returned {type(made).__name__}, needed a tensor"
            )
            with tf.Session() as session:
                got = session.run(made)
        q, k, v = given
        shapes = f"q of shape {q.shape}, k of {k.shape} and v of {v.shape}"
        expect(got.shape == (n, e), f"for {shapes} the result has shape {got.shape}, not {(n, e)}")
        low, high = v.min(0) - 1e-4, v.max(0) + 1e-4
        expect(
            np.all((got >= low) & (got <= high)),
            f"for {shapes} a result lies outside of the values: no mean. Do the weights of each "
            "query sum to 1?",
        )
        expect(
            not np.allclose(got, _softmax(q @ k.T) @ v, atol=1e-4),
            "these are the means without the division by the root of d",
        )
        needed = _softmax(q @ k.T / np.sqrt(d)) @ v
        expect(
            np.allclose(got, needed, atol=1e-4),
            f"for {shapes} the first row is {got[0].round(3)}, needed {needed[0].round(3)}",
        )
    return "Right: a softmax between two products, for three sets of shapes."


@exercise(
    "Look at causal_mask: which of its positions does a window hide as well?",
    "Row r sees the columns from r - width + 1 to r. np.indices gives the rows and columns.",
    "row, column = np.indices([length, length]); np.where((column <= row) & (column > row - width), "
    "0.0, -1e9).",
)
def ex2(window_mask: Callable[[int, int], Any]) -> str:
    """A causal mask of limited width."""
    for length, width in ((5, 2), (4, 1), (6, 3), (3, 9)):
        got = window_mask(length, width)
        expect_type(
            isinstance(got, np.ndarray), f"it returned {type(got).__name__}, needed a NumPy array"
        )
        call = f"window_mask({length}, {width})"
        expect(
            got.shape == (length, length),
            f"{call} has shape {got.shape}, needed {(length, length)}",
        )
        for row in range(length):
            needed = list(range(max(0, row - width + 1), row + 1))
            seen = [int(c) for c in np.flatnonzero(got[row] == 0)]
            expect(seen == needed, f"{call}: position {row} sees {seen}, needed {needed}")
        expect(np.all((got == 0) | (got <= -1e8)), f"{call}: what is hidden is not -1e9")
    return (
        "Right: with a width w, a text of n positions takes about n w looks in place of n squared."
    )


@exercise(
    "Which value do the num largest have to reach? Sorting tells.",
    "np.sort puts the largest last: the num-th from the end is the smallest that stays.",
    "np.where(logits >= np.sort(logits)[-num], logits, -np.inf).",
)
def ex3(most_likely: Callable[[Any, int], Any]) -> str:
    """Top-k: the k largest logits, the others minus infinity."""
    rng = np.random.default_rng(2)
    for size, num in ((4, 2), (9, 1), (9, 9), (30, 5)):
        logits = rng.permutation(np.linspace(-6, 3, size))
        before = logits.copy()
        got = most_likely(logits, num)
        expect_type(
            isinstance(got, np.ndarray), f"it returned {type(got).__name__}, needed a NumPy array"
        )
        expect(np.array_equal(logits, before), "the logits that were given have changed: copy them")
        expect(got.shape == (size,), f"of {size} logits the result has the shape {got.shape}")
        kept = np.isfinite(got)
        expect(kept.sum() == num, f"of {size} logits {kept.sum()} are left, needed {num}")
        expect(
            np.array_equal(got[kept], logits[kept]), "those that stay keep their place and value"
        )
        expect(
            np.array_equal(np.sort(got[kept]), np.sort(logits)[-num:]),
            f"{np.round(got[kept], 2)} stay of {np.round(logits, 2)}: not the {num} largest",
        )
        expect(np.all(got[~kept] == -np.inf), "what is left out has to be minus infinity")
    return "Right: e to the minus infinity is 0, so what is left out is never drawn."


@exercise(
    lambda v: (
        "The score of t and s is row t of query times row s of key. It has to be large for "
        f"s = t - {v.first} only."
    ),
    "Let key be the identity. Then row t of query holds the scores of position t with each position.",
    lambda v: (
        f"np.eye(32, k=-{v.first}) has its 1 in column t - {v.first} of row t. Scores are divided by the "
        "root of the number of columns, so make it sharp with a factor."
    ),
)
def ex4(previous_position: Callable[[], Any]) -> str:
    """A head that looks some positions back, by hand."""
    far = drawn("lesson22.ex4").first
    made = previous_position()
    expect_type(
        isinstance(made, (tuple, list)) and len(made) == 2,
        "it returns two matrices: return query, key",
    )
    query, key = (np.asarray(m, np.float64) for m in made)
    for name, matrix in (("query", query), ("key", key)):
        expect_type(
            matrix.ndim == 2 and matrix.shape[0] == _NUM_POSITIONS,
            f"{name} has the shape {matrix.shape}, needed 32 rows",
        )
    expect_type(
        query.shape == key.shape,
        f"query has {query.shape[1]} columns and key {key.shape[1]}; a dot product needs as many",
    )
    scores = query @ key.T / np.sqrt(query.shape[1])
    expect(np.all(np.isfinite(scores)), "a score is not a finite number")
    least = 1.0
    for length in (far + 1, 7, _NUM_POSITIONS):
        later = np.triu(np.ones([length, length]), 1)
        weights = _softmax(scores[:length, :length] - 1e9 * later)
        back = np.diagonal(weights, -far)
        t = int(np.argmin(back)) + far
        expect(
            back[t - far] > 0.9,
            f"with {length} positions, position {t} puts {back[t - far]:.2f} of its weight on "
            f"position {t - far}, and most ({weights[t].max():.2f}) on position "
            f"{int(np.argmax(weights[t]))}; needed more than 0.9",
        )
        least = min(least, float(back.min()))
    return (
        f"Right: at least {least:.3f} of the weight lies {far} back. Trained transformers have "
        "such heads; a second block that builds on one can continue any sequence that it saw before."
    )
