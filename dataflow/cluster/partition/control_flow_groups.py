"""Loops and conditionals as units, which must run on one task and in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


class _Units:
    """Disjoint sets of nodes, which joins make larger."""

    def __init__(self) -> None:
        self._parent: dict[Operation, Operation] = {}

    def _find(self, op: Operation) -> Operation:
        parent = self._parent
        while parent.get(op, op) is not op:
            parent[op] = parent.get(parent[op], parent[op])
            op = parent[op]
        return op

    def join(self, a: Operation, b: Operation) -> None:
        """Make one set of the sets of both."""
        a, b = self._find(a), self._find(b)
        if a is not b:
            self._parent[b] = a

    def of(self, ops: Iterable[Operation]) -> Iterable[list[Operation]]:
        """The nodes by their sets, in order."""
        found: dict[Operation, list[Operation]] = {}
        for op in ops:
            found.setdefault(self._find(op), []).append(op)
        return found.values()


def control_flow_groups(ops: Sequence[Operation], feeds: set[Tensor]) -> list[list[Operation]]:
    """Return the connected sets of nodes inside loops and branches; most graphs have none.

    A node is inside when it runs only if a branch is taken (it comes after a Switch and before the
    Merge that joins the branches) or between a loop's Enter and Exit. Two conditionals on the same
    predicate are two units; nodes that only feed a unit are outside.
    """
    if not any(op.op_def.control_flow for op in ops):
        return []
    members = set(ops)
    inside = _inside_loops(ops, members, feeds)
    units = _Units()
    depth: dict[Operation, int] = {}  # how many branches a node is in
    touched: dict[Operation, None] = {}
    for op in ops:
        sources = [t.op for t in op.inputs if t not in feeds and t.op in members]
        sources += [source for source in op.control_inputs if source in members]
        depths = [
            depth.get(source, 0) + (source.op_def.control_flow == "switch" and source not in inside)
            for source in sources
        ]
        depth[op] = max(depths, default=0)
        if op.op_def.control_flow == "merge" and op not in inside:
            depth[op] = max(0, depth[op] - 1)
        is_inside = op in inside or depth[op] > 0 or op.op_def.control_flow in ("switch", "merge")
        if not is_inside:
            continue
        touched[op] = None
        for source, source_depth in zip(sources, depths, strict=True):
            enters_here = op in inside and source not in inside
            leaves_loop = (
                source in inside and op not in inside and source.op_def.control_flow == "exit"
            )
            if source_depth > 0 and not leaves_loop:
                units.join(source, op)  # both lie in the same branch
            elif op in inside and source in inside and not enters_here:
                units.join(source, op)
    for op in ops:  # back edges, and members of a loop that only a later node connects
        if op in inside:
            for tensor in op.inputs:
                if tensor.op in inside:
                    units.join(tensor.op, op)
            for source in op.control_inputs:
                if source in inside:
                    units.join(source, op)
    return [unit for unit in units.of(touched) if len(unit) > 1]


def _inside_loops(
    ops: Sequence[Operation], members: set[Operation], feeds: set[Tensor]
) -> set[Operation]:
    """Nodes on a path from an Enter to an Exit, and all that they reach before an Exit."""
    consumers: dict[Operation, list[Operation]] = {}
    for op in ops:
        for tensor in op.inputs:
            if tensor.op in members and tensor not in feeds:
                consumers.setdefault(tensor.op, []).append(op)
        for source in op.control_inputs:
            consumers.setdefault(source, []).append(op)
    inside: set[Operation] = set()
    nesting: dict[Operation, int] = {}
    stack = [(op, 1) for op in ops if op.op_def.control_flow == "enter"]
    while stack:
        op, level = stack.pop()
        if nesting.get(op, -1) >= level:
            continue
        nesting[op] = level
        inside.add(op)
        if op.op_def.control_flow == "exit":
            level -= 1
        for consumer in consumers.get(op, ()):
            if level > 0 and consumer.op_def.control_flow != "enter":
                stack.append((consumer, level))
            elif level > 0:
                stack.append((consumer, level + 1))
    return inside
