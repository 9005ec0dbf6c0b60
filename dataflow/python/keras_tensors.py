"""``tensorflow.python.keras.utils.tf_utils``: questions about tensors that layers ask."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor, is_tensor_like
from dataflow.graph.eager import executing_eagerly
from dataflow.ops.composites import parts_of
from dataflow.ops.tensor_values import constant_value as static_value
from dataflow.ops.variables import Variable
from dataflow.python.framework.smart_cond import smart_cond
from dataflow.shapes import TensorShape

__all__ = [
    "ListWrapper",
    "are_all_symbolic_tensors",
    "constant_value",
    "convert_inner_node_data",
    "convert_shapes",
    "is_symbolic_tensor",
    "is_tensor_or_tensor_list",
    "is_tensor_or_variable",
    "map_structure_with_atomic",
    "register_symbolic_tensor_type",
    "shape_type_conversion",
    "smart_cond",
]

_symbolic_types: list[type] = []


class ListWrapper:
    """A list that counts as one part of a structure."""

    def __init__(self, list_to_wrap: list[Any]) -> None:
        self._list = list_to_wrap

    def as_list(self) -> list[Any]:
        """The list."""
        return self._list


def constant_value(pred: Any) -> Any:
    """A truth value that is known while the graph is built; None for one that is not."""
    if isinstance(pred, Variable):
        return None
    if isinstance(pred, (bool, int)):
        return bool(pred)
    return static_value(pred)


def is_tensor_or_variable(x: Any) -> bool:
    """Whether ``x`` is a tensor, a variable or made of tensors."""
    return is_tensor_like(x) or parts_of(x) is not None


def is_tensor_or_tensor_list(v: Any) -> bool:
    """Whether ``v``, or the first element of the list ``v``, is a tensor."""
    flat = nest.flatten(v)
    return bool(flat) and is_tensor_or_variable(flat[0])


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether ``tensor`` stands for a value of a graph, or is of a class that was registered and becomes such a tensor.

    In eager code a variable does not, unless a layer returned it.
    """
    if isinstance(tensor, Variable):
        return hasattr(tensor, "_keras_history") or not executing_eagerly()
    parts = parts_of(tensor)
    if parts is not None:
        return any(is_symbolic_tensor(part) for part in parts[0])
    if isinstance(tensor, tuple(_symbolic_types)):
        return is_symbolic_tensor(convert_to_tensor(tensor))
    graph = getattr(tensor, "graph", None)
    return graph is not None and is_tensor_like(tensor) and not graph.executes_eagerly


def are_all_symbolic_tensors(tensors: Any) -> bool:
    """Whether each is one for `is_symbolic_tensor`."""
    return all(is_symbolic_tensor(t) for t in tensors)


def register_symbolic_tensor_type(cls: type) -> None:
    """Lets `is_symbolic_tensor` say yes for instances of ``cls``."""
    if cls not in _symbolic_types:
        _symbolic_types.append(cls)


def map_structure_with_atomic(
    is_atomic_fn: Callable[[Any], bool], map_fn: Callable[[Any], Any], nested: Any
) -> Any:
    """``map_fn`` of each part for which ``is_atomic_fn`` holds, in lists, tuples, dictionaries and classes of attrs.

    Raises `ValueError` for a part that is neither.
    """
    if is_atomic_fn(nested):
        return map_fn(nested)
    walk = functools.partial(map_structure_with_atomic, is_atomic_fn, map_fn)
    if isinstance(nested, dict):
        return {key: walk(value) for key, value in nested.items()}
    if (fields := getattr(type(nested), "__attrs_attrs__", None)) is not None:
        return type(nested)(*(walk(getattr(nested, field.name)) for field in fields))
    if not isinstance(nested, (list, tuple)):
        raise ValueError(f"Received non-atomic and non-sequence element: {nested}")
    parts = [walk(value) for value in nested]
    return type(nested)(*parts) if hasattr(nested, "_fields") else type(nested)(parts)


def _is_shape(value: Any) -> bool:
    if value is None or isinstance(value, TensorShape):
        return True
    sizes = isinstance(value, (list, tuple))
    return sizes and all(
        size is None or (not nest.is_nested(size) and not isinstance(size, TensorShape))
        for size in value
    )


def convert_shapes(input_shape: Any, to_tuples: bool = True) -> Any:
    """Every shape of a structure as a tuple of sizes, or as a `TensorShape` without ``to_tuples``."""

    def convert(shape: Any) -> Any:
        shape = TensorShape(shape)
        return tuple(shape.as_list()) if to_tuples and shape.rank is not None else shape

    return map_structure_with_atomic(_is_shape, convert, input_shape)


def shape_type_conversion(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a layer's method: it gets shapes as tuples, and what it returns becomes `TensorShape`."""

    @functools.wraps(fn)
    def with_tuples(instance: Any, input_shape: Any) -> Any:
        if input_shape is not None:
            input_shape = convert_shapes(input_shape, to_tuples=True)
        output_shape = fn(instance, input_shape)
        return None if output_shape is None else convert_shapes(output_shape, to_tuples=False)

    return with_tuples


def convert_inner_node_data(nested: Any, wrap: bool = False) -> Any:
    """What a model's configuration says of a layer's inputs, lists such as ``["layer", 0, 0]``.

    Each as a list, or with ``wrap`` as a `ListWrapper`.
    """

    def is_atomic(value: Any) -> bool:
        return (
            isinstance(value, ListWrapper)
            or (isinstance(value, list) and bool(value) and isinstance(value[0], str))
            or not isinstance(value, (list, tuple, dict))
        )

    def convert(value: Any) -> Any:
        if isinstance(value, ListWrapper):
            return value if wrap else value.as_list()
        return ListWrapper(value) if wrap and isinstance(value, list) else value

    return map_structure_with_atomic(is_atomic, convert, nested)
