"""Heads of `tf.contrib.learn`: regression, two classes, several, many at once, and several heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.contrib.learn import head_losses
from dataflow.contrib.learn.head_parts import Head, SingleHead, no_op_train_fn
from dataflow.contrib.learn.keys import MetricKey, ProblemType
from dataflow.contrib.learn.multi_head import loss_only_head, multi_head
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.graph.tensor import Tensor
from dataflow.metrics.counts import precision, recall
from dataflow.metrics.means import accuracy, mean
from dataflow.metrics.thresholds import auc
from dataflow.ops.activation import softmax
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater
from dataflow.ops.concat_split import concat
from dataflow.ops.elementary import exp, sigmoid
from dataflow.ops.fills import zeros_like
from dataflow.ops.gather_scatter import one_hot
from dataflow.ops.reduce import argmax
from dataflow.ops.reshape import expand_dims, reshape, squeeze
from dataflow.ops.shape import shape
from dataflow.ops.sources import constant
from dataflow.ops.sparse_reshape import sparse_to_indicator
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.tile import tile
from dataflow.ops.vocabulary_tables import (
    index_table_from_tensor,
    index_to_string_table_from_tensor,
)

__all__ = [
    "Head",
    "binary_svm_head",
    "loss_only_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "no_op_train_fn",
    "poisson_regression_head",
    "regression_head",
]

#: The class of an example as an id, where `CLASSES` are names.
_CLASS_ID = "_class_id"


class _RegressionHead(SingleHead):
    default_name = "regression_head"
    problem_type = ProblemType.LINEAR_REGRESSION
    loss = staticmethod(head_losses.mean_squared)
    link_fn: Callable[..., Any] | None = None

    def predictions_of(self, logits: Tensor) -> dict[str, Any]:
        if self.logits_dimension == 1:
            logits = squeeze(logits, [1])
        return {PredictionKey.SCORES: logits if self.link_fn is None else self.link_fn(logits)}


class _PoissonHead(_RegressionHead):
    default_name = "poisson_regression_head"
    loss = staticmethod(head_losses.poisson)
    link_fn = staticmethod(exp)


class _ClassHead(SingleHead):
    """A head of classes, with metrics for some of them."""

    num_classes: int
    metric_class_ids: Sequence[int] = ()
    label_keys: Sequence[Any] | None = None

    def exported(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Probabilities, and for each example the names of all classes."""
        probabilities = predictions[PredictionKey.PROBABILITIES]
        names = self.label_keys or [str(i) for i in range(self.num_classes)]
        row = expand_dims(constant([*names]), 0)
        return {
            PredictionKey.PROBABILITIES: probabilities,
            PredictionKey.CLASSES: tile(row, [shape(probabilities)[0], 1]),
        }

    def _class_metrics(
        self, predictions: dict[str, Any], labels: Tensor, chosen: Tensor, weights: Any
    ) -> dict[str, Any]:
        """Means of the classes that were asked for; ``labels`` and ``chosen`` are [batch, classes]."""
        named = {
            MetricKey.CLASS_PROBABILITY_MEAN: predictions[PredictionKey.PROBABILITIES],
            MetricKey.CLASS_LOGITS_MEAN: predictions[PredictionKey.LOGITS],
            MetricKey.CLASS_PREDICTION_MEAN: chosen,
            MetricKey.CLASS_LABEL_MEAN: labels,
        }
        found = {}
        for i in self.metric_class_ids:
            own = _of_class(weights, i, self.num_classes)
            for key, values in named.items():
                found[key % i] = mean(cast(values[:, i : i + 1], dtypes.float32), own)
        return found


def _of_class(weights: Any, i: int, num_classes: int) -> Any:
    """The weights of one class; a column holds for each."""
    if weights is None or weights.shape.ndims != 2 or weights.shape.dims[1].value != num_classes:
        return weights
    return weights[:, i : i + 1]


