"""Removes gates: an ``identity(x)`` with control inputs, which delays x until other nodes have run.

Gradients of an op are gated so that no optimizer changes a variable that another gradient still
reads. Only nodes that change variables need to wait, and only for nodes that read them. Between
pure values the gate is removed, as no other rewrite can see through it.
"""

from __future__ import annotations

from dataflow.graph.operation import Operation
from dataflow.rewrites.control_flow_positions import Position, positions
from dataflow.rewrites.effects import can_merge, variable_behind
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Removes the gates, and adds control edges to the nodes with effects that relied on them."""
    ops = work.needed()
    if any(op.op_def.has_side_effect or op.type == "ControlTrigger" for op in ops):
        return
    where = positions(ops, work.feed_tensors)
    gates: dict[Operation, set[Operation]] = {}
    changed = changed_variables(ops)
    for op in ops:
        if op.type == "Identity" and not op.inputs[0].dtype.is_ref:
            if changed and variable_read(op.inputs[0].op) in changed:
                continue  # it copies a variable's value here, before the variable changes
            awaited = _pure_members(op.control_inputs)
            if awaited is not None and (not where or _goes_unseen(op, awaited, where)):
                gates[op] = awaited
    if not gates:
        return
    _let_effects_wait(ops, gates)
    fetched = work.fetch_operation_set()
    for op in gates:
        gated = bool(op.control_inputs)
        _stop_waiting(op, fetched)
        output, source = op.outputs[0], op.inputs[0]
        work.begin(output)
        work.replace(output, source)
        journal.append(
            Hit(
                "gate_of_value" if gated else "identity",
                "x after f(v) -> x, and whoever changes v waits for f(v)"
                if gated
                else "identity(x) -> x",
                output.name,
                source.name,
                (op.name,),
            )
        )


def _goes_unseen(op: Operation, awaited: set[Operation], where: dict[Operation, Position]) -> bool:
    """True for a gate in a loop or branch whose position does not depend on its control edges, and
    for which no node with effects has to wait instead."""
    source = op.inputs[0].op
    return (
        not source.op_def.control_flow and where.get(source) == where[op] and not _readers(awaited)
    )


def may_be_opened(op: Operation) -> bool:
    """True for an identity in a loop that may pass its value on without waiting.

    Everything it waits for is free of effects and reads no variable that the plan changes.
    """
    awaited = _pure_members(op.control_inputs)
    return awaited is not None and not _readers(awaited)


def _stop_waiting(op: Operation, fetched: set[Operation]) -> None:
    """Removes a node's control inputs, and those of no-ops that are then unused."""
    for control in list(op.control_inputs):
        op.remove_control_edge(control)
        if control.type == "NoOp" and not control.control_outputs and control not in fetched:
            _stop_waiting(control, fetched)


def _pure_members(controls: list[Operation]) -> set[Operation] | None:
    """The nodes behind the control inputs, if all of them are free of effects, else ``None``."""
    members: set[Operation] = set()
    for control in controls:
        if control.type == "NoOp":
            inner = _pure_members(control.control_inputs)
            if inner is None:
                return None
            members |= inner
        elif can_merge(control):
            members.add(control)
        elif control.type == "Placeholder" or control.op_def.is_variable or _is_read(control):
            continue
        else:
            return None
    return members


def _let_effects_wait(ops: list[Operation], gates: dict[Operation, set[Operation]]) -> None:
    """Makes nodes with effects behind a gate wait for its members that read a variable."""
    reading: dict[int, list[Operation]] = {}
    bits: dict[Operation, int] = {}
    for gate, members in gates.items():
        if readers := _readers(members):
            bits[gate] = 1 << len(reading)
            reading[len(reading)] = readers
    if not bits:
        return
    behind: dict[Operation, int] = {}
    awaited: dict[int, list[Operation]] = {}  # by mask: many nodes are behind the same gates
    for op in ops:
        mask = bits.get(op, 0)
        for tensor in op.inputs:
            mask = _joined(mask, behind.get(tensor.op, 0))
        for control in op.control_inputs:
            mask = _joined(mask, behind.get(control, 0))
        if not mask:
            continue
        behind[op] = mask
        if op.type != "NoOp" and not can_merge(op):
            waiting_for = set(op.control_inputs)
            sources = {t.op for t in op.inputs}
            for source in sources:  # waiting is transitive
                if source not in gates and not can_merge(source):
                    waiting_for.update(source.control_inputs)
            if mask not in awaited:
                places = [i for i, bit in enumerate(reversed(bin(mask))) if bit == "1"]
                awaited[mask] = list(dict.fromkeys(m for i in places for m in reading[i]))
            for member in awaited[mask]:
                if member not in waiting_for and member not in sources:
                    op.add_control_edge(member)


def _joined(mask: int, other: int) -> int:
    """``mask | other``, returning an operand itself where it has all bits: there may be thousands."""
    if mask is other or not other:
        return mask
    return mask | other if mask else other


def _readers(members: set[Operation]) -> list[Operation]:
    """Members that read a variable when they run."""
    return sorted(
        (op for op in members if any(_is_read(t.op) or t.dtype.is_ref for t in op.inputs)),
        key=lambda op: op.index,
    )


def _passes_on(op: Operation) -> bool:
    """True for a node that returns its input unchanged and does not enter or leave a loop."""
    return op.op_def.is_alias and not op.op_def.control_flow


def _is_read(op: Operation) -> bool:
    """True for the Identity that reads a variable, where each consumer reads the value itself."""
    return variable_read(op) is not None


def variable_read(op: Operation) -> Operation | None:
    """The variable (or the node that forwards its reference) that a chain of identities reads."""
    while _passes_on(op):
        if op.inputs[0].dtype.is_ref:
            return variable_behind(op.inputs[0].op)
        op = op.inputs[0].op
    return None


def changed_variables(ops: list[Operation]) -> set[Operation]:
    """Variables that a node of this plan may assign to."""
    return {
        variable_behind(t.op)
        for op in ops
        if not _passes_on(op)
        for t in op.inputs
        if t.dtype.is_ref
    }
