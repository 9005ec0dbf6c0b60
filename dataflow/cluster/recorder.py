"""What a traced step did on one task, and how that travels to the client."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.operation import Operation
from dataflow.runtime.stepper import _keep


class Recorder:
    """What a traced step did on one task: when each node ran, and what it produced."""

    def __init__(self, keep_values: bool) -> None:
        self.keep_values = keep_values
        #: (node, seconds since 1970 when it began, seconds that it took, its outputs)
        self.events: list[tuple[str, float, float, list[Any]]] = []

    def hook(self, ops: Sequence[Operation]) -> Callable[[int, tuple[Any, ...]], None]:
        """Return what the traced function of a segment calls after each node."""
        last = time.time()

        def note(number: int, outputs: tuple[Any, ...]) -> None:
            nonlocal last
            now = time.time()
            kept = [_keep(value) for value in outputs] if self.keep_values else []
            self.events.append((ops[number].name, last, now - last, kept))
            last = time.time()

        return note

    def encode(self) -> tuple[dict[str, Any], list[Any]]:
        """Return the events as JSON, and the arrays that it refers to by number."""
        arrays: list[Any] = []
        events = []
        for name, start, seconds, outputs in self.events:
            places: list[int | None] = []
            for value in outputs:
                places.append(None if value is None else len(arrays))
                if value is not None:
                    arrays.append(value)
            events.append([name, start, seconds, places])
        return {"trace": events}, arrays

    def decode(self, head: dict[str, Any], arrays: Sequence[Any]) -> None:
        """Add the events of another task."""
        for name, start, seconds, places in head["trace"]:
            outputs = [None if place is None else arrays[place] for place in places]
            self.events.append((name, start, seconds, outputs))
