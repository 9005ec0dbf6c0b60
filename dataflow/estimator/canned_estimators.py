"""The canned estimators: deep, linear, both, and a baseline; for classes and for numbers.

Arguments, their order and their defaults are TensorFlow 1's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.estimator import canned
from dataflow.estimator.class_heads import class_head
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.regression_heads import RegressionHead
from dataflow.losses import Reduction
from dataflow.ops.activation import relu


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The ``model_fn`` that calls ``function`` with the arguments that an estimator was made with."""

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        return function(features, labels, mode, *arguments, config)

    return model_fn


class DNNClassifier(Estimator):
    """A deep network for classes: ``hidden_units`` lists the layers' widths.

    ``predict`` gives logits, probabilities, class_ids and classes of each example, ``evaluate``
    accuracy, average_loss, loss (of a batch) and more for two classes.
    """

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)

        model_fn = bound(
            canned.dnn_model_fn,
            head,
            hidden_units,
            feature_columns,
            optimizer,
            activation_fn,
            dropout,
            batch_norm,
            input_layer_partitioner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNRegressor(Estimator):
    """A deep network for numbers; ``predict`` gives predictions."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)

        model_fn = bound(
            canned.dnn_model_fn,
            head,
            hidden_units,
            feature_columns,
            optimizer,
            activation_fn,
            dropout,
            batch_norm,
            input_layer_partitioner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearClassifier(Estimator):
    """Logistic (softmax) regression over feature columns."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)

        model_fn = bound(
            canned.linear_model_fn,
            head,
            feature_columns,
            optimizer,
            partitioner,
            sparse_combiner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """Linear regression over feature columns."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)

        model_fn = bound(
            canned.linear_model_fn,
            head,
            feature_columns,
            optimizer,
            partitioner,
            sparse_combiner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedClassifier(Estimator):
    """Wide and deep, for classes."""

    def __init__(
        self,
        model_dir: Any = None,
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

        model_fn = bound(
            canned.combined_model_fn,
            head,
            linear_feature_columns,
            linear_optimizer,
            linear_sparse_combiner,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            input_layer_partitioner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedRegressor(Estimator):
    """Wide and deep, for numbers."""

    def __init__(
        self,
        model_dir: Any = None,
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

        model_fn = bound(
            canned.combined_model_fn,
            head,
            linear_feature_columns,
            linear_optimizer,
            linear_sparse_combiner,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            input_layer_partitioner,
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class BaselineClassifier(Estimator):
    """Learns the classes' shares, whatever the features."""

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)

        super().__init__(bound(canned.baseline_model_fn, head, optimizer), model_dir, config)


class BaselineRegressor(Estimator):
    """Learns the mean label, whatever the features."""

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)

        super().__init__(bound(canned.baseline_model_fn, head, optimizer), model_dir, config)
