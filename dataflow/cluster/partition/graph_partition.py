"""The parts of a cut graph: partitions of segments, and the tensors that they send each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


class Transfer(NamedTuple):
    """One message: a segment's values for another task. ``channel`` is its number there."""

    task: str
    channel: int
    slots: list[int]


@dataclass
class Segment:
    """Nodes that run in one call once ``num_pending`` messages and earlier segments are there."""

    number: int
    ops: list[Operation] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    input_slots: list[int] = field(default_factory=list)
    output_slots: list[int] = field(default_factory=list)
    num_pending: int = 0
    followers: list[int] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    blocking: bool = False


class RecvSlots(NamedTuple):
    """An incoming message: the slots of its tensors, and the segments that wait for it."""

    slots: list[int]
    wakes: list[int]


@dataclass
class GraphPartition:
    """The work of one task in a step. Tensors that cross segments live in numbered slots."""

    task: str
    segments: list[Segment] = field(default_factory=list)
    channels: list[RecvSlots] = field(default_factory=list)
    feeds: list[Tensor] = field(default_factory=list)
    feed_slots: list[int] = field(default_factory=list)
    fetches: list[Tensor] = field(default_factory=list)
    fetch_slots: list[int] = field(default_factory=list)
    slots: dict[Tensor, int] = field(default_factory=dict)

    def slot(self, tensor: Tensor) -> int:
        """Return the slot of a tensor, a new one at first use."""
        return self.slots.setdefault(tensor, len(self.slots))


@dataclass
class PartitionedGraph:
    """The partitions of one step by task, and the task of every node that is needed."""

    partitions: dict[str, GraphPartition]
    task_of: dict[Operation, str]
    needed: frozenset[str]
