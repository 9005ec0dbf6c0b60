"""`SubGraphView`: a part of a graph with its inputs and outputs."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.graph_editor.elements import make_list_of_op, unique
from dataflow.contrib.graph_editor.select import (
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_union_ops,
    select_ops,
)
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike


def _chosen(indices: Any, tensors: list[Tensor]) -> list[Tensor]:
    if indices is None:
        return list(tensors)
    found = []
    for item in indices:
        if isinstance(item, Tensor) and not any(item is t for t in tensors):
            raise ValueError(f"{item.name!r} is none of {[t.name for t in tensors]}.")
        if not isinstance(item, Tensor) and not 0 <= item < len(tensors):
            raise ValueError(f"There is no tensor {item}: there are {len(tensors)}.")
        found.append(item if isinstance(item, Tensor) else tensors[item])
    return found


class SubGraphView:
    """Operations of one graph, the tensors that enter them, and those that leave them.

    An output is a tensor that an operation outside takes, or that nobody takes.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        self._inputs, self._outputs, _ = compute_boundary_ts(self._ops)
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

    def copy(self) -> SubGraphView:
        """A view of the same, which other changes do not reach."""
        return self.remap()

    def remap(self, new_input_indices: Any = None, new_output_indices: Any = None) -> SubGraphView:
        """A view of the same operations with other lists of inputs and outputs.

        Each entry is a position in the list of now, or one of its tensors; ``None`` leaves a list as it
        is. Outputs may come several times. Raises `ValueError` for what is not in the list.
        """
        view = SubGraphView.__new__(SubGraphView)
        view._ops, view._passthroughs = list(self._ops), list(self._passthroughs)
        view._inputs = _chosen(new_input_indices, self._inputs)
        view._outputs = _chosen(new_output_indices, self._outputs)
        repeated = [t for t in view._inputs if view._inputs.count(t) > 1]
        if repeated:
            raise ValueError(f"{repeated[0].name!r} is an input once, not several times.")
        return view

    def remap_inputs(self, new_input_indices: Any) -> SubGraphView:
        """`remap` of the inputs."""
        return self.remap(new_input_indices=new_input_indices)

    def remap_outputs(self, new_output_indices: Any) -> SubGraphView:
        """`remap` of the outputs."""
        return self.remap(new_output_indices=new_output_indices)

    def remap_outputs_make_unique(self) -> SubGraphView:
        """A view with each output once."""
        return self.remap_outputs(unique(self._outputs))

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """A view with each output once for each operation that takes it."""
        return self.remap_outputs([t for t in unique(self._outputs) for _ in t.consumers()])

    def remap_default(
        self, remove_input_map: bool = True, remove_output_map: bool = True
    ) -> SubGraphView:
        """A view with the inputs and outputs that its operations have now."""
        fresh, view = SubGraphView(self._ops, self._passthroughs), self.copy()
        if remove_input_map:
            view._inputs = fresh._inputs
        if remove_output_map:
            view._outputs = fresh._outputs
        return view

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """A view without the operations that neither depend on an input nor lead to an output."""
        used = set(
            get_walks_union_ops(
                self._inputs, self._outputs, within_ops=self._ops, control_inputs=control_inputs
            )
        )
        view = self.copy()
        view._ops = [op for op in self._ops if op in used]
        return view

    def reads(self, tensors: list[Tensor]) -> None:
        """Takes note that an edit has put these in the places of its inputs."""
        self._inputs = list(tensors)

    def input_index(self, t: TensorLike) -> int:
        """The position of an input. Raises `ValueError` for another tensor."""
        return self._inputs.index(t)

    def output_index(self, t: TensorLike) -> int:
        """The position of an output. Raises `ValueError` for another tensor."""
        return self._outputs.index(t)

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
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    ops = select_ops(*(arg for arg in args if not isinstance(arg, Tensor)), **kwargs)
    return SubGraphView(ops, tensors)


sgv = make_view


def sgv_scope(scope: str, graph: Graph) -> SubGraphView:
    """A view of the operations of a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))
