"""`MetricSpec`: a metric of some predictions and some labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dataflow.graph.type_aliases import TensorLike

#: What parameters of metrics are called.
_PREDICTIONS = ("predictions", "prediction")
_LABELS = ("labels", "label", "targets", "target")
_WEIGHTS = ("weights", "weight")


class MetricSpec:
    """``metric_fn(predictions, labels[, weights])`` of the named predictions, labels and feature.

    Functions of `tf.metrics` fit, those of `tf.contrib.metrics`, and one's own: parameters are known
    by their names ("targets" for labels, too); one that has another name takes the predictions.
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
        self._names = self._parameters()

    def __str__(self) -> str:
        return (
            f"MetricSpec(metric_fn={_name(self.metric_fn)}, prediction_key={self.prediction_key}, "
            f"label_key={self.label_key}, weight_key={self.weight_key})"
        )

    def create_metric_ops(self, inputs: Any, labels: TensorLike, predictions: TensorLike) -> Any:
        """The metric's (value, update).

        Raises `KeyError` for a key that is not there, `ValueError` where a key or a dict does not fit,
        `TypeError` for a function that has no parameter for the predictions.
        """
        values = {"prediction": _picked(predictions, self.prediction_key, "prediction")}
        names = self._names
        if names["prediction"] is None:
            raise TypeError(
                f"{_name(self.metric_fn)} needs a parameter 'predictions', or just one with a name of "
                "its own."
            )
        if names["label"] is not None:
            values["label"] = _picked(labels, self.label_key, "label")
        if self.weight_key is not None:
            values["weight"] = _picked(inputs, self.weight_key, "weight", "feature")
        return self.metric_fn(**{str(names[what]): value for what, value in values.items()})

    def _parameters(self) -> dict[str, str | None]:
        """What the function calls predictions, labels and weights; None for what it does not take."""
        what = _name(self.metric_fn)
        named = [
            p
            for p in inspect.signature(self.metric_fn).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        found: dict[str, str | None] = {}
        for kind, words in (("prediction", _PREDICTIONS), ("label", _LABELS), ("weight", _WEIGHTS)):
            own = [p.name for p in named if p.name in words]
            if len(own) > 1:
                raise ValueError(
                    f"{what}: provide only one of {own}, the parameters for the {kind}."
                )
            found[kind] = own[0] if own else None
        if found["prediction"] is None:
            others = [
                p.name for p in named if p.name not in found.values() and p.default is p.empty
            ]
            if len(others) == 1:
                found["prediction"] = others[0]
        for kind, key in (("label", self.label_key), ("weight", self.weight_key)):
            if key is not None and found[kind] is None:
                raise ValueError(f"{kind}_key is {key!r}, but {what}'s parameter is missing.")
        return found


def _name(function: Any) -> str:
    return getattr(getattr(function, "func", function), "__name__", repr(function))


def _picked(values: Any, key: Any, what: str, source: str = "") -> Any:
    many = f"{source or what}s"
    if not isinstance(values, dict):
        if key is not None:
            raise ValueError(
                f"MetricSpec with {what}_key specified requires {many} dict, got for {key!r}: {values}"
            )
        return values
    if key is None:
        if len(values) > 1:
            raise ValueError(
                f"MetricSpec without specified {what}_key requires {many} tensor or single element "
                f"dict, got {sorted(values)}"
            )
        return next(iter(values.values()))
    if key not in values:
        raise KeyError(f"MetricSpec: {what}_key {key!r} is not among {sorted(values)}")
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
        if isinstance(metric, MetricSpec):
            found = metric.create_metric_ops(features, labels, predictions)
        else:  # in this order, whatever the names
            found = metric(_picked(predictions, key, "prediction"), _picked(labels, None, "label"))
        # Values without an update (those of a batch) are averaged over batches.
        result[name] = found if isinstance(found, tuple) else averaged(found, name)
    return result


def averaged(value: TensorLike, name: str) -> Any:
    """The mean of a value over the batches, as a pair (value, update)."""
    from dataflow.metrics.means import mean

    return mean(value, name=name)
