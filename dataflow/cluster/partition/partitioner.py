"""Cutting a pruned graph: one partition per task, each of segments that run without waiting.

A *segment* is a set of nodes of one task that need the same messages from elsewhere: as soon as
those are there, the whole segment runs in one call. The results of a segment for another task
travel in one message, each tensor once per destination; that is the pair of Send and Recv nodes,
in the form of two lists of slots. An op that `blocks` (a dequeue) is a segment of its own, so
that nothing else waits with it, and so is each stage of a pipeline (`pipeline`).

Constants are copied to where they are needed. Variables, and reads of them, are bound in each
segment that uses them, so that a read sees what the variable holds then.

Segments cannot wait for each other in a circle: every node of a segment waits for all messages that
the segment waits for, so that a circle of segments would be a circle of nodes. (Stages that wait
for the same messages follow each other in one direction only.)
"""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.capabilities import THREADS
from dataflow.cluster.partition.control_flow_groups import control_flow_groups
from dataflow.cluster.partition.graph_partition import (
    GraphPartition,
    PartitionedGraph,
    RecvSlots,
    Segment,
    Transfer,
)
from dataflow.cluster.partition.pipeline import stages_of
from dataflow.cluster.partition.task_placement import assign_tasks
from dataflow.errors import UnimplementedError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.placement.groups import reference_inputs
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime.read_order import reads_before_changes


def partition_graph(
    fetch_tensors: Sequence[Tensor],
    fetch_operations: Sequence[Operation],
    feeds: Sequence[Tensor],
    task_names: Sequence[str],
    default_task: str,
    allow_soft_placement: bool = False,
) -> PartitionedGraph:
    """Prune, assign and cut. Errors as of `assign_tasks`."""
    ops = needed_operations(fetch_tensors, fetch_operations, feeds)
    units = control_flow_groups(ops, set(feeds))
    task_of = assign_tasks(ops, units, task_names, default_task, allow_soft_placement)
    for unit in units:
        # The nodes of a loop or branch run together: where their state is, else where most ask for.
        for op in unit:
            task_of[op] = task_of[unit[0]]
    cutter = _Cutter(ops, units, task_of, set(feeds), default_task, fetch_tensors)
    cutter.cut(fetch_tensors)
    return PartitionedGraph(cutter.partitions, task_of, frozenset(op.name for op in ops))


