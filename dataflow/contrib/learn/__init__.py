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
from dataflow.contrib.learn.metric_spec import MetricSpec
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.prediction_key import PredictionKey


__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "Experiment",
    "LinearClassifier",
    "LinearRegressor",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "PredictionKey",
    "RunConfig",
    "SKCompat",
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
