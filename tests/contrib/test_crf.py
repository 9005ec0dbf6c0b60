"""`tf.contrib.crf` against all sequences of tags, one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dataflow as tf

crf = tf.contrib.crf
POTENTIALS = np.random.RandomState(0).randn(4, 4, 3).astype(np.float32)
TRANSITIONS = np.random.RandomState(1).randn(3, 3).astype(np.float32)
TAGS = np.random.RandomState(2).randint(0, 3, [4, 4]).astype(np.int32)
LENGTHS = [4, 2, 1, 0]


pytestmark = pytest.mark.usefixtures("graph")


def run(*fetches: Any) -> Any:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


def score(row: int, tags: Any) -> float:
    own = sum(POTENTIALS[row, t, tag] for t, tag in enumerate(tags))
    return float(own + sum(TRANSITIONS[a, b] for a, b in itertools.pairwise(tags)))


def all_scores(row: int, allowed: Any = None) -> dict[Any, float]:
    found = itertools.product(range(3), repeat=LENGTHS[row])
    return {
        tags: score(row, tags)
        for tags in found
        if allowed is None or all(allowed[row, t, tag] for t, tag in enumerate(tags))
    }


def log_sum(values: Any) -> float:
    return float(np.log(np.sum(np.exp(list(values)))))


def test_scores_and_the_norm() -> None:
    unary, both, norm, likelihood = run(
        crf.crf_unary_score(TAGS, LENGTHS, POTENTIALS),
        crf.crf_sequence_score(POTENTIALS, TAGS, LENGTHS, TRANSITIONS),
        crf.crf_log_norm(POTENTIALS, LENGTHS, TRANSITIONS),
        crf.crf_log_likelihood(POTENTIALS, TAGS, LENGTHS, tf.constant(TRANSITIONS))[0],
    )
    scores = [score(row, TAGS[row, :n]) for row, n in enumerate(LENGTHS)]
    norms = [log_sum(all_scores(row).values()) for row in range(4)]
    assert norms[3] == 0.0
    np.testing.assert_allclose(both, scores, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(norm, norms, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(likelihood, np.subtract(scores, norms), rtol=1e-4, atol=1e-5)
    own = [sum(POTENTIALS[r, t, TAGS[r, t]] for t in range(n)) for r, n in enumerate(LENGTHS)]
    np.testing.assert_allclose(unary, own, rtol=1e-5, atol=1e-5)


def test_the_best_tags() -> None:
    tags, best = run(*crf.crf_decode(POTENTIALS, TRANSITIONS, LENGTHS))
    assert tags.dtype == np.int32 and tags.shape == (4, 4)
    for row, length in enumerate(LENGTHS[:3]):
        scores = all_scores(row)
        wanted = max(scores, key=scores.__getitem__)
        assert tuple(tags[row, :length]) == wanted and not tags[row, length:].any()
        np.testing.assert_allclose(best[row], scores[wanted], rtol=1e-5)
    alone, value = crf.viterbi_decode(POTENTIALS[0], TRANSITIONS)
    assert alone == list(tags[0])
    np.testing.assert_allclose(value, best[0], rtol=1e-5)


def test_sequences_of_one_step() -> None:
    lengths = np.ones(4, np.int32)
    tags, norm = run(
        crf.crf_decode(POTENTIALS[:, :1], TRANSITIONS, lengths)[0],
        crf.crf_log_norm(POTENTIALS[:, :1], lengths, TRANSITIONS),
    )
    np.testing.assert_array_equal(tags, POTENTIALS[:, :1].argmax(2))
    np.testing.assert_allclose(norm, [log_sum(row[0]) for row in POTENTIALS], rtol=1e-5)


def test_several_tags_for_a_step() -> None:
    allowed = np.random.RandomState(3).rand(4, 4, 3) < 0.6
    allowed[:, :, 0] = True
    (found,) = run(crf.crf_multitag_sequence_score(POTENTIALS, allowed, LENGTHS, TRANSITIONS))
    wanted = [log_sum(all_scores(row, allowed).values()) for row in range(4)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_transitions_are_learned() -> None:
    likelihood, transitions = crf.crf_log_likelihood(POTENTIALS, TAGS, [4, 4, 4, 4])
    assert transitions.op.name == "transitions"
    loss = -tf.reduce_mean(likelihood)
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(loss)
        for _ in range(20):
            sess.run(step)
        assert sess.run(loss) < before - 0.5
