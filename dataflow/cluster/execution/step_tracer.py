"""What a traced step did on one task, and how that is sent to the client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dataflow.graph.operation import Operation
from dataflow.kernels.cuda.clock import DeviceClocks
from dataflow.ops.transfer import COPIES
from dataflow.placement.transfers import Placed
from dataflow.runtime.stepper import (
    CopyNode,
    Step,
    copy_node,
    copy_on_host,
    inputs_of,
    numbers_on_gpus,
    reads_copy,
)


class Event(NamedTuple):
    """One node's turn on a task.

    ``start`` in seconds since 1970; ``device`` as the task names it (``"GPU:0"``); ``copy`` for a
    copy between the task's memories; ``inputs`` of a node that reads such a copy.
    """

    name: str
    start: float
    seconds: float
    outputs: list[Any]
    device: str
    copy: CopyNode | None = None
    inputs: list[str] | None = None


class StepTracer:
    """What a traced step did on one task: when each node ran, and what it produced."""

    def __init__(self, keep_values: bool) -> None:
        self.keep_values = keep_values
        self.events: list[Event] = []
        self._clocks: list[DeviceClocks] = []
        self._lock = threading.Lock()

    def hook(self, placed: Placed) -> Callable[[int, tuple[Any, ...]], None]:
        """Return the hook that a segment's traced function calls after each node."""
        clocks = DeviceClocks(numbers_on_gpus(placed), time.time)
        self._clocks.append(clocks)
        last = time.time()
        on_gpu = bool(placed.kernel_devices)
        nodes = [_node(op, on_gpu) for op in placed.ops]

        def note(number: int, outputs: tuple[Any, ...]) -> None:
            nonlocal last
            now = time.time()
            name, *rest = nodes[number]
            with self._lock:  # segments run on several threads
                place = len(self.events)
                self.events.append(Event(name, last, now - last, [], *rest))
            clocks.note(number, place, last)
            if self.keep_values:
                self.events[place].outputs.extend(copy_on_host(value) for value in outputs)
            last = time.time()

        return note

    def settle(self) -> None:
        """Use the GPUs' own clocks for the times of their nodes; waits until the GPUs are done."""
        clocks, self._clocks = self._clocks, []
        for clock in clocks:
            for place, (start, seconds) in clock.turns().items():
                self.events[place] = self.events[place]._replace(start=start, seconds=seconds)

    def encode(self) -> tuple[dict[str, Any], list[Any]]:
        """Return the events as JSON, and the arrays that it refers to by number."""
        self.settle()
        arrays: list[Any] = []
        events = []
        for event in self.events:
            places: list[int | None] = []
            for value in event.outputs:
                places.append(None if value is None else len(arrays))
                if value is not None:
                    arrays.append(value)
            events.append(event._replace(outputs=places))
        return {"trace": events}, arrays

    def decode(self, head: dict[str, Any], arrays: Sequence[Any]) -> None:
        """Add the events of another task."""
        for fields in head["trace"]:
            event = Event(*fields)
            outputs = [None if place is None else arrays[place] for place in event.outputs]
            copy = None if event.copy is None else CopyNode(*event.copy)
            self.events.append(event._replace(outputs=outputs, copy=copy))


def _node(op: Operation, on_gpu: bool) -> tuple[Any, ...]:
    """The fields that all events of a placed node share."""
    device = op.device.rpartition("/device:")[2] if on_gpu else "CPU:0"
    copy = copy_node(op) if op.type in COPIES else None
    return op.name, device or "CPU:0", copy, inputs_of(op) if reads_copy(op) else None


def merge(
    tracers: dict[str, StepTracer], graph: Any, started: float
) -> tuple[list[Step], tuple[CopyNode, ...], dict[str, list[str]]]:
    """What all tasks did, as the parts of a `Trace`: its steps, in the order in which they began, its
    copies, and the inputs of the nodes that read copies.

    ``started`` in seconds since 1970. A copy that several tasks, or several segments of one, make
    of one value gets a name for each.
    """
    steps: dict[str, Step] = {}
    copies: list[CopyNode] = []
    inputs: dict[str, list[str]] = {}
    for task, tracer in tracers.items():
        tracer.settle()
        prefix = f"{task.replace('/task:', '/replica:0/task:')}/device:"
        named: dict[str, str] = {}  # the task's name of a copy -> that in the trace
        for event in tracer.events:
            name, device = event.name, prefix + event.device
            if event.copy is not None:
                op_type, same = event.copy.op_type, 0
                while name in steps:
                    same += 1
                    name = f"{event.name}_{same}"
                named[event.name] = name
                copies.append(event.copy._replace(name=name, device=device))
            else:
                op = graph.op_by_name.get(name)
                if op is None or name in steps:  # a constant may be bound in several places
                    continue
                op_type = op.type
            if event.inputs is not None:
                inputs[name] = [_renamed(text, named) for text in event.inputs]
            steps[name] = Step(
                name, op_type, device, event.start - started, event.seconds, event.outputs
            )
    ordered = sorted(steps.values(), key=lambda step: step.start_seconds)
    return ordered, tuple(copies), inputs


def _renamed(tensor_name: str, named: dict[str, str]) -> str:
    name, colon, slot = tensor_name.partition(":")
    return named.get(name, name) + colon + slot
