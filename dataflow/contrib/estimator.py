"""``tf.contrib.estimator``: heads under their older names, early stopping, and what changes an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.estimator.class_heads import CannedBinaryHead, MultiClassHead
from dataflow.estimator.early_stopping import (
    make_early_stopping_hook,
    make_stop_at_checkpoint_step_hook,
    read_eval_metrics,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from dataflow.estimator.extenders import clip_gradients_by_norm, forward_features
from dataflow.estimator.head_estimators import (
    DNNEstimator,
    DNNLinearCombinedEstimator,
    LinearEstimator,
    add_metrics,
)
from dataflow.estimator.in_memory_evaluator import InMemoryEvaluatorHook
from dataflow.estimator.logit_functions import (
    call_logit_fn,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
)
from dataflow.estimator.multi_heads import MultiHead, MultiLabelHead
from dataflow.estimator.recurrent import RNNClassifier, RNNEstimator
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
    "InMemoryEvaluatorHook",
    "LinearEstimator",
    "RNNClassifier",
    "RNNEstimator",
    "add_metrics",
    "binary_classification_head",
    "call_logit_fn",
    "clip_gradients_by_norm",
    "dnn_logit_fn_builder",
    "forward_features",
    "linear_logit_fn_builder",
    "logistic_regression_head",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "poisson_regression_head",
    "read_eval_metrics",
    "regression_head",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]

binary_classification_head = CannedBinaryHead
logistic_regression_head = LogisticRegressionHead
multi_class_head = MultiClassHead
multi_head = MultiHead
multi_label_head = MultiLabelHead


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
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
