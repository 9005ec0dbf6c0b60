"""`tf.keras.models`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.keras import function_code
from dataflow.keras.layers import deserialize
from dataflow.keras.layers.core import Input
from dataflow.keras.network import Model
from dataflow.keras.saving import load_model, save_model
from dataflow.keras.sequential import Sequential
from dataflow.layers.serialization import custom_object_scope

__all__ = ["Model", "Sequential", "clone_model", "load_model", "model_from_config"]
__all__ += ["model_from_json", "model_from_yaml", "save_model"]


def model_from_config(config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The model of ``{"class_name", "config"}``, with new weights."""
    return deserialize(config, custom_objects)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """The model that ``to_json`` described, with new weights."""
    return deserialize(json.loads(json_string), custom_objects)


def yaml_module() -> Any:
    """PyYAML; raises `ImportError` where it is not installed."""
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError("Requires yaml module installed: pip install pyyaml.") from error
    return yaml


def model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """The model that ``to_yaml`` described, with new weights. Needs PyYAML; no code is run."""
    return deserialize(yaml_module().safe_load(yaml_string), custom_objects)


def clone_model(model: Model, input_tensors: Any = None, clone_function: Any = None) -> Any:
    """A model of the same architecture, with new weights; on ``input_tensors`` where given.

    ``clone_function(layer)`` returns the layer to take in place of each one but the inputs.
    """
    if clone_function is not None:
        return _cloned_by(clone_function, model, input_tensors)
    if input_tensors is not None and not isinstance(input_tensors, (list, tuple)):
        input_tensors = [input_tensors]
    with function_code.in_memory(), custom_object_scope(_own_classes(model)):
        return type(model).from_config(model.get_config(), inputs=input_tensors)


def _own_classes(model: Any) -> dict[str, Any]:
    """The layers' classes that a program wrote, by name, those of layers within too."""
    found: dict[str, Any] = {}
    waiting = list(model.layers)
    while waiting:
        layer = waiting.pop()
        cls = type(layer)
        if not cls.__module__.startswith("dataflow."):
            found[cls.__name__] = cls
        waiting.extend(layer.sublayers())
    return found


def _cloned_by(function: Callable[..., Any], model: Any, input_tensors: Any) -> Any:
    """The model's calls made again, with the layers that ``function`` returns."""
    given = None if input_tensors is None else nest.flatten(input_tensors)
    inputs = given or [
        Input(batch_shape=t.shape.as_list(), dtype=t.dtype.base_dtype, name=name)
        for t, name in zip(model.inputs, model.input_names, strict=True)
    ]
    if isinstance(model, Sequential):
        return Sequential([Input(tensor=inputs[0]), *map(function, model.layers)], name=model.name)
    values = {id(old): new for old, new in zip(model.inputs, inputs, strict=True)}
    made: dict[int, Any] = {}
    for node in model.network_nodes:
        layer = made.setdefault(id(node.layer), function(node.layer))
        results = layer(nest.map_structure(lambda t: values[id(t)], node.inputs), **node.kwargs)
        for old, new in zip(nest.flatten(node.outputs), nest.flatten(results), strict=True):
            values[id(old)] = new
    outputs = [values[id(t)] for t in model.outputs]
    return Model(
        inputs[0] if len(inputs) == 1 else inputs,
        outputs[0] if len(outputs) == 1 else outputs,
        name=model.name,
    )
