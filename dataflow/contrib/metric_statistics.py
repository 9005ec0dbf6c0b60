"""Streaming statistics of ``tf.contrib.metrics``: counts, covariance, agreement, all values so far."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics.counts import false_negatives, false_positives, true_negatives, true_positives
from dataflow.metrics.streaming import (
    Pair,
    as_float,
    broadcast_weights,
    matched,
    metric_variable,
    scoped_metric,
)
from dataflow.ops import array
from dataflow.ops.arithmetic import div_no_nan
from dataflow.ops.counting import confusion_matrix
from dataflow.ops.math import cast, divide, less_equal, minimum, multiply, reduce_sum, sqrt
from dataflow.ops.matrix_diag import diag_part
from dataflow.ops.sources import placeholder_with_default
from dataflow.ops.state import assign, assign_add


@scoped_metric("count")
def count(values: TensorLike, weights: TensorLike | None = None) -> Pair:
    """How many values came so far, or the sum of their weights (float32)."""
    values = convert_to_tensor(values)
    total = metric_variable([], dtypes.float32, "count")
    if weights is None:
        batch = as_float(array.size(values))
    else:
        values, _, weights = matched(values, None, weights)
        batch = reduce_sum(broadcast_weights(weights, as_float(values)))
    return array.identity(total), assign_add(total, batch)


@scoped_metric("covariance")
def streaming_covariance(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
) -> Pair:
    """The unbiased covariance of two float32 tensors of the same shape; NaN before a second value.

    Batches are joined by the rule of Chan, Golub and LeVeque ("Updating Formulae and a Pairwise
    Algorithm for Computing Sample Variances", 1979).
    """
    predictions, labels, weights = matched(predictions, labels, weights)
    seen = metric_variable([], dtypes.float32, "count")
    means = [
        metric_variable([], dtypes.float32, f"mean_{kind}") for kind in ("prediction", "label")
    ]
    comoment = metric_variable([], dtypes.float32, "comoment")
    if weights is None:
        batch_count = as_float(array.size(predictions))
        factor = array.ones_like(predictions)
    else:
        factor = broadcast_weights(weights, predictions)
        batch_count = reduce_sum(factor)
    now = assign_add(seen, batch_count)
    before = now - batch_count
    batch_means, gaps = [], []
    for mean, values in zip(means, (predictions, labels), strict=True):
        batch_mean = div_no_nan(reduce_sum(multiply(values, factor)), batch_count)
        step = div_no_nan((batch_mean - mean) * batch_count, now)
        batch_means.append(batch_mean)
        gaps.append(assign_add(mean, step) - step - batch_mean)
    residuals = (predictions - batch_means[0]) * (labels - batch_means[1]) * factor
    between = gaps[0] * gaps[1] * div_no_nan(before * batch_count, now)
    joined = assign_add(comoment, reduce_sum(residuals) + between)

    def unbiased(moment: Any, number: Any, name: str) -> Any:
        return array.where(
            less_equal(number, 1.0), float("nan"), moment / (number - 1.0), name=name
        )

    return unbiased(comoment, seen, "covariance"), unbiased(joined, now, "update_op")


@scoped_metric("pearson_r")
def streaming_pearson_correlation(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
) -> Pair:
    """Pearson's correlation coefficient of two float32 tensors of the same shape."""
    predictions, labels, weights = matched(predictions, labels, weights)
    if weights is not None:
        weights = broadcast_weights(weights, predictions)
    pairs = [
        streaming_covariance(first, second, weights, name=name)
        for first, second, name in (
            (predictions, labels, "covariance"),
            (predictions, predictions, "variance_predictions"),
            (labels, labels, "variance_labels"),
        )
    ]
    value, update = (
        divide(both, sqrt(first) * sqrt(second), name=name)
        for (both, first, second), name in zip(
            zip(*pairs, strict=True), ("pearson_r", "update_op"), strict=True
        )
    )
    return value, update


@scoped_metric("cohen_kappa")
def cohen_kappa(
    labels: TensorLike,
    predictions_idx: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
) -> Pair:
    """Cohen's kappa (float64): how far two raters agree beyond chance, from class numbers [batch].

    Raises `ValueError` when the shapes differ.
    """
    predictions_idx, labels, weights = matched(predictions_idx, labels, weights)
    dtype = dtypes.int64 if weights is None else dtypes.float32
    agreed, rows, columns = (
        metric_variable([num_classes], dtype, name) for name in ("po", "pe_row", "pe_col")
    )
    if weights is not None:
        weights = broadcast_weights(weights, as_float(predictions_idx))
    table = confusion_matrix(labels, predictions_idx, num_classes, dtype, weights=weights)

    def kappa(agreed: Any, rows: Any, columns: Any, name: str) -> Any:
        agreed, rows, columns = (cast(c, dtypes.float64) for c in (agreed, rows, columns))
        total = reduce_sum(rows)
        by_chance = reduce_sum(div_no_nan(rows * columns, total))
        return div_no_nan(reduce_sum(agreed) - by_chance, total - by_chance, name=name)

    return kappa(agreed, rows, columns, "value"), kappa(
        assign_add(agreed, diag_part(table)),
        assign_add(rows, reduce_sum(table, 0)),
        assign_add(columns, reduce_sum(table, 1)),
        "update_op",
    )


@scoped_metric("concat")
def streaming_concat(values: TensorLike, axis: int = 0, max_size: int | None = None) -> Pair:
    """All values so far, joined along ``axis``; at most ``max_size`` of them.

    Raises `ValueError` for an axis that the values do not have, or of unknown size beside it.
    """
    values = convert_to_tensor(values)
    dims = values.dims
    if dims is None:
        raise ValueError("`values` must have known rank")
    if not -len(dims) <= axis < len(dims):
        raise ValueError(f"axis = {axis} not in [{-len(dims)}, {len(dims)})")
    axis %= len(dims)
    rest = [1 if at == axis else size for at, size in enumerate(dims)]
    if None in rest:
        raise ValueError("all dimensions of `values` other than `axis` must have known size")
    empty = [0 if at == axis else size for at, size in enumerate(rest)]
    kept = metric_variable(empty, values.dtype, "array", validate_shape=False)
    kept_values = placeholder_with_default(
        kept, [None if at == axis else size for at, size in enumerate(rest)]
    )
    if max_size is not None:
        room = minimum(max_size - array.shape(kept_values)[axis], array.shape(values)[axis])
        sizes = [room if at == axis else -1 for at in range(len(rest))]
        values = array.slice_(values, [0] * len(rest), sizes)
    joined = array.concat([kept_values, values], axis)
    return kept_values, assign(kept, joined, validate_shape=False)


def _rate(kind: Any, complement: Any, name: str, doc: str) -> Any:
    @scoped_metric(name)
    def rate(
        predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
    ) -> Pair:
        wrong, wrong_update = kind(labels, predictions, weights)
        right, right_update = complement(labels, predictions, weights)
        value = div_no_nan(wrong, wrong + right, name="value")
        return value, div_no_nan(wrong_update, wrong_update + right_update, name="update_op")

    rate.__name__, rate.__doc__ = f"streaming_{name}", doc
    return rate


streaming_false_positive_rate = _rate(
    false_positives,
    true_negatives,
    "false_positive_rate",
    "The share of false examples that were said to be true.",
)
streaming_false_negative_rate = _rate(
    false_negatives,
    true_positives,
    "false_negative_rate",
    "The share of true examples that were said to be false.",
)