class _BinaryHead(_ClassHead):
    default_name = "binary_logistic_head"
    problem_type = ProblemType.LOGISTIC_REGRESSION
    loss = staticmethod(head_losses.two_classes)
    num_classes = 2
    thresholds: Sequence[float] = (0.5,)

    def predictions_of(self, logits: Tensor) -> dict[str, Any]:
        both = concat([zeros_like(logits), logits], 1)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.LOGISTIC: sigmoid(logits, name=PredictionKey.LOGISTIC),
            PredictionKey.PROBABILITIES: softmax(both, name=PredictionKey.PROBABILITIES),
            PredictionKey.CLASSES: argmax(both, 1, name=PredictionKey.CLASSES),
        }

    def metrics_of(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        labels = head_losses.as_column(labels)
        column = reshape(predictions[PredictionKey.CLASSES], [-1, 1])
        logistic = predictions[PredictionKey.LOGISTIC]
        truth = cast(labels, dtypes.float32)
        found = {
            MetricKey.ACCURACY: accuracy(labels, column, weights),
            MetricKey.PREDICTION_MEAN: mean(logistic, weights),
            MetricKey.LABEL_MEAN: mean(truth, weights),
            MetricKey.ACCURACY_BASELINE: mean(truth, weights),
            MetricKey.AUC: auc(cast(labels, dtypes.bool_), logistic, weights),
            MetricKey.AUC_PR: auc(cast(labels, dtypes.bool_), logistic, weights, curve="PR"),
        }
        for threshold in self.thresholds:
            beyond = cast(greater(logistic, threshold), dtypes.float32)
            found[MetricKey.ACCURACY_MEAN % threshold] = accuracy(truth, beyond, weights)
            found[MetricKey.PRECISION_MEAN % threshold] = precision(truth, beyond, weights)
            found[MetricKey.RECALL_MEAN % threshold] = recall(truth, beyond, weights)
        return found


class _SvmHead(SingleHead):
    default_name = "binary_svm_head"
    problem_type = ProblemType.LOGISTIC_REGRESSION
    loss = staticmethod(head_losses.hinge)

    def predictions_of(self, logits: Tensor) -> dict[str, Any]:
        both = concat([zeros_like(logits), logits], 1)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.CLASSES: argmax(both, 1, name=PredictionKey.CLASSES),
        }

    def metrics_of(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        column = reshape(predictions[PredictionKey.CLASSES], [-1, 1])
        return {MetricKey.ACCURACY: accuracy(head_losses.as_column(labels), column, weights)}


class _MultiClassHead(_ClassHead):
    default_name = "multi_class_head"
    problem_type = ProblemType.CLASSIFICATION
    loss = staticmethod(head_losses.classes)

    def transformed(self, labels: Any) -> Any:
        """Ids: names are looked up in ``label_keys``."""
        labels = super().transformed(labels)
        if self.label_keys is not None:
            labels = index_table_from_tensor(self.label_keys).lookup(labels)
        return labels

    def predictions_of(self, logits: Tensor) -> dict[str, Any]:
        ids = argmax(logits, 1)
        named = ids
        if self.label_keys is not None:
            table = index_to_string_table_from_tensor(self.label_keys)
            named = table.lookup(ids)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: softmax(logits, name=PredictionKey.PROBABILITIES),
            PredictionKey.CLASSES: named,
            _CLASS_ID: ids,
        }

    def public(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in predictions.items() if key != _CLASS_ID}

    def metrics_of(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        column = reshape(predictions[_CLASS_ID], [-1, 1])
        labels = head_losses.as_column(labels)
        found = {MetricKey.ACCURACY: accuracy(labels, column, weights)}
        if self.metric_class_ids:
            truth = one_hot(reshape(labels, [-1]), self.num_classes)
            chosen = one_hot(predictions[_CLASS_ID], self.num_classes)
            found.update(self._class_metrics(predictions, truth, chosen, weights))
        return found


class _MultiLabelHead(_ClassHead):
    default_name = "multi_label_head"
    problem_type = ProblemType.CLASSIFICATION
    loss = staticmethod(head_losses.each_class)

    def transformed(self, labels: Any) -> Any:
        """Sparse ids of classes [batch, n] become 0 and 1 for each class."""
        if not isinstance(labels, SparseTensor):
            return labels
        if self.logits_dimension < 2:
            raise ValueError("Must set num_classes >= 2 when passing labels as a SparseTensor.")
        return cast(sparse_to_indicator(labels, self.logits_dimension), dtypes.int64)

    def predictions_of(self, logits: Tensor) -> dict[str, Any]:
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: sigmoid(logits, name=PredictionKey.PROBABILITIES),
            PredictionKey.CLASSES: cast(greater(logits, 0), dtypes.int64, PredictionKey.CLASSES),
        }

    def metrics_of(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        chosen = predictions[PredictionKey.CLASSES]
        truth = cast(labels, dtypes.bool_)
        scores = predictions[PredictionKey.PROBABILITIES]
        found = {
            MetricKey.ACCURACY: accuracy(cast(labels, dtypes.int64), chosen, weights),
            MetricKey.AUC: auc(truth, scores, weights),
            MetricKey.AUC_PR: auc(truth, scores, weights, curve="PR"),
        }
        for i in self.metric_class_ids:
            own = _of_class(weights, i, self.num_classes)
            column, score = truth[:, i : i + 1], scores[:, i : i + 1]
            found[MetricKey.CLASS_AUC % i] = auc(column, score, own)
            found[MetricKey.CLASS_AUC_PR % i] = auc(column, score, own, curve="PR")
        found.update(self._class_metrics(predictions, labels, chosen, weights))
        return found


def _with_loss(head: SingleHead, loss_fn: Callable[..., Any] | None) -> SingleHead:
    if loss_fn is not None:
        head.loss = head_losses.custom(loss_fn)
    return head


def regression_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    link_fn: Callable[..., Any] | None = None,
) -> Head:
    """Squared error; ``link_fn`` makes the predictions of the logits."""
    head = _RegressionHead(
        label_dimension, label_name, weight_column_name, enable_centered_bias, head_name
    )
    if link_fn is not None:
        head.link_fn = link_fn
    return head


