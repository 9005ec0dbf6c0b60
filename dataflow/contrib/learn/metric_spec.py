"""`MetricSpec`: a metric of some predictions and some labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dataflow.graph.type_aliases import TensorLike


class MetricSpec:
    """``metric_fn(predictions, labels[, weights])`` of the named predictions, labels and feature.

    Functions of `tf.metrics` fit, and those of `tf.contrib.metrics`: arguments are given by name.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: Any = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self.metric_fn = metric_fn
        self.prediction_key = prediction_key
        self.label_key = label_key
        self.weight_key = weight_key

    def create_metric_ops(self, inputs: Any, labels: TensorLike, predictions: TensorLike) -> Any:
        """The metric's (value, update); raises `ValueError` for a key that is not there."""
        given: dict[str, Any] = {
            "predictions": _picked(predictions, self.prediction_key, "prediction_key"),
        }
        chosen = _picked(labels, self.label_key, "label_key")
        names = set(inspect.signature(self.metric_fn).parameters)
        given["targets" if "targets" in names else "labels"] = chosen
        if self.weight_key is not None:
            given["weights"] = _picked(inputs, self.weight_key, "weight_key")
        return self.metric_fn(**given)


def _picked(values: Any, key: Any, what: str) -> Any:
    if not isinstance(values, dict):
        if key is not None:
            raise ValueError(
                f"MetricSpec with {what} {key!r} needs a dict, got one tensor: {values}"
            )
        return values
    if key is None:
        if len(values) > 1:
            raise ValueError(f"MetricSpec without {what} needs one tensor, got {sorted(values)}")
        return next(iter(values.values()))
    if key not in values:
        raise KeyError(f"MetricSpec: {what} {key!r} is not among {sorted(values)}")
    return values[key]


def metric_ops(
    metrics: Any, features: Any, labels: TensorLike, predictions: TensorLike
) -> dict[str, Any]:
    """Metric pairs by name.

    ``metrics``: name to `MetricSpec`, or to a function of (predictions, labels); a name
    (name, key) picks the prediction.
    """
    result = {}
    for name, metric in (metrics or {}).items():
        key = None
        if isinstance(name, tuple):
            name, key = name
        if not isinstance(metric, MetricSpec):
            metric = MetricSpec(metric, key)
        found = metric.create_metric_ops(features, labels, predictions)
        # Values without an update (those of a batch) are averaged over batches.
        result[name] = found if isinstance(found, tuple) else _averaged(found, name)
    return result


def _averaged(value: TensorLike, name: str) -> Any:
    from dataflow.metrics.means import mean

    return mean(value, name=name)
