"""What the writers have in common: the node that they are given, and their list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import CallWriter


class CannotWrite(Exception):
    """The node cannot be written, or has no further variant."""


class NotCompiled(Exception):
    """A loop is being compiled."""


class Node(NamedTuple):
    """What is written: the node's op type and attributes, its inputs and results, which inputs are ``constants``
    of the plan, its bound kernel, and which of the ways to take."""

    op_type: str
    attrs: dict[str, Any]
    inputs: list[Any]
    results: list[Array]
    constants: frozenset[int]
    kernel: Any
    variant: int

    def number(self, i: int) -> Any:
        """The value of an input that is a constant."""
        if i not in self.constants:
            raise CannotWrite
        return self.inputs[i]


Write = Callable[[CallWriter, Node], None]
#: By op type.
writers: dict[str, Write] = {}


def writes(*op_types: str) -> Callable[[Write], Write]:
    def register(function: Write) -> Write:
        for op_type in op_types:
            writers[op_type] = function
        return function

    return register


def must(done: bool) -> None:
    if not done:
        raise CannotWrite


def only(node: Node, variants: int = 1) -> None:
    if node.variant >= variants:
        raise CannotWrite
