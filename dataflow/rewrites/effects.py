"""Which ops may not be moved, merged or computed early, beyond those marked ``stateful``."""

from __future__ import annotations

from collections.abc import Iterable

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


def changers(ops: Iterable[Operation]) -> dict[Operation, set[Operation]]:
    """By variable: the nodes that may change it, or pass its reference on."""
    found: dict[Operation, set[Operation]] = {}
    for op in ops:
        if not any(arg.is_ref for arg in op.op_def.inputs):
            continue
        for arg, tensors in op.arguments():
            for tensor in tensors if arg.is_ref else ():
                found.setdefault(variable_behind(tensor.op), set()).add(op)
    return found


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
