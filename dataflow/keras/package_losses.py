"""Losses and metrics as the package ``keras`` (2.2) counts them, and its metrics that are layers.

A batch has one value: weighted, and divided by the share of weights that are not 0. An epoch's is the
mean over its batches, each weighed by its number of examples.
"""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K
from dataflow.keras.base_layer import Layer
from dataflow.keras.base_metric import Mean, Metric
from dataflow.ops import array
from dataflow.ops.comparison import not_equal
from dataflow.ops.math import cast
from dataflow.ops.reduce import reduce_mean


def weighed(values: Any, mask: Tensor | None, weights: Any) -> Tensor:
    """The value of a batch, a scalar: the mean of ``values`` that ``mask`` leaves, by ``weights``."""
    values = cast(values, K.floatx())
    if mask is not None and values.shape.ndims in (0, mask.shape.ndims):
        kept = cast(mask, K.floatx())
        values = values * kept / reduce_mean(kept)
    if weights is not None:
        weights = cast(weights, K.floatx())
        axes = list(range(weights.shape.ndims, values.shape.ndims))
        values = reduce_mean(values, axis=axes) if axes else values
        values = values * weights / reduce_mean(cast(not_equal(weights, 0.0), K.floatx()))
    return reduce_mean(values)


def mean_of_batches(title: str, value: Tensor, output: Tensor) -> tuple[Any, Metric]:
    """(value after a batch, metric object): the mean of a batch's ``value`` over the examples so far."""
    made = Mean(title)
    return made(value, sample_weight=cast(array.shape(output)[0], K.floatx())), made


def is_counting_layer(metric: Any) -> bool:
    """Whether a metric is a layer that counts in variables and says so: ``stateful`` is true."""
    return isinstance(metric, Layer) and not isinstance(metric, Metric) and bool(metric.stateful)


class CountingLayer:
    """Such a layer as a metric of a model: what it reports is what it returns after a batch."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.name = layer.name

    def reset_states(self) -> None:
        """Resets what the layer has counted."""
        self.layer.reset_states()

    def value(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """What the layer returns for a batch."""
        return reduce_mean(cast(self.layer(y_true, y_pred), K.floatx()))

    @property
    def counting_updates(self) -> list[Any]:
        """The ops that count, which run with training and evaluation."""
        return [update for update in self.layer.updates if hasattr(update, "type")]
