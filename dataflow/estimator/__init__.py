"""``tf.estimator``: models with their training, evaluation, prediction and export."""

from __future__ import annotations

from dataflow.estimator import experimental, export, inputs
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
from dataflow.estimator.head_estimators import (
    BaselineEstimator,
    DNNEstimator,
    DNNLinearCombinedEstimator,
    LinearEstimator,
    add_metrics,
)
from dataflow.estimator.class_heads import BinaryClassHead, MultiClassHead
from dataflow.estimator.heads import Head
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.estimator.multi_heads import MultiHead, MultiLabelHead
from dataflow.estimator.parsing_specs import (
    classifier_parse_example_spec,
    regressor_parse_example_spec,
)
from dataflow.estimator.regression_heads import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from dataflow.estimator.run_config import RunConfig
from dataflow.estimator.training import EvalSpec, TrainSpec, train_and_evaluate
from dataflow.train.hooks import (
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    SecondOrStepTimer,
    StopAtStepHook,
)
from dataflow.train.saving_hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    ProfilerHook,
    StepCounterHook,
    SummarySaverHook,
)
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
