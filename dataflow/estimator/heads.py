"""Heads: from logits to predictions, loss, metrics and what is exported."""

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
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.feature_column.base import Features
from dataflow.feature_column.numeric import NumericColumn
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.metrics import counts, means, thresholds
from dataflow.ops import array, lookup
from dataflow.ops.activation import softmax
from dataflow.ops.assertions import assert_greater_equal, assert_less_equal
from dataflow.ops.casts import cast
from dataflow.ops.graph_scopes import control_dependencies, name_scope
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.math import argmax, maximum, sigmoid, subtract
from dataflow.ops.string import as_string

_SERVING = "serving_default"


class Head:
    """Base: a batch of logits [batch, logits_dimension], labels and weights to an `EstimatorSpec`.

    Training sums the losses of a batch by default (``loss_reduction``); ``average_loss`` is the
    (weighted) mean over examples.
    """

    def __init__(self, logits_dimension: int, weight_column: Any, loss_reduction: str) -> None:
        losses.Reduction.validate(loss_reduction)
        if loss_reduction == losses.Reduction.NONE:
            raise ValueError("loss_reduction must not be NONE: training needs one number.")
        if weight_column is not None and not isinstance(weight_column, (str, NumericColumn)):
            raise TypeError(
                f"weight_column must be a name or a numeric column, got {weight_column}"
            )
        self.logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._reduction = loss_reduction

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        """What is predicted, by name."""
        raise NotImplementedError

    def checked_labels(self, labels: Any) -> Tensor:
        """The labels as the loss takes them."""
        raise NotImplementedError

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        """Each example's loss: [batch, 1]."""
        raise NotImplementedError

    def metrics(
        self, labels: Tensor, predictions: dict[str, Tensor], each_loss: Tensor, weights: Any
    ) -> dict[str, Any]:
        """Metric pairs by name."""
        raise NotImplementedError

    def export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        """Outputs of an exported model by signature."""
        raise NotImplementedError

    def _weights(self, features: Any) -> Any:
        """Weights [batch, 1] as float32, or 1.0."""
        column = self._weight_column
        if column is None:
            return 1.0
        if isinstance(column, NumericColumn):
            return column.numbers(Features(features))
        return cast(Features(features).raw(column), dtypes.float32)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Tensor,
        labels: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
    ) -> EstimatorSpec:
        """The spec; ``train_op_fn(loss)`` makes the training op."""
        with name_scope("head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(
                    mode, predictions, export_outputs=self.export_outputs(predictions)
                )
            if labels is None:
                raise ValueError(
                    "You must provide a labels Tensor: input_fn returned features alone. Return "
                    "(features, labels), or use predict()."
                )
            labels = self.checked_labels(labels)
            each_loss = self.losses(labels, logits)
            weights = self._weights(features)
            loss = losses.compute_weighted_loss(each_loss, weights, reduction=self._reduction)
            if mode == ModeKeys.EVAL:
                given = None if self._weight_column is None else weights
                return EstimatorSpec(
                    mode,
                    predictions,
                    loss,
                    eval_metric_ops=self.metrics(labels, predictions, each_loss, given),
                )
            if train_op_fn is None:
                raise ValueError("train_op_fn is needed for training.")
        return EstimatorSpec(mode, predictions, loss, train_op_fn(loss))


def _label_column(labels: Any, width: int) -> Tensor:
    """Labels as [batch, width]; raises `ValueError` for other shapes."""
    if isinstance(labels, dict):
        raise ValueError(
            f"labels must be a tensor, got a dict with the keys {sorted(labels)}: pick one."
        )
    labels = convert_to_tensor(labels)
    if labels.dims is not None and len(labels.dims) == 1:
        labels = array.expand_dims(labels, -1)
    if labels.dims is not None and labels.dims[-1] not in (width, None):
        raise ValueError(
            f"Mismatched label shape. Expected labels dimension={width}. Received "
            f"{labels.dims[-1]}. If your classifier expects one-hot encoding label, check your "
            "n_classes argument to the estimator and/or the shape of your label."
        )
    return labels  # type: ignore[no-any-return]


