"""`Tape`: what eager code computes from what is watched, for `gradients` to walk back through."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


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
        self.records: list[tuple[Operation, list[Tensor]]] = []

    def record(self, op: Operation, inputs: list[Tensor]) -> None:
        """Notes an operation that takes something watched; its outputs are watched from then on."""
        watched = self.watched
        for tensor in inputs:
            if tensor in watched:
                break
            if tensor.dtype.is_handle and self.watches_variables:
                variable = getattr(tensor, "variable", None)
                variable = variable and variable()
                if variable is not None and variable.trainable:
                    self.watch_variable(variable, tensor)
                    break
        else:
            return
        watched.update(op.outputs)
        self.records.append((op, inputs))

    def watch_variable(self, variable: Any, handle: Tensor) -> None:
        """From here on derivatives by this variable are known."""
        self.watched.add(handle)
        self.variables.setdefault(id(variable), variable)

    @contextlib.contextmanager
    def connected(self) -> Iterator[None]:
        """Within the block the recorded operations are nodes of a graph, joined by their tensors."""
        # A tensor may be of another tape's records too, which are walked through further out.
        uses = {tensor: tensor.uses for _, inputs in self.records for tensor in inputs}
        before = [op.inputs for op, _ in self.records]
        for tensor in uses:
            tensor.uses = []
        for op, inputs in self.records:
            op.inputs = inputs
            for tensor in inputs:
                tensor.uses.append(op)
        recording.num_connected += 1
        try:
            yield
        finally:
            recording.num_connected -= 1
            for (op, _), inputs in zip(self.records, before, strict=False):
                op.inputs = inputs
            for tensor, former in uses.items():
                tensor.uses = former
