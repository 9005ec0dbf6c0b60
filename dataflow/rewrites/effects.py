"""What nodes do beside computing values: which may be merged, moved or left out, and what changes variables."""

from __future__ import annotations

from collections.abc import Iterable

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


def can_merge(op: Operation) -> bool:
    """True for nodes whose outputs depend on nothing but their inputs."""
    op_def = op.op_def
    if op_def.stateful or op_def.control_flow or op_def.has_side_effect or not op.outputs:
        return False
    for tensor in op.outputs:  # no generators: this is asked several times for each node of a plan
        if tensor.dtype.is_ref:
            return False
    for tensor in op.inputs:
        if tensor.dtype.is_ref:
            return False
    return op.type != "Placeholder"


def has_effects_behind(op: Operation) -> bool:
    """True when ``op``, or any node that it depends on, does more than compute a value."""
    known: dict[Operation, bool] = op.graph.attachments.setdefault("effects behind", {})
    stack = [(op, False)]
    while stack:
        op, leaving = stack.pop()
        before = [*[t.op for t in op.inputs], *op.control_inputs]
        if leaving:
            known[op] = known[op] or any(known[b] for b in before)
        elif op not in known:
            known[op] = not (can_merge(op) or _goes_unnoticed(op))
            stack.append((op, True))
            stack.extend((b, False) for b in before if b not in known)
    return known[op]


def _goes_unnoticed(op: Operation) -> bool:
    """True for a node that cannot be merged, but may be left out without a visible difference."""
    op_def = op.op_def
    passes_on = op_def.control_flow or op_def.is_alias or op_def.is_variable or op_def.is_handle
    return (
        bool(passes_on)
        or op_def.only_looks
        or op.type in ("Placeholder", "NoOp")
        or _only_reads(op)
    )


def _only_reads(op: Operation) -> bool:
    """True for a node that looks at a variable, as a lookup of embeddings does, and cannot change it."""
    op_def = op.op_def
    if op_def.stateful or op_def.has_side_effect or not op.outputs:
        return False
    return not any(arg.is_ref for arg in (*op_def.inputs, *op_def.outputs))


def changers(ops: Iterable[Operation]) -> dict[Operation, set[Operation]]:
    """By variable: the nodes that may change it, or pass its reference on."""
    found: dict[Operation, set[Operation]] = {}
    for op in ops:
        for variable in _referred_to(op):
            found.setdefault(variable, set()).add(op)
    return found


def changed_by(op: Operation) -> set[Operation]:
    """The variables that a node changes, slots of optimizers too; none for a node that passes them on."""
    if op.op_def.is_alias or op.op_def.control_flow:
        return set()
    return {variable for variable in _referred_to(op) if variable.op_def.is_variable}


def _referred_to(op: Operation) -> set[Operation]:
    """What a node takes by reference."""
    if not any(arg.is_ref for arg in op.op_def.inputs):
        return set()
    return {variable_behind(t.op) for arg, ts in op.arguments() if arg.is_ref for t in ts}


def reads_by_handle(op: Operation) -> bool:
    """Whether the node gives the value of a resource variable at its own time."""
    return op.op_def.is_alias and op.inputs[0].dtype.is_handle and not op.outputs[0].dtype.is_handle


class Changes:
    """Which nodes of a plan change each variable."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        self._of = changers(ops)

    def are_over(self, reference: Tensor) -> bool:
        """True when nothing changes the variable after ``reference`` was passed on.

        Its value may then be read later than the user's node would read it.
        """
        passed: set[Operation] = set()
        op = reference.op
        while op.inputs and op.inputs[0].dtype.is_ref:
            passed.update((op, *op.control_inputs))
            op = op.inputs[0].op
        return self._of.get(op, passed) <= passed


def variable_behind(op: Operation) -> Operation:
    """The node that creates the reference that ``op`` passes on."""
    while op.inputs and op.inputs[0].dtype.is_ref:
        op = op.inputs[0].op
    return op
