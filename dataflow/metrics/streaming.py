"""What streaming metrics share: their local variables, weights and squeezed dimensions.

A streaming metric is a pair of tensors: the value so far, and the operation that takes one more
batch in and gives the value after it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.conditionals import cond
from dataflow.ops.math import cast, equal
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variables import Variable
from dataflow.ops.weights import broadcast_weights as weights_like, match_rank
from dataflow.shapes import compatible, format_dims

Pair = tuple[Tensor, Tensor]
Metric = Callable[..., Pair]

_COMMON = ("metrics_collections", "updates_collections", "name")


def _with_common(
    function: Callable[..., Pair], finish: Callable[[dict[str, Any], Any, Any, Any], Pair]
) -> Metric:
    """``function`` with the last parameters of all metrics: ``finish(arguments, *their values)``."""
    own = inspect.signature(function)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    common = [inspect.Parameter(name, kind, default=None) for name in _COMMON]
    signature = own.replace(parameters=[*own.parameters.values(), *common])

    @functools.wraps(function)
    def metric(*args: Any, **kwargs: Any) -> Pair:
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise TypeError(f"{function.__name__}() {e}") from None
        return finish(arguments, *(arguments.pop(name, None) for name in _COMMON))

    metric.__signature__ = signature  # type: ignore[attr-defined]
    return metric


def scoped_metric(default_name: str) -> Callable[[Callable[..., Pair]], Metric]:
    """Decorates a function that returns (value, update): opens its scope, fills the collections.

    The metric takes ``metrics_collections``, ``updates_collections`` and ``name`` besides.
    """

    def decorate(function: Callable[..., Pair]) -> Metric:
        def finish(arguments: dict[str, Any], values: Any, updates: Any, name: Any) -> Pair:
            with variable_scope(name, default_name, list(arguments.values())):
                return collect(*function(**arguments), values, updates)

        return _with_common(function, finish)

    return decorate


def mean_metric(default_name: str) -> Callable[[Callable[..., tuple[Any, Any]]], Metric]:
    """Decorates a function that returns (values, weights): the metric is their `mean` so far."""

    def decorate(function: Callable[..., tuple[Any, Any]]) -> Metric:
        def finish(arguments: dict[str, Any], values: Any, updates: Any, name: Any) -> Pair:
            from dataflow.metrics.means import mean

            return mean(*function(**arguments), values, updates, name or default_name)

        return _with_common(function, finish)

    return decorate


def metric_variable(
    shape: DynamicShapeLike, dtype: DTypeLike, name: str, validate_shape: bool = True
) -> Variable:
    """A local variable of zeros, in LOCAL_VARIABLES and METRIC_VARIABLES."""
    return Variable(
        lambda: array.zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def collect(
    value: TensorLike,
    update: Any,
    metrics_collections: str | Sequence[str],
    updates_collections: str | Sequence[str],
) -> tuple[Any, Any]:
    """The pair, after adding each to the collections that were asked for."""
    graph = default_graph()
    for names, item in ((metrics_collections, value), (updates_collections, update)):
        for name in [names] if isinstance(names, str) else names or []:
            graph.add_to_collection(name, item)
    return value, update


def remove_squeezable_dimensions(
    labels: TensorLike,
    predictions: TensorLike,
    expected_rank_diff: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Labels and predictions; where one has a dimension too many, and it is 1, it is dropped.

    ``expected_rank_diff``: how many dimensions more ``predictions`` should have. Where a rank is not
    known yet, each run finds out. Raises `ValueError` where the dimension too many is not 1.
    """
    with op_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        a, b = predictions.dims, labels.dims
        if a is not None and b is not None:
            more = len(a) - len(b)
            if more == expected_rank_diff + 1:
                predictions = array.squeeze(predictions, [-1])
            elif more == expected_rank_diff - 1:
                labels = array.squeeze(labels, [-1])
            return labels, predictions
        more = array.rank(predictions) - array.rank(labels)
        both = []
        for tensor, too_many in (
            (labels, expected_rank_diff - 1),
            (predictions, expected_rank_diff + 1),
        ):
            if tensor.dims is None or (tensor.dims and tensor.dims[-1] in (1, None)):
                tensor = cond(
                    equal(more, too_many),
                    functools.partial(array.squeeze, tensor, [-1]),
                    functools.partial(array.identity, tensor),
                )
            both.append(tensor)
        return both[0], both[1]


def matched(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Any, Any]:
    """Predictions, labels and weights as tensors of one rank: a last dimension of 1 is dropped.

    Raises `ValueError` when the shapes of labels and predictions differ.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        if not compatible(predictions.dims, labels.dims):
            raise ValueError(
                f"Shapes {format_dims(predictions.dims)} and {format_dims(labels.dims)} are "
                "incompatible: predictions and labels must have the same shape."
            )
    if weights is not None:
        weights = match_rank(convert_to_tensor(weights), predictions)
    return predictions, labels, weights


def broadcast_weights(weights: Any, values: Tensor) -> Tensor:
    """Weights in the shape and dtype of ``values``: one for all, or 1 or the size in each dimension.

    Raises `ValueError` for other shapes.
    """
    weights = cast(convert_to_tensor(weights), values.dtype.base_dtype)
    return weights_like(weights, values)


def as_float(value: TensorLike) -> Tensor:
    """``value`` as float32."""
    return cast(convert_to_tensor(value), dtypes.float32)  # type: ignore[no-any-return]
