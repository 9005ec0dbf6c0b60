"""``tf.contrib.learn``: the estimators before `tf.estimator`, with fit(x, y), and experiments."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib.learn import datasets, learn_runner, models, monitors, preprocessing
from dataflow.contrib.learn.canned import (
    DNNClassifier,
    DNNLinearCombinedClassifier,
    DNNLinearCombinedRegressor,
    DNNRegressor,
    LinearClassifier,
    LinearRegressor,
)
from dataflow.contrib.learn.estimator import (
    Estimator,
    ModelFnOps,
    RunConfig,
    SKCompat,
    infer_real_valued_columns_from_input,
    infer_real_valued_columns_from_input_fn,
)
from dataflow.contrib.learn.experiment import Experiment
from dataflow.contrib.learn.kmeans import KMeansClustering
from dataflow.contrib.learn.metric_spec import MetricSpec
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.logging_monitors import LoggingTrainable, PrintTensor
from dataflow.contrib.learn.monitors import StopAtStep
from dataflow.contrib.learn.validation_monitor import ValidationMonitor
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.contrib.learn.step_monitors import (
    BaseMonitor,
    CaptureVariable,
    CheckpointSaver,
    GraphDump,
    NanLoss,
    StepCounter,
    SummarySaver,
)
from dataflow.estimator.cluster_task import TaskType
from dataflow.summary import FileWriterCache as SummaryWriterCache
from dataflow.train.hooks import NanLossDuringTrainingError

__all__ = [
    "BaseMonitor",
    "CaptureVariable",
    "CheckpointSaver",
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "Experiment",
    "GraphDump",
    "KMeansClustering",
    "LinearClassifier",
    "LinearRegressor",
    "LoggingTrainable",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "NanLoss",
    "NanLossDuringTrainingError",
    "PredictionKey",
    "PrintTensor",
    "RunConfig",
    "SKCompat",
    "StepCounter",
    "StopAtStep",
    "SummarySaver",
    "SummaryWriterCache",
    "TaskType",
    "ValidationMonitor",
    "datasets",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
    "learn_runner",
    "models",
    "monitors",
    "preprocessing",
]


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
