"""What the layers share: names of variables, collections, and what comes after the product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.contrib.layers.building import collect_named_outputs
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.variable_scope import get_variable
from dataflow.ops.variable_store import variable_store


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


#: Attributes of layers, and the key in ``variables_collections`` that stands for them.
_KEYS = {
    "kernel": "weights",
    "depthwise_kernel": "weights",
    "pointwise_kernel": "weights",
    "bias": "biases",
    "beta": "beta",
    "gamma": "gamma",
    "moving_mean": "moving_mean",
    "moving_variance": "moving_variance",
}


def collect_variables(layer: Any, collections: Any) -> None:
    """Puts a layer's variables where `get_model_variables` and ``collections`` have them.

    A custom getter may have made a tensor of a weight: that goes into ``collections``, its variable
    among the model's.
    """
    graph = default_graph()
    model = graph.get_collection_ref(GraphKeys.MODEL_VARIABLES)
    for variable in layer.weights:
        own = next((k for k in _KEYS if getattr(layer, k, None) is variable), None)
        made = variable
        if isinstance(variable, Tensor) and own is not None:
            name = _Renamed.names.get(own, own)
            made = variable_store().variables.get(f"{layer.scope_name}/{name}", variable)
        if made not in model:
            graph.add_to_collection(GraphKeys.MODEL_VARIABLES, made)
        keys = collections
        if isinstance(collections, dict):
            last = variable.op.name.rpartition("/")[2] if own is None else _KEYS[own]
            keys = collections.get(last, [])
        for key in [keys] if isinstance(keys, str) else keys or ():
            if variable not in graph.get_collection_ref(key):
                graph.add_to_collection(key, variable)


def apply_layer(
    layer: Any,
    inputs: Any,
    normalizer_fn: Any,
    normalizer_params: Any,
    activation_fn: Any,
    variables_collections: Any,
    outputs_collections: Any,
) -> Any:
    """What ``layer`` makes of ``inputs``, with its variables in their collections, and `finish` of that."""
    outputs = layer(convert_to_tensor(inputs))
    collect_variables(layer, variables_collections)
    return finish(
        outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, layer.name
    )


def finish(
    outputs: Any,
    normalizer_fn: Any,
    normalizer_params: Any,
    activation_fn: Any,
    outputs_collections: Any,
    alias: str,
) -> Any:
    """``outputs`` normalized and activated, each where there is a function, and collected as ``alias``."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, alias, outputs)


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
