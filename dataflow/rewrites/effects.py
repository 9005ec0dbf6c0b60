"""Which ops may not be moved, merged or computed early, beyond those marked ``stateful``."""

from __future__ import annotations

#: Control flow and bookkeeping: their meaning is their place in the graph.
NEVER_MERGED = frozenset(
    {
        "Switch",
        "RefSwitch",
        "Merge",
        "RefMerge",
        "Enter",
        "RefEnter",
        "Exit",
        "RefExit",
        "NextIteration",
        "RefNextIteration",
        "LoopCond",
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
