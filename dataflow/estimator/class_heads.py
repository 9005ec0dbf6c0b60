"""Heads that predict classes: two of them, or more that exclude each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes, losses
from dataflow.estimator.export_outputs import (
    ClassificationOutput,
    PredictOutput,
    RegressionOutput,
)
from dataflow.estimator.heads import SERVING, Head, label_column
from dataflow.estimator.label_checks import check_labels
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.metrics import counts, means, thresholds
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal, less_equal
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.math import argmax, maximum, sigmoid, subtract
from dataflow.ops.string import as_string
from dataflow.ops.vocabulary_tables import (
    index_table_from_tensor,
    index_to_string_table_from_tensor,
)


class _ClassHead(Head):
    def __init__(
        self,
        num_classes: int,
        logits_dimension: int,
        weight_column: Any,
        label_vocabulary: Any,
        loss_reduction: str,
        loss_fn: Callable[..., Any],
        name: str | None,
    ) -> None:
        super().__init__(logits_dimension, weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None:
            if not isinstance(label_vocabulary, (list, tuple)):
                raise ValueError(f"label_vocabulary should be a list, got {label_vocabulary!r}.")
            if len(label_vocabulary) != num_classes:
                raise ValueError(
                    f"Length of label_vocabulary must be n_classes. Given: {num_classes} classes, "
                    f"vocabulary {list(label_vocabulary)}"
                )
        self._num_classes = num_classes
        self._vocabulary = label_vocabulary

    def checked_labels(self, labels: Any) -> Tensor:
        labels = label_column(labels, 1)
        if self._vocabulary is not None:
            if labels.dtype.base_dtype is not dtypes.string:
                raise ValueError(
                    f"Labels dtype should be string if there is a vocabulary. Instead got {labels}"
                )
            table = index_table_from_tensor(list(self._vocabulary), name="class_id_lookup")
            labels = table.lookup(labels)
        elif not labels.dtype.is_integer and not (
            isinstance(self, BinaryClassHead) and (labels.dtype.is_floating or labels.dtype.is_bool)
        ):
            raise ValueError(f"Labels dtype should be integer. Instead got {labels}")
        top = self._num_classes - 1
        if not labels.dtype.is_floating:
            labels = cast(labels, dtypes.int64)
        kind = labels.dtype.base_dtype
        lowest, highest = convert_to_tensor(0, kind), convert_to_tensor(top, kind)
        with control_dependencies(
            [
                check_labels(
                    labels, less_equal(labels, highest), "Labels must be <= n_classes - 1"
                ),
                check_labels(labels, greater_equal(labels, lowest), "Labels must be >= 0"),
            ]
        ):
            checked: Tensor = array.identity(labels)
        return checked

    def _classes(self, class_ids: Tensor) -> Tensor:
        if self._vocabulary is None:
            return as_string(class_ids, name="str_classes")  # type: ignore[no-any-return]
        table = index_to_string_table_from_tensor(
            list(self._vocabulary), name="class_string_lookup"
        )
        return table.lookup(class_ids)  # type: ignore[no-any-return]

    def _class_ids(self, scores: Tensor) -> Tensor:
        return array.expand_dims(argmax(scores, -1, name="class_ids"), -1)

    def _all_classes(self, logits: Tensor) -> dict[str, Tensor]:
        """All classes for each example; the ops have TensorFlow's names, by which programs fetch them."""
        batch, every = array.shape(logits)[0], array.range_(0, self._num_classes)
        ids = array.tile(array.expand_dims(every, 0), [batch, 1])
        batch = array.shape(logits)[0]
        names = (
            as_string(array.range_(0, self._num_classes))
            if self._vocabulary is None
            else convert_to_tensor(list(self._vocabulary), dtypes.string)
        )
        return {
            "all_class_ids": ids,
            "all_classes": array.tile(array.expand_dims(names, 0), [batch, 1]),
        }

    def export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        classes = ClassificationOutput(
            scores=predictions["probabilities"], classes=predictions["all_classes"]
        )
        result = {
            SERVING: classes,
            "classification": classes,
            "predict": PredictOutput(predictions),
        }
        if "logistic" in predictions:
            result["regression"] = RegressionOutput(predictions["logistic"])
        return result


