"""``tf.contrib.learn``: the estimators before `tf.estimator`, with fit(x, y), and experiments."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib.learn import (
    datasets,
    io,
    learn_runner,
    models,
    ops,
    monitors,
    preprocessing,
    exports as utils,
)
from dataflow.contrib.learn.canned import (
    DNNClassifier,
    DNNEstimator,
    DNNRegressor,
    LinearClassifier,
    LinearEstimator,
    LinearRegressor,
)
from dataflow.contrib.learn.canned_wide_deep import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from dataflow.contrib.learn.estimator import (
    Estimator,
    NotFittedError,
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
from dataflow.contrib.learn.heads import (
    Head,
    binary_svm_head,
    loss_only_head,
    multi_class_head,
    multi_head,
    multi_label_head,
    no_op_train_fn,
    poisson_regression_head,
    regression_head,
)
from dataflow.contrib.learn.dynamic_rnn import DynamicRnnEstimator
from dataflow.contrib.learn.keys import ProblemType
from dataflow.contrib.learn.kmeans import KMeansClustering
from dataflow.contrib.learn.metric_spec import MetricSpec
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.logging_monitors import LoggingTrainable, PrintTensor
from dataflow.contrib.learn.validation_monitor import ValidationMonitor
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.contrib.learn.roles import Evaluable, Trainable
from dataflow.contrib.learn.run_config import RunConfig
from dataflow.contrib.learn.step_monitors import (
    BaseMonitor,
    CaptureVariable,
    CheckpointSaver,
    GraphDump,
    NanLoss,
    StepCounter,
    StopAtStep,
    SummarySaver,
)
from dataflow.contrib.learn.svm import SVM
from dataflow.estimator.cluster_task import TaskType
from dataflow.summary import FileWriterCache as SummaryWriterCache
from dataflow.train.hooks import NanLossDuringTrainingError

__all__ = [
    "BaseMonitor",
    "CaptureVariable",
    "CheckpointSaver",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "DynamicRnnEstimator",
    "Estimator",
    "Evaluable",
    "Experiment",
    "ExportStrategy",
    "GraphDump",
    "Head",
    "InputFnOps",
    "KMeansClustering",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LoggingTrainable",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "NanLoss",
    "NanLossDuringTrainingError",
    "NotFittedError",
    "PredictionKey",
    "PrintTensor",
    "ProblemType",
    "RunConfig",
    "SKCompat",
    "SVM",
    "StepCounter",
    "StopAtStep",
    "SummarySaver",
    "SummaryWriterCache",
    "TaskType",
    "Trainable",
    "ValidationMonitor",
    "binary_svm_head",
    "build_parsing_serving_input_fn",
    "datasets",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
    "io",
    "learn_runner",
    "loss_only_head",
    "make_export_strategy",
    "models",
    "ops",
    "monitors",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "no_op_train_fn",
    "poisson_regression_head",
    "preprocessing",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_features",
    "regression_head",
    "utils",
]


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
