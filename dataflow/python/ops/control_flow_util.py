"""``tensorflow.python.ops.control_flow_util``: what libraries ask of loops, branches and XLA."""

from __future__ import annotations

from typing import Any

ENABLE_CONTROL_FLOW_V2 = False


def EnableControlFlowV2(graph: Any) -> bool:
    """False: loops and branches are TensorFlow 1's."""
    return False


def GraphOrParentsInXlaContext(graph: Any) -> bool:
    """False: XLA is not here."""
    return False


def IsInXLAContext(op: Any) -> bool:
    """False: XLA is not here."""
    return False


def GetContainingXLAContext(ctxt: Any) -> None:
    """None: XLA is not here."""


def IsSwitch(op: Any) -> bool:
    """Whether ``op`` is a Switch."""
    return bool(op.op_def.control_flow == "switch")


def IsMerge(op: Any) -> bool:
    """Whether ``op`` is a Merge."""
    return bool(op.op_def.control_flow == "merge")


def IsLoopEnter(op: Any) -> bool:
    """Whether ``op`` is an Enter."""
    return bool(op.op_def.control_flow == "enter")


def IsLoopExit(op: Any) -> bool:
    """Whether ``op`` is an Exit."""
    return bool(op.op_def.control_flow == "exit")
