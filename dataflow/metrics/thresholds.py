"""Metrics of scores between 0 and 1, cut at many thresholds: AUC, precision and recall curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.metrics.streaming import (
    Pair,
    as_float,
    broadcast_weights,
    collect,
    matched,
    metric_variable,
    scoped_metric,
)
from dataflow.ops import array
from dataflow.ops.arithmetic import div_no_nan
from dataflow.ops.assertions import assert_greater_equal, assert_less_equal
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import (
    abs_,
    add,
    argmax,
    argmin,
    cast,
    cumsum,
    divide,
    equal,
    greater,
    log,
    logical_and,
    logical_not,
    maximum,
    minimum,
    multiply,
    reduce_max,
    reduce_min,
    reduce_sum,
)
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sources import constant
from dataflow.ops.state import assign_add
from dataflow.ops.variable_scope import variable_scope

#: The four counts in the order in which their variables are made.
COUNTS = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}
EPSILON = 1e-7


def counts_at(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, kinds: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """For each threshold the counts of ``kinds``: their variables, and their updates."""
    predictions = convert_to_tensor(predictions)  # integers are allowed: classes 0 and 1
    lowest, highest = (cast(limit, predictions.dtype) for limit in (0.0, 1.0))
    with control_dependencies(
        [
            assert_greater_equal(predictions, lowest, message="predictions must be in [0, 1]"),
            assert_less_equal(predictions, highest, message="predictions must be in [0, 1]"),
        ]
    ):
        predictions, labels, weights = matched(
            as_float(predictions), cast(convert_to_tensor(labels), dtypes.bool_), weights
        )
    cuts = constant(np.asarray(thresholds, np.float32)[:, None])
    said = greater(array.reshape(predictions, [1, -1]), cuts)
    true = array.reshape(labels, [1, -1])
    row_weights = None
    if weights is not None:
        row_weights = array.reshape(broadcast_weights(weights, predictions), [1, -1])
    values, updates = {}, {}
    for kind, name in COUNTS.items():
        if kind not in kinds:
            continue
        variable = metric_variable([len(thresholds)], dtypes.float32, name)
        met = logical_and(
            true if kind in ("tp", "fn") else logical_not(true),
            said if kind in ("tp", "fp") else logical_not(said),
        )
        counted = as_float(met)
        if row_weights is not None:
            counted = multiply(counted, row_weights)
        values[kind] = array.identity(variable)
        updates[kind] = assign_add(variable, reduce_sum(counted, 1))
    return values, updates


def evenly_spread(num_thresholds: int) -> list[float]:
    """``num_thresholds`` cuts from just below 0 to just above 1."""
    inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [-EPSILON, *inner, 1.0 + EPSILON]


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Pair:
    """The area under the "ROC" or "PR" curve, approximated with ``num_thresholds`` cuts.

    ``summation_method``: "trapezoidal", "careful_interpolation" (PR; Davis and Goadrich, "The
    Relationship Between Precision-Recall and ROC Curves", 2006), "minoring" or "majoring".
    ``thresholds`` lists inner cuts instead. Raises `ValueError` for other names; an
    `InvalidArgumentError` at run time for predictions outside [0, 1].
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if thresholds is not None:
            cuts = [-EPSILON, *sorted(thresholds), 1.0 + EPSILON]
        else:
            cuts = evenly_spread(num_thresholds)
        values, updates = counts_at(labels, predictions, cuts, weights, tuple(COUNTS))
        is_known = not isinstance(predictions, Tensor) or predictions.shape.is_fully_defined()
        count_left_out(4 if is_known else 10)

        def area(counts: dict[str, Any], name: str) -> Tensor:
            tp, fn, tn, fp = (counts[k] for k in COUNTS)
            if curve == "PR" and summation_method == "careful_interpolation":
                return interpolated_area(tp, fp, fn, name)
            recall = divide(tp + 1e-6, tp + fn + 1e-6)
            if curve == "ROC":
                x, y = divide(fp, fp + tn + 1e-6), recall
            else:
                x, y = recall, divide(tp + 1e-6, tp + fp + 1e-6)
            widths = x[:-1] - x[1:]
            if summation_method == "minoring":
                heights = minimum(y[:-1], y[1:])
            elif summation_method == "majoring":
                heights = maximum(y[:-1], y[1:])
            else:
                heights = (y[:-1] + y[1:]) / 2.0
            return reduce_sum(multiply(widths, heights), name=name)

        return collect(
            area(values, "value"),
            area(updates, "update_op"),
            metrics_collections,
            updates_collections,
        )


def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The best F1 score, ``2 p r / (p + r)`` of precision and recall, over ``num_thresholds`` cuts."""
    with variable_scope(name, "f1", (labels, predictions, weights)):
        cuts = evenly_spread(num_thresholds)
        values, updates = counts_at(labels, predictions, cuts, weights, ("tp", "fn", "fp"))

        def best(counts: dict[str, Any]) -> Tensor:
            precision = divide(counts["tp"], EPSILON + counts["tp"] + counts["fp"])
            recall = divide(counts["tp"], EPSILON + counts["tp"] + counts["fn"])
            return reduce_max(2.0 * precision * recall / (precision + recall + EPSILON))

        return collect(best(values), best(updates), metrics_collections, updates_collections)


def interpolated_area(tp: Any, fp: Any, fn: Any, name: str) -> Tensor:
    """Between two cuts true positives grow linearly with positives; precision does not."""
    positives = tp + fp
    gained = tp[:-1] - tp[1:]
    slope = div_no_nan(gained, maximum(positives[:-1] - positives[1:], 0))
    intercept = tp[1:] - multiply(slope, positives[1:])
    ratio = array.where(
        logical_and(positives[:-1] > 0, positives[1:] > 0),
        div_no_nan(positives[:-1], maximum(positives[1:], 0)),
        array.ones_like(positives[1:]),
    )
    pieces = div_no_nan(slope * (gained + intercept * log(ratio)), maximum(tp[1:] + fn[1:], 0))
    return reduce_sum(pieces, name=name)


def _counting(kind: str) -> Any:
    """The metric of one of the counts, at each threshold."""
    name = COUNTS[kind]

    def metric(labels: Any, predictions: Any, thresholds: Any, weights: Any = None) -> Pair:
        values, updates = counts_at(labels, predictions, thresholds, weights, (kind,))
        return values[kind], updates[kind]

    metric.__name__ = metric.__qualname__ = f"{name}_at_thresholds"
    metric.__doc__ = f"{name.replace('_', ' ').capitalize()} at each threshold."
    return scoped_metric(name)(metric)


true_positives_at_thresholds = _counting("tp")
false_positives_at_thresholds = _counting("fp")
true_negatives_at_thresholds = _counting("tn")
false_negatives_at_thresholds = _counting("fn")


def _share_at(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, others: str, name: str
) -> Pair:
    """True positives / (true positives + ``others``) at each threshold."""
    counts = counts_at(labels, predictions, thresholds, weights, ("tp", others))
    value, update = (
        divide(c["tp"], EPSILON + c["tp"] + c[others], name=f"{name}_{n}")
        for c, n in zip(counts, ("value", "update_op"), strict=True)
    )
    return value, update


@scoped_metric("precision_at_thresholds")
def precision_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None
) -> Pair:
    """True positives / (true + false positives) at each threshold."""
    return _share_at(labels, predictions, thresholds, weights, "fp", "precision")


@scoped_metric("recall_at_thresholds")
def recall_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None
) -> Pair:
    """True positives / (true positives + false negatives) at each threshold."""
    return _share_at(labels, predictions, thresholds, weights, "fn", "recall")


def at_one_cut(
    labels: Any,
    predictions: Any,
    weights: Any,
    num_thresholds: int,
    kinds: tuple[str, ...],
    target: dict[str, float],
    measure: Callable[[dict[str, Any], str], Any],
) -> Pair:
    """``measure(counts, name)`` of the counts of these kinds at evenly spread cuts: value, and update.

    ``target``: the share that chooses the cut, by the name of its argument. Raises `ValueError`
    unless that lies in [0, 1].
    """
    ((name, share),) = target.items()
    if not 0 <= share <= 1:
        raise ValueError(f"`{name}` must be in the range [0, 1], got {share}.")
    cuts = evenly_spread(num_thresholds)
    values, updates = counts_at(labels, predictions, cuts, weights, kinds)
    return measure(values, "value"), measure(updates, "update_op")


def closest_cut(shares: Any, target: float) -> Any:
    """The number of the first cut whose share is closest to the one given."""
    return cast(argmin(abs_(shares - target), 0), dtypes.int32)


@scoped_metric("sensitivity_at_specificity")
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
) -> Pair:
    """The recall at the cut whose specificity tn / (tn + fp) is closest to the one given.

    Raises `ValueError` unless it lies in [0, 1].
    """

    def at_cut(counts: dict[str, Any], name: str) -> Tensor:
        tp, fn, tn, fp = (counts[k] for k in COUNTS)
        cut = closest_cut(divide(tn, tn + fp + EPSILON), specificity)
        return divide(tp[cut], tp[cut] + fn[cut] + EPSILON, name=name)

    target = {"specificity": specificity}
    return at_one_cut(labels, predictions, weights, num_thresholds, tuple(COUNTS), target, at_cut)


@scoped_metric("specificity_at_sensitivity")
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
) -> Pair:
    """The specificity at the highest cut whose recall tp / (tp + fn) is closest to the one given.

    Raises `ValueError` unless it lies in [0, 1].
    """

    def at_cut(counts: dict[str, Any], name: str) -> Tensor:
        tp, fn, tn, fp = (counts[k] for k in COUNTS)
        distance = abs_(divide(tp, tp + fn + EPSILON) - sensitivity)
        # argmin would take the first of equal cuts; the running count is highest at the last.
        closest = cast(equal(distance, reduce_min(distance)), dtypes.int64)
        cut = cast(argmax(cumsum(closest), 0), dtypes.int32)
        return divide(tn[cut], add(tn[cut], fp[cut]) + EPSILON, name=name)

    target = {"sensitivity": sensitivity}
    return at_one_cut(labels, predictions, weights, num_thresholds, tuple(COUNTS), target, at_cut)
