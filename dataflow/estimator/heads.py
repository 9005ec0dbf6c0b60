"""Heads: from logits to predictions, loss, metrics and what is exported."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes, losses
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.feature_column.numeric import NumericColumn
from dataflow.feature_column.transformation import LazyBuilder
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics import means
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import add_n
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.summary import scalar
from dataflow.train.global_step import get_global_step

SERVING = "serving_default"


#: The same reductions as Keras calls them.
_KERAS_REDUCTIONS = {
    "sum_over_batch_size": losses.Reduction.SUM_OVER_BATCH_SIZE,
    "sum": losses.Reduction.SUM,
}


class HeadParts(NamedTuple):
    """What a head makes of logits."""

    predictions: dict[Any, Tensor]
    loss: Any
    metrics: dict[str, Any]
    #: Of a training whose loss is a sum: the (weighted) mean over examples, for a summary.
    mean_loss: Any = None


class Head:
    """Base: a batch of logits [batch, logits_dimension], labels and weights to an `EstimatorSpec`.

    Training sums the losses of a batch by default (``loss_reduction``); ``average_loss`` is the
    (weighted) mean over examples.
    """

    def __init__(
        self,
        logits_dimension: int,
        weight_column: Any,
        loss_reduction: str,
        loss_fn: Any = None,
        name: str | None = None,
    ) -> None:
        loss_reduction = _KERAS_REDUCTIONS.get(loss_reduction, loss_reduction)
        losses.Reduction.validate(loss_reduction)
        if loss_reduction == losses.Reduction.NONE:
            raise ValueError("loss_reduction must not be NONE: training needs one number.")
        if weight_column is not None and not isinstance(weight_column, (str, NumericColumn)):
            raise TypeError(
                f"weight_column must be a name or a numeric column, got {weight_column}"
            )
        self.logits_dimension = logits_dimension
        self.name = name
        self._weight_column = weight_column
        self._reduction = loss_reduction
        self._loss_names = _loss_fn_names(loss_fn)
        self._loss_fn = loss_fn

    @property
    def loss_reduction(self) -> str:
        """How the losses of a batch become one number, as `tf.losses.Reduction` calls it."""
        return self._reduction

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
        read = LazyBuilder(features).get(column)
        return read if isinstance(column, NumericColumn) else cast(read, dtypes.float32)

    def each_loss(self, labels: Tensor, logits: Tensor, features: Any) -> Tensor:
        """Each example's loss: the head's own, or what ``loss_fn`` says."""
        if self._loss_fn is None:
            return self.losses(labels, logits)
        given = {"features": features, "loss_reduction": self._reduction}
        extra = {name: given[name] for name in given if name in self._loss_names}
        result = convert_to_tensor(self._loss_fn(labels=labels, logits=logits, **extra))
        if result.dims is not None and len(result.dims) == 1:
            result = array.expand_dims(result, -1)
        return result

    def loss(
        self,
        labels: Any,
        logits: TensorLike,
        features: Any = None,
        mode: str | None = None,
        regularization_losses: Any = None,
    ) -> Tensor:
        """The loss of a batch, one number; raises `ValueError` for what does not fit."""
        logits = _checked_logits(logits, self.logits_dimension)
        each = self.each_loss(self.checked_labels(labels), logits, features)
        total = losses.compute_weighted_loss(
            each, self._weights(features), reduction=self._reduction
        )
        return add_n([total, *regularization_losses]) if regularization_losses else total

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: TensorLike,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:
        """The spec of a model with these logits.

        To train, give an ``optimizer`` (of `tf.train`; ``trainable_variables`` restricts it) or
        ``train_op_fn(loss)``. ``update_ops`` run with each step, ``regularization_losses`` are added
        to the loss. Raises `ValueError` where none, or both, are given.
        """
        with name_scope(self.name or "head"):
            parts = self.parts(features, mode, logits, labels)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(
                    mode, parts.predictions, export_outputs=self.export_outputs(parts.predictions)
                )
            loss, metrics = parts.loss, dict(parts.metrics)
            shown = {"average_loss": parts.mean_loss}
            if regularization_losses:
                extra = shown["regularization_loss"] = add_n(list(regularization_losses))
                loss = loss + extra
                metrics["regularization_loss"] = means.mean(extra, name="regularization_loss")
            if mode == ModeKeys.EVAL:
                return EstimatorSpec(mode, parts.predictions, loss, eval_metric_ops=metrics)
            with name_scope(""):
                for key, value in {"loss": loss, **shown}.items():
                    if value is not None:
                        scalar(f"{key}/{self.name}" if self.name else key, value)
        train_op = _train_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        return EstimatorSpec(mode, parts.predictions, loss, train_op)

    def parts(self, features: Any, mode: str, logits: TensorLike, labels: Any) -> HeadParts:
        """Predictions; but for PREDICT the loss too, and for EVAL the metrics."""
        logits = _checked_logits(logits, self.logits_dimension)
        with name_scope(None, "predictions"):
            predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return HeadParts(predictions, None, {})
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor: input_fn returned features alone. Return "
                "(features, labels), or use predict()."
            )
        labels = self.checked_labels(labels)
        each_loss = self.each_loss(labels, logits, features)
        weights = self._weights(features)
        loss = losses.compute_weighted_loss(each_loss, weights, reduction=self._reduction)
        if mode != ModeKeys.EVAL:
            mean = None
            if self._reduction == losses.Reduction.SUM:
                mean = loss / reduce_sum(weights * array.ones_like(each_loss))
            return HeadParts(predictions, loss, {}, mean)
        given = None if self._weight_column is None else weights
        metrics = self.metrics(labels, predictions, each_loss, given)
        if self.name:
            metrics = {f"{key}/{self.name}": pair for key, pair in metrics.items()}
        return HeadParts(predictions, loss, metrics)


def _loss_fn_names(loss_fn: Callable[..., Any] | None) -> frozenset[str]:
    """The names of its arguments; raises `ValueError` for ones that are missing or unknown."""
    if loss_fn is None:
        return frozenset()
    names = frozenset(inspect.signature(loss_fn).parameters)
    if not {"labels", "logits"} <= names:
        raise ValueError(f"loss_fn must contain arguments: labels, logits. Given: {sorted(names)}")
    unknown = sorted(names - {"labels", "logits", "features", "loss_reduction"})
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")
    return names


def _checked_logits(logits: Any, width: int) -> Tensor:
    logits = convert_to_tensor(logits)
    if logits.dims is not None and logits.dims[-1:] not in ((width,), (None,)):
        raise ValueError(
            f"logits shape must be [D0, D1, ... DN, logits_dimension={width}], got {logits.shape}"
        )
    return logits  # type: ignore[no-any-return]


def _train_op(
    loss: TensorLike, optimizer: Any, variables: Any, train_op_fn: Any, update_ops: Any
) -> Any:
    if optimizer is not None and train_op_fn is not None:
        raise ValueError("train_op_fn and optimizer cannot both be set.")
    if optimizer is None and train_op_fn is None:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    if train_op_fn is not None:
        train_op = train_op_fn(loss)
    else:
        train_op = optimizer.minimize(loss, global_step=get_global_step(), var_list=variables)
    return group(train_op, *update_ops) if update_ops else train_op


def label_column(labels: Any, width: int) -> Tensor:
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
