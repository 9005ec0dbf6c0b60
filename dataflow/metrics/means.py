"""Metrics that are means: of values, of errors, of right answers."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics.streaming import (
    Pair,
    as_float,
    broadcast_weights,
    collect,
    matched,
    mean_metric,
    metric_variable,
    scoped_metric,
)
from dataflow.ops import array
from dataflow.ops.arithmetic import div_no_nan
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import (
    abs_,
    cast,
    divide,
    equal,
    less,
    maximum,
    multiply,
    reduce_sum,
    sqrt,
    squared_difference,
    subtract,
)
from dataflow.ops.state import assign_add


def _ratio(total: Any, count: Any, name: str) -> Tensor:
    return div_no_nan(total, maximum(count, 0), name=name)


@scoped_metric("mean")
def mean(values: TensorLike, weights: TensorLike | None = None) -> Pair:
    """The (weighted) mean of all values so far: a float32 scalar; 0 before the first update."""
    values = as_float(values)
    total = metric_variable([], dtypes.float32, "total")
    count = metric_variable([], dtypes.float32, "count")
    if weights is None:
        num_values = cast(array.size(values), dtypes.float32)
    else:
        values, _, weights = matched(values, None, weights)
        weights = broadcast_weights(weights, values)
        values = multiply(values, weights)
        num_values = reduce_sum(weights)
    update_total = assign_add(total, reduce_sum(values))
    with control_dependencies([values]):
        update_count = assign_add(count, num_values)
    value = _ratio(total, count, "value")
    update = _ratio(update_total, update_count, "update_op")
    return value, update


@scoped_metric("mean")
def mean_tensor(values: Any, weights: Any = None) -> Pair:
    """The mean of each element over the batches; the shape of ``values``."""
    values = as_float(values)
    shape = values.get_shape()
    total = metric_variable(shape, dtypes.float32, "total_tensor")
    count = metric_variable(shape, dtypes.float32, "count_tensor")
    num_values = array.ones_like(values)
    if weights is not None:
        values, _, weights = matched(values, None, weights)
        num_values = broadcast_weights(weights, values)
        values = multiply(values, num_values)
    update_total = assign_add(total, values)
    with control_dependencies([values]):
        update_count = assign_add(count, num_values)
    value = _ratio(total, count, "value")
    update = _ratio(update_total, update_count, "update_op")
    return value, update


@mean_metric("accuracy")
def accuracy(labels: Any, predictions: Any, weights: Any = None) -> tuple[Any, Any]:
    """How often predictions equal labels. Raises `ValueError` when their shapes differ."""
    predictions, labels, weights = matched(predictions, labels, weights)
    if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
        predictions = cast(predictions, labels.dtype.base_dtype)
    is_correct = cast(equal(predictions, labels), dtypes.float32)
    return is_correct, weights


@mean_metric("mean_absolute_error")
def mean_absolute_error(labels: Any, predictions: Any, weights: Any = None) -> tuple[Any, Any]:
    """The mean of |predictions - labels|."""
    predictions, labels, weights = matched(predictions, labels, weights)
    errors = abs_(subtract(predictions, labels))
    return errors, weights


@mean_metric("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any, weights: Any = None) -> tuple[Any, Any]:
    """The mean of (predictions - labels)**2."""
    predictions, labels, weights = matched(predictions, labels, weights)
    errors = squared_difference(labels, predictions)
    return errors, weights


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The square root of the mean squared error."""
    value, update = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    return collect(sqrt(value), sqrt(update), metrics_collections, updates_collections)


@mean_metric("mean_relative_error")
def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None
) -> tuple[Any, Any]:
    """The mean of |labels - predictions| / normalizer; 0 where the normalizer is 0."""
    predictions, labels, weights = matched(predictions, labels, weights)
    predictions, normalizer, _ = matched(predictions, normalizer, None)
    relative = array.where(
        equal(normalizer, 0.0),
        array.zeros_like(labels),
        divide(abs_(subtract(labels, predictions)), normalizer),
    )
    return relative, weights


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """1 - the mean of the inner products along ``dim``; both must have length 1 there."""
    predictions, labels, weights = matched(predictions, labels, weights)
    products = reduce_sum(multiply(predictions, labels), [dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return collect(
        subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections
    )


@mean_metric("percentage_below_threshold")
def percentage_below(
    values: TensorLike, threshold: float, weights: TensorLike | None = None
) -> tuple[Any, Any]:
    """The share of values below ``threshold``, between 0 and 1."""
    is_below = cast(less(convert_to_tensor(values), threshold), dtypes.float32)
    return is_below, weights
