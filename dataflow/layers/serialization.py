"""Objects as JSON and back: names for functions, ``{"class_name", "config"}`` for objects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.dtypes import DType

_custom_objects: dict[str, Any] = {}


def get_custom_objects() -> dict[str, Any]:
    """The global dict of user classes and functions by name; add your own to it."""
    return _custom_objects


@contextlib.contextmanager
def custom_object_scope(*args: dict[str, Any]) -> Iterator[None]:
    """Inside the block, the given dicts of names are known when models are loaded."""
    before = dict(_custom_objects)
    for given in args:
        _custom_objects.update(given)
    try:
        yield
    finally:
        _custom_objects.clear()
        _custom_objects.update(before)


CustomObjectScope = custom_object_scope


def serialize(value: Any) -> Any:
    """``value`` as something JSON can hold.

    Raises `TypeError` for what has no name and no ``get_config``, such as a lambda.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, DType):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        values = [serialize(v) for v in value]
        return tuple(values) if isinstance(value, tuple) else values
    if isinstance(value, dict):
        return {str(k): serialize(v) for k, v in value.items()}
    if hasattr(value, "get_config") and not isinstance(value, type):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    name = getattr(value, "__name__", None)
    if callable(value) and name and name != "<lambda>":
        return name.rstrip("_")
    raise TypeError(
        f"{value!r} cannot be written as JSON, so the model's architecture cannot be saved.\n"
        "Use a named function (and pass it to load_model(custom_objects={...})), or keep the code "
        "that builds the model and save only weights: model.save_weights(path)."
    )


def lookup(kind: str, name: str, known: dict[str, Any]) -> Any:
    """The custom object or the known one called ``name``; raises `ValueError` with the choices."""
    if name in _custom_objects:
        return _custom_objects[name]
    if name in known:
        return known[name]
    choices = ", ".join(sorted(known))
    raise ValueError(
        f"Unknown {kind}: {name!r}. There are: {choices}.\n"
        f"For one of your own, pass custom_objects={{{name!r}: ...}} when loading a model."
    )


def deserialize(kind: str, config: Any, known: dict[str, Any]) -> Any:
    """The object that `serialize` described."""
    if not isinstance(config, dict) or "class_name" not in config:
        raise ValueError(f"Improper config format of a {kind}: {config!r}")
    cls = lookup(kind, config["class_name"], known)
    settings = config.get("config") or {}
    return cls.from_config(settings) if hasattr(cls, "from_config") else cls(**settings)
