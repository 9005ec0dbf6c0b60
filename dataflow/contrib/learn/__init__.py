"""``tf.contrib.learn``: the estimators before `tf.estimator`, with fit(x, y), and experiments."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib.learn import (
    datasets,
    io,
    learn_runner,
    models,
    monitors,
    preprocessing,
    exports as utils,
)
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
from dataflow.contrib.learn.exports import (
    ExportStrategy,
    InputFnOps,
    build_parsing_serving_input_fn,
    make_export_strategy,
)
from dataflow.contrib.learn.frames import (
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
)
from dataflow.contrib.learn.graph_io import (
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_features,
)
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
    "ExportStrategy",
    "GraphDump",
    "InputFnOps",
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
    "build_parsing_serving_input_fn",
    "datasets",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
    "io",
    "learn_runner",
    "make_export_strategy",
    "models",
    "monitors",
    "preprocessing",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_features",
    "utils",
]


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
