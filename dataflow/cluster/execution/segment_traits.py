"""What is known about a segment before it runs: its effects, whether it may be retried, what it leaves dead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dataflow.cluster.partition.graph_partition import GraphPartition
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.placement.groups import changes_a_variable
from dataflow.rewrites.effects import can_merge
from dataflow.runtime.output_allocator import num_bytes

_MOST_INLINE_NODES = 40


def effects_of(ops: Sequence[Operation]) -> list[Operation]:
    """The nodes that run for their effects, even if their results are not used."""
    return [
        op for op in ops if not (can_merge(op) or op.op_def.is_variable or op.op_def.control_flow)
    ]


def preallocated_outputs(plan: GraphPartition) -> list[list[bool]]:
    """By segment, which outputs are computed in the connection's shared memory; empty if none are.

    These are sent once and not used otherwise in this task.
    """
    others = {*plan.fetch_slots, *(slot for s in plan.segments for slot in s.input_slots)}
    times = Counter(n for s in plan.segments for t in s.transfers for n in t[2])
    found = []
    for s in plan.segments:
        preallocated = [
            times[slot] == 1 and slot not in others and num_bytes(tensor) >= SHARE_FROM_BYTES
            for slot, tensor in zip(s.output_slots, s.outputs, strict=True)
        ]
        found.append(preallocated if any(preallocated) else [])
    return found


def can_retry(ops: Sequence[Operation]) -> bool:
    """Whether one of the nodes can be retried, and the others only look up its inputs."""
    tried = [op for op in ops if op.op_def.can_retry]
    return len(tried) == 1 and all(op in tried or _looks_up(op) for op in ops)


def _looks_up(op: Operation) -> bool:
    op_def = op.op_def
    return op_def.is_handle or op_def.is_variable or op_def.is_alias or op.type == "Const"


def is_inline_safe(ops: Sequence[Operation]) -> bool:
    return len(ops) <= _MOST_INLINE_NODES and all(
        op.op_def.inline_safe or op.op_def.can_retry or op.op_def.is_handle for op in ops
    )


def refers_elsewhere(ops: Sequence[Operation], inputs: Sequence[Tensor]) -> bool:
    """Whether a reference comes from a node that another segment runs."""
    members = set(ops)
    return any(
        tensor.dtype.is_ref and tensor.op not in members and tensor not in inputs
        for op in ops
        for tensor in op.inputs
    )


def changes_variables(ops: Sequence[Operation]) -> bool:
    return any(changes_a_variable(op) for op in ops)


def reads_variables(ops: Sequence[Operation]) -> bool:
    return any(op.op_def.is_variable for op in ops)


def slots_to_release(plan: GraphPartition) -> list[list[int]]:
    """Return the slots that are dead once a segment has run and sent.

    A reference costs more than memory: a variable whose array is still referenced must be copied before
    it is changed.
    """
    readers: dict[int, int] = dict.fromkeys(plan.fetch_slots, 2)
    for segment in plan.segments:
        for slot in segment.input_slots:
            readers[slot] = readers.get(slot, 0) + 1
    return [
        [slot for slot in segment.input_slots if readers[slot] == 1]
        + [slot for slot in segment.output_slots if slot not in readers]
        for segment in plan.segments
    ]
