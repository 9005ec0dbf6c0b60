"""What the labels of contrib's first estimators were described by: `regression_target`, `multi_class_target`.

A target column turns logits into predictions, and logits and labels into losses and metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.contrib import metrics
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.math import argmax, sigmoid
from dataflow.nn import softmax
from dataflow.ops import array
from dataflow.ops.arithmetic import multiply, squared_difference
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.reduce import reduce_mean, reduce_sum


class TargetColumn:
    """Labels of one kind: their loss, how many logits an example has, their weights."""

    def __init__(
        self,
        loss_fn: Callable[[Any, Any], Tensor],
        num_label_columns: int,
        label_name: str | None,
        weight_column_name: str | None,
        problem_type: int,
    ) -> None:
        if not num_label_columns:
            raise ValueError("num_label_columns must be positive.")
        self._loss_fn = loss_fn
        self.num_label_columns = num_label_columns
        self.label_name = label_name
        self.weight_column_name = weight_column_name
        self.problem_type = problem_type

    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        """What the logits predict; with ``proba`` probabilities."""
        raise NotImplementedError

    def get_weight_tensor(self, features: Any) -> Tensor | None:
        """The weights [batch], float32, of the feature ``weight_column_name``; None where there are none."""
        if not self.weight_column_name:
            return None
        return array.reshape(cast(features[self.weight_column_name], dtypes.float32), [-1])

    def _labels(self, target: Any) -> Any:
        return target[self.label_name] if isinstance(target, dict) else target

    def training_loss(self, logits: Any, target: Any, features: Any, name: str = "loss") -> Tensor:
        """What is minimized: the mean of the weighted losses of the examples; a scalar."""
        losses = self._losses(logits, target)
        weights = self.get_weight_tensor(features)
        if weights is None:
            weights = array.ones_like(losses)
        mean: Tensor = reduce_mean(self._weighted(losses, weights), name=name)
        return mean

    def loss(self, logits: Any, target: Any, features: Any) -> Tensor:
        """The sum of the weighted losses divided by that of the weights; a scalar."""
        losses = self._losses(logits, target)
        weights = self.get_weight_tensor(features)
        if weights is None:
            weights = array.ones_like(losses)
        mean: Tensor = reduce_sum(self._weighted(losses, weights)) / cast(
            reduce_sum(weights), dtypes.float32
        )
        return mean

    def _losses(self, logits: Any, target: Any) -> Tensor:
        return self._loss_fn(logits, self._labels(target))

    def _weighted(self, losses: Tensor, weights: Tensor) -> Tensor:
        found: Tensor = multiply(array.reshape(losses, [-1]), array.reshape(weights, [-1]))
        return found

    def get_eval_ops(
        self,
        features: Any,
        logits: Any,
        labels: Any,
        metrics: dict[Any, Callable[..., Any]] | None = None,
    ) -> dict[str, Any]:
        """A dict of metrics, name -> (value, update): the loss, the kind's own, and those given.

        ``metrics``: name -> function of (predictions, labels); of classes under (name, "classes") or
        (name, "probabilities").
        """
        raise NotImplementedError

    def _one_prediction(
        self, features: Any, logits: Any, labels: Any, metrics: Any
    ) -> dict[str, Any]:
        found = {"loss": _mean(self.loss(logits, labels, features))}
        predictions, weights = self.logits_to_predictions(logits), self.get_weight_tensor(features)
        for name, metric in (metrics or {}).items():
            found[name] = _run(metric, predictions, self._labels(labels), weights)
        return found


class _Regression(TargetColumn):
    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        return array.squeeze(logits, [1]) if self.num_label_columns == 1 else logits

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        return self._one_prediction(features, logits, labels, metrics)


class _MultiClass(TargetColumn):
    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        if self.num_label_columns == 1:
            logits = array.concat([array.zeros_like(logits), logits], 1)
        return softmax(logits) if proba else argmax(logits, 1)

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        found = {"loss": _mean(self.loss(logits, labels, features))}
        wanted = {"classes": self.logits_to_predictions(logits)}
        wanted["probabilities"] = self.logits_to_predictions(logits, proba=True)
        labels, weights = self._labels(labels), self.get_weight_tensor(features)
        own = {} if metrics is not None else self._own_metrics(logits, labels, weights)
        found.update(own)
        for key, metric in (metrics or {}).items():
            if not isinstance(key, tuple):
                name, what = key, "classes"
            elif len(key) == 2:
                name, what = key
            else:
                raise ValueError(
                    f"Ignoring metric {key}. It returned a tuple with len {len(key)}, expected 2."
                )
            if what not in wanted:
                raise ValueError(f"Metric {name!r} is of {what!r}, not of one of {list(wanted)}.")
            found[name] = _run(metric, wanted[what], labels, weights)
        return found

    def _own_metrics(self, logits: Any, labels: Any, weights: Any) -> dict[str, Any]:
        classes = self.logits_to_predictions(logits)
        found = {"accuracy": _run(metrics.streaming_accuracy, classes, labels, weights)}
        if self.num_label_columns == 1:
            found.update(_binary_metrics(sigmoid(logits), labels))
        return found


class _BinarySvm(_MultiClass):
    def logits_to_predictions(self, logits: Tensor, proba: bool = False) -> Tensor:
        if proba:
            raise ValueError("A support vector machine has no probabilities: use the classes.")
        both = array.concat([array.zeros_like(logits), logits], 1)
        return argmax(both, 1)

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        return self._one_prediction(features, logits, labels, metrics)


def _mean(value: Tensor) -> Any:
    return metrics.streaming_mean(value)


def _run(metric: Callable[..., Any], predictions: Any, labels: Any, weights: Any) -> Any:
    if weights is None:
        return metric(predictions, labels)
    return metric(predictions, labels, weights=array.reshape(weights, array.shape(labels)))


def _binary_metrics(predictions: Tensor, labels: Any) -> dict[str, Any]:
    """The means of labels and predictions, AUC, and what a threshold of 0.5 gives.

    As in TensorFlow, the examples' weights are not theirs.
    """
    at = "threshold_0.500000_mean"
    cut = cast(greater_equal(predictions, 0.5), dtypes.float32)
    labels = array.reshape(cast(labels, dtypes.float32), array.shape(predictions))
    return {
        "labels/prediction_mean": metrics.streaming_mean(predictions),
        "labels/actual_target_mean": metrics.streaming_mean(labels),
        "accuracy/baseline_target_mean": metrics.streaming_mean(labels),
        "auc": metrics.streaming_auc(predictions, labels),
        f"accuracy/{at}": metrics.streaming_accuracy(cut, labels),
        f"precision/positive_{at}": metrics.streaming_precision_at_thresholds(
            predictions, labels, [0.5]
        ),
        f"recall/positive_{at}": metrics.streaming_recall_at_thresholds(predictions, labels, [0.5]),
    }


def _as_column(values: Any) -> Tensor:
    """[batch] -> [batch, 1]."""
    values = convert_to_tensor(values)
    return array.expand_dims(values, 1) if values.shape.ndims == 1 else values


def _squared(logits: Any, labels: Any) -> Tensor:
    logits = _as_column(logits)
    labels = cast(_as_column(labels), logits.dtype)
    found: Tensor = squared_difference(logits, labels)
    return found


def _log_loss(logits: Any, labels: Any) -> Tensor:
    labels = cast(_as_column(labels), dtypes.float32)
    return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def _softmax_loss(logits: Any, labels: Any) -> Tensor:
    if labels.shape.ndims == 2:
        labels = array.squeeze(labels, [1])
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _hinge(logits: Any, labels: Any) -> Tensor:
    from dataflow import losses

    labels = _as_column(labels)
    found: Tensor = losses.hinge_loss(labels, logits, reduction=losses.Reduction.NONE)
    return found


def _problems() -> Any:
    # contrib.learn has estimators that are made of target columns.
    from dataflow.contrib.learn.keys import ProblemType

    return ProblemType


def regression_target(
    label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1
) -> TargetColumn:
    """Numbers, ``label_dimension`` for each example; the loss is the squared difference."""
    kind = _problems().LINEAR_REGRESSION
    return _Regression(_squared, label_dimension, label_name, weight_column_name, kind)


def multi_class_target(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None
) -> TargetColumn:
    """Classes, ids below ``n_classes``: one logit and the logistic loss for two, else softmax.

    Raises `ValueError` for fewer than two classes.
    """
    if n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification, got {n_classes}.")
    if n_classes == 2:
        kind = _problems().LOGISTIC_REGRESSION
        return _MultiClass(_log_loss, 1, label_name, weight_column_name, kind)
    kind = _problems().CLASSIFICATION
    return _MultiClass(_softmax_loss, n_classes, label_name, weight_column_name, kind)


def binary_svm_target(
    label_name: str | None = None, weight_column_name: str | None = None
) -> TargetColumn:
    """Classes 0 and 1 of a support vector machine: one logit and the hinge loss."""
    kind = _problems().LOGISTIC_REGRESSION
    return _BinarySvm(_hinge, 1, label_name, weight_column_name, kind)
