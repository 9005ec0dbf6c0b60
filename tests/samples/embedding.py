"""Samples of embedding lookups (which are made of other ops) and of what they sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.base import Sample

_rng = np.random.default_rng(23)
TABLE, OTHER = _rng.standard_normal((3, 2)), _rng.standard_normal((2, 2))
TABLE, OTHER = TABLE.astype(np.float32), OTHER.astype(np.float32)
IDS = np.array([[0, 1, 2], [3, 4, 0]])


def _ids(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 2], [3, 2])


def _weights(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 2.0, 0.5], [3, 2])


def _strided(table: Any, other: Any) -> Any:
    whole = np.empty((5, 2), table.dtype)
    whole[0::2], whole[1::2] = table, other
    return whole


SAMPLES = [
    Sample(
        "GatherV2",
        lambda tf, t: tf.nn.embedding_lookup(t, [[2, 0], [2, 1]]) ** 2,
        (TABLE,),
        lambda t: t[[[2, 0], [2, 1]]] ** 2,
        note="embedding_lookup",
    ),
    Sample(
        "ParallelDynamicStitch",
        lambda tf, t, u: tf.nn.embedding_lookup([t, u], IDS) ** 2,
        (TABLE, OTHER),
        lambda t, u: _strided(t, u)[IDS] ** 2,
        note="embedding_lookup mod",
    ),
    Sample(
        "ParallelDynamicStitch",
        lambda tf, t, u: tf.nn.embedding_lookup([t, u], IDS, partition_strategy="div"),
        (TABLE, OTHER),
        lambda t, u: np.concatenate([t, u])[IDS],
        note="embedding_lookup div",
    ),
    Sample(
        "GatherV2",
        lambda tf, t: tf.nn.embedding_lookup(t, [2, 0], max_norm=0.5),
        (TABLE,),
        lambda t: t[[2, 0]] / np.maximum(np.linalg.norm(t[[2, 0]], axis=1), 0.5)[:, None] * 0.5,
        second=False,
        note="embedding_lookup max_norm",
    ),
    Sample(
        "SparseSegmentMean",
        lambda tf, t: tf.nn.embedding_lookup_sparse(t, _ids(tf), None),
        (TABLE,),
        lambda t: np.stack([(t[1] + t[2]) / 2, [0, 0], t[2]]),
        note="embedding_lookup_sparse",
    ),
    Sample(
        "SegmentSum",
        lambda tf, t: tf.nn.embedding_lookup_sparse(t, _ids(tf), _weights(tf), combiner="sum"),
        (TABLE,),
        lambda t: np.stack([t[1] + 2 * t[2], [0, 0], t[2] / 2]),
        note="embedding_lookup_sparse sum",
    ),
    Sample(
        "SegmentSum",
        lambda tf, t: tf.nn.safe_embedding_lookup_sparse([t], _ids(tf), combiner="sqrtn"),
        (TABLE,),
        lambda t: np.stack([(t[1] + t[2]) / np.sqrt(2), [0, 0], t[2]]),
        note="safe_embedding_lookup_sparse",
    ),
    *(
        Sample(
            f"SparseSegment{kind}Grad",
            lambda tf, t, kind=kind: getattr(tf.raw_ops, f"SparseSegment{kind}Grad")(
                grad=t, indices=[1, 3, 1], segment_ids=[0, 0, 2], output_dim0=5
            ),
            (TABLE,),
            lambda t, divisor=divisor: np.stack(
                [0 * t[0], t[0] / divisor + t[2], 0 * t[0], t[0] / divisor, 0 * t[0]]
            ),
            oracle=False,
            note="the values agree, and TensorFlow differentiates it only once",
        )
        for kind, divisor in (("Sum", 1), ("Mean", 2), ("SqrtN", np.sqrt(2)))
    ),
]
