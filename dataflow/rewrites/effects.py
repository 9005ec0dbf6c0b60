"""Which ops may not be moved, merged or computed early, beyond those marked ``stateful``."""

from __future__ import annotations

from collections.abc import Iterable

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


class Changes:
    """Which nodes of a plan change each variable."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        self._of: dict[Operation, set[Operation]] = {}
        for op in ops:
            for arg, tensor in zip(op.op_def.inputs, op.inputs, strict=False):
                if arg.is_ref:
                    self._of.setdefault(variable_behind(tensor.op), set()).add(op)

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
