"""Lists of operations and tensors, as the other functions of the graph editor take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.sources import placeholder


def unique(items: Iterable[Any]) -> list[Any]:
    """The items without repetition, in the order in which they came."""
    return list(dict.fromkeys(items))


class ListView(Sequence[Any]):
    """A list that can be read and not changed; adding makes a list."""

    def __init__(self, list_: list[Any]) -> None:
        if not isinstance(list_, list):
            raise TypeError(f"Expected a list, got: {type(list_)}.")
        self._items = list_

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self._items, *other]


def is_iterable(obj: Any) -> bool:
    """Whether one can go through it."""
    return not isinstance(obj, Tensor) and hasattr(obj, "__iter__")


def get_unique_graph(tops: Any, check_types: Any = None, none_if_empty: bool = False) -> Any:
    """The graph of all these operations, tensors and views. Raises `ValueError` for several, or for none."""
    if isinstance(tops, Graph):
        return tops
    graphs = unique(top.graph for top in (tops if is_iterable(tops) else [tops]))
    if len(graphs) > 1:
        raise ValueError(f"These belong to {len(graphs)} graphs, and must be of one: {tops!r}.")
    if not graphs and not none_if_empty:
        raise ValueError("Can't find the unique graph of an empty list")
    return graphs[0] if graphs else None


def check_graphs(*args: Any) -> None:
    """Raises `ValueError` where operations, tensors and views are not all of one graph."""
    get_unique_graph([item for item in args if item.graph is not None], none_if_empty=True)


def as_tensor(value: Any) -> Any:
    """A variable's value, and tensors as they are."""
    return (
        value
        if isinstance(value, (Tensor, Operation))
        else getattr(value, "value", lambda: value)()
    )


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """Operations of a graph, an operation, a list of them or of views; tensors give theirs.

    With ``ignore_ts`` tensors give nothing.
    """
    if isinstance(ops, Graph):
        return list(ops.get_operations())
    if hasattr(ops, "ops") and not isinstance(ops, (Tensor, Operation)):
        return list(ops.ops)
    if isinstance(ops, Operation):
        return [ops]
    if isinstance(ops, Tensor):
        return [] if ignore_ts else [ops.op]
    if not isinstance(ops, Iterable):
        raise TypeError(f"Expected an operation, a graph or a list of operations, got {ops!r}.")
    return unique(op for item in ops for op in make_list_of_op(item, ignore_ts=ignore_ts))


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Tensor]:
    """Tensors of a graph, a tensor, or a list of them, in which ``ignore_ops`` allows operations, too."""
    if isinstance(ts, Graph):
        return get_tensors(ts)
    if isinstance(ts, Tensor) or not isinstance(ts, Iterable):
        ts = [ts]
    found = [as_tensor(t) for t in ts if not (ignore_ops and isinstance(t, Operation))]
    wrong = [t for t in found if not isinstance(t, Tensor)]
    if wrong:
        raise TypeError(f"Expected a tensor, a graph or a list of tensors, got {wrong[0]!r}.")
    return unique(found)


def get_tensors(graph: Graph) -> list[Tensor]:
    """All tensors of a graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [t for op in graph.get_operations() for t in op.outputs]


def get_generating_ops(ts: Any) -> list[Operation]:
    """The operations that make the tensors."""
    return unique(t.op for t in make_list_of_t(ts))


def get_consuming_ops(ts: Any) -> list[Operation]:
    """The operations that take the tensors."""
    return unique(op for t in make_list_of_t(ts) for op in t.consumers())


class ControlOutputs:
    """Which operations wait for an operation by a control edge."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def get(self, op: Operation) -> list[Operation]:
        """The operations that start only when ``op`` is done."""
        return list(op.control_outputs)

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Operation -> those that wait for it, of all that somebody waits for."""
        return {op: self.get(op) for op in self._graph.get_operations() if op.control_outputs}

    def update(self) -> ControlOutputs:
        """Itself: it always says how the graph is now."""
        return self

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph


def scope_finalize(scope: str) -> str:
    """A name scope with a slash at its end."""
    return scope if not scope or scope.endswith("/") else scope + "/"


def scope_dirname(scope: str) -> str:
    """The scope that a name is in, with a slash at its end; empty at the top."""
    return scope_finalize(scope.rpartition("/")[0])


def scope_basename(scope: str) -> str:
    """The last part of a name."""
    return scope.rpartition("/")[2]


def placeholder_name(t: Any = None, scope: str | None = None, prefix: str = "geph") -> str:
    """The name of the placeholder for a tensor, in a scope or, by default, in the tensor's."""
    if t is None:
        return scope_finalize(scope or "") + prefix
    if not isinstance(t, Tensor):
        raise TypeError(f"Expected a tensor, got: {type(t)}")
    place = scope_dirname(t.op.name) if scope is None else scope_finalize(scope)
    base = scope_basename(t.op.name)
    return place + (base if base.startswith(f"{prefix}__") else f"{prefix}__{base}_{t.value_index}")


def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: Any = None, scope: str | None = None, prefix: str = "geph"
) -> Tensor:
    """A placeholder named ``geph``."""
    return placeholder(dtype, shape, placeholder_name(None, scope, prefix))


def make_placeholder_from_tensor(
    t: Tensor, scope: str | None = None, prefix: str = "geph"
) -> Tensor:
    """A placeholder of the tensor's dtype and shape, named after it."""
    name = placeholder_name(t, scope, prefix)
    return placeholder(t.dtype.base_dtype, t.get_shape(), name)
