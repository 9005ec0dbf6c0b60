"""Prefetching: a step's first reads are done at the end of the previous step, so that the answer to a
gradient brings the new parameters.

That saves a third of the time of a small step. The effect is that of a step that began up to
`PREFETCH_SECONDS` before it was asked for. It is for training only (a step that only reads, or that reads after
a queue, prefetches nothing), for the next step of the same kind, with nothing else run from this
process in between, and a worker's next step sees its own updates. In synchronous
training the token brings the reads: it is given out when the variables have their new values, and
the gradients are dropped by the token's number if those are old by then. Two processes that order
their steps by other means than the cluster (a pipe, a file) could tell the difference if they were
quicker than this; a message through Ray is not. ``DATAFLOW_READ_AHEAD=0`` switches it off. The
staleness that a task reports counts from these reads.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from dataflow.cluster.partition.graph_partition import GraphPartition, Segment
from dataflow.cluster.transport.connection import Connection
from dataflow.graph.operation import Operation

if TYPE_CHECKING:
    from dataflow.cluster.execution.prepared_step import PreparedStep


PREFETCH_SECONDS = 0.0005
_PREFETCH = os.environ.get("DATAFLOW_READ_AHEAD", "1") != "0"

_num_runs = 0


def note_run() -> int:
    """Count a step, or another change, that this process requests; return the count."""
    global _num_runs
    _num_runs += 1
    return _num_runs


def keep_reads(
    connection: Connection, prepared: PreparedStep, count: int, reads: list[Any]
) -> None:
    """Keep the reads that came with the end of run ``count`` of a prepared step."""
    connection.ahead = (prepared, count, time.monotonic(), reads)


def take_reads(connection: Connection, prepared: PreparedStep, count: int) -> list[Any] | None:
    """The reads that came with the last step's end, if they may still be used for run ``count``."""
    ahead, connection.ahead = connection.ahead, None
    if ahead is None:
        return None
    kept_for, last, ended, reads = ahead
    if kept_for is not prepared or last + 1 != count or time.monotonic() - ended > PREFETCH_SECONDS:
        return None
    return reads  # type: ignore[no-any-return]


def prefetch_channels(partition: GraphPartition, home: str) -> list[tuple[int, int]] | None:
    """Return (channel, number of tensors) that the reads of a next step would be sent on.

    None of them where a step only finds its queues and variables before it waits: then the next one is begun
    ahead, and needs no message for that.

    ``None`` if they cannot be prefetched: other nodes run with them, or they go to another task, or the
    partition waits for nothing after them and would end.
    """
    first = _before_messages(partition)
    transfers = [t for s in first for t in s.transfers]
    if (
        not _PREFETCH
        or partition.feeds
        or len(first) == len(partition.segments)
        or any(t.task != home for t in transfers)
        or not all(_only_reads(op) for s in first for op in s.ops)
    ):
        return None
    return [(t.channel, len(t.slots)) for t in transfers]


def _before_messages(partition: GraphPartition) -> list[Segment]:
    """The segments that run before any message has arrived, those that follow others of them too."""
    segments = partition.segments
    pending = [s.num_pending for s in segments]
    ready = [number for number, count in enumerate(pending) if not count]
    for number in ready:  # grows
        for follower in segments[number].followers:
            pending[follower] -= 1
            if not pending[follower]:
                ready.append(follower)
    return [segments[number] for number in ready]


def _only_reads(op: Operation) -> bool:
    """Whether a task may run the node early, because that is unobservable.

    Of the nodes that compute, only reads of a variable's rows qualify.
    """
    op_def = op.op_def
    if op_def.is_alias or op_def.is_variable or op_def.is_handle:
        return True
    return op.type == "Const" or op_def.gathers


def coalesced(own: GraphPartition, task: str, partition: GraphPartition) -> frozenset[int]:
    """Return the channels to a task whose message may as well be sent together with a later one.

    Its reader also waits for the later one, and no other task sends to that partition.
    """
    transfers = [(s, t) for s in own.segments for t in s.transfers if t.task == task]
    if len(transfers) != len(partition.channels) or any(s.blocking for s in own.segments):
        return frozenset()  # a blocking segment runs on a thread of its own, and may be late
    later = {n for s, t in transfers if s.num_pending for n in partition.channels[t.channel].wakes}
    return frozenset(
        t.channel
        for s, t in transfers
        if not s.num_pending and later.issuperset(partition.channels[t.channel].wakes)
    )