def checked_thresholds(thresholds: Any) -> tuple[float, ...]:
    """The thresholds; raises `ValueError` for one that is not between 0 and 1."""
    for threshold in thresholds or ():
        if not 0.0 < threshold < 1.0:
            raise ValueError(f"thresholds not in (0, 1): {thresholds}.")
    return tuple(thresholds or ())


def at_thresholds(
    chosen: tuple[float, ...], labels: Tensor, probabilities: Tensor, weights: Any
) -> dict[str, Any]:
    """Accuracy, precision and recall of saying yes above each threshold."""
    result = {}
    for threshold in chosen:
        says_yes = cast(greater_equal(probabilities, threshold), dtypes.float32)
        for key, metric in (
            ("accuracy", means.accuracy),
            ("precision", counts.precision),
            ("recall", counts.recall),
        ):
            tag = f"{key}/positive_threshold_{threshold:g}"
            result[tag] = metric(
                labels=cast(labels, dtypes.float32), predictions=says_yes, weights=weights, name=tag
            )
    return result


class MultiClassHead(_ClassHead):
    """More than two exclusive classes: softmax and its cross entropy."""

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Any = None,
        name: str | None = None,
    ) -> None:
        if n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(
            n_classes, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
        )

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        every = self._all_classes(logits)
        ids = self._class_ids(logits)
        return {
            "logits": logits,
            "class_ids": ids,
            "classes": self._classes(ids),
            "probabilities": softmax(logits, name="probabilities"),
            **every,
        }

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        each = sparse_softmax_cross_entropy_with_logits(
            labels=array.squeeze(labels, [-1]), logits=logits
        )
        return array.expand_dims(each, -1)

    def metrics(
        self, labels: Tensor, predictions: dict[str, Tensor], each_loss: Tensor, weights: Any
    ) -> dict[str, Any]:
        return {
            "average_loss": means.mean(each_loss, weights, name="average_loss"),
            "accuracy": means.accuracy(labels, predictions["class_ids"], weights, name="accuracy"),
        }


class BinaryClassHead(_ClassHead):
    """Two classes: one logit, the sigmoid and its cross entropy.

    ``thresholds`` (between 0 and 1) add the accuracy, precision and recall of deciding there.
    """

    _pr_summation = "careful_interpolation"

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = checked_thresholds(thresholds)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        logistic = sigmoid(logits, name="logistic")
        two = array.concat([array.zeros_like(logits), logits], -1, name="two_class_logits")
        probabilities = softmax(two, name="probabilities")
        ids = self._class_ids(two)
        every = self._all_classes(logits)
        return {
            "logits": logits,
            "logistic": logistic,
            "probabilities": probabilities,
            "class_ids": ids,
            "classes": self._classes(ids),
            **every,
        }

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=cast(labels, dtypes.float32), logits=logits)

    def metrics(
        self, labels: Tensor, predictions: dict[str, Tensor], each_loss: Tensor, weights: Any
    ) -> dict[str, Any]:
        logistic, ids = predictions["logistic"], predictions["class_ids"]
        label_mean = means.mean(labels, weights, name="label/mean")
        baseline = tuple(maximum(part, subtract(np.float32(1.0), part)) for part in label_mean)
        return {
            **at_thresholds(self._thresholds, labels, logistic, weights),
            "average_loss": means.mean(each_loss, weights, name="average_loss"),
            "accuracy": means.accuracy(labels, ids, weights, name="accuracy"),
            "precision": counts.precision(labels, ids, weights, name="precision"),
            "recall": counts.recall(labels, ids, weights, name="recall"),
            "prediction/mean": means.mean(logistic, weights, name="prediction/mean"),
            "label/mean": label_mean,
            "accuracy_baseline": baseline,
            "auc": thresholds.auc(labels, logistic, weights, name="auc"),
            "auc_precision_recall": thresholds.auc(
                labels,
                logistic,
                weights,
                curve="PR",
                name="auc_precision_recall",
                summation_method=self._pr_summation,
            ),
        }


class CannedBinaryHead(BinaryClassHead):
    """The one of canned estimators, which sums up the area under precision and recall plainly."""

    _pr_summation = "trapezoidal"


def class_head(
    num_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str
) -> Head:
    """The head for ``num_classes`` classes; raises `ValueError` for fewer than two."""
    if num_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {num_classes}.")
    if num_classes == 2:
        return CannedBinaryHead(weight_column, None, label_vocabulary, loss_reduction)
    return MultiClassHead(num_classes, weight_column, label_vocabulary, loss_reduction)
