"""``tf.contrib.metrics``: `tf.metrics` under older names; predictions come first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.metrics import counts, means, thresholds
from dataflow.ops.math import cast, equal, reduce_mean

__all__ = [
    "accuracy",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_positives",
    "streaming_mean_absolute_error",
    "streaming_mean_squared_error",
    "streaming_precision",
    "streaming_recall",
    "streaming_root_mean_squared_error",
    "streaming_true_negatives",
    "streaming_true_positives",
]


def _predictions_first(metric: Callable[..., Any]) -> Callable[..., Any]:
    def streaming(
        predictions: Any, labels: Any, weights: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        return metric(labels, predictions, weights, *args, **kwargs)

    name = getattr(metric, "__name__", "")
    streaming.__name__ = f"streaming_{name}"
    streaming.__doc__ = f"`tf.metrics.{name}` of (predictions, labels, weights, ...)."
    return streaming


streaming_accuracy = _predictions_first(means.accuracy)
streaming_auc = _predictions_first(thresholds.auc)
streaming_false_negatives = _predictions_first(counts.false_negatives)
streaming_false_positives = _predictions_first(counts.false_positives)
streaming_mean_absolute_error = _predictions_first(means.mean_absolute_error)
streaming_mean_squared_error = _predictions_first(means.mean_squared_error)
streaming_precision = _predictions_first(counts.precision)
streaming_recall = _predictions_first(counts.recall)
streaming_root_mean_squared_error = _predictions_first(means.root_mean_squared_error)
streaming_true_negatives = _predictions_first(counts.true_negatives)
streaming_true_positives = _predictions_first(counts.true_positives)


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """The share of predictions that are right in this batch; no variables."""
    right = cast(equal(predictions, labels), "float32")
    if weights is None:
        return reduce_mean(right, name=name)
    return reduce_mean(right * weights, name=name) / reduce_mean(cast(weights, "float32"))
