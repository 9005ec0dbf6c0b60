"""Metrics that count: true and false positives and negatives, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
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
from dataflow.ops.math import (
    add,
    cast,
    divide,
    equal,
    greater,
    logical_and,
    logical_not,
    maximum,
    multiply,
    not_equal,
    reduce_mean,
    reduce_sum,
)
from dataflow.ops.matrix_diag import diag_part
from dataflow.ops.seeds import counted_as
from dataflow.ops.state import assign_add, scatter_add


def _count(labels: Any, predictions: Any, weights: Any, condition: Callable[..., Tensor]) -> Pair:
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    with counted_as(15 + _num_casts(labels, predictions) + (0 if weights is None else 7)):
        predictions, labels, weights = matched(
            cast(predictions, dtypes.bool_), cast(labels, dtypes.bool_), weights
        )
        values = as_float(condition(labels, predictions))
        count = metric_variable([], dtypes.float32, "count")
        if weights is not None:
            values = multiply(values, broadcast_weights(weights, values))
        return array.identity(count), assign_add(count, reduce_sum(values))


def _num_casts(*values: Tensor) -> int:
    return sum(value.dtype.base_dtype is not dtypes.bool_ for value in values)


def _share_of(
    labels: Any, predictions: Any, weights: Any, others: Callable[..., Pair]
) -> tuple[Tensor, Tensor]:
    """True positives and their share among them and ``others``: the value, and the update."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    with counted_as(44 + _num_casts(labels, predictions) + (0 if weights is None else 14)):
        hits, update_hits = true_positives(labels, predictions, weights)
        missed, update_missed = others(labels, predictions, weights)
        return _share(hits, missed, "value"), _share(update_hits, update_missed, "update_op")


@scoped_metric("true_positives")
def true_positives(labels: Any, predictions: Any, weights: Any = None) -> Pair:
    """The (weighted) number of examples that are true and said to be."""
    return _count(labels, predictions, weights, logical_and)


@scoped_metric("false_positives")
def false_positives(labels: Any, predictions: Any, weights: Any = None) -> Pair:
    """The (weighted) number of examples that are false and said to be true."""
    return _count(labels, predictions, weights, lambda label, p: logical_and(logical_not(label), p))


@scoped_metric("true_negatives")
def true_negatives(labels: TensorLike, predictions: TensorLike, weights: Any = None) -> Pair:
    """The (weighted) number of examples that are false and said to be."""
    return _count(
        labels,
        predictions,
        weights,
        lambda label, p: logical_and(logical_not(label), logical_not(p)),
    )


@scoped_metric("false_negatives")
def false_negatives(labels: Any, predictions: Any, weights: Any = None) -> Pair:
    """The (weighted) number of examples that are true and said to be false."""
    return _count(labels, predictions, weights, lambda label, p: logical_and(label, logical_not(p)))


def _share(part: Any, rest: Any, name: str) -> Tensor:
    whole = add(part, rest)
    return array.where(greater(whole, 0), divide(part, whole), 0.0, name=name)


@scoped_metric("precision")
def precision(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
) -> Pair:
    """True positives / (true + false positives); 0 when there are none."""
    return _share_of(labels, predictions, weights, false_positives)


@scoped_metric("recall")
def recall(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None) -> Pair:
    """True positives / (true positives + false negatives); 0 when there are none."""
    return _share_of(labels, predictions, weights, false_negatives)


@scoped_metric("mean_iou")
def mean_iou(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> Pair:
    """The mean over the classes that occur of intersection / union; the update is the confusions."""
    predictions, labels, weights = matched(predictions, labels, weights)
    total = metric_variable([num_classes, num_classes], dtypes.float64, "total_confusion_matrix")
    labels, predictions = _flat(labels), _flat(predictions)
    if weights is not None:
        weights = _flat(weights)
    confusions = confusion_matrix(
        labels, predictions, num_classes, weights=weights, dtype=dtypes.float64
    )
    update = assign_add(total, confusions)
    hits = cast(diag_part(total), dtypes.float32)
    unions = add(as_float(reduce_sum(total, 0)), as_float(reduce_sum(total, 1))) - hits
    num_present = reduce_sum(cast(not_equal(unions, 0), dtypes.float32))
    shares = divide(hits, array.where(greater(unions, 0), unions, array.ones_like(unions)))
    value = array.where(
        greater(num_present, 0), reduce_sum(shares, name="mean_iou") / num_present, 0.0
    )
    return value, update


@scoped_metric("mean_accuracy")
def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None
) -> Pair:
    """The mean of the classes' accuracies; the update is each class's."""
    predictions, labels, weights = matched(predictions, labels, weights)
    labels = _flat(cast(labels, dtypes.int64))
    predictions = _flat(cast(predictions, dtypes.int64))
    total = metric_variable([num_classes], dtypes.float32, "total")
    count = metric_variable([num_classes], dtypes.float32, "count")
    examples = array.ones([array.size(labels)], dtypes.float32)
    is_correct = as_float(equal(labels, predictions))
    if weights is not None:
        weights = as_float(_flat(weights))
        is_correct, examples = multiply(is_correct, weights), multiply(examples, weights)
    update_total = scatter_add(total, labels, examples)
    update_count = scatter_add(count, labels, is_correct)
    each = div_no_nan(count, maximum(total, 0))
    value = reduce_mean(each, name="mean_accuracy")
    update = div_no_nan(update_count, maximum(update_total, 0), name="update_op")
    return value, update


def _flat(tensor: Tensor) -> Tensor:
    return (
        tensor if tensor.dims is not None and len(tensor.dims) == 1 else array.reshape(tensor, [-1])
    )
