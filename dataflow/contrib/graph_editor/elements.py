"""Lists of operations and tensors, as the other functions of the graph editor take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.sources import placeholder


def unique(items: Iterable[Any]) -> list[Any]:
    """The items without repetition, in the order in which they came."""
    return list(dict.fromkeys(items))


def as_tensor(value: Any) -> Any:
    """A variable's value, and tensors as they are."""
    return (
        value
        if isinstance(value, (Tensor, Operation))
        else getattr(value, "value", lambda: value)()
    )


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True
) -> list[Operation]:
    """Operations of a graph, an operation, a list of them or of views; tensors give theirs."""
    if isinstance(ops, Graph):
        return list(ops.get_operations())
    if hasattr(ops, "ops") and not isinstance(ops, (Tensor, Operation)):
        return list(ops.ops)
    if isinstance(ops, Operation):
        return [ops]
    if isinstance(ops, Tensor):
        return [ops.op]
    if not isinstance(ops, Iterable):
        raise TypeError(f"Expected an operation, a graph or a list of operations, got {ops!r}.")
    return unique(op for item in ops for op in make_list_of_op(item))


def make_list_of_t(ts: Any, check_graph: bool = True, allow_graph: bool = True) -> list[Tensor]:
    """Tensors of a graph, a tensor, or a list of them."""
    if isinstance(ts, Graph):
        return get_tensors(ts)
    if isinstance(ts, Tensor) or not isinstance(ts, Iterable):
        ts = [ts]
    found = [as_tensor(t) for t in ts]
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

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph


def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: Any = None, scope: str | None = None, prefix: str = "geph"
) -> Tensor:
    """A placeholder named ``geph``."""
    return placeholder(dtype, shape, f"{scope.rstrip('/')}/{prefix}" if scope else prefix)


def make_placeholder_from_tensor(
    t: Tensor, scope: str | None = None, prefix: str = "geph"
) -> Tensor:
    """A placeholder of the tensor's dtype and shape, named after it."""
    name = f"{prefix}__{t.op.name.rpartition('/')[2]}_{t.value_index}"
    return make_placeholder_from_dtype_and_shape(t.dtype.base_dtype, t.get_shape(), scope, name)
