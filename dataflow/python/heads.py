"""Names of ``tensorflow.python.estimator.canned.{head dnn optimizers}``: heads whose loss is a sum over the batch."""

from __future__ import annotations

from typing import Any

from dataflow.estimator.canned import activation_summaries, optimizer_instance
from dataflow.estimator.class_heads import CannedBinaryHead, MultiClassHead
from dataflow.estimator.heads import Head
from dataflow.estimator.multi_heads import MultiHead
from dataflow.estimator.regression_heads import RegressionHead
from dataflow.losses import Reduction
from dataflow.train.optimizer import Optimizer

__all__: list[str] = []

_Head = Head
_add_hidden_layer_summary = activation_summaries
_BinaryLogisticHeadWithSigmoidCrossEntropyLoss = CannedBinaryHead
_MultiClassHeadWithSoftmaxCrossEntropyLoss = MultiClassHead
_RegressionHeadWithMeanSquaredErrorLoss = RegressionHead
_MultiHead = MultiHead


def _binary_logistic_head_with_sigmoid_cross_entropy_loss(
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Any = None,
    name: str | None = None,
) -> CannedBinaryHead:
    """The head of two classes."""
    return CannedBinaryHead(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def _multi_class_head_with_softmax_cross_entropy_loss(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Any = None,
    name: str | None = None,
) -> MultiClassHead:
    """The head of more than two classes."""
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def _regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Any = None,
    inverse_link_fn: Any = None,
    name: str | None = None,
) -> RegressionHead:
    """The head of a regression."""
    return RegressionHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def get_optimizer_instance(opt: Any, learning_rate: float | None = None) -> Optimizer:
    """An optimizer by its name, from a function, or itself; `ValueError` for a name without a rate."""
    if isinstance(opt, str) and not learning_rate:
        raise ValueError("learning_rate must be specified when opt is string.")
    return optimizer_instance(opt, learning_rate or 0.0)
