"""The tensors of a layer's call, in the structure that they have, in the configs of models."""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K

__all__ = [
    "described",
    "entries_of",
    "keys_in",
    "with_structure",
    "with_tensors",
    "written_calls",
]


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


def written_calls(structure: Any, numbers: dict[int, list[Any]], *more: Any) -> Any:
    """``structure`` (dictionaries, lists, tensors) with ``[*numbers, *more]`` of each tensor, as JSON has it.

    A single tensor stands in a list of its own.
    """

    def write(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: write(each) for name, each in part.items()}
        if isinstance(part, (list, tuple)):
            return [write(each) for each in part]
        return [*numbers[id(part)], *more]

    found = write(structure)
    return found if isinstance(structure, (dict, list, tuple)) else [found]


def _is_entry(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], str)


def entries_of(written: Any) -> list[Any]:
    """Layer, call and output of each tensor that `written_calls` wrote, flat: of a dictionary by sorted names."""
    if _is_entry(written):
        return [written]
    parts = [written[k] for k in sorted(written)] if isinstance(written, dict) else written
    return [entry for part in parts for entry in entries_of(part)]


def with_structure(written: Any, tensors: dict[tuple[Any, ...], Any]) -> Any:
    """The tensors that `written_calls` wrote, in their structure; a list of one is that one."""

    def read(part: Any) -> Any:
        if _is_entry(part):
            return tensors[tuple(part[:3])]
        if isinstance(part, dict):
            return {name: read(each) for name, each in part.items()}
        return [read(each) for each in part]

    found = read(written)
    return found[0] if isinstance(found, list) and len(found) == 1 else found
