"""Samples of losses between logits and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(13)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _cross_entropy(labels: Any, logits: Any, axis: int = -1) -> Any:
    return -(labels * np.log(_softmax(logits, axis))).sum(axis)


def _logistic(labels: Any, logits: Any) -> Any:
    p = 1 / (1 + np.exp(-logits))
    return -labels * np.log(p) - (1 - labels) * np.log(1 - p)


LOGITS, LABELS = 2 * _array(4, 3), _softmax(_array(4, 3))
DEEP, DEEP_LABELS = _array(2, 3, 4), _softmax(_array(2, 3, 4), 1)
CLASSES = np.array([2, 0, 1, 1], np.int64)
COUNTS = np.array([[0.5, 2, 3], [1, 0, 4]], np.float32)
EXTREME = np.array([[1000, -1000, 0], [-1e4, 1e4, 0]], np.float32)


def _sdca(tf: Any, weights: Any, labels: Any, state: Any) -> Any:
    made = raw(
        tf,
        "SdcaOptimizerV2",
        example_weights=weights,
        example_labels=labels,
        example_state_data=state,
        sparse_example_indices=[],
        sparse_feature_indices=[],
        sparse_feature_values=[],
        sparse_indices=[],
        sparse_weights=[],
        dense_features=[[[1.0]]],
        dense_weights=[[0.5]],
        loss_type="squared_loss",
        l1=0.0,
        l2=1.0,
        num_loss_partitions=1,
        num_inner_iterations=1,
    )
    return [made[0], made[2][0]]


SAMPLES = [
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        (LABELS, LOGITS),
        _cross_entropy,
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x),
        (LABELS, LOGITS),
        _cross_entropy,
        gradient=(1,),
        note="labels are constant",
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, axis=1),
        (DEEP_LABELS, DEEP),
        lambda y, x: _cross_entropy(y, x, 1),
        note="axis",
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        (np.array([[1, 0, 0], [0, 1, 0]], np.float32), EXTREME),
        np.array([0, 0], np.float32),
        gradient=(),
        note="extreme",
    ),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
        (CLASSES, LOGITS),
        lambda y, x: -np.log(_softmax(x))[np.arange(4), y],
    ),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
        (np.array([[0, 3, 1], [2, 2, 0]], np.int32), DEEP),
        lambda y, x: -np.log(np.take_along_axis(_softmax(x), y[..., None], -1))[..., 0],
        note="rank 3",
    ),
    Sample(
        "Log1p",
        lambda tf, y, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
        (LABELS, LOGITS),
        _logistic,
        note="sigmoid_cross_entropy",
    ),
    Sample(
        "Log1p",
        lambda tf, y, x: tf.nn.weighted_cross_entropy_with_logits(y, x, 3.0),
        (LABELS, LOGITS),
        lambda y, x: -3 * y * np.log(1 / (1 + np.exp(-x))) - (1 - y) * np.log(1 / (1 + np.exp(x))),
        note="weighted_cross_entropy",
    ),
    Sample(
        "Exp",
        lambda tf, z, c: tf.nn.log_poisson_loss(z, c),
        (COUNTS, _array(2, 3)),
        lambda z, c: np.exp(c) - z * c,
        note="log_poisson_loss",
    ),
    Sample(
        "Exp",
        lambda tf, z, c: tf.nn.log_poisson_loss(z, c, compute_full_loss=True),
        (np.array([[0.5, 2, 3]], np.float32), _array(1, 3)),
        lambda z, c: (
            np.exp(c) - z * c + np.where(z <= 1, 0, z * np.log(z) - z + 0.5 * np.log(2 * np.pi * z))
        ),
        note="log_poisson_loss full",
    ),
    Sample(
        "SdcaOptimizerV2",
        _sdca,
        (np.float32([2.0]), np.float32([3.0]), np.zeros((1, 4), np.float32)),
        # dual = (3 - 0.5) / (1 + 2), the loss of 0.5 with weight 2, that of no dual, and the weight
        [[[2.5 / 3, 6.25, 0.0, 2.0]], [5 / 3]],
        gradient=(),
    ),
]
