"""Losses of the heads: of labels, logits and weights, the pair (what is minimized, what is reported).

What is minimized is the mean over the batch of the weighted losses, what is reported is their sum
divided by that of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes, losses
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.arithmetic import multiply, squared_difference
from dataflow.ops.casts import cast
from dataflow.ops.loss import (
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.reduce import reduce_mean, reduce_sum
from dataflow.ops.reshape import expand_dims, squeeze
from dataflow.ops.weights import broadcast_weights

LossPair = tuple[Tensor, Tensor]


def weighted(loss: Tensor, weights: Any) -> LossPair:
    """The mean of ``loss`` times ``weights``, and its mean weighted by them."""
    if weights is None:
        mean = reduce_mean(loss, name="loss")
        return mean, mean
    weights = broadcast_weights(weights, loss)
    found = multiply(loss, weights)
    return reduce_mean(found, name="loss"), reduce_sum(found) / reduce_sum(weights)


def custom(loss_fn: Callable[..., Any]) -> Callable[..., LossPair]:
    """A program's own loss, of (labels, logits[, weights]), for both."""

    def loss(labels: Any, logits: Any, weights: Any = None) -> LossPair:
        extra = () if weights is None else (weights,)
        found = loss_fn(labels, logits, *extra)
        return found, found

    return loss


def as_column(labels: Any) -> Tensor:
    """[batch] -> [batch, 1]."""
    labels = convert_to_tensor(labels)
    return expand_dims(labels, 1) if labels.shape.ndims == 1 else labels


def mean_squared(labels: Any, logits: Any, weights: Any = None) -> LossPair:
    """Squared differences; labels [batch] or [batch, dimension]."""
    labels, logits = as_column(labels), as_column(logits)
    logits.shape.assert_is_compatible_with(labels.shape)
    return weighted(squared_difference(logits, cast(labels, dtypes.float32)), weights)


def poisson(labels: Any, logits: Any, weights: Any = None) -> LossPair:
    """The negative log-likelihood of counts whose rate is exp(logits)."""
    labels = cast(as_column(labels), dtypes.float32)
    return weighted(log_poisson_loss(labels, as_column(logits), compute_full_loss=True), weights)


def two_classes(labels: Any, logits: Any, weights: Any = None) -> LossPair:
    """Cross-entropy of labels 0 and 1, [batch] or [batch, 1], and logits [batch, 1]."""
    labels = cast(as_column(labels), dtypes.float32)
    return weighted(sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), weights)


def classes(labels: Any, logits: Any, weights: Any = None) -> LossPair:
    """Cross-entropy of ids of classes, [batch] or [batch, 1], and logits [batch, classes].

    Raises `ValueError` for labels that are no integers.
    """
    labels = convert_to_tensor(labels)
    if not labels.dtype.base_dtype.is_integer:
        raise ValueError(f"Labels dtype should be integer, instead got {labels.dtype.name}.")
    if labels.shape.ndims == 2:
        labels = squeeze(labels, [1])
    loss = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return weighted(expand_dims(loss, 1), weights)


def each_class(labels: Any, logits: Any, weights: Any = None) -> LossPair:
    """Cross-entropy of labels 0 and 1 of each class, [batch, classes]."""
    labels = cast(labels, dtypes.float32)
    return weighted(sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), weights)


def hinge(labels: Any, logits: Any, weights: Any = None) -> LossPair:
    """max(0, 1 - t * logit) with t = -1 for label 0, and 1 for label 1."""
    none = losses.Reduction.NONE
    return weighted(losses.hinge_loss(as_column(labels), logits, reduction=none), weights)
