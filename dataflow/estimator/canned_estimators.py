"""The canned estimators: deep, linear, both, and a baseline; for classes and for numbers.

Arguments, their order and their defaults are TensorFlow 1's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.estimator.class_heads import class_head
from dataflow.estimator.head_estimators import (
    BaselineEstimator,
    DNNEstimator,
    DNNLinearCombinedEstimator,
    LinearEstimator,
)
from dataflow.estimator.regression_heads import RegressionHead
from dataflow.losses import Reduction
from dataflow.ops.activation import relu


class DNNClassifier(DNNEstimator):
    """A deep network for classes: ``hidden_units`` lists the layers' widths.

    ``predict`` gives logits, probabilities, class_ids and classes of each example, ``evaluate``
    accuracy, average_loss, loss (of a batch) and more for two classes.
    """

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[..., Any] = relu,
        dropout: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head, hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout,
            input_layer_partitioner, config, warm_start_from, batch_norm,
        )  # fmt: skip


class DNNRegressor(DNNEstimator):
    """A deep network for numbers; ``predict`` gives predictions."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[..., Any] = relu,
        dropout: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head, hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout,
            input_layer_partitioner, config, warm_start_from, batch_norm,
        )  # fmt: skip


class LinearClassifier(LinearEstimator):
    """Logistic (softmax) regression over feature columns."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Callable[..., Any] | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner,
            warm_start_from,
        )  # fmt: skip


class LinearRegressor(LinearEstimator):
    """Linear regression over feature columns."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Callable[..., Any] | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner,
            warm_start_from,
        )  # fmt: skip


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """Wide and deep, for classes."""

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head, model_dir, linear_feature_columns, linear_optimizer, dnn_feature_columns,
            dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            input_layer_partitioner, config, batch_norm, linear_sparse_combiner, warm_start_from,
        )  # fmt: skip


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """Wide and deep, for numbers."""

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head, model_dir, linear_feature_columns, linear_optimizer, dnn_feature_columns,
            dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            input_layer_partitioner, config, batch_norm, linear_sparse_combiner, warm_start_from,
        )  # fmt: skip


class BaselineClassifier(BaselineEstimator):
    """Learns the classes' shares, whatever the features."""

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)


class BaselineRegressor(BaselineEstimator):
    """Learns the mean label, whatever the features."""

    def __init__(
        self,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)
