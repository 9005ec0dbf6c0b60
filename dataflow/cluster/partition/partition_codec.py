"""A partition as JSON and arrays, as it is registered with the task that runs it."""

from __future__ import annotations

from typing import Any

from dataflow.cluster.partition import graph_codec
from dataflow.cluster.partition.graph_partition import GraphPartition, RecvSlots, Segment, Transfer
from dataflow.graph.graph import Graph


def encode_partition(partition: GraphPartition) -> tuple[dict[str, Any], list[Any]]:
    """Return a partition as JSON and the arrays of its constants."""
    ops = {op: None for segment in partition.segments for op in segment.ops}
    outside = {
        tensor.op: None
        for segment in partition.segments
        for op in segment.ops
        for tensor in op.inputs
        if tensor.op not in ops
    }
    encoded, arrays = graph_codec.encode_operations(ops)
    head = {
        "task": partition.task,
        "ops": encoded,
        "stubs": [graph_codec.encode_stub(op) for op in outside],
        "segments": [
            [
                s.number,
                *([node.name for node in nodes] for nodes in (s.ops, s.inputs, s.outputs)),
                *(s.input_slots, s.output_slots, s.num_pending, s.followers, s.transfers),
                s.blocking,
            ]
            for s in partition.segments
        ],
        "channels": partition.channels,
        "feeds": partition.feed_slots,
        "fetches": partition.fetch_slots,
    }
    return head, arrays


def decode_partition(head: dict[str, Any], arrays: list[Any]) -> GraphPartition:
    """Return a partition that arrived, on a graph of its own."""
    graph = Graph()
    graph_codec.decode_operations(graph, head["stubs"], [])
    graph_codec.decode_operations(graph, head["ops"], arrays)
    tensor = graph.get_tensor_by_name
    partition = GraphPartition(head["task"])
    for (
        number,
        ops,
        inputs,
        outputs,
        ins,
        outs,
        num_pending,
        followers,
        transfers,
        blocking,
    ) in head["segments"]:
        segment = Segment(
            number,
            [graph.get_operation_by_name(name) for name in ops],
            [tensor(name) for name in inputs],
            [tensor(name) for name in outputs],
            ins,
            outs,
            num_pending,
            followers,
            [Transfer(*transfer) for transfer in transfers],
            blocking,
        )
        partition.segments.append(segment)
        partition.slots.update(zip(segment.inputs, ins, strict=True))
        partition.slots.update(zip(segment.outputs, outs, strict=True))
    partition.channels = [RecvSlots(*channel) for channel in head["channels"]]
    by_slot = {slot: tensor for tensor, slot in partition.slots.items()}
    partition.feed_slots, partition.fetch_slots = head["feeds"], head["fetches"]
    partition.feeds = [by_slot[slot] for slot in partition.feed_slots]
    partition.fetches = [by_slot[slot] for slot in partition.fetch_slots]
    return partition
