"""Which ops may not be moved, merged or computed early, beyond those marked ``stateful``."""

from __future__ import annotations

from dataflow.graph.operation import Operation

#: Nodes whose edges, control edges too, say which branch or loop a node belongs to.
CONTROL_FLOW = frozenset(
    {
        *("Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit"),
        *("NextIteration", "RefNextIteration", "LoopCond"),
    }
)

#: Control flow and bookkeeping: their meaning is their place in the graph.
NEVER_MERGED = CONTROL_FLOW | frozenset(
    {
        "NoOp",
        "ControlTrigger",
        "Placeholder",
        "Assert",
        "Print",
        "CheckNumerics",
        "PyFunc",
        "PyFuncStateless",
        "EagerPyFunc",
    }
)


def variable_behind(op: Operation) -> Operation:
    """The node that makes the reference that ``op`` hands on."""
    while op._inputs and op._inputs[0].dtype.is_ref:
        op = op._inputs[0].op
    return op