class _Cutter:
    def __init__(
        self,
        ops: Sequence[Operation],
        units: Sequence[Sequence[Operation]],
        task_of: dict[Operation, str],
        feeds: set[Tensor],
        default_task: str,
        fetches: Sequence[Tensor],
    ) -> None:
        self.ops = ops
        self.order = {op: index for index, op in enumerate(ops)}
        self.task_of = task_of
        self.feeds = feeds
        self.fed_ops = {t.op for t in feeds if all(other in feeds for other in t.op.outputs)}
        self.default_task = default_task
        self.unit_of: dict[Operation, Sequence[Operation]] = {
            op: unit for unit in units for op in unit
        }
        self.members = set(ops)
        self.partitions: dict[str, GraphPartition] = {}
        self.owner: dict[Operation, tuple[str, Segment]] = {}
        self.waits_for: dict[int, frozenset[int]] = {}  # id(segment) -> keys of messages
        self.by_key: dict[tuple[str, frozenset[int], int], Segment] = {}
        self.keep: list[Segment] = []
        self.channels: dict[tuple[int, str], tuple[RecvSlots, Transfer]] = {}
        self.edges: set[tuple[int, int]] = set()
        self.copies: dict[int, dict[Operation, None]] = {}
        self.expanded: dict[Operation, tuple[Operation, ...]] = {}
        # Reads that are made at their own time, as a change of the variable may come before a use of them.
        self.held = reads_before_changes(ops, fetches, in_line=False)
        self.stages = stages_of(ops, task_of, self.unit_of, self.depends_on)

    # The free nodes, and the dependencies of each node

    def is_free(self, op: Operation) -> bool:
        """Whether the node costs nothing and is bound wherever it is used."""
        if op in self.unit_of or op in self.held:
            return False
        if op.type == "Const" or op.op_def.is_variable:
            return not self.effective_controls(op)
        return (
            op.op_def.is_alias
            and op.inputs[0].op.op_def.is_variable
            and op.inputs[0] not in self.feeds
            and not op.control_inputs
        )

    def effective_controls(self, op: Operation) -> tuple[Operation, ...]:
        """Control inputs with NoOps replaced by what they wait for: a NoOp needs no message."""
        found = self.expanded.get(op)
        if found is None:
            result: dict[Operation, None] = {}
            for source in op.control_inputs:
                if source.type == "NoOp" and source not in self.unit_of:
                    result.update(dict.fromkeys(self.effective_controls(source)))
                elif source in self.members and source not in self.fed_ops:
                    result[source] = None
            found = self.expanded[op] = tuple(result)
        return found

    def depends_on(self, op: Operation) -> list[Operation]:
        """The nodes that must be done before ``op``, free ones left out."""
        sources = [t.op for t in op.inputs if t not in self.feeds and not self.is_local(t.op, op)]
        return [s for s in (*sources, *self.effective_controls(op)) if not self.is_skipped(s)]

    def is_local(self, source: Operation, consumer: Operation) -> bool:
        """Whether the consumer's segment simply gets a copy of ``source``."""
        if source.type == "Const":
            return self.is_free(source)
        return self.is_free(source) and self.task_of[source] == self.task_of[consumer]

    def is_skipped(self, op: Operation) -> bool:
        """Whether nothing is to be done for the node: it has no effect, or it is fed."""
        if op.outputs:
            return op in self.fed_ops
        return op.type == "NoOp" and op not in self.unit_of

    # Segments

    def cut(self, fetches: Sequence[Tensor]) -> None:
        for unit in self.units_in_order():
            self.place(unit)
        for op in self.ops:
            if op in self.owner:
                self.connect(op)
        for tensor in fetches:
            self.fetch(tensor)
        self.finish()

    def units_in_order(self) -> list[Sequence[Operation]]:
        """Units and single nodes, each after its dependencies."""
        result: list[Sequence[Operation]] = []
        state: dict[int, int] = {}
        for op in self.ops:
            start = self.unit_of.get(op, (op,))
            stack = [(start, False)]
            while stack:
                unit, leaving = stack.pop()
                key = id(unit) if len(unit) > 1 else id(unit[0])
                if leaving:
                    if state[key] != 2:
                        state[key] = 2
                        result.append(unit)
                    continue
                if state.get(key) == 2:
                    continue
                if state.get(key) == 1:
                    raise UnimplementedError(
                        unit[0],
                        unit[0],
                        f"The loop or conditional around {unit[0].name!r} needs a value that is "
                        "computed from its own result outside of it; it cannot be given to one "
                        f"task.\n  built at {unit[0].built_at}",
                    )
                state[key] = 1
                stack.append((unit, True))
                inside = set(unit)
                for member in unit:
                    for source in self.depends_on(member):
                        if source in inside:
                            continue
                        other = self.unit_of.get(source, (source,))
                        other_key = id(other) if len(other) > 1 else id(other[0])
                        if state.get(other_key) != 2:
                            stack.append((other, False))
        return result

    def place(self, unit: Sequence[Operation]) -> None:
        """Give a unit to the segment that waits for exactly the same messages."""
        first = unit[0]
        if len(unit) == 1 and (self.is_free(first) or self.is_skipped(first)):
            return
        task = self.task_of[first]
        inside = set(unit)
        messages: set[int] = set()
        for op in unit:
            for source in self.depends_on(op):
                if source in inside:
                    continue
                if source not in self.owner:
                    self.give_home(source)
                source_task, segment = self.owner[source]
                if source_task != task or segment.blocking:
                    messages.add(id(segment))
                else:
                    messages |= self.waits_for[id(segment)]
        key = frozenset(messages)
        blocking = any(op.op_def.blocks for op in unit)
        stage = self.stages.get(first, 0)
        known = None if blocking else self.by_key.get((task, key, stage))
        segment = known if known is not None else self.new_segment(task, key, blocking, stage)
        segment.ops += unit
        for op in unit:
            self.owner[op] = (task, segment)

    def new_segment(
        self, task: str, key: frozenset[int], blocking: bool, stage: int = 0
    ) -> Segment:
        partition = self.partitions.setdefault(task, GraphPartition(task))
        segment = Segment(len(partition.segments), blocking=blocking)
        partition.segments.append(segment)
        self.keep.append(segment)
        self.waits_for[id(segment)] = key
        self.copies[id(segment)] = {}
        if not blocking:
            self.by_key[task, key, stage] = segment
        return segment

    def give_home(self, op: Operation) -> None:
        """A variable that another task reads, or a fetched constant, is read at the start."""
        task = self.default_task if op.type == "Const" else self.task_of[op]
        segment = self.by_key.get((task, frozenset(), 0))
        if segment is None:
            segment = self.new_segment(task, frozenset(), False)
        self.copy_into(segment, op)
        self.owner[op] = (task, segment)

    def copy_into(self, segment: Segment, op: Operation) -> None:
        """Bind a free node, and the tensors it aliases, to a segment."""
        copies = self.copies[id(segment)]
        if op not in copies:
            for tensor in op.inputs:
                self.copy_into(segment, tensor.op)
            copies[op] = None

    # Edges

    def connect(self, op: Operation) -> None:
        task, segment = self.owner[op]
        if op not in segment.ops and op in self.copies[id(segment)]:
            return
        references = set(reference_inputs(op)) if op.inputs else set()
        for tensor in op.inputs:
            source = tensor.op
            if tensor in self.feeds:
                self.take_feed(segment, task, tensor)
            elif self.is_local(source, op):
                self.copy_into(segment, source)
            elif self.owner[source][1] is not segment:
                if tensor in references and tensor.dtype.is_ref:
                    # A later assignment to the same variable: the variable itself, in order.
                    self.order_after(segment, task, source)
                    self.bind_reference(segment, tensor)
                else:
                    self.take_value(segment, task, tensor)
        for source in self.effective_controls(op):
            if not self.is_free(source) and not self.is_skipped(source):
                self.order_after(segment, task, source)

    def bind_reference(self, segment: Segment, tensor: Tensor) -> None:
        self.copy_into(segment, variable_behind(tensor.op))

    def take_feed(self, segment: Segment, task: str, tensor: Tensor) -> None:
        partition = self.partitions[task]
        if tensor not in partition.feeds:
            partition.feeds.append(tensor)
            partition.feed_slots.append(partition.slot(tensor))
        if tensor not in segment.inputs:
            segment.inputs.append(tensor)

    def take_value(self, segment: Segment, task: str, tensor: Tensor) -> None:
        source_task, source = self.owner[tensor.op]
        if tensor not in source.outputs:
            source.outputs.append(tensor)
        if tensor not in segment.inputs:
            segment.inputs.append(tensor)
        if source_task == task:
            self.follow(source, segment)
            return
        channel, transfer = self.channel(source_task, source, task, segment)
        slot = self.partitions[task].slot(tensor)
        if slot not in channel.slots:
            channel.slots.append(slot)
            transfer.slots.append(self.partitions[source_task].slot(tensor))

    def order_after(self, segment: Segment, task: str, source: Operation) -> None:
        source_task, other = self.owner[source]
        if other is segment:
            return
        if source_task == task:
            self.follow(other, segment)
        else:
            self.channel(source_task, other, task, segment)

    def follow(self, first: Segment, then: Segment) -> None:
        edge = (id(first), id(then))
        if edge not in self.edges:
            self.edges.add(edge)
            first.followers.append(then.number)
            then.num_pending += 1

    def channel(
        self, source_task: str, source: Segment, task: str, segment: Segment
    ) -> tuple[RecvSlots, Transfer]:
        key = (id(source), task)
        found = self.channels.get(key)
        if found is None:
            partition = self.partitions[task]
            found = self.channels[key] = (
                RecvSlots([], []),
                Transfer(task, len(partition.channels), []),
            )
            partition.channels.append(found[0])
            source.transfers.append(found[1])
        if segment.number not in found[0].wakes:
            found[0].wakes.append(segment.number)
            segment.num_pending += 1
        return found

    def fetch(self, tensor: Tensor) -> None:
        if tensor in self.feeds:
            return
        if tensor.op not in self.owner:
            self.give_home(tensor.op)
        task, segment = self.owner[tensor.op]
        if tensor not in segment.outputs:
            segment.outputs.append(tensor)
        partition = self.partitions[task]
        if tensor not in partition.fetches:
            partition.fetches.append(tensor)
            partition.fetch_slots.append(partition.slot(tensor))

    def finish(self) -> None:
        for partition in self.partitions.values():
            for segment in partition.segments:
                ops = {*segment.ops, *self.copies[id(segment)]}
                segment.blocking |= THREADS and any(map(_repeats, ops))  # it may never end
                segment.ops = sorted(ops, key=self.order.__getitem__)
                segment.input_slots = [partition.slot(t) for t in segment.inputs]
                segment.output_slots = [partition.slot(t) for t in segment.outputs]


def _repeats(op: Operation) -> bool:
    return op.op_def.control_flow == "next_iteration"
