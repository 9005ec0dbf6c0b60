"""Curves of ``tf.contrib.metrics``: points of ROC and PR curves, and areas of all values so far."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.metric_statistics import streaming_concat
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics.streaming import (
    Pair,
    as_float,
    broadcast_weights,
    matched,
    metric_variable,
    scoped_metric,
)
from dataflow.metrics.thresholds import (
    COUNTS,
    EPSILON,
    at_one_cut,
    closest_cut,
    counts_at,
    evenly_spread,
)
from dataflow.ops import array
from dataflow.ops.arithmetic import div_no_nan
from dataflow.ops.assertions import assert_greater_equal, assert_less_equal, assert_type
from dataflow.ops.control_flow import group
from dataflow.ops.counting import histogram_fixed_width
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import (
    cast,
    cumsum,
    divide,
    floor,
    greater,
    greater_equal,
    maximum,
    multiply,
    reduce_max,
    reduce_sum,
)
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.sequences import top_k
from dataflow.ops.state import assign_add

#: What `precision_recall_at_equal_thresholds` gives: vectors of one number for each threshold.
PrecisionRecallData = namedtuple(
    "PrecisionRecallData", ["tp", "fp", "tn", "fn", "precision", "recall", "thresholds"]
)


@scoped_metric("curve_points")
def streaming_curve_points(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    curve: str = "ROC",
) -> Pair:
    """Points [num_thresholds, 2] of a "ROC" curve (false, true positives) or "PR" curve.

    Raises `ValueError` for other names.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    cuts = evenly_spread(num_thresholds)
    values, updates = counts_at(labels, predictions, cuts, weights, tuple(COUNTS))
    tp, fn, tn, fp = (values[kind] for kind in COUNTS)
    recall = divide(tp + 1e-6, tp + fn + 1e-6)
    if curve == "ROC":
        points = array.stack([divide(fp, fp + tn + 1e-6), recall], axis=1)
    else:
        points = array.stack([recall, divide(tp + 1e-6, tp + fp + 1e-6)], axis=1)
    update: Any = group(*updates.values())
    return points, update


def _rate_at(wrong: str, right: str, name: str, doc: str) -> Any:
    @scoped_metric(name)
    def rate(
        predictions: TensorLike,
        labels: TensorLike,
        thresholds: Any,
        weights: TensorLike | None = None,
    ) -> Pair:
        values, updates = counts_at(labels, predictions, thresholds, weights, (wrong, right))
        value, update = (
            divide(counts[wrong], counts[wrong] + counts[right] + EPSILON, name=part)
            for counts, part in ((values, "value"), (updates, "update_op"))
        )
        return value, update

    rate.__name__, rate.__doc__ = f"streaming_{name}_at_thresholds", doc
    return rate


streaming_false_positive_rate_at_thresholds = _rate_at(
    "fp", "tn", "false_positive_rate", "fp / (fp + tn) at each of ``thresholds``."
)
streaming_false_negative_rate_at_thresholds = _rate_at(
    "fn", "tp", "false_negative_rate", "fn / (fn + tp) at each of ``thresholds``."
)


#: What precision and recall are made of.
_KINDS = ("tp", "fn", "fp")


@scoped_metric("precision_at_recall")
def precision_at_recall(
    labels: TensorLike,
    predictions: TensorLike,
    target_recall: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
) -> Pair:
    """The precision at the cut whose recall is closest to ``target_recall``.

    Raises `ValueError` unless that lies in [0, 1].
    """

    def at_cut(counts: dict[str, Any], name: str) -> Any:
        tp, fn, fp = (counts[kind] for kind in ("tp", "fn", "fp"))
        # The recall falls with the cut: of those that reach the target the highest one.
        reached = greater_equal(divide(tp, tp + fn + EPSILON), target_recall)
        cut = reduce_sum(cast(reached, dtypes.int64)) - np.int64(1)
        return divide(tp[cut] + EPSILON, tp[cut] + fp[cut] + EPSILON, name=name)

    target = {"target_recall": target_recall}
    return at_one_cut(labels, predictions, weights, num_thresholds, _KINDS, target, at_cut)


@scoped_metric("recall_at_precision")
def recall_at_precision(
    labels: TensorLike,
    predictions: TensorLike,
    precision: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    strict_mode: bool = False,
) -> Pair:
    """The recall at the cut whose precision is closest to the one given.

    With ``strict_mode`` the best recall of the cuts that reach it, 0 where none does. Raises
    `ValueError` unless ``precision`` lies in [0, 1].
    """

    def at_cut(counts: dict[str, Any], name: str) -> Any:
        tp, fn, fp = (counts[kind] for kind in ("tp", "fn", "fp"))
        found = divide(tp, tp + fp + EPSILON)
        recall = divide(tp, tp + fn + EPSILON)
        if strict_mode:
            reached = cast(greater_equal(found, precision), recall.dtype)
            return reduce_max(recall * reached, name=name)
        return array.identity(recall[closest_cut(found, precision)], name=name)

    target = {"precision": precision}
    return at_one_cut(labels, predictions, weights, num_thresholds, _KINDS, target, at_cut)


