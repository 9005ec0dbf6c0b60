"""``tf.contrib.estimator``: heads under their older names, early stopping, and what changes an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.data.dataset import Dataset
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
from dataflow.estimator.export import build_raw_supervised_input_receiver_fn
from dataflow.estimator.extenders import clip_gradients_by_norm, forward_features
from dataflow.estimator.head_estimators import (
    DNNEstimator,
    DNNLinearCombinedEstimator,
    LinearEstimator,
    add_metrics,
)
from dataflow.estimator.in_memory_evaluator import InMemoryEvaluatorHook
from dataflow.estimator.input_results import parse_input_fn_result
from dataflow.estimator.logit_functions import (
    call_logit_fn,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
)
from dataflow.estimator.model_fn import ModeKeys
from dataflow.estimator.multi_heads import MultiHead, MultiLabelHead
from dataflow.estimator.recurrent import RNNClassifier, RNNEstimator
from dataflow.estimator.regression_heads import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from dataflow.estimator.tree_estimators import BoostedTreesClassifier, BoostedTreesRegressor
from dataflow.graph.graph import Graph
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
    "boosted_trees_classifier_train_in_memory",
    "boosted_trees_regressor_train_in_memory",
    "build_raw_supervised_input_receiver_fn",
    "build_supervised_input_receiver_fn_from_input_fn",
    "call_logit_fn",
    "clip_gradients_by_norm",
    "dnn_logit_fn_builder",
    "export_all_saved_models",
    "export_saved_model_for_mode",
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


def build_supervised_input_receiver_fn_from_input_fn(
    input_fn: Callable[..., Any], **input_fn_args: Any
) -> Callable[[], Any]:
    """`build_raw_supervised_input_receiver_fn` of what an ``input_fn`` gives."""
    with Graph().as_default():
        features, labels, _ = parse_input_fn_result(input_fn(**input_fn_args))
        return build_raw_supervised_input_receiver_fn(features, labels)


def export_saved_model_for_mode(
    estimator: Any,
    export_dir_base: Any,
    input_receiver_fn: Callable[[], Any],
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: Any = None,
    mode: str = ModeKeys.PREDICT,
) -> bytes:
    """``estimator.export_saved_model`` for a mode; returns the folder."""
    folder: bytes = estimator.export_saved_model(
        export_dir_base,
        input_receiver_fn,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
        experimental_mode=mode,
    )
    return folder


def export_all_saved_models(
    estimator: Any,
    export_dir_base: Any,
    input_receiver_fn_map: dict[str, Callable[[], Any]],
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: Any = None,
) -> bytes:
    """``estimator.experimental_export_all_saved_models``; returns the folder."""
    folder: bytes = estimator.experimental_export_all_saved_models(
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )
    return folder


def _again_and_again(input_fn: Callable[[], Any]) -> Callable[[], Any]:
    def repeated() -> Any:
        result = input_fn()
        return result.repeat() if isinstance(result, Dataset) else result

    return repeated


def boosted_trees_classifier_train_in_memory(
    train_input_fn: Callable[[], Any],
    feature_columns: Any,
    model_dir: str | None = None,
    n_classes: int = 2,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    n_trees: int = 100,
    max_depth: int = 6,
    learning_rate: float = 0.1,
    l1_regularization: float = 0.0,
    l2_regularization: float = 0.0,
    tree_complexity: float = 0.0,
    min_node_weight: float = 0.0,
    config: Any = None,
    train_hooks: Any = None,
    center_bias: bool = False,
    pruning_mode: str = "none",
    quantile_sketch_epsilon: float = 0.01,
) -> BoostedTreesClassifier:
    """A `tf.estimator.BoostedTreesClassifier`, trained by all data as one batch.

    Arguments are those of the class; the training runs until the trees are done.
    """
    trained = BoostedTreesClassifier(
        feature_columns,
        1,
        model_dir,
        n_classes,
        weight_column,
        label_vocabulary,
        n_trees,
        max_depth,
        learning_rate,
        l1_regularization,
        l2_regularization,
        tree_complexity,
        min_node_weight,
        config,
        center_bias,
        pruning_mode,
        quantile_sketch_epsilon,
        train_in_memory=True,
    )
    trained.train(_again_and_again(train_input_fn), hooks=train_hooks)
    return trained


def boosted_trees_regressor_train_in_memory(
    train_input_fn: Callable[[], Any],
    feature_columns: Any,
    model_dir: str | None = None,
    label_dimension: int = 1,
    weight_column: Any = None,
    n_trees: int = 100,
    max_depth: int = 6,
    learning_rate: float = 0.1,
    l1_regularization: float = 0.0,
    l2_regularization: float = 0.0,
    tree_complexity: float = 0.0,
    min_node_weight: float = 0.0,
    config: Any = None,
    train_hooks: Any = None,
    center_bias: bool = False,
    pruning_mode: str = "none",
    quantile_sketch_epsilon: float = 0.01,
) -> BoostedTreesRegressor:
    """A `tf.estimator.BoostedTreesRegressor`, trained by all data as one batch.

    Arguments are those of the class; the training runs until the trees are done.
    """
    trained = BoostedTreesRegressor(
        feature_columns,
        1,
        model_dir,
        label_dimension,
        weight_column,
        n_trees,
        max_depth,
        learning_rate,
        l1_regularization,
        l2_regularization,
        tree_complexity,
        min_node_weight,
        config,
        center_bias,
        pruning_mode,
        quantile_sketch_epsilon,
        train_in_memory=True,
    )
    trained.train(_again_and_again(train_input_fn), hooks=train_hooks)
    return trained


__getattr__ = explain_absent(__name__)
