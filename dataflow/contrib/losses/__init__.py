"""``tf.contrib.losses``: `tf.losses` with predictions first, and weights of whole examples."""

from __future__ import annotations

from dataflow.graph.type_aliases import TensorLike

from dataflow.namespaces import explain_absent
from collections.abc import Callable
from typing import Any

from dataflow import losses as tf_losses
from dataflow.contrib.losses import metric_learning
from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.graph.conversion import convert_to_tensor
from dataflow.losses import (
    get_losses,
    get_regularization_losses,
    get_total_loss,
)
from dataflow.ops import array
from dataflow.ops.activation import relu
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import name_scope
from dataflow.shapes import dimension_value

add_loss = add_arg_scope(tf_losses.add_loss)

__all__ = [
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "metric_learning",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


def _over_examples(weights: TensorLike, rank: int | None) -> Any:
    """Weights of the first axes of losses of this rank, so that they broadcast.

    Raises `ValueError` where a rank is not known.
    """
    weights = convert_to_tensor(weights)
    own = weights.get_shape().ndims
    if rank is None:
        raise ValueError("losses.get_shape().ndims cannot be None")
    if own is None:
        raise ValueError("weights.get_shape().ndims cannot be None")
    if own == rank + 1 and dimension_value(weights.get_shape()[-1]) in (None, 1):
        return array.squeeze(weights, [-1])
    if not own or own >= rank:
        return weights
    ones = [1] * (rank - own)
    return array.reshape(weights, array.concat([array.shape(weights), ones], 0))


def _rank(tensor: TensorLike) -> int | None:
    return convert_to_tensor(tensor).get_shape().ndims


def _collected(loss: Any) -> Any:
    """The loss, added to the collection that `arg_scope` of `add_loss` names."""
    add_loss(loss)
    return loss


def _predictions_first(loss: Callable[..., Any], name: str) -> Callable[..., Any]:
    def turned(
        predictions: TensorLike,
        labels: TensorLike | None = None,
        weights: TensorLike = 1.0,
        scope: str | None = None,
    ) -> Any:
        weights = _over_examples(weights, _rank(predictions))
        found = loss(labels, predictions, weights=weights, scope=scope, loss_collection=None)
        return _collected(found)

    turned.__name__ = turned.__qualname__ = name
    turned.__doc__ = f"`tf.losses.{name}` of (predictions, labels); ``weights`` may be those of examples, [batch]."
    return turned


absolute_difference = _predictions_first(tf_losses.absolute_difference, "absolute_difference")
mean_squared_error = _predictions_first(tf_losses.mean_squared_error, "mean_squared_error")


def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """`tf.losses.mean_pairwise_squared_error` of (predictions, labels), a mean over n**2 pairs.

    Of n elements of an example `tf.losses` counts the n (n - 1) pairs of different ones.
    """
    weights = _over_examples(weights, _rank(predictions))
    return _collected(
        tf_losses.pairwise_loss(labels, predictions, weights, scope, None, with_itself=True)
    )


def log_loss(
    predictions: Any,
    labels: Any = None,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Any:
    """`tf.losses.log_loss` of (predictions, labels)."""
    weights = _over_examples(weights, _rank(predictions))
    return _collected(tf_losses.log_loss(labels, predictions, weights, epsilon, scope, None))


def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Any:
    """`tf.losses.cosine_distance` of (predictions, labels)."""
    weights = _over_examples(weights, _rank(predictions))
    axis = dim if axis is None else axis
    return _collected(
        tf_losses.cosine_distance(labels, predictions, axis, weights, scope, loss_collection=None)
    )


def sigmoid_cross_entropy(
    logits: TensorLike,
    multi_class_labels: Any,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Any:
    """`tf.losses.sigmoid_cross_entropy` of (logits, labels)."""
    weights = _over_examples(weights, _rank(logits))
    return _collected(
        tf_losses.sigmoid_cross_entropy(
            multi_class_labels, logits, weights, label_smoothing, scope, None
        )
    )


def softmax_cross_entropy(
    logits: TensorLike,
    onehot_labels: Any,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Any:
    """`tf.losses.softmax_cross_entropy` of (logits, labels)."""
    rank = _rank(logits)
    weights = weights if rank is None else _over_examples(weights, rank - 1)
    return _collected(
        tf_losses.softmax_cross_entropy(
            onehot_labels, logits, weights, label_smoothing, scope, None
        )
    )


def sparse_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Any:
    """`tf.losses.sparse_softmax_cross_entropy` of (logits, labels)."""
    rank = _rank(logits)
    weights = weights if rank is None else _over_examples(weights, rank - 1)
    return _collected(tf_losses.sparse_softmax_cross_entropy(labels, logits, weights, scope, None))


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Any:
    """``max(0, 1 - (2 labels - 1) logits)``, element by element: neither summed nor collected."""
    with name_scope(scope, "hinge_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(labels, logits.dtype)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        return relu(1.0 - (2.0 * labels - 1.0) * logits)


def compute_weighted_loss(losses: Any, weights: TensorLike = 1.0, scope: str | None = None) -> Any:
    """The mean of losses whose weight is not 0, times their weights: a scalar, collected."""
    losses = convert_to_tensor(losses)
    weights = _over_examples(weights, losses.get_shape().ndims)
    return _collected(tf_losses.compute_weighted_loss(losses, weights, scope, loss_collection=None))


__getattr__ = explain_absent(__name__)
