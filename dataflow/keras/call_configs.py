"""Tensors among the further arguments of a layer's call, in the configs of models."""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K

__all__ = ["described", "keys_in", "with_tensors"]


def described(value: Any, numbers: dict[int, list[Any]]) -> Any:
    """A tensor among the arguments of a call: by layer, call and output, or by its values if it is of no layer."""
    if id(value) in numbers:
        return numbers[id(value)]
    return K.get_value(value) if isinstance(value, Tensor) else value


def _is_key(value: Any) -> bool:
    is_three = isinstance(value, (list, tuple)) and len(value) == 3
    return is_three and isinstance(value[0], str) and all(type(n) is int for n in value[1:])


def keys_in(arguments: Any, layers: Any) -> list[tuple[Any, ...]]:
    """The tensors of layers that `described` wrote into the arguments of a call."""
    if _is_key(arguments):
        return [tuple(arguments)] if arguments[0] in layers else []
    parts = arguments.values() if isinstance(arguments, dict) else arguments
    several = isinstance(arguments, (dict, list, tuple))
    return [key for part in parts for key in keys_in(part, layers)] if several else []


def with_tensors(arguments: Any, tensors: dict[tuple[Any, ...], Any]) -> Any:
    """The arguments of a call, with the tensors that `keys_in` finds."""
    if _is_key(arguments) and tuple(arguments) in tensors:
        return tensors[tuple(arguments)]
    if isinstance(arguments, dict):
        return {name: with_tensors(part, tensors) for name, part in arguments.items()}
    if isinstance(arguments, (list, tuple)):
        return type(arguments)(with_tensors(part, tensors) for part in arguments)
    return arguments