def poisson_regression_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
) -> Head:
    """Counts, whose rates are exp(logits)."""
    return _PoissonHead(
        label_dimension, label_name, weight_column_name, enable_centered_bias, head_name
    )


def multi_class_head(
    n_classes: int,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Any = None,
    metric_class_ids: Any = None,
    loss_fn: Callable[..., Any] | None = None,
    label_keys: Any = None,
) -> Head:
    """Classes that exclude each other: two have one logit, more one each.

    ``label_keys``: the names of the classes, where labels are names. Raises `ValueError` for fewer
    than two classes, and for arguments that do not belong to their number.
    """
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    common = (label_name, weight_column_name, enable_centered_bias, head_name)
    if n_classes == 2:
        if metric_class_ids:
            raise ValueError("metric_class_ids invalid for n_classes==2.")
        if label_keys:
            raise ValueError("label_keys is not supported for n_classes=2.")
        binary = _BinaryHead(1, *common)
        binary.thresholds = tuple(thresholds) if thresholds else (0.5,)
        return _with_loss(binary, loss_fn)
    if thresholds:
        raise ValueError("thresholds only supported for n_classes=2.")
    if label_keys and len(label_keys) != n_classes:
        raise ValueError(
            f"Length of label_keys must equal n_classes: {len(label_keys)} and {n_classes}."
        )
    head = _MultiClassHead(n_classes, *common)
    _set_classes(head, n_classes, metric_class_ids)
    head.label_keys = list(label_keys) if label_keys else None
    return _with_loss(head, loss_fn)


def multi_label_head(
    n_classes: int,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Any = None,
    metric_class_ids: Any = None,
    loss_fn: Callable[..., Any] | None = None,
) -> Head:
    """Classes of which several may hold: labels 0 and 1 of each, [batch, n_classes], or sparse ids.

    Raises `ValueError` for fewer than two classes.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    common = (label_name, weight_column_name, enable_centered_bias, head_name)
    head = _MultiLabelHead(n_classes, *common)
    _set_classes(head, n_classes, metric_class_ids)
    return _with_loss(head, loss_fn)


def _set_classes(head: _ClassHead, n_classes: int, ids: Any) -> None:
    head.num_classes = n_classes
    head.metric_class_ids = tuple(ids or ())
    for i in head.metric_class_ids:
        if not 0 <= i < n_classes:
            raise ValueError(f"Class ID {i} not in [0, {n_classes}).")


def binary_svm_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Any = None,
) -> Head:
    """Two classes with the hinge loss."""
    return _SvmHead(1, label_name, weight_column_name, enable_centered_bias, head_name)


_multi_class_head = multi_class_head
