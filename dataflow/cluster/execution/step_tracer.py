"""The trace of a step on one task, and its encoding for the client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.cluster.partition.graph_partition import GraphPartition
from dataflow.graph.operation import Operation
from dataflow.kernels.cuda.clock import DeviceClocks
from dataflow.ops.transfer import COPIES
from dataflow.placement.transfers import Placed
from dataflow.runtime.stepper import (
    CopyNode,
    Hop,
    Message,
    Step,
    copy_node,
    copy_on_host,
    inputs_of,
    numbers_on_gpus,
    reads_copy,
)

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.tensor import Tensor


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


class Sent(NamedTuple):
    """A message that left a task. ``channel`` is its number at ``target``; times as of `Event`."""

    target: str
    channel: int
    tensors: list[str]
    bytes: list[int]
    start: float
    seconds: float


class StepTracer:
    """The trace of a step on one task: when each node ran, what it produced, and what traveled.

    ``received``: when the message of each channel was there.
    """

    def __init__(self, keep_values: bool) -> None:
        self.keep_values = keep_values
        self.events: list[Event] = []
        self.sent: list[Sent] = []
        self.received: dict[int, float] = {}
        #: Arrays of collective exchanges; their seconds are since 1970.
        self.hops: list[Hop] = []
        self._names: dict[tuple[str, int], list[str]] = {}
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

    def begin(self, partition: GraphPartition) -> None:
        """Note which tensors each message of the partition carries."""
        tensors = {slot: tensor.name for tensor, slot in partition.slots.items()}
        for segment in partition.segments:
            for task, channel, slots in segment.transfers:
                self._names[task, channel] = [tensors[slot] for slot in slots]

    def send(
        self,
        send: Callable[[str, int, list[Any]], None],
        task: str,
        channel: int,
        tensors: list[Any],
    ) -> None:
        """Send a message by ``send(task, channel, tensors)``, and note it."""
        start, sizes = time.time(), [int(getattr(t, "nbytes", 0) or 0) for t in tensors]
        send(task, channel, tensors)
        names = self._names.get((task, channel), [])
        with self._lock:
            self.sent.append(Sent(task, channel, names, sizes, start, time.time() - start))

    def note_received(self, channel: int) -> None:
        """The message of a channel is there."""
        self.received[channel] = time.time()

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
        received = [[channel, moment] for channel, moment in self.received.items()]
        head = {"trace": events, "sent": self.sent, "received": received, "hops": self.hops}
        return head, arrays

    def decode(self, head: dict[str, Any], arrays: Sequence[Any]) -> None:
        """Add the events of another task."""
        for fields in head["trace"]:
            event = Event(*fields)
            outputs = [None if place is None else arrays[place] for place in event.outputs]
            copy = None if event.copy is None else CopyNode(*event.copy)
            self.events.append(event._replace(outputs=outputs, copy=copy))
        self.sent += [Sent(*fields) for fields in head["sent"]]
        self.received |= dict(head["received"])
        self.hops += [Hop(*fields) for fields in head["hops"]]


def _node(op: Operation, on_gpu: bool) -> tuple[Any, ...]:
    """The fields that all events of a placed node share."""
    device = op.device.rpartition("/device:")[2] if on_gpu else "CPU:0"
    copy = copy_node(op) if op.type in COPIES else None
    return op.name, device or "CPU:0", copy, inputs_of(op) if reads_copy(op) else None


class Merged(NamedTuple):
    """The work of all tasks, as the parts of a `Trace`; steps in the order in which they began."""

    steps: list[Step]
    copies: tuple[CopyNode, ...]
    inputs: dict[str, list[str]]
    messages: tuple[Message, ...]
    hops: tuple[Hop, ...]


def merge(tracers: dict[str, StepTracer], graph: Graph, started: float) -> Merged:
    """Bring together what all tasks did. ``started`` in seconds since 1970.

    A copy that several tasks, or several segments of one, make of one value gets a name for each. A
    tensor that was sent has a ``_Send`` where it was made, and a ``_Recv``, which what needs it
    reads, where it arrived.
    """
    steps: dict[str, Step] = {}
    copies: list[CopyNode] = []
    inputs: dict[str, list[str]] = {}
    task_of: dict[str, str] = {}
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
            task_of[name] = task
            steps[name] = Step(
                name, op_type, device, event.start - started, event.seconds, event.outputs
            )
    messages = _messages(tracers, started)
    names = _add_transfers(messages, graph, steps, copies)
    if names:
        _read_transfers(names, graph, task_of, inputs)
        copies = [
            copy._replace(source=f"{names[task_of[copy.name], copy.source]}:0")
            if (task_of.get(copy.name, ""), copy.source) in names
            else copy
            for copy in copies
        ]
    ordered = sorted(steps.values(), key=lambda step: step.start_seconds)
    hops = [
        hop._replace(seconds=hop.seconds - started)
        for tracer in tracers.values()
        for hop in tracer.hops
    ]
    return Merged(ordered, tuple(copies), inputs, tuple(m.message for m in messages), tuple(hops))


class _Transfer(NamedTuple):
    """A message, and how long sending it took."""

    message: Message
    send_seconds: float


def _messages(tracers: dict[str, StepTracer], started: float) -> list[_Transfer]:
    found = []
    for source, tracer in tracers.items():
        for sent in tracer.sent:
            target = tracers.get(sent.target)
            left = sent.start + sent.seconds
            # Of two machines' clocks the one may be behind: nothing arrives before it was sent.
            there = left if target is None else target.received.get(sent.channel, left)
            message = Message(
                source,
                sent.target,
                tuple(sent.tensors),
                tuple(sent.bytes[: len(sent.tensors)]),
                sent.start - started,
                max(there, sent.start) - started,
            )
            found.append(_Transfer(message, sent.seconds))
    return sorted(found, key=lambda transfer: transfer.message.sent_seconds)


def _add_transfers(
    transfers: Sequence[_Transfer], graph: Graph, steps: dict[str, Step], copies: list[CopyNode]
) -> dict[tuple[str, str], str]:
    """Add a Send and a Recv for each tensor; return the Recv's name by (task, tensor)."""
    names: dict[tuple[str, str], str] = {}
    to_host = {copy.source: copy.name for copy in copies if copy.op_type.endswith("ToHost")}
    single = [
        (tensor, transfer.message.target, transfer)
        for transfer in transfers
        for tensor in transfer.message.tensors
    ]
    single.sort(key=lambda each: each[:2])  # so that the names are the same in every run
    for number, (name, target, (message, send_seconds)) in enumerate(single):
        op_name, _, slot = name.partition(":")
        tensor = graph.get_tensor_by_name(name)
        made = steps.get(op_name)
        values = made.outputs[int(slot) : int(slot) + 1] if made is not None else []
        last = op_name.rpartition("/")[2]
        dtype, shape = tensor.dtype.base_dtype.name, str(tensor.shape)
        send, recv = (_free_name(f"{kind}_{last}_{number}", graph) for kind in ("send", "recv"))
        at_source = f"{message.source.replace('/task:', '/replica:0/task:')}/device:CPU:0"
        at_target = f"{target.replace('/task:', '/replica:0/task:')}/device:CPU:0"
        from_host = f"{to_host[name]}:0" if name in to_host else name
        copies.append(CopyNode(send, "_Send", at_source, from_host, dtype, shape))
        copies.append(CopyNode(recv, "_Recv", at_target, f"{send}:0", dtype, shape))
        sent, arrived = message.sent_seconds, message.received_seconds
        # A message that was read before `send` returned had left before that.
        busy = min(send_seconds, max(0.0, arrived - sent))
        steps[send] = Step(send, "_Send", at_source, sent, busy, values)
        steps[recv] = Step(recv, "_Recv", at_target, arrived, 0.0, list(values))
        names[target, name] = recv
    return names


