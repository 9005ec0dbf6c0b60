"""Names of ``tensorflow.python.estimator``: keys of metrics and predictions, functions that tests of estimators call."""

from __future__ import annotations

from typing import Any

from dataflow.errors import OpError
from dataflow.estimator.logit_functions import dnn_logit_fn_builder, linear_logit_fn_builder
from dataflow.graph.collections import GraphKeys
from dataflow.train.checkpoint_management import load_variable

__all__ = ["AVERAGE_LOSS_METRIC_KEY", "LOSS_METRIC_KEY", "MetricKeys", "PredictionKeys"]

LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"

_dnn_logit_fn_builder = dnn_logit_fn_builder
_linear_logit_fn_builder = linear_logit_fn_builder


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
