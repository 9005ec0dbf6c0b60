"""`GraphTape`: what a `tf.GradientTape` records in the graph of a function.

A graph keeps its nodes anyway, so here a tape only stores which ranges of nodes were added while it recorded, and
what it watches. `gradients` walks back through those nodes alone.
"""

from __future__ import annotations

from typing import Any

from dataflow.autodiff.gradients import gradients_within
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.traced_graph import TracedGraph
from dataflow.ops.variables import Variable


class GraphTape:
    """The nodes that were made while a tape recorded, and the tensors and variables that it watches."""

    def __init__(self, graph: TracedGraph, watches_variables: bool) -> None:
        self.graph = graph
        self.watches_variables = watches_variables
        #: The numbers of the first node and of that after the last, for each range; None: it still records.
        self._spans: list[tuple[int, int | None]] = []
        self._tensors: dict[Tensor, None] = {}
        self._variables: dict[int, Any] = {}

    def start(self) -> None:
        """From here on nodes are recorded."""
        self._spans.append((len(self.graph.operations), None))

    def stop(self) -> None:
        """From here on they are not."""
        first, _ = self._spans.pop()
        self._spans.append((first, len(self.graph.operations)))

    def watch(self, item: Any) -> None:
        """Makes derivatives by a tensor or a variable possible."""
        if isinstance(item, Variable):
            self._variables.setdefault(id(item), item)
        else:
            self._tensors.setdefault(self._node(item))

    def holds(self, op: Operation) -> bool:
        """Whether a node was made while the tape recorded."""
        number = op.index
        return any(a <= number and (b is None or number < b) for a, b in self._spans)

    def variables(self) -> list[Any]:
        """The variables that were watched, and those that can be trained and were used."""
        found = dict(self._variables)
        if self.watches_variables:
            seen: set[Tensor] = set()
            for first, last in self._spans:
                for op in self.graph.operations[first:last]:
                    for tensor in op.inputs:
                        if tensor.dtype.is_handle and tensor not in seen:
                            seen.add(tensor)
                            variable = self.graph.variable_of(tensor)
                            if variable is not None and variable.trainable:
                                found.setdefault(id(variable), variable)
        return list(found.values())

    def gradients(self, ys: list[Any], xs: list[Any], grad_ys: list[Any] | None) -> list[Any]:
        """The derivatives of ``ys`` by each of ``xs``; None for what was not watched, or has no influence."""
        variables = self.variables()
        watched = {*self._tensors, *(self._node(v) for v in variables)}
        depends = self._depending(watched - {None})
        targets = [self._node(y) for y in ys]
        kept = [i for i, y in enumerate(targets) if y in depends]
        sources = [self._node(x) for x in xs]
        known = [x for x in dict.fromkeys(sources) if x in depends]
        if not kept or not known:
            return [None] * len(xs)
        given = None if grad_ys is None else [grad_ys[i] for i in kept]
        found = gradients_within([targets[i] for i in kept], known, given, self.holds)
        by_source = dict(zip(known, found, strict=True))
        return [by_source.get(x) for x in sources]

    def _node(self, item: Any) -> Any:
        """What stands for a tensor or variable in this graph; None for what the graph does not use."""
        if isinstance(item, Variable):
            item = item._ref()
        if isinstance(item, Tensor) and item.graph.executes_eagerly:
            return self.graph.stand_ins.get(item)
        return item

    def _depending(self, watched: set[Any]) -> set[Any]:
        """What was computed from these tensors while the tape recorded, and they themselves."""
        found = set(watched)
        left = list(watched)
        while left:
            for op in left.pop().uses:
                if self.holds(op):
                    fresh = [tensor for tensor in op.outputs if tensor not in found]
                    found.update(fresh)
                    left += fresh
        return found
