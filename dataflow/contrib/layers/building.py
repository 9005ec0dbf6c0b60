"""What layers are written with: names of outputs, constants known before a run, sizes of axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.layers.base import smart_cond  # noqa: F401  (a name of slim.utils)
from dataflow.ops.static_value import static_value
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape, dimension_value


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Notes another name of ``tensor``; returns the tensor."""
    if not hasattr(tensor, "aliases"):
        tensor.aliases = []
    tensor.aliases.append(alias.removesuffix("/"))
    return tensor


def collect_named_outputs(collections: Iterable[str], alias: str, outputs: Any) -> Any:
    """Puts ``outputs`` into collections of the default graph, with ``alias`` as a name; returns it."""
    if collections:
        append_tensor_alias(outputs, alias)
        default_graph().add_to_collections(collections, outputs)
    return outputs


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names that layers gave to ``tensor``, or that of its op where none did."""
    return list(getattr(tensor, "aliases", ())) or [tensor.op.name.removesuffix("/")]


def gather_tensors_aliases(tensors: Sequence[Any]) -> list[str]:
    """The names of several tensors, in one list."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """The tensors of a collection by their names, such as a network's ``end_points``."""
    graph = default_graph()
    found = {a: t for t in graph.get_collection(collection) for a in get_tensor_aliases(t)}
    if clear_collection:
        graph.clear_collection(collection)
    return found


def constant_value(value_or_tensor_or_var: Any, dtype: DTypeLike | None = None) -> Any:
    """The value where it is known before the graph runs, else None."""
    value = value_or_tensor_or_var
    if isinstance(value, Tensor):
        value = static_value(value)
    elif isinstance(value, Variable):
        return None
    return value


def static_cond(pred: TensorLike, fn1: Any, fn2: Any) -> Any:
    """``fn1()`` or ``fn2()``, by a truth value that is known now; for others take `smart_cond`."""
    if not callable(fn1) or not callable(fn2):
        raise TypeError("fn1 and fn2 must be callable.")
    return fn1() if pred else fn2()


def _dimension(shape: Any, axis: int, min_rank: int) -> Any:
    shape = TensorShape(shape)
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    return dimension_value(shape[axis])


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> Any:
    """The number of channels of ``shape``, an int or None, for a layout as "NHWC"."""
    return _dimension(shape, 1 if data_format.startswith("NC") else -1, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> Any:
    """The size of the last axis, an int or None; raises `ValueError` below ``min_rank``."""
    return _dimension(shape, -1, min_rank)


def first_dimension(shape: Any, min_rank: int = 1) -> Any:
    """The size of the first axis, an int or None; raises `ValueError` below ``min_rank``."""
    return _dimension(shape, 0, min_rank)


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections of the variable ``name``, of a dictionary by names or of all."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """``n`` positive integers out of one, or out of ``n``; raises `ValueError` for others."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be a positive integer, but got {n!r}.")
    given = [value] * n if isinstance(value, int) else value
    try:
        found = tuple(int(v) for v in given)
    except (TypeError, ValueError):
        raise ValueError(f"Expected {n} positive integers, but got {value!r}.") from None
    if len(found) != n or any(v < 1 for v in found):
        raise ValueError(f"Expected {n} positive integers, but got {value!r}.")
    return found


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Two positive integers out of one or two; raises `ValueError` for others."""
    first, second = n_positive_integers(2, int_or_tuple)
    return first, second
