"""``tf.contrib.estimator``: the heads under their older names, and `add_metrics`."""

from __future__ import annotations

from typing import Any

from dataflow.estimator.class_heads import BinaryClassHead, MultiClassHead
from dataflow.estimator.head_estimators import (
    DNNEstimator,
    DNNLinearCombinedEstimator,
    LinearEstimator,
    add_metrics,
)
from dataflow.estimator.multi_heads import MultiHead, MultiLabelHead
from dataflow.estimator.regression_heads import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from dataflow.losses import Reduction
from dataflow.namespaces import explain_absent

__all__ = [
    "DNNEstimator",
    "DNNLinearCombinedEstimator",
    "LinearEstimator",
    "add_metrics",
    "binary_classification_head",
    "logistic_regression_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "poisson_regression_head",
    "regression_head",
]

binary_classification_head = BinaryClassHead
logistic_regression_head = LogisticRegressionHead
multi_class_head = MultiClassHead
multi_head = MultiHead
multi_label_head = MultiLabelHead


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn: Any = None,
    inverse_link_fn: Any = None,
    name: str | None = None,
) -> RegressionHead:
    """`tf.estimator.RegressionHead`; the weight column comes first here."""
    return RegressionHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> PoissonRegressionHead:
    """`tf.estimator.PoissonRegressionHead`; the weight column comes first here."""
    return PoissonRegressionHead(
        label_dimension, weight_column, loss_reduction, compute_full_loss, name
    )


__getattr__ = explain_absent(__name__)
