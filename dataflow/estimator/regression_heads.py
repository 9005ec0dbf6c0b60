"""Heads that predict numbers: plain, logistic and Poisson regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes, losses
from dataflow.estimator.export_outputs import PredictOutput, RegressionOutput
from dataflow.estimator.heads import SERVING, Head, label_column
from dataflow.estimator.label_checks import check_labels
from dataflow.graph.tensor import Tensor
from dataflow.metrics import means
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal, less_equal
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.loss import log_poisson_loss, sigmoid_cross_entropy_with_logits
from dataflow.ops.math import exp, sigmoid


class RegressionHead(Head):
    """Numbers: the squared error.

    ``inverse_link_fn`` makes predictions of the logits (`tf.exp` where the logarithm is modelled).
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._inverse_link_fn = inverse_link_fn

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        if self._inverse_link_fn is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link_fn(logits), "logits": logits}

    def checked_labels(self, labels: Any) -> Tensor:
        labels = label_column(labels, self.logits_dimension)
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
        return {SERVING: value, "regression": value, "predict": PredictOutput(predictions)}


class LogisticRegressionHead(RegressionHead):
    """Probabilities: labels in [0, 1], the sigmoid and its cross entropy."""

    def __init__(
        self,
        weight_column: Any = None,
        loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, inverse_link_fn=sigmoid, name=name)

    def checked_labels(self, labels: Any) -> Tensor:
        labels = super().checked_labels(labels)
        with control_dependencies(
            [
                check_labels(labels, less_equal(labels, np.float32(1)), "Labels must be <= 1"),
                check_labels(labels, greater_equal(labels, np.float32(0)), "Labels must be >= 0"),
            ]
        ):
            return array.identity(labels)

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


class PoissonRegressionHead(RegressionHead):
    """Counts: the logits are the logarithm of a Poisson rate.

    ``compute_full_loss`` adds the part of the loss that only depends on the labels.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(
            label_dimension, weight_column, loss_reduction, inverse_link_fn=exp, name=name
        )
        self._compute_full_loss = compute_full_loss

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return log_poisson_loss(
            targets=labels, log_input=logits, compute_full_loss=self._compute_full_loss
        )
