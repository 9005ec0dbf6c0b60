"""Reads and changes of a variable that nothing orders stay in the order that they had in the plan.

A plan runs its nodes in the order in which they were built, where no edge says otherwise, and a variable is
read by the node that uses its value. Rewrites keep what edges order, and may move all else: a fused node
stands where the last of its members stood. So a read and a change that are not ordered get a control edge, on
the private copy, before any rewrite. It is a rare case: what trains depends on what it read.
"""

from __future__ import annotations

from collections.abc import Mapping

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.known_predicates import without_taken
from dataflow.rewrites.working_graph import WorkingGraph


class _Uses:
    """The nodes so far that read or change one variable, and those that change it, as bits."""

    def __init__(self) -> None:
        self.all = self.changes = 0


def keep_order(work: WorkingGraph, known: Mapping[Tensor, bool]) -> None:
    """Adds the control edges: none within loops, or between different branches.

    A branch that runs because a fed predicate is ``known`` is none, as it will be opened.
    """
    ops = work.needed()
    changed = {op: variable for op in ops if (variable := _changed_by(op)) is not None}
    if not changed:
        return
    uses = {variable: _Uses() for variable in changed.values()}
    where = positions(ops, work.feed_tensors)
    if known:
        where = {op: without_taken(place, known) for op, place in where.items()}
    numbered: list[Operation] = []
    behind: dict[Operation, int] = {}  # the uses that come before each node, and itself
    for op in ops:
        mask = 0
        for source in (*(t.op for t in op.inputs), *op.control_inputs):
            mask |= behind.get(source, 0)
        place = where.get(op, OUTSIDE)
        variables = [v for v in _read_by(op) if v in uses]
        change = changed.get(op)
        if (variables or change is not None) and not place.loops:
            before = uses[change].all if change is not None else 0
            for variable in variables:
                before |= uses[variable].changes
            for earlier in _numbered(before & ~mask, numbered):
                if where.get(earlier, OUTSIDE) == place:
                    op.add_control_edge(earlier)
                    mask |= behind[earlier]
            bit = 1 << len(numbered)
            numbered.append(op)
            mask |= bit
            for variable in variables:
                uses[variable].all |= bit
            if change is not None:
                uses[change].all |= bit
                uses[change].changes |= bit
        behind[op] = mask
    work.changed()


def _numbered(bits: int, ops: list[Operation]) -> list[Operation]:
    """The nodes whose bits are set, the last first: those before it may wait for one another."""
    found = []
    while bits:
        number = bits.bit_length() - 1
        found.append(ops[number])
        bits ^= 1 << number
    return found


def _changed_by(op: Operation) -> Operation | None:
    """The variable that a node changes."""
    if op.op_def.is_alias or op.op_def.control_flow:
        return None
    for arg, tensor in zip(op.op_def.inputs, op.inputs, strict=False):
        if arg.is_ref:
            variable = variable_behind(tensor.op)
            return variable if variable.op_def.is_variable else None
    return None


def _read_by(op: Operation) -> set[Operation]:
    """The variables whose values a node takes when it runs; who only passes a read on takes none."""
    if op.op_def.control_flow == "switch" or (op.op_def.is_alias and op.inputs[0].dtype.is_ref):
        return set()
    return {variable for t in op.inputs if (variable := _read_late(t)) is not None}


def _read_late(tensor: Tensor) -> Operation | None:
    """The variable whose value stands for this one: the node that uses it reads it."""
    while tensor.op.op_def.control_flow == "switch":
        tensor = tensor.op.inputs[0]
    op = tensor.op
    if not tensor.dtype.is_ref and op.op_def.is_alias and not op.op_def.control_flow:
        tensor = op.inputs[0]
    return variable_behind(tensor.op) if tensor.dtype.is_ref else None