class _ClassHead(Head):
    def __init__(
        self,
        num_classes: int,
        logits_dimension: int,
        weight_column: Any,
        label_vocabulary: Any,
        loss_reduction: str,
    ) -> None:
        super().__init__(logits_dimension, weight_column, loss_reduction)
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
        labels = _label_column(labels, 1)
        if self._vocabulary is not None:
            if labels.dtype.base_dtype is not dtypes.string:
                raise ValueError(
                    f"Labels dtype should be string if there is a vocabulary. Instead got {labels}"
                )
            table = lookup.index_table_from_tensor(list(self._vocabulary), name="class_id_lookup")
            labels = table.lookup(labels)
        elif not labels.dtype.is_integer and not (
            isinstance(self, BinaryHead) and labels.dtype.is_floating
        ):
            raise ValueError(f"Labels dtype should be integer. Instead got {labels}")
        top = self._num_classes - 1
        if not labels.dtype.is_floating:
            labels = cast(labels, dtypes.int64)
        kind = labels.dtype.base_dtype
        with control_dependencies(
            [
                assert_less_equal(
                    labels, convert_to_tensor(top, kind), message="Labels must be <= n_classes - 1"
                ),
                assert_greater_equal(
                    labels, convert_to_tensor(0, kind), message="Labels must be >= 0"
                ),
            ]
        ):
            return array.identity(labels)

    def _classes(self, class_ids: Tensor) -> Tensor:
        if self._vocabulary is None:
            return as_string(class_ids, name="str_classes")
        table = lookup.index_to_string_table_from_tensor(
            list(self._vocabulary), name="class_string_lookup"
        )
        return table.lookup(class_ids)  # type: ignore[no-any-return]

    def _with_classes(self, logits: Tensor, scores: dict[str, Tensor], two: Tensor) -> Any:
        ids = array.expand_dims(argmax(two, -1), -1)
        batch = array.shape(logits)[0]
        every = array.range_(0, self._num_classes)
        names = (
            as_string(every)
            if self._vocabulary is None
            else convert_to_tensor(list(self._vocabulary), dtypes.string)
        )
        return {
            "logits": logits,
            **scores,
            "class_ids": ids,
            "classes": self._classes(ids),
            "all_class_ids": array.tile(array.expand_dims(every, 0), [batch, 1]),
            "all_classes": array.tile(array.expand_dims(names, 0), [batch, 1]),
        }

    def export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        classes = ClassificationOutput(
            scores=predictions["probabilities"], classes=predictions["all_classes"]
        )
        result = {
            _SERVING: classes,
            "classification": classes,
            "predict": PredictOutput(predictions),
        }
        if "logistic" in predictions:
            result["regression"] = RegressionOutput(predictions["logistic"])
        return result


class MultiClassHead(_ClassHead):
    """More than two exclusive classes: softmax and its cross entropy."""

    def __init__(
        self, num_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str
    ) -> None:
        if num_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {num_classes}.")
        super().__init__(num_classes, num_classes, weight_column, label_vocabulary, loss_reduction)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        probabilities = softmax(logits, name="probabilities")
        return self._with_classes(logits, {"probabilities": probabilities}, logits)  # type: ignore[no-any-return]

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


class BinaryHead(_ClassHead):
    """Two classes: one logit, the sigmoid and its cross entropy."""

    def __init__(self, weight_column: Any, label_vocabulary: Any, loss_reduction: str) -> None:
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        logistic = sigmoid(logits, name="logistic")
        two = array.concat([array.zeros_like(logits), logits], -1, name="two_class_logits")
        scores = {"logistic": logistic, "probabilities": softmax(two, name="probabilities")}
        return self._with_classes(logits, scores, two)  # type: ignore[no-any-return]

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=cast(labels, dtypes.float32), logits=logits)

    def metrics(
        self, labels: Tensor, predictions: dict[str, Tensor], each_loss: Tensor, weights: Any
    ) -> dict[str, Any]:
        logistic, ids = predictions["logistic"], predictions["class_ids"]
        label_mean = means.mean(labels, weights, name="label/mean")
        baseline = tuple(maximum(part, subtract(np.float32(1.0), part)) for part in label_mean)
        return {
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
                summation_method="careful_interpolation",
            ),
        }


class RegressionHead(Head):
    """Numbers: the squared error."""

    def __init__(self, label_dimension: int, weight_column: Any, loss_reduction: str) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"predictions": logits}

    def checked_labels(self, labels: Any) -> Tensor:
        labels = _label_column(labels, self.logits_dimension)
        if labels.dtype.base_dtype is dtypes.string:
            raise ValueError("Labels of a regressor must be numbers, got strings.")
        return cast(labels, dtypes.float32)  # type: ignore[no-any-return]

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return losses.mean_squared_error(
            labels, logits, loss_collection=None, reduction=losses.Reduction.NONE
        )

    def metrics(
        self, labels: Tensor, predictions: dict[str, Tensor], each_loss: Tensor, weights: Any
    ) -> dict[str, Any]:
        return {
            "average_loss": means.mean(each_loss, weights, name="average_loss"),
            "prediction/mean": means.mean(
                predictions["predictions"], weights, name="prediction/mean"
            ),
            "label/mean": means.mean(labels, weights, name="label/mean"),
        }

    def export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        value = RegressionOutput(predictions["predictions"])
        return {_SERVING: value, "regression": value, "predict": PredictOutput(predictions)}


def class_head(
    num_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str
) -> Head:
    """The head for ``num_classes`` classes; raises `ValueError` for fewer than two."""
    if num_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {num_classes}.")
    if num_classes == 2:
        return BinaryHead(weight_column, label_vocabulary, loss_reduction)
    return MultiClassHead(num_classes, weight_column, label_vocabulary, loss_reduction)
