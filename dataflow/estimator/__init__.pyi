from dataflow.estimator import (
    experimental as experimental,
    export as export,
    inputs as inputs,
    tpu as tpu,
)
from dataflow.estimator.canned_estimators import (
    BaselineClassifier as BaselineClassifier,
    BaselineRegressor as BaselineRegressor,
    DNNClassifier as DNNClassifier,
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
    DNNRegressor as DNNRegressor,
    LinearClassifier as LinearClassifier,
    LinearRegressor as LinearRegressor,
)
from dataflow.estimator.class_heads import (
    BinaryClassHead as BinaryClassHead,
    MultiClassHead as MultiClassHead,
)
from dataflow.estimator.estimator import Estimator as Estimator
from dataflow.estimator.arguments import WarmStartSettings as WarmStartSettings
from dataflow.estimator.exporters import (
    BestExporter as BestExporter,
    Exporter as Exporter,
    FinalExporter as FinalExporter,
    LatestExporter as LatestExporter,
)
from dataflow.estimator.head_estimators import (
    add_metrics as add_metrics,
    BaselineEstimator as BaselineEstimator,
    DNNEstimator as DNNEstimator,
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
    LinearEstimator as LinearEstimator,
)
from dataflow.estimator.heads import Head as Head
from dataflow.estimator.model_fn import EstimatorSpec as EstimatorSpec, ModeKeys as ModeKeys
from dataflow.estimator.multi_heads import MultiHead as MultiHead, MultiLabelHead as MultiLabelHead
from dataflow.estimator.parsing_specs import (
    classifier_parse_example_spec as classifier_parse_example_spec,
    regressor_parse_example_spec as regressor_parse_example_spec,
)
from dataflow.estimator.regression_heads import (
    LogisticRegressionHead as LogisticRegressionHead,
    PoissonRegressionHead as PoissonRegressionHead,
    RegressionHead as RegressionHead,
)
from dataflow.estimator.run_config import RunConfig as RunConfig
from dataflow.estimator.training import (
    EvalSpec as EvalSpec,
    train_and_evaluate as train_and_evaluate,
    TrainSpec as TrainSpec,
)
from dataflow.estimator.tree_estimators import (
    BoostedTreesClassifier as BoostedTreesClassifier,
    BoostedTreesEstimator as BoostedTreesEstimator,
    BoostedTreesRegressor as BoostedTreesRegressor,
)
from dataflow.train.checkpoint_initializers import VocabInfo as VocabInfo
from dataflow.train.hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    SecondOrStepTimer as SecondOrStepTimer,
    StopAtStepHook as StopAtStepHook,
)
from dataflow.train.saving_hooks import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    ProfilerHook as ProfilerHook,
    StepCounterHook as StepCounterHook,
    SummarySaverHook as SummarySaverHook,
)
from dataflow.train.session_run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
