"""Samples of connectionist temporal classification."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.samples.base import Sample

_rng = np.random.default_rng(23)
LOGITS = _rng.standard_normal((5, 3, 4)).astype(np.float32)
LENGTHS = [5, 4, 3]
LABELS = [[0, 1], [2, 2], [1]]
INDICES = [[b, i] for b, label in enumerate(LABELS) for i in range(len(label))]
VALUES = [v for label in LABELS for v in label]


def _collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [k for k, _ in itertools.groupby(path) if k != blank]


def loss_by_enumeration(x: Any) -> Any:
    """-log of the sum over all paths that collapse to the labels."""
    y = np.exp(x.astype(np.float64))
    y /= y.sum(-1, keepdims=True)
    blank = x.shape[-1] - 1
    result = []
    for b, (length, label) in enumerate(zip(LENGTHS, LABELS, strict=True)):
        total = 0.0
        for path in itertools.product(range(blank + 1), repeat=length):
            if _collapsed(path, blank) == label:
                total += np.prod([y[t, b, k] for t, k in enumerate(path)])
        result.append(-np.log(total))
    return np.array(result, np.float32)


def _labels(tf: Any) -> Any:
    return tf.SparseTensor(
        tf.constant(INDICES, tf.int64),
        tf.constant(VALUES, tf.int32),
        tf.constant([3, 2], tf.int64),
    )


def _greedy(x: Any) -> list[Any]:
    paths = [_collapsed(tuple(x[:n, b].argmax(-1)), 3) for b, n in enumerate(LENGTHS)]
    return [
        np.array([v for p in paths for v in p], np.int64),
        np.array([[-x[:n, b].max(-1).sum()] for b, n in enumerate(LENGTHS)], np.float32),
    ]


def _decoded(tf: Any, result: Any) -> list[Any]:
    paths, score = result
    return [*(p.values for p in paths), score]


def _best_labelings(x: Any) -> list[Any]:
    """The two most likely label sequences of each item, by enumeration of all paths."""
    y = np.exp(x.astype(np.float64))
    y /= y.sum(-1, keepdims=True)
    paths: list[list[int]] = [[], []]
    scores = np.zeros((len(LENGTHS), 2), np.float32)
    for b, length in enumerate(LENGTHS):
        total: dict[tuple[int, ...], float] = {}
        for path in itertools.product(range(4), repeat=length):
            key = tuple(_collapsed(path, 3))
            total[key] = total.get(key, 0.0) + np.prod([y[t, b, k] for t, k in enumerate(path)])
        best = sorted(total, key=lambda k: -total[k])
        for i in range(2):
            paths[i].extend(best[i])
            scores[b, i] = np.log(total[best[i]])
    return [np.array(paths[0], np.int64), np.array(paths[1], np.int64), scores]


SAMPLES = [
    Sample(
        "CTCLoss",
        lambda tf, x: tf.nn.ctc_loss(_labels(tf), x, LENGTHS),
        (LOGITS,),
        loss_by_enumeration,
        second=False,
    ),
    Sample(
        "CTCLoss",
        lambda tf, x: tf.nn.ctc_loss(
            _labels(tf),
            tf.transpose(x, [1, 0, 2]),
            LENGTHS,
            preprocess_collapse_repeated=True,
            ctc_merge_repeated=False,
            time_major=False,
        ),
        (LOGITS,),
        second=False,
        note="repeated labels",
    ),
    Sample(
        "CTCGreedyDecoder",
        lambda tf, x: _decoded(tf, tf.nn.ctc_greedy_decoder(x, LENGTHS)),
        (LOGITS,),
        _greedy,
        gradient=(),
    ),
    Sample(
        "CTCBeamSearchDecoder",
        lambda tf, x: _decoded(
            tf,
            tf.nn.ctc_beam_search_decoder(
                x, LENGTHS, beam_width=50, top_paths=2, merge_repeated=False
            ),
        ),
        (LOGITS,),
        _best_labelings,
        gradient=(),
    ),
]
