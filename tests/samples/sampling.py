"""Samples of candidate samplers and of the losses built on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.base import Sample

_rng = np.random.default_rng(19)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


TRUE = np.array([[1, 5], [2, 0], [7, 7]], np.int64)
LABELS = np.array([[1], [2], [0], [3]], np.int64)
WEIGHTS, BIASES, INPUTS = _array(8, 3), _array(8), _array(4, 3)
NOISE = np.array([5, 2, 0], np.int64)
TRUE_COUNT = np.array([[0.5], [0.3], [0.6], [0.2]], np.float32)
NOISE_COUNT = np.array([0.1, 0.05, 0.6], np.float32)


def _given(tf: Any, like: Any) -> Any:
    return (
        tf.constant(NOISE),
        tf.cast(tf.constant(TRUE_COUNT), like.dtype),
        tf.cast(tf.constant(NOISE_COUNT), like.dtype),
    )


def _logits(w: Any, b: Any, x: Any) -> Any:
    true = LABELS[:, 0]
    return np.concatenate(
        [
            ((x * w[true]).sum(1) + b[true])[:, None] - np.log(TRUE_COUNT),
            x @ w[NOISE].T + b[NOISE] - np.log(NOISE_COUNT),
        ],
        1,
    )


def _nce(w: Any, b: Any, x: Any) -> Any:
    logits = _logits(w, b, x)
    target = np.zeros_like(logits)
    target[:, 0] = 1
    return (np.maximum(logits, 0) - logits * target + np.log1p(np.exp(-abs(logits)))).sum(1)


def _sampled_softmax(w: Any, b: Any, x: Any) -> Any:
    logits = _logits(w, b, x)
    logits[:, 1:][LABELS == NOISE] = -np.inf
    shifted = logits - logits.max(1, keepdims=True)
    return np.log(np.exp(shifted).sum(1)) - shifted[:, 0]


def _probability_counts(tf: Any, sampler: Any, **attrs: Any) -> Any:
    """Without ``unique`` the expected counts do not depend on what was drawn."""
    return sampler(tf.constant(TRUE), 2, 4, False, 8, **attrs)[1]


SAMPLES = [
    Sample(
        "UniformCandidateSampler",
        lambda tf: _probability_counts(tf, tf.nn.uniform_candidate_sampler),
        (),
        np.full((3, 2), 0.5, np.float32),
    ),
    Sample(
        "LogUniformCandidateSampler",
        lambda tf: _probability_counts(tf, tf.nn.log_uniform_candidate_sampler),
        (),
        (4 * np.log((TRUE + 2) / (TRUE + 1)) / np.log(9)).astype(np.float32),
    ),
    Sample(
        "LearnedUnigramCandidateSampler",
        lambda tf: _probability_counts(tf, tf.nn.learned_unigram_candidate_sampler),
        (),
        np.full((3, 2), 0.5, np.float32),
    ),
    Sample(
        "ThreadUnsafeUnigramCandidateSampler",
        lambda tf: (
            _raw(tf)
            .ThreadUnsafeUnigramCandidateSampler(
                true_classes=tf.constant(TRUE),
                num_true=2,
                num_sampled=4,
                unique=False,
                range_max=8,
            )
            .true_expected_count
        ),
        (),
        np.full((3, 2), 0.5, np.float32),
    ),
    Sample(
        "FixedUnigramCandidateSampler",
        lambda tf: _probability_counts(
            tf,
            tf.nn.fixed_unigram_candidate_sampler,
            distortion=0.75,
            num_reserved_ids=1,
            unigrams=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        ),
        (),
        (4 * TRUE**0.75 / (np.arange(8) ** 0.75).sum()).astype(np.float32),
    ),
    Sample(
        "AllCandidateSampler",
        lambda tf: tf.nn.all_candidate_sampler(tf.constant(TRUE), 2, 8, True),
        (),
        [np.arange(8), np.ones((3, 2), np.float32), np.ones(8, np.float32)],
    ),
    Sample(
        "ComputeAccidentalHits",
        lambda tf: tf.nn.compute_accidental_hits(
            tf.constant([[1, 2], [3, 4], [9, 9]], tf.int64),
            tf.constant([2, 4, 1, 2, 9], tf.int64),
            2,
        ),
        (),
        [
            np.array([0, 0, 1, 2, 2], np.int32),
            np.array([2, 3, 1, 4, 4]),
            np.full(5, -np.finfo(np.float32).max, np.float32),
        ],
    ),
    Sample(
        "Concat",
        lambda tf, w, b, x: tf.nn.nce_loss(
            w, b, tf.constant(LABELS), x, 3, 8, sampled_values=_given(tf, x)
        ),
        (WEIGHTS, BIASES, INPUTS),
        _nce,
        rtol=1e-4,
        note="nce_loss",
    ),
    Sample(
        "Concat",
        lambda tf, w, b, x: tf.nn.sampled_softmax_loss(
            w, b, tf.constant(LABELS), x, 3, 8, sampled_values=_given(tf, x)
        ),
        (WEIGHTS, BIASES, INPUTS),
        _sampled_softmax,
        rtol=1e-4,
        note="sampled_softmax_loss",
    ),
    Sample(
        "Concat",
        lambda tf, w, b, x: tf.nn.nce_loss(
            w,
            b,
            tf.constant(TRUE[:2]),
            x[:2],
            3,
            8,
            num_true=2,
            sampled_values=(
                tf.constant(NOISE),
                tf.cast(tf.constant([[0.5, 0.4], [0.3, 0.2]]), x.dtype),
                tf.cast(tf.constant(NOISE_COUNT), x.dtype),
            ),
        ),
        (WEIGHTS, BIASES, INPUTS),
        rtol=1e-4,
        note="nce_loss, two true classes",
    ),
]


def _raw(tf: Any) -> Any:
    """The ops by their own names: TensorFlow's `raw_ops`, or the registry."""
    if hasattr(tf, "raw_ops"):
        return tf.raw_ops
    from dataflow.graph.registry import get_op

    class Ops:
        def __getattr__(self, name: str) -> Any:
            return get_op(name)

    return Ops()
