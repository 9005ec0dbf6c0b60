"""Gates on values: ``identity(x)`` that waits for others before it hands x on.

Gradients of an op are gated so that no optimizer changes a variable that another gradient still
reads. Only what changes variables needs to wait for that, and only for what reads them; between
values the gate goes, and with it a wall that no other rewrite can look through.
"""

from __future__ import annotations

from dataflow.graph.operation import Operation
from dataflow.rewrites.common_subexpressions import can_merge
from dataflow.rewrites.control_flow_positions import Position, positions
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Opens the gates and lets what has effects wait in their place."""
    ops = work.needed()
    if any(op.op_def.has_side_effect or op.type == "ControlTrigger" for op in ops):
        return
    where = positions(ops, work.feed_tensors)
    gates: dict[Operation, set[Operation]] = {}
    changed = changed_variables(ops)
    for op in ops:
        if op.type == "Identity" and not op.inputs[0].dtype.is_ref:
            if changed and variable_read(op.inputs[0].op) in changed:
                continue  # the copy of a variable's value, taken here, before it changes
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
    """True for a gate in a loop or a branch whose control edges do not say where it stands, and
    that nobody with effects has to wait for in its place."""
    source = op.inputs[0].op
    return (
        not source.op_def.control_flow and where.get(source) == where[op] and not _readers(awaited)
    )


def may_be_opened(op: Operation) -> bool:
    """True for an identity in a loop that may as well hand its value on at once.

    All that it waits for is free of effects, and reads no variable that others wait to change.
    """
    awaited = _pure_members(op.control_inputs)
    return awaited is not None and not _readers(awaited)


def _stop_waiting(op: Operation, fetched: set[Operation]) -> None:
    """Takes off a node's control inputs, and those of no-ops that nobody waits for any more."""
    for control in list(op.control_inputs):
        op.remove_control_edge(control)
        if control.type == "NoOp" and not control.control_outputs and control not in fetched:
            _stop_waiting(control, fetched)


def _pure_members(controls: list[Operation]) -> set[Operation] | None:
    """What the control inputs stand for, if all of it is free of effects."""
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
    """Nodes with effects behind a gate wait for those of its members that read a variable."""
    reading: dict[int, list[Operation]] = {}
    bits: dict[Operation, int] = {}
    for gate, members in gates.items():
        if readers := _readers(members):
            bits[gate] = 1 << len(reading)
            reading[len(reading)] = readers
    if not bits:
        return
    behind: dict[Operation, int] = {}
    awaited: dict[int, list[Operation]] = {}  # by mask: many nodes have the same gates behind them
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
            for source in sources:  # who waits for it waits for what it waits for
                if source not in gates and not can_merge(source):
                    waiting_for.update(source.control_inputs)
            if mask not in awaited:
                places = [i for i, bit in enumerate(reversed(bin(mask))) if bit == "1"]
                awaited[mask] = list(dict.fromkeys(m for i in places for m in reading[i]))
            for member in awaited[mask]:
                if member not in waiting_for and member not in sources:
                    op.add_control_edge(member)


def _joined(mask: int, other: int) -> int:
    """All bits of both; one of the two itself where it has them all, as there may be thousands."""
    if mask is other or not other:
        return mask
    return mask | other if mask else other


def _readers(members: set[Operation]) -> list[Operation]:
    """Members that look at a variable when they run."""
    return sorted(
        (op for op in members if any(_is_read(t.op) or t.dtype.is_ref for t in op.inputs)),
        key=lambda op: op.index,
    )


def _passes_on(op: Operation) -> bool:
    """True for a node whose value is that of its input, where no loop is begun or ended."""
    return op.op_def.is_alias and not op.op_def.control_flow


def _is_read(op: Operation) -> bool:
    """True for the Identity of a variable, whose value is read by each consumer."""
    return variable_read(op) is not None


def variable_read(op: Operation) -> Operation | None:
    """The variable (or what hands on its reference) whose value a chain of identities gives."""
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