@scoped_metric("precision_recall_at_equal_thresholds")
def precision_recall_at_equal_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int | None = None,
    use_locking: bool | None = None,
) -> tuple[Any, Any]:
    """Counts, precision and recall at equally spaced thresholds (201 of them), in linear time.

    Labels are bool, predictions in [0, 1]. Gives a `PrecisionRecallData` and an op that takes the
    batch in. Raises `ValueError` for fewer than two thresholds.
    """
    number = 201 if num_thresholds is None else num_thresholds
    if number < 2:
        raise ValueError("num_thresholds must be > 1.")
    predictions, labels, weights = matched(predictions, labels, weights)
    assert_type(labels, dtypes.bool_)
    dtype = predictions.dtype.base_dtype
    with control_dependencies(
        [
            assert_greater_equal(predictions, cast(0.0, dtype), message="predictions < 0"),
            assert_less_equal(predictions, cast(1.0, dtype), message="predictions > 1"),
        ]
    ):
        factor = array.ones_like(predictions)
    if weights is not None:
        factor = broadcast_weights(weights, predictions)
    true = cast(labels, dtype)
    bucket = cast(floor(predictions * cast(number - 1, dtype)), dtypes.int32)
    counts, updates = [], []
    for name, flags in (("tp_buckets", true), ("fp_buckets", 1 - true)):
        variable = metric_variable([number], dtype, name)
        added = unsorted_segment_sum(multiply(flags, factor), bucket, number)
        updates.append(assign_add(variable, added, use_locking=bool(use_locking)))
        counts.append(cumsum(variable, reverse=True))
    tp, fp = counts
    tn, fn = fp[0] - fp, tp[0] - tp
    least = cast(EPSILON, dtype)
    data = PrecisionRecallData(
        tp=tp,
        fp=fp,
        tn=tn,
        fn=fn,
        precision=divide(tp, maximum(least, tp + fp)),
        recall=divide(tp, maximum(least, tp + fn)),
        thresholds=convert_to_tensor(np.linspace(0.0, 1.0, number), dtype),
    )
    return data, group(*updates)


@scoped_metric("dynamic_auc")
def streaming_dynamic_auc(
    labels: TensorLike,
    predictions: TensorLike,
    curve: str = "ROC",
    weights: TensorLike | None = None,
) -> Pair:
    """The exact area under the "ROC" or "PR" curve of all examples so far, which it keeps.

    0 while there are labels of one kind only. Labels are 0 or 1. Raises `ValueError` for other
    curves.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    predictions, labels, weights = matched(predictions, labels, weights)
    if weights is None:
        weights = array.ones_like(as_float(labels))
    else:
        weights = broadcast_weights(weights, as_float(predictions))
    labels = array.reshape(cast(labels, dtypes.int64), [-1])
    limits = [
        assert_greater_equal(labels, cast(0, dtypes.int64), message="labels must be 0 or 1"),
        assert_less_equal(labels, cast(1, dtypes.int64), message="labels must be 0 or 1"),
    ]
    with control_dependencies(limits):
        labels = array.identity(labels)
    scores, score_update = streaming_concat(array.reshape(predictions, [-1]), name="concat_preds")
    truth, truth_update = streaming_concat(labels, name="concat_labels")
    share, share_update = streaming_concat(
        array.reshape(as_float(weights), [-1]), name="concat_weights"
    )
    value = _exact_area(scores, truth, share, curve)
    return value, _exact_area(score_update, truth_update, share_update, curve)


def _exact_area(scores: Any, labels: Any, weights: Any, curve: str) -> Any:
    """The area under the curve through one point for each distinct score."""
    ordered, order = top_k(scores, array.size(scores))
    weight = array.gather(weights, order)
    true = cast(array.gather(labels, order), dtypes.float32) * weight
    _, _, sizes = array.unique_with_counts(ordered)
    last = cumsum(sizes) - 1  # equal scores are one point: the running sums at the last of them
    tp = array.pad(array.gather(cumsum(true), last), [[1, 0]])
    fp = array.pad(array.gather(cumsum(weight - true), last), [[1, 0]])
    positives, negatives = reduce_sum(true), reduce_sum(weight - true)
    if curve == "ROC":
        area = reduce_sum((fp[1:] - fp[:-1]) * (tp[1:] + tp[:-1])) / 2.0
        return div_no_nan(area, positives * negatives)
    precision = div_no_nan(tp[1:], tp[1:] + fp[1:])
    area = div_no_nan(reduce_sum((tp[1:] - tp[:-1]) * precision), positives)
    return array.where(greater(negatives, 0.0), area, array.zeros_like(area))


@scoped_metric("auc_using_histogram")
def _histogram_area(
    boolean_labels: TensorLike, scores: TensorLike, score_range: Any, nbins: int
) -> Pair:
    scores = convert_to_tensor(scores)
    true = array.reshape(cast(boolean_labels, dtypes.bool_), [-1])
    flat = array.reshape(scores, [-1])
    counts, updates = [], []
    for name, found in (
        ("hist_true_acc", array.where(true)),
        ("hist_false_acc", array.where(~true)),
    ):
        chosen = array.gather(flat, array.reshape(found, [-1]))
        variable = metric_variable([nbins], dtypes.float32, name)
        counts.append(variable)
        added = as_float(histogram_fixed_width(chosen, score_range, nbins))
        updates.append(assign_add(variable, added))
    shares = [div_no_nan(array.identity(c), reduce_sum(c)) for c in counts]
    above = cumsum(shares[0], exclusive=True, reverse=True)
    update: Any = group(*updates)
    return reduce_sum(shares[1] * (above + shares[0] / 2.0)), update


def auc_using_histogram(
    boolean_labels: TensorLike,
    scores: TensorLike,
    score_range: Any,
    nbins: int = 100,
    collections: Any = None,
    check_shape: bool = True,
    name: str | None = None,
) -> Pair:
    """The area under the ROC curve from ``nbins`` equal bins of the scores in ``score_range``.

    Raises `ValueError` when ``check_shape`` finds labels and scores of different shapes.
    """
    if check_shape:
        scores, boolean_labels, _ = matched(scores, boolean_labels, None)
    area: Pair = _histogram_area(boolean_labels, scores, score_range, nbins, collections, name=name)
    return area
