"""`tf.keras.models`."""

from __future__ import annotations

import json
from typing import Any

from dataflow.keras.layers import deserialize
from dataflow.keras.network import Model
from dataflow.keras.saving import load_model, save_model
from dataflow.keras.sequential import Sequential

__all__ = ["Model", "Sequential", "clone_model", "load_model", "model_from_config"]
__all__ += ["model_from_json", "save_model"]


def model_from_config(config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The model of ``{"class_name", "config"}``, with new weights."""
    return deserialize(config, custom_objects)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """The model that ``to_json`` described, with new weights."""
    return deserialize(json.loads(json_string), custom_objects)


def clone_model(model: Any, input_tensors: Any = None) -> Any:
    """A model of the same architecture, with new weights; on ``input_tensors`` where given."""
    if input_tensors is not None and not isinstance(input_tensors, (list, tuple)):
        input_tensors = [input_tensors]
    return type(model).from_config(model.get_config(), inputs=input_tensors)
