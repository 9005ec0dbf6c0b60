"""Columns as dictionaries of plain values, as a layer's `get_config` has them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.feature_column.base import FeatureColumn
from dataflow.ops import initializers


def serialize_feature_column(fc: Any) -> Any:
    """``{"class_name", "config"}`` of a column; a key stays a string. `ValueError` for other things."""
    if isinstance(fc, str):
        return fc
    if isinstance(fc, FeatureColumn):
        return {"class_name": type(fc).__name__, "config": fc._get_config()}
    raise ValueError(f"Instance: {fc} is not a FeatureColumn")


def serialize_feature_columns(feature_columns: Sequence[Any]) -> list[Any]:
    """`serialize_feature_column` of each."""
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_column(
    config: Any,
    custom_objects: dict[str, Any] | None = None,
    columns_by_name: dict[str, Any] | None = None,
) -> Any:
    """The column that `serialize_feature_column` described.

    ``custom_objects`` has classes and functions by name; columns of ``columns_by_name`` are used
    again and new ones added to it. Raises `ValueError` for a class that is unknown or no column.
    """
    if isinstance(config, str):
        return config
    if not isinstance(config, dict) or set(config) != {"class_name", "config"}:
        raise ValueError(f"Improper config format: {config}; it needs class_name and config.")
    name = config["class_name"]
    kind = (custom_objects or {}).get(name) or _column_classes().get(name)
    if kind is None:
        raise ValueError(f"Unknown feature_column_v2: {name}")
    if not (isinstance(kind, type) and issubclass(kind, FeatureColumn)):
        raise ValueError(f"Expected FeatureColumn class, instead found: {kind}")
    known = {} if columns_by_name is None else columns_by_name
    column = kind._from_config(config["config"], custom_objects, known)
    return known.setdefault(_column_name_with_class_name(column), column)


def _column_name_with_class_name(fc: Any) -> str:
    return f"{type(fc).__name__}:{fc.name}"


def deserialize_feature_columns(
    configs: Sequence[Any], custom_objects: dict[str, Any] | None = None
) -> list[Any]:
    """The columns that `serialize_feature_columns` described; those of one name are one object."""
    known: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, known) for config in configs]


def _column_classes() -> dict[str, type]:
    """The columns that can be described, by the names of their classes."""
    from dataflow.feature_column import categorical, crossed, embedding, numeric, sequence

    return {
        name: value
        for module in (categorical, crossed, embedding, numeric, sequence)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, FeatureColumn)
    }


def config_of(value: Any) -> Any:
    """A column's field as a plain value."""
    if isinstance(value, FeatureColumn):
        return serialize_feature_column(value)
    if isinstance(value, tuple):
        return tuple(config_of(part) for part in value)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, initializers.Initializer):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value.__name__ if callable(value) else value


def arguments_of(
    config: dict[str, Any], names: Sequence[str], custom_objects: Any, columns_by_name: Any
) -> dict[str, Any]:
    """The arguments that a ``config`` of the fields ``names`` stands for; lists become tuples.

    Raises `ValueError` where it has other fields.
    """
    if set(config) != set(names):
        raise ValueError(f"Invalid config: {config}, expected keys: {tuple(names)}")

    def column(value: Any) -> Any:
        return deserialize_feature_column(value, custom_objects, columns_by_name)

    readers: dict[str, Any] = {
        "categorical_column": column,
        "source_column": column,
        "keys": lambda values: tuple(column(value) for value in values),
        "dtype": as_dtype,
        "normalizer_fn": lambda name: _function(name, custom_objects),
        "initializer": lambda value: _initializer(value, custom_objects),
    }
    arguments = {}
    for name, value in config.items():
        plain = tuple(value) if isinstance(value, list) else value
        arguments[name] = readers[name](plain) if name in readers else plain
    return arguments


def _function(name: Any, custom_objects: Any) -> Any:
    if name is None or callable(name):
        return name
    found = (custom_objects or {}).get(name)
    if found is None:
        raise ValueError(f"Unknown function: {name}; give it in custom_objects.")
    return found


def _initializer(config: Any, custom_objects: Any) -> Any:
    if not isinstance(config, dict):
        return _function(config, custom_objects)
    name = config["class_name"]
    kind = (custom_objects or {}).get(name) or getattr(initializers, name, None)
    if kind is None:
        raise ValueError(f"Unknown initializer: {name}; give it in custom_objects.")
    return kind.from_config(config["config"])
