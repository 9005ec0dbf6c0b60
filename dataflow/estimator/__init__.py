"""``tf.estimator``: models with their training, evaluation, prediction and export."""

from __future__ import annotations

from dataflow.estimator import export, inputs
from dataflow.estimator.canned_estimators import (
    BaselineClassifier,
    BaselineRegressor,
    DNNClassifier,
    DNNLinearCombinedClassifier,
    DNNLinearCombinedRegressor,
    DNNRegressor,
    LinearClassifier,
    LinearRegressor,
)
from dataflow.estimator.estimator import Estimator, WarmStartSettings
from dataflow.estimator.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.estimator.run_config import RunConfig
from dataflow.estimator.training import EvalSpec, TrainSpec, train_and_evaluate
