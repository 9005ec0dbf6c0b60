"""Estimators with a head of the caller's: deep, linear, both, and a baseline; `add_metrics`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.estimator import canned
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.ops.activation import relu


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The ``model_fn`` that calls ``function`` with the arguments that an estimator was made with."""

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        return function(features, labels, mode, *arguments, config)

    return model_fn


class DNNEstimator(Estimator):
    """A deep network; ``head`` (`tf.estimator.BinaryClassHead`, ...) says what its logits mean."""

    def __init__(
        self,
        head: Any,
        hidden_units: Any,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[..., Any] = relu,
        dropout: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        model_fn = bound(
            canned.dnn_model_fn, head, hidden_units, feature_columns, optimizer, activation_fn,
            dropout, batch_norm, input_layer_partitioner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearEstimator(Estimator):
    """A linear model; ``head`` says what its logits mean."""

    def __init__(
        self,
        head: Any,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Callable[..., Any] | None = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        model_fn = bound(
            canned.linear_model_fn, head, feature_columns, optimizer, partitioner, sparse_combiner
        )
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedEstimator(Estimator):
    """Wide and deep; ``head`` says what the logits mean."""

    def __init__(
        self,
        head: Any,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        model_fn = bound(
            canned.combined_model_fn, head, linear_feature_columns, linear_optimizer,
            linear_sparse_combiner, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
            dnn_activation_fn, dnn_dropout, batch_norm, input_layer_partitioner,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class BaselineEstimator(Estimator):
    """A bias that ignores the features; ``head`` says what it means."""

    def __init__(
        self, head: Any, model_dir: str | None = None, optimizer: Any = "Ftrl", config: Any = None
    ) -> None:
        super().__init__(bound(canned.baseline_model_fn, head, optimizer), model_dir, config)


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Any]) -> Estimator:
    """An estimator like this one whose `evaluate` gives the metrics of ``metric_fn`` too.

    ``metric_fn`` takes some of features, labels, predictions and config, and returns metric pairs
    by name; a name that there is already replaces it. Raises `ValueError` for other arguments.
    """
    names = set(inspect.signature(metric_fn).parameters)
    unknown = sorted(names - {"features", "labels", "predictions", "config"})
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec: EstimatorSpec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        given = {
            "features": features,
            "labels": labels,
            "predictions": spec.predictions,
            "config": config,
        }
        extra = metric_fn(**{name: given[name] for name in names})
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **extra})

    return Estimator(
        model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm_start
    )
