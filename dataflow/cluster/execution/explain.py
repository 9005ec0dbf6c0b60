"""The work of a step on each task, as plain data: which segment waits for what, and the code that runs."""

from __future__ import annotations

from typing import Any

from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.task_session import TaskSession
from dataflow.cluster.partition.graph_partition import GraphPartition, PartitionedGraph
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.resources import ResourceManager


def code_of(
    plan: GraphPartition, resources: ResourceManager, options: RewriteOptions | None
) -> list[dict[str, Any]]:
    """Compile a partition as its task would and rewrite it; return source and journal by segment.

    Nothing runs, and nothing of it is kept.
    """
    partition = CompiledPartition(plan, TaskSession(resources), options)
    if partition.may_be_rewritten:
        partition.rewrite()
    return [
        {
            "source": source,
            "journal": [{k: v for k, v in hit._asdict().items() if v != ""} for hit in journal],
        }
        for source, journal in zip(partition.sources, partition.journals, strict=True)
    ]


def describe(cut: PartitionedGraph, codes: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return, by task, a dictionary for each segment: see `introspect.explain_tasks.Part`."""
    senders = {
        (transfer.task, transfer.channel): task
        for task, partition in cut.partitions.items()
        for segment in partition.segments
        for transfer in segment.transfers
    }
    told: dict[str, Any] = {}
    for task, partition in cut.partitions.items():
        name_of = {slot: tensor.name for tensor, slot in partition.slots.items()}
        told[task] = parts = [
            {
                "nodes": [op.name for op in segment.ops],
                "after": [s.number for s in partition.segments if segment.number in s.followers],
                "receives": [],
                "sends": [
                    [name, transfer.task]
                    for transfer in segment.transfers
                    for name in [name_of[slot] for slot in transfer.slots] or [""]
                ],
                "may_wait": segment.blocking,
                **code,
            }
            for segment, code in zip(partition.segments, codes[task], strict=True)
        ]
        for number, channel in enumerate(partition.channels):
            for waiting in channel.wakes:
                wanted = partition.segments[waiting].input_slots
                names = [name_of[slot] for slot in channel.slots if slot in wanted] or [""]
                parts[waiting]["receives"] += [[name, senders[task, number]] for name in names]
    return told
