"""`tf.keras.models`."""

from __future__ import annotations

import json
from typing import Any

from dataflow.keras.layers import deserialize
from dataflow.keras.model_copies import (
    clone_and_build_model,
    clone_functional_model as _clone_functional_model,
    clone_layer as _clone_layer,
    clone_model,
    clone_sequential_model as _clone_sequential_model,
    share_weights,
)
from dataflow.keras.network import Model
from dataflow.keras.saving import load_model, save_model
from dataflow.keras.sequential import Sequential

__all__ = ["Model", "Sequential", "clone_model", "load_model", "model_from_config"]
__all__ += ["model_from_json", "model_from_yaml", "save_model"]
#: Names of TensorFlow's private module.
_PRIVATE: tuple[Any, ...] = (clone_and_build_model, share_weights, _clone_layer)
_PRIVATE += (_clone_functional_model, _clone_sequential_model)


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
