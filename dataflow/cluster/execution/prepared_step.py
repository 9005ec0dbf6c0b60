"""What a master keeps of a combination of fetches and feeds: the partitions, and where values come from."""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.fast_path import FastStep
from dataflow.cluster.partition.graph_partition import GraphPartition, PartitionedGraph
from dataflow.graph.tensor import Tensor


class RemotePartition:
    """A partition that was registered with another task."""

    def __init__(
        self,
        task: str,
        address: str,
        partition: GraphPartition,
        feeds: Sequence[Tensor],
        traced: bool,
    ) -> None:
        self.task = task
        self.traced = traced
        self.address = address
        #: For registering it again after the task was restarted.
        self.partition = partition
        self.handle = 0
        #: The task's GPU of each node that is placed on one.
        self.on_gpus: dict[str, str] = {}
        self.incarnation = ""
        self.feed_positions = [feeds.index(t) for t in partition.feeds]
        self.fetches = partition.fetches
        #: Nothing in it begins before our first message, so that RUN can be sent with that.
        self.prefetch_channels: list[tuple[int, int]] | None = None
        #: Channels whose message is sent together with the next one.
        self.coalesced: frozenset[int] = frozenset()
        self.waits = not partition.feeds and all(s.num_pending for s in partition.segments)


class PreparedStep:
    """The part of a step that is known before it runs: its partitions, and where each fetch comes from."""

    def __init__(
        self,
        cut: PartitionedGraph,
        local: CompiledPartition | None,
        local_feeds: list[int],
        remotes: list[RemotePartition],
        sources: list[tuple[str, int]],
    ) -> None:
        self.needed = cut.needed
        self.task_of = {op.name: task for op, task in cut.task_of.items()}
        self.on_gpus = local.on_gpus if local is not None else {}
        for remote in remotes:
            self.on_gpus |= remote.on_gpus
        self.local = local
        self.local_feeds = local_feeds
        self.remotes = remotes
        self.fetches_of = {remote.task: remote.fetches for remote in remotes}
        self.coalesced = {remote.task: remote.coalesced for remote in remotes}
        self.sources = sources  # per fetch: ("", feed position) or (task, position in its fetches)
        self.num_blocking = local.num_blocking if local is not None else 0
        #: The one task that runs all of it can repeat it without being asked each time.
        self.can_repeat = local is None and len(remotes) == 1 and not sources
        self.can_repeat = self.can_repeat and not remotes[0].feed_positions
        #: It is one message there and one back, if its reads were done ahead.
        self.fast: FastStep | None = None
