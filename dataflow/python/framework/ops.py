"""``from tensorflow.python.framework import ops``: the core of graphs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import (
    convert_to_tensor,
    dense_types,
    is_tensor_like,
    register_tensor_conversion_function,
)
from dataflow.graph.default_stacks import (
    default_graph as get_default_graph,
    default_session as get_default_session,
    reset_default_graph,
)
from dataflow.graph.eager import enable_eager_execution, executing_eagerly_outside_functions
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import (
    GradientRegistry,
    RegisterGradient,
    gradient_function_of,
    not_differentiable as NotDifferentiable,
)
from dataflow.graph.tensor import Tensor
from dataflow.ops.graph_functions import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    init_scope,
    name_scope,
    op_scope,
)
from dataflow.ops.indexed_slices import (
    IndexedSlices,
    IndexedSlicesValue,
    convert_to_tensor_or_indexed_slices,
)

NoGradient = NotDifferentiable
_gradient_registry = GradientRegistry()
internal_convert_to_tensor = convert_to_tensor
_TensorLike = Tensor


def convert_to_tensor_v2(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """`tf.convert_to_tensor` with the argument names of TensorFlow 2: ``dtype_hint`` where it fits."""
    return convert_to_tensor(value, dtype=dtype, preferred_dtype=dtype_hint, name=name)


_uids = itertools.count(1)


def get_gradient_function(op: Operation) -> Any:
    """The function that builds the gradient of ``op``; ``None`` where there is none, or nothing to derive by.

    Raises `LookupError` when the op has none and is not said to be without.
    """
    return gradient_function_of(op) if op.inputs else None


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Has `is_dense_tensor_like` say yes to ``tensor_type``, which has a ``name`` and a ``dtype``.

    Raises `TypeError` where one of them is no property.
    """
    for needed in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, needed, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{needed}` property")
    dense_types.append(tensor_type)


def is_dense_tensor_like(t: Any) -> bool:
    """Whether ``t`` is a tensor, or stands for one, as variables do."""
    return is_tensor_like(t) or isinstance(t, tuple(dense_types))


def inside_function() -> bool:
    """Whether operations become nodes of a function's graph."""
    return get_default_graph().building_function


def get_name_scope() -> str:
    """The name scope that operations are made in; "" outside of any."""
    return get_default_graph().get_name_scope()


def uid() -> int:
    """A number that no earlier call returned."""
    return next(_uids)


def convert_n_to_tensor(values: Iterable[Any], dtype: Any = None, name: Any = None) -> list[Any]:
    """A tensor for each of the values, which must be convertible to ``dtype`` where that is given."""
    return [
        convert_to_tensor(value, dtype=dtype, name=None if name is None else f"{name}_{i}")
        for i, value in enumerate(values)
    ]


def set_shapes_for_outputs(op: Operation) -> None:
    """Nothing to do: an operation's outputs have their shapes from its beginning."""


def name_from_scope_name(name: str) -> str:
    """A scope's name without the slash at its end."""
    return name.removesuffix("/")


def strip_name_scope(name: Any, export_scope: str | None) -> Any:
    """A node's name as it is called inside ``export_scope``; what is no text stays as it is."""
    if not export_scope or not isinstance(name, str):
        return name
    inside = rf"([\^]|loc:@|^){re.escape(export_scope.removesuffix('/'))}[/]+(.*)"
    return re.sub(inside, r"\1\2", name, count=1)


def prepend_name_scope(name: Any, import_scope: str | None) -> Any:
    """A node's name as it is called after an import under ``import_scope``."""
    if not import_scope or not isinstance(name, str):
        return name
    return re.sub(r"([\^]|loc:@|^)(.*)", rf"\1{import_scope.removesuffix('/')}/\2", name, count=1)


def _as_graph_element(obj: Any) -> Any:
    """The tensor or operation that ``obj`` stands for, None where it stands for none."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert else None


def _get_graph_from_inputs(op_input_list: Any, graph: Any = None) -> Any:
    """The graph of the inputs, or the default one; raises `ValueError` where they are of several."""
    wanted = graph
    for item in op_input_list:
        mine = getattr(item, "graph", None)
        if mine is None:
            continue
        if wanted is not None and mine is not wanted:
            raise ValueError(f"{item} is not from the passed-in graph.")
        if graph is not None and mine is not graph:
            raise ValueError(f"{item} must be from the same graph as the others.")
        graph = mine
    return get_default_graph() if graph is None else graph


class RegisterShape:
    """``@ops.RegisterShape("MyOp")``: does nothing, as in TensorFlow since 1.0; shape rules belong to ops."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Any) -> Any:
        """The function itself."""
        return f


def register_proto_function(
    collection_name: str, proto_type: Any = None, to_proto: Any = None, from_proto: Any = None
) -> None:
    """Says how a collection's items are written to MetaGraphs: those that have ``to_proto`` are, here.

    Raises `TypeError` for a ``to_proto`` or ``from_proto`` that is not callable.
    """
    for function in (to_proto, from_proto):
        if function is not None and not callable(function):
            raise TypeError(f"{collection_name}: to_proto and from_proto must be callable.")


__all__ = [
    "EagerTensor",
    "Graph",
    "GraphKeys",
    "IndexedSlices",
    "IndexedSlicesValue",
    "NoGradient",
    "NotDifferentiable",
    "Operation",
    "RegisterGradient",
    "RegisterShape",
    "Tensor",
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "convert_n_to_tensor",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_v2",
    "device",
    "enable_eager_execution",
    "executing_eagerly_outside_functions",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_gradient_function",
    "get_name_scope",
    "init_scope",
    "inside_function",
    "internal_convert_to_tensor",
    "is_dense_tensor_like",
    "name_from_scope_name",
    "name_scope",
    "op_scope",
    "prepend_name_scope",
    "register_dense_tensor_like_type",
    "register_proto_function",
    "register_tensor_conversion_function",
    "reset_default_graph",
    "set_shapes_for_outputs",
    "strip_name_scope",
    "uid",
]
