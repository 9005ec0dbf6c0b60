"""`SubGraphView`: a part of a graph with its inputs and outputs."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.graph_editor.elements import make_list_of_op, unique
from dataflow.contrib.graph_editor.select import get_name_scope_ops, select_ops
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike


class SubGraphView:
    """Operations of one graph, the tensors that enter them, and those that leave them.

    An output is a tensor that an operation outside takes, or that nobody takes.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        inside = set(self._ops)
        self._inputs = unique(t for op in self._ops for t in op.inputs if t.op not in inside)
        self._outputs = unique(
            t
            for op in self._ops
            for t in op.outputs
            if not t.consumers() or any(user not in inside for user in t.consumers())
        )
        passing = [t for t in passthrough_ts if t not in self._inputs]
        self._passthroughs = passing
        self._inputs += passing
        self._outputs += passing

    @property
    def ops(self) -> list[Any]:
        """The operations."""
        return self._ops

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that enter."""
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that leave."""
        return self._outputs

    @property
    def passthroughs(self) -> list[Tensor]:
        """The tensors that only pass."""
        return self._passthroughs

    @property
    def graph(self) -> Any:
        """The graph; None for an empty view."""
        first: Any = next(iter(self._ops), None) or next(iter(self._inputs), None)
        return None if first is None else first.graph

    def op(self, op_id: int) -> Any:
        """The operation with this position in the view."""
        return self._ops[op_id]

    def find_op_by_name(self, op_name: str) -> Any:
        """The operation of this name; raises `ValueError` where there is none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not found in subgraph.")

    def is_passthrough(self, t: TensorLike) -> bool:
        """Whether the tensor only passes."""
        return t in self._passthroughs

    def consumers(self) -> list[Any]:
        """The operations outside that take an output."""
        inside = set(self._ops)
        return unique(op for t in self._outputs for op in t.consumers() if op not in inside)

    def __bool__(self) -> bool:
        return bool(self._ops or self._passthroughs)

    def __repr__(self) -> str:
        return (
            f"<tf.contrib.graph_editor.SubGraphView of {len(self._ops)} operations, "
            f"{len(self._inputs)} inputs, {len(self._outputs)} outputs>"
        )


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """A view of operations, lists of them, or expressions that are found in names (of ``graph=``)."""
    views = [arg for arg in args if isinstance(arg, SubGraphView)]
    if len(args) == 1 and views:
        return views[0]
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    ops = select_ops(*(arg for arg in args if not isinstance(arg, Tensor)), **kwargs)
    return SubGraphView(ops, tensors)


sgv = make_view


def sgv_scope(scope: str, graph: Graph) -> SubGraphView:
    """A view of the operations of a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))
