"""The wide and deep estimators of `tf.contrib.learn`.

With both parts the global step counts each step twice, as in TensorFlow, unless they are made with
``fix_global_step_increment_bug=True``: ``fit(steps=100)`` makes half as many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.contrib.learn import canned_models
from dataflow.contrib.learn.canned import (
    CannedEstimator,
    ClassesEstimator,
    NumbersEstimator,
    classes_head,
    numbers_head,
)
from dataflow.contrib.learn.estimator import Estimator
from dataflow.contrib.learn.heads import Head
from dataflow.ops.activation import relu


class DNNLinearCombinedClassifier(ClassesEstimator):
    """Wide and deep, for classes."""

    _model_fn = staticmethod(canned_models.combined_model_fn)

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
        label_keys: Any = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        head = classes_head(n_classes, weight_column_name, enable_centered_bias, label_keys)
        params = _both(
            head, linear_feature_columns, linear_optimizer, _joint_linear_weights,
            dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            gradient_clip_norm, embedding_lr_multipliers, input_layer_min_slice_size, fix_global_step_increment_bug,
        )  # fmt: skip
        super().__init__(model_dir, config, feature_engineering_fn, params)


class DNNLinearCombinedRegressor(NumbersEstimator):
    """Wide and deep, for numbers."""

    _model_fn = staticmethod(canned_models.combined_model_fn)

    def __init__(
        self,
        model_dir: Any = None,
        weight_column_name: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        head = numbers_head(label_dimension, weight_column_name, enable_centered_bias)
        params = _both(
            head, linear_feature_columns, linear_optimizer, _joint_linear_weights,
            dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            gradient_clip_norm, embedding_lr_multipliers, input_layer_min_slice_size, fix_global_step_increment_bug,
        )  # fmt: skip
        super().__init__(model_dir, config, feature_engineering_fn, params)


class DNNLinearCombinedEstimator(CannedEstimator):
    """Wide and deep with a head of one's own; `predict` gives dicts."""

    _model_fn = staticmethod(canned_models.combined_model_fn)

    def __init__(
        self,
        head: Head,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        fix_global_step_increment_bug: bool = False,
        input_layer_min_slice_size: Any = None,
    ) -> None:
        params = _both(
            head, linear_feature_columns, linear_optimizer, _joint_linear_weights,
            dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            gradient_clip_norm, embedding_lr_multipliers, input_layer_min_slice_size, fix_global_step_increment_bug,
        )  # fmt: skip
        super().__init__(model_dir, config, feature_engineering_fn, params)

    predict = Estimator.predict


def _both(
    head: Head,
    linear_columns: Any,
    linear_optimizer: Any,
    joint: bool,
    dnn_columns: Any,
    dnn_optimizer: Any,
    hidden_units: Any,
    activation_fn: Callable[..., Any],
    dropout: Any,
    clip: float | None,
    multipliers: Any,
    slice_size: Any,
    counts_once: bool,
) -> dict[str, Any]:
    linear, deep = tuple(linear_columns or ()), tuple(dnn_columns or ())
    if not linear and not deep:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    return {
        "head": head,
        "linear_feature_columns": linear,
        "linear_optimizer": linear_optimizer,
        "joint_linear_weights": joint,
        "dnn_feature_columns": deep,
        "dnn_optimizer": dnn_optimizer,
        "dnn_hidden_units": hidden_units,
        "dnn_activation_fn": activation_fn,
        "dnn_dropout": dropout,
        "gradient_clip_norm": clip,
        "embedding_lr_multipliers": multipliers,
        "input_layer_min_slice_size": slice_size,
        "fix_global_step_increment_bug": counts_once,
    }
