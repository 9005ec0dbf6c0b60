"""Private functions of ``tensorflow.python.ops.metrics_impl``, which tf_slim and others build metrics of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.metrics import streaming
from dataflow.metrics.ranking import average_precision_at_top_k
from dataflow.metrics.streaming import remove_squeezable_dimensions
from dataflow.metrics.thresholds import counts_at
from dataflow.ops.array import identity
from dataflow.ops.math import div_no_nan
from dataflow.ops.variables import Variable

__all__ = ["metric_variable", "remove_squeezable_dimensions"]


def metric_variable(
    shape: Any, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None
) -> Variable:
    """A local variable of zeros, in LOCAL_VARIABLES and METRIC_VARIABLES."""
    return streaming.metric_variable(shape, dtype, name or "Variable", validate_shape)


def _aggregate_variable(v: Any, collections: Any) -> Tensor:
    """The variable's value, which is added to ``collections``."""
    value = identity(v)
    for name in [collections] if isinstance(collections, str) else collections or ():
        default_graph().add_to_collection(name, value)
    return value


def _safe_scalar_div(numerator: Any, denominator: Any, name: str | None) -> Tensor:
    """``numerator / denominator``, and 0 where the denominator is 0."""
    return div_no_nan(numerator, denominator, name=name)


def _remove_squeezable_dimensions(
    predictions: Any, labels: Any, weights: Any
) -> tuple[Tensor, Any, Any]:
    """The three with one rank: a last dimension of 1 is dropped; see `tf.metrics`."""
    return streaming.matched(predictions, labels, weights)


def _confusion_matrix_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    includes: Sequence[str] | None = None,
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The counts "tp", "fn", "tn" and "fp" at each threshold, and their updates, by these names.

    Raises `ValueError` for a name in ``includes`` that is none of them.
    """
    kinds = ("tp", "fn", "tn", "fp")
    for name in includes or ():
        if name not in kinds:
            raise ValueError(f"Invalid key: {name}.")
    return counts_at(labels, predictions, thresholds, weights, tuple(includes or kinds))


def _streaming_sparse_average_precision_at_top_k(
    labels: Any,
    predictions_idx: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """`tf.metrics.average_precision_at_k` of classes that are in the order of their scores already."""
    return average_precision_at_top_k(
        labels, predictions_idx, weights, metrics_collections, updates_collections, name
    )
