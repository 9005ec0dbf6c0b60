"""What the layers share: names of variables, collections, and what comes after the product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.variable_scope import get_variable


class _Renamed:
    """A variable getter that calls ``kernel`` ``weights`` and ``bias`` ``biases``."""

    names = {
        "kernel": "weights",
        "bias": "biases",
        "depthwise_kernel": "depthwise_weights",
        "pointwise_kernel": "pointwise_weights",
    }

    def __call__(self, getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        prefix, _, last = name.rpartition("/")
        last = self.names.get(last, last)
        return getter(f"{prefix}/{last}" if prefix else last, *args, **kwargs)


renamed = _Renamed()


def collect_variables(layer: Any, collections: Any) -> None:
    """Puts a layer's variables where `get_model_variables` and ``collections`` have them."""
    graph = default_graph()
    for variable in layer.weights:
        if variable not in graph.get_collection_ref(GraphKeys.MODEL_VARIABLES):
            graph.add_to_collection(GraphKeys.MODEL_VARIABLES, variable)
    if not collections:
        return
    for variable in layer.weights:
        keys = collections
        if isinstance(collections, dict):
            keys = collections.get(variable.op.name.rpartition("/")[2], [])
        if keys:
            default_graph().add_to_collections(keys, variable)


def finish(outputs: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any) -> Any:
    """``outputs`` normalized and activated, each where there is a function for it."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


def model_weights(
    name: str,
    shape: Any,
    dtype: DTypeLike,
    initializer: Any,
    collections: Any,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
) -> Any:
    """A variable of a layer: in MODEL_VARIABLES, and in ``collections`` (or those of its name)."""
    if isinstance(collections, dict):
        collections = collections.get(name, [])
    return get_variable(
        name,
        shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        collections=[
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
            *(collections or []),
        ],
        trainable=trainable,
    )
