"""``tf.contrib.metrics``: `tf.metrics` under older names; predictions come first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.contrib.metric_curves import (
    auc_using_histogram,
    precision_at_recall,
    precision_recall_at_equal_thresholds,
    recall_at_precision,
    streaming_curve_points,
    streaming_dynamic_auc,
    streaming_false_negative_rate_at_thresholds,
    streaming_false_positive_rate_at_thresholds,
)
from dataflow.contrib.metric_statistics import (
    cohen_kappa,
    count,
    streaming_concat,
    streaming_covariance,
    streaming_false_negative_rate,
    streaming_false_positive_rate,
    streaming_pearson_correlation,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics import counts, means, ranking, thresholds
from dataflow.namespaces import explain_absent
from dataflow.ops.counting import confusion_matrix
from dataflow.ops.math import cast, equal, reduce_mean
from dataflow.ops.sequences import in_top_k
from dataflow.ops.sets import set_difference, set_intersection, set_size, set_union

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "auc_using_histogram",
    "cohen_kappa",
    "confusion_matrix",
    "count",
    "f1_score",
    "precision_at_recall",
    "precision_recall_at_equal_thresholds",
    "recall_at_precision",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "sparse_recall_at_top_k",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_concat",
    "streaming_covariance",
    "streaming_curve_points",
    "streaming_dynamic_auc",
    "streaming_false_negative_rate",
    "streaming_false_negative_rate_at_thresholds",
    "streaming_false_negatives",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positive_rate",
    "streaming_false_positive_rate_at_thresholds",
    "streaming_false_positives",
    "streaming_false_positives_at_thresholds",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance",
    "streaming_mean_iou",
    "streaming_mean_relative_error",
    "streaming_mean_squared_error",
    "streaming_mean_tensor",
    "streaming_pearson_correlation",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_precision_at_thresholds",
    "streaming_recall",
    "streaming_recall_at_k",
    "streaming_recall_at_thresholds",
    "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_average_precision_at_top_k",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_precision_at_top_k",
    "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity",
    "streaming_true_negatives",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives",
    "streaming_true_positives_at_thresholds",
]


def _predictions_first(metric: Callable[..., Any]) -> Callable[..., Any]:
    def streaming(predictions: TensorLike, labels: TensorLike, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    name = getattr(metric, "__name__", "")
    streaming.__name__ = f"streaming_{name}"
    streaming.__doc__ = f"`tf.metrics.{name}` of (predictions, labels, ...)."
    return streaming


streaming_accuracy = _predictions_first(means.accuracy)
streaming_mean_absolute_error = _predictions_first(means.mean_absolute_error)
streaming_mean_cosine_distance = _predictions_first(means.mean_cosine_distance)
streaming_mean_relative_error = _predictions_first(means.mean_relative_error)
streaming_mean_squared_error = _predictions_first(means.mean_squared_error)
streaming_root_mean_squared_error = _predictions_first(means.root_mean_squared_error)
streaming_false_negatives = _predictions_first(counts.false_negatives)
streaming_false_positives = _predictions_first(counts.false_positives)
streaming_mean_iou = _predictions_first(counts.mean_iou)
streaming_precision = _predictions_first(counts.precision)
streaming_recall = _predictions_first(counts.recall)
streaming_true_negatives = _predictions_first(counts.true_negatives)
streaming_true_positives = _predictions_first(counts.true_positives)
streaming_auc = _predictions_first(thresholds.auc)
streaming_false_negatives_at_thresholds = _predictions_first(
    thresholds.false_negatives_at_thresholds
)
streaming_false_positives_at_thresholds = _predictions_first(
    thresholds.false_positives_at_thresholds
)
streaming_precision_at_thresholds = _predictions_first(thresholds.precision_at_thresholds)
streaming_recall_at_thresholds = _predictions_first(thresholds.recall_at_thresholds)
streaming_sensitivity_at_specificity = _predictions_first(thresholds.sensitivity_at_specificity)
streaming_specificity_at_sensitivity = _predictions_first(thresholds.specificity_at_sensitivity)
streaming_true_negatives_at_thresholds = _predictions_first(thresholds.true_negatives_at_thresholds)
streaming_true_positives_at_thresholds = _predictions_first(thresholds.true_positives_at_thresholds)
streaming_sparse_average_precision_at_k = _predictions_first(ranking.average_precision_at_k)
streaming_sparse_precision_at_k = _predictions_first(ranking.precision_at_k)


def streaming_sparse_precision_at_top_k(
    top_k_predictions: TensorLike, labels: TensorLike, *args: Any, **kwargs: Any
) -> Any:
    """`tf.metrics.precision_at_top_k` of (classes, labels, ...): the k best are given, sorted."""
    return ranking.precision_at_top_k(labels, top_k_predictions, *args, **kwargs)


streaming_sparse_recall_at_k = _predictions_first(ranking.recall_at_k)
f1_score = thresholds.f1_score
streaming_mean = means.mean
streaming_mean_tensor = means.mean_tensor
streaming_percentage_less = means.percentage_below


def streaming_recall_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: str | Sequence[str] | None = None,
    updates_collections: str | Sequence[str] | None = None,
    name: str | None = None,
) -> Any:
    """How often the label [batch] is among the k largest predictions [batch, classes]."""
    found = cast(in_top_k(predictions, labels, k), "float32")
    name = name or f"recall_at_{k}"
    return means.mean(found, weights, metrics_collections, updates_collections, name)


def sparse_recall_at_top_k(
    labels: Any,
    top_k_predictions: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: str | Sequence[str] | None = None,
    updates_collections: str | Sequence[str] | None = None,
    name: str | None = None,
) -> Any:
    """How many labels are among the ranked classes ``top_k_predictions`` [..., k]: float64."""
    return ranking.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: str | Sequence[str] | None = None,
    updates_collections: str | Sequence[str] | None = None,
    name: str | None = None,
) -> Any:
    """`streaming_sparse_average_precision_at_k` of ranked classes ``top_k_predictions`` [..., k]."""
    return ranking.average_precision_at_top_k(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """Pairs (value, update) as the list of values and the list of updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(
    names_to_tuples: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A dict of pairs (value, update) as a dict of values and a dict of updates."""
    values = {name: pair[0] for name, pair in names_to_tuples.items()}
    return values, {name: pair[1] for name, pair in names_to_tuples.items()}


def accuracy(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """The share of predictions that are right in this batch; no variables.

    Raises `ValueError` for labels that are neither integers, booleans nor texts, and for predictions of
    another dtype.
    """
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    kind = labels.dtype.base_dtype
    if not (kind.is_integer or kind in (dtypes.bool_, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {kind.name}.")
    if predictions.dtype.base_dtype != kind:
        raise ValueError(
            f"Dtypes of predictions and labels should match, got {predictions.dtype.name} and "
            f"{kind.name}: cast one of them."
        )
    right = cast(equal(predictions, labels), "float32")
    if weights is None:
        return reduce_mean(right, name=name)
    return reduce_mean(right * weights, name=name) / reduce_mean(cast(weights, "float32"))


__getattr__ = explain_absent(__name__)
