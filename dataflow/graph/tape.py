"""`Tape`: the operations that eager code computes from watched tensors, for `gradients` to walk back through."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

#: An operation that was recorded, and its inputs.
Record = tuple[Operation, list[Tensor]]


class Recording(threading.local):
    """The tapes that record what this thread runs, innermost last."""

    def __init__(self) -> None:
        self.tapes: list[Tape] = []
        #: How many tapes are joined to graphs now, for `gradients` to walk through.
        self.num_connected = 0


recording = Recording()


class Tape:
    """What was computed from the tensors that are watched: operations with their inputs, in order."""

    def __init__(self, watches_variables: bool) -> None:
        self.watches_variables = watches_variables
        self.watched: set[Tensor] = set()
        self.variables: dict[int, Any] = {}
        #: Operations that were recorded, in order, with their inputs.
        self._inputs: dict[Operation, list[Tensor]] = {}

    def record(self, op: Operation, inputs: list[Tensor]) -> None:
        """Notes an operation that takes something watched; its outputs are watched from then on."""
        if self.watches(inputs):
            self.watched.update(op.outputs)
            self._inputs[op] = inputs

    def watches(self, tensors: Sequence[Tensor]) -> bool:
        """Whether one of them is watched; trainable variables among them are watched from now on."""
        watched = self.watched
        found = False
        for tensor in tensors:
            if tensor in watched:
                found = True
            elif tensor.dtype.is_handle and self.watches_variables:
                variable = getattr(tensor, "variable", None)
                variable = variable and variable()
                if variable is not None and variable.trainable:
                    self.watch_variable(variable, tensor)
                    found = True
        return found

    def watch_variable(self, variable: Any, handle: Tensor) -> None:
        """Watches a variable, so that gradients by it can be computed."""
        self.watched.add(handle)
        self.variables.setdefault(id(variable), variable)

    def records_of(self, tensors: list[Tensor]) -> list[Record]:
        """What tensors were computed by, in order: a persistent tape may hold much else."""
        found: dict[Operation, list[Tensor]] = {}
        left = [tensor.op for tensor in tensors]
        while left:
            op = left.pop()
            inputs = self._inputs.get(op)
            if inputs is not None and op not in found:
                found[op] = inputs
                left += [tensor.op for tensor in inputs]
        return sorted(found.items(), key=_number)


def _number(record: Record) -> int:
    return record[0].index


@contextlib.contextmanager
def connected(records: list[Record]) -> Iterator[None]:
    """Within the block recorded operations are nodes of a graph, joined by their tensors."""
    # A tensor may be of another tape's records too, which are walked through further out.
    uses = {tensor: tensor.uses for _, inputs in records for tensor in inputs}
    before = [op.inputs for op, _ in records]
    for tensor in uses:
        tensor.uses = []
    for op, inputs in records:
        op.inputs = inputs
        for tensor in inputs:
            tensor.uses.append(op)
    recording.num_connected += 1
    try:
        yield
    finally:
        recording.num_connected -= 1
        for (op, _), inputs in zip(records, before, strict=True):
            op.inputs = inputs
        for tensor, former in uses.items():
            tensor.uses = former
