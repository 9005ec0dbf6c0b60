"""Names of ``tensorflow.python.estimator``: keys of metrics and predictions, functions that tests of estimators call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.errors import OpError
from dataflow.estimator import canned
from dataflow.estimator.evaluations import write_results
from dataflow.estimator.logit_functions import dnn_logit_fn_builder, linear_logit_fn_builder
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.estimator.tpu import TPUEstimatorSpec
from dataflow.graph.collections import GraphKeys
from dataflow.ops.activation import relu
from dataflow.train.checkpoint_management import load_variable

__all__ = ["AVERAGE_LOSS_METRIC_KEY", "LOSS_METRIC_KEY", "MetricKeys", "PredictionKeys"]

LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"

_dnn_logit_fn_builder = dnn_logit_fn_builder
_linear_logit_fn_builder = linear_logit_fn_builder
_TPUEstimatorSpec = TPUEstimatorSpec


def _write_dict_to_summary(output_dir: str, dictionary: Any, current_global_step: int) -> None:
    write_results(output_dir, {**dictionary, GraphKeys.GLOBAL_STEP: current_global_step})


class MetricKeys:
    """What metrics of estimators are called in the results of ``evaluate``."""

    LOSS = LOSS_METRIC_KEY
    LOSS_MEAN = AVERAGE_LOSS_METRIC_KEY
    LOSS_REGULARIZATION = "regularization_loss"

    ACCURACY = "accuracy"
    PRECISION = "precision"
    RECALL = "recall"
    ACCURACY_BASELINE = "accuracy_baseline"
    AUC = "auc"
    AUC_PR = "auc_precision_recall"
    LABEL_MEAN = "label/mean"
    PREDICTION_MEAN = "prediction/mean"

    ACCURACY_AT_THRESHOLD = "accuracy/positive_threshold_%g"
    PRECISION_AT_THRESHOLD = "precision/positive_threshold_%g"
    RECALL_AT_THRESHOLD = "recall/positive_threshold_%g"

    PROBABILITY_MEAN_AT_CLASS = "probability_mean/class%d"
    AUC_AT_CLASS = "auc/class%d"
    AUC_PR_AT_CLASS = "auc_precision_recall/class%d"

    PROBABILITY_MEAN_AT_NAME = "probability_mean/%s"
    AUC_AT_NAME = "auc/%s"
    AUC_PR_AT_NAME = "auc_precision_recall/%s"


class PredictionKeys:
    """What predictions of estimators are called in the results of ``predict``."""

    CLASSES = "classes"
    CLASS_IDS = "class_ids"
    ALL_CLASSES = "all_classes"
    ALL_CLASS_IDS = "all_class_ids"
    LOGISTIC = "logistic"
    LOGITS = "logits"
    PREDICTIONS = "predictions"
    PROBABILITIES = "probabilities"
    TOP_K = "top_k"


def _load_global_step_from_checkpoint_dir(checkpoint_dir: Any) -> Any:
    """The global step of the latest checkpoint in a folder, 0 where there is none."""
    try:
        return load_variable(checkpoint_dir, GraphKeys.GLOBAL_STEP)
    except (OpError, ValueError):
        return 0


def _dnn_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Any,
    hidden_units: Any,
    feature_columns: Sequence[Any],
    optimizer: Any = "Adagrad",
    activation_fn: Callable[..., Any] = relu,
    dropout: Any = None,
    input_layer_partitioner: Any = None,
    config: Any = None,
    use_tpu: bool = False,
    batch_norm: bool = False,
) -> EstimatorSpec:
    """The ``model_fn`` of `DNNClassifier` and its kin."""
    return canned.dnn_model_fn(
        features, labels, mode, head, hidden_units, feature_columns, optimizer, activation_fn,
        dropout, batch_norm, input_layer_partitioner, config,
    )  # fmt: skip


def _linear_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Any,
    feature_columns: Sequence[Any],
    optimizer: Any,
    partitioner: Any,
    config: Any,
    use_tpu: bool = False,
    sparse_combiner: str = "sum",
) -> EstimatorSpec:
    """The ``model_fn`` of `LinearClassifier` and its kin."""
    return canned.linear_model_fn(
        features,
        labels,
        mode,
        head,
        feature_columns,
        optimizer,
        partitioner,
        sparse_combiner,
        config,
    )


def _dnn_linear_combined_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Any,
    linear_feature_columns: Any = None,
    linear_optimizer: Any = "Ftrl",
    dnn_feature_columns: Any = None,
    dnn_optimizer: Any = "Adagrad",
    dnn_hidden_units: Any = None,
    dnn_activation_fn: Callable[..., Any] = relu,
    dnn_dropout: Any = None,
    input_layer_partitioner: Any = None,
    config: Any = None,
    batch_norm: bool = False,
    linear_sparse_combiner: str = "sum",
) -> EstimatorSpec:
    """The ``model_fn`` of `DNNLinearCombinedClassifier` and its kin."""
    return canned.combined_model_fn(
        features, labels, mode, head, linear_feature_columns, linear_optimizer, linear_sparse_combiner,
        dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
        batch_norm, input_layer_partitioner, config,
    )  # fmt: skip


_compute_fraction_of_zero = canned.fraction_of_zeros
