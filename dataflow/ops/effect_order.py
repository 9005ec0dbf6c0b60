"""The order of a function's side effects: TensorFlow's automatic control dependencies.

The nodes of a traced function run in the order of its lines wherever that can be seen: reads and changes of one
variable, queue or table in turn, and printing, checking and calling Python in turn. A conditional or a loop counts as
one node: it begins when what it uses is ready, and what comes after it waits for its end.
"""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import resource
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.effects import acting

#: Stands for the order of what uses no resource.
_OUTER_WORLD = object()


class _Uses:
    """The nodes that a later use of one resource waits for."""

    def __init__(self) -> None:
        #: The last that changed it, and those that read it since.
        self.changed: list[Operation] = []
        self.read: list[Operation] = []


class _Unit:
    """A node, or a whole conditional or loop: where it begins, where it ends, and what it uses."""

    def __init__(self) -> None:
        self.begins: list[Operation] = []
        self.ends: list[Operation] = []
        #: resource -> whether it is changed
        self.uses: dict[Any, bool] = {}


def order_effects(graph: Any) -> list[Operation]:
    """Adds the control edges to a completed graph; returns the nodes that each call must run.

    Those change something, print or check: they run though nobody uses what they give.
    """
    acts = acting(graph)
    last: dict[Any, _Uses] = {}
    for unit in _units(graph.operations, set(acts)):
        waits: dict[Operation, None] = {}
        for what, changes in unit.uses.items():
            uses = last.setdefault(what, _Uses())
            waits.update(dict.fromkeys(uses.changed))
            if changes:
                waits.update(dict.fromkeys(uses.read))
                uses.changed, uses.read = list(unit.ends), []
            else:
                uses.read += unit.ends
        for op in unit.begins:
            known = {*op.control_inputs, *(t.op for t in op.inputs)}
            for earlier in waits:
                if earlier not in known and earlier is not op:
                    op.add_control_edge(earlier)
    graph.mutated()
    return acts


def _units(operations: list[Operation], acts: set[Operation]) -> list[_Unit]:
    """The nodes outside of branches and loops that use something, and the branches and loops, in order."""
    inside: dict[Any, _Unit] = {}
    order: list[_Unit] = []
    for op in operations:
        traits = op.op_def
        around = _around(op)
        if around is None:
            if traits.control_flow == "merge" and (ended := _ended_by(op, inside)) is not None:
                ended.ends.append(op)
            elif not traits.is_variable and not traits.control_flow:
                unit = _Unit()
                unit.begins, unit.ends = [op], [op]
                _note(unit, op, acts)
                if unit.uses:
                    order.append(unit)
            continue
        found = inside.get(around)
        if found is None:
            found = inside[around] = _Unit()
            order.append(found)
            if isinstance(around, Operation):  # the Switch that decides
                found.begins.append(around)
        if op.control_flow_context is around and traits.control_flow == "exit":
            found.ends.append(op)
        elif traits.control_flow in ("enter", "switch") and _around(op.inputs[0].op) is None:
            found.begins.append(op)
        _note(found, op, acts)
    return order


def _around(op: Operation) -> Any:
    """The outermost loop, or the Switch of the outermost conditional, that a node is in; None outside of all."""
    context = op.control_flow_context
    if context is None:
        return None
    while context.outer is not None:
        context = context.outer
    return context if context.is_while else context.pivot.op.inputs[0].op


def _ended_by(merge: Operation, inside: dict[Any, _Unit]) -> _Unit | None:
    """The conditional that a Merge outside of it ends."""
    for tensor in merge.inputs:
        found = inside.get(_around(tensor.op))
        if found is not None:
            return found
    return None


def _note(unit: _Unit, op: Operation, acts: set[Operation]) -> None:
    """Adds what a node uses to that of its unit."""
    traits = op.op_def
    if traits.control_flow:
        return
    changes = op in acts or bool(traits.has_side_effect or traits.blocks) or _changes(op)
    found = False
    for tensor in op.inputs:
        if tensor.dtype.is_handle or tensor.dtype is resource:
            found = True
            what = _root(tensor)
            unit.uses[what] = unit.uses.get(what, False) or changes
    if not found and changes and traits.stateful:
        unit.uses[_OUTER_WORLD] = True


def _changes(op: Operation) -> bool:
    return any(a.is_ref for a in op.op_def.inputs) or (op.op_def.stateful and not op.outputs)


def _root(tensor: Tensor) -> Operation:
    while tensor.op.inputs and (tensor.op.op_def.control_flow or tensor.op.op_def.is_alias):
        tensor = tensor.op.inputs[0]
    return tensor.op
