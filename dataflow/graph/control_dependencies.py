"""One level of ``with graph.control_dependencies([...])``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataflow.graph.operation import Operation


class ControlDependencies:
    """The operations to wait for, and the nodes made inside the block.

    Invariant: every node in ``seen`` already waits for ``ops``, directly or through its inputs;
    a node with one of them as an input needs no control edge of its own.
    """

    __slots__ = ("ops", "seen")

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self.seen: set[Operation] = set()