def _free_name(name: str, graph: Graph) -> str:
    while name in graph.op_by_name:
        name = f"_{name}"
    return name


def _read_transfers(
    names: dict[tuple[str, str], str],
    graph: Graph,
    task_of: dict[str, str],
    inputs: dict[str, list[str]],
) -> None:
    """Let the nodes that needed a tensor of another task read its Recv."""

    def read(tensor: Tensor, task: str, found: list[str]) -> None:
        recv = names.get((task, tensor.name))
        if recv is not None:
            found.append(f"{recv}:0")
        elif tensor.op.name in task_of or not tensor.op.inputs:
            found.append(tensor.name)
        else:  # an Identity that was left out: what is behind it was sent
            for each in tensor.op.inputs:
                read(each, task, found)

    for name, task in task_of.items():
        op = graph.op_by_name.get(name)
        if op is None:
            continue
        if name in inputs:
            texts = inputs[name]
            inputs[name] = [
                f"{names[task, text]}:0" if (task, text) in names else text for text in texts
            ]
            continue
        found: list[str] = []
        for tensor in op.inputs:
            read(tensor, task, found)
        if any(text != tensor.name for text, tensor in zip(found, op.inputs, strict=False)):
            inputs[name] = found + [f"^{control.name}" for control in op.control_inputs]


def _renamed(tensor_name: str, named: dict[str, str]) -> str:
    name, colon, slot = tensor_name.partition(":")
    return named.get(name, name) + colon + slot
