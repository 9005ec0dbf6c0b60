"""What a step does on each task, in plain data: who waits for what, and the code that runs."""

from __future__ import annotations

from typing import Any

from dataflow.cluster.compiled_piece import CompiledPiece, PiecePlan, TaskSession
from dataflow.cluster.partition import Partition
from dataflow.rewrites.switches import Switches
from dataflow.runtime.resources import ResourceManager


def code_of(
    plan: PiecePlan, resources: ResourceManager, switches: Switches | None
) -> list[dict[str, Any]]:
    """Compile a piece as its task would and rewrite it; return source and journal by segment.

    Nothing runs, and nothing of it is kept.
    """
    piece = CompiledPiece(plan, TaskSession(resources), switches)
    if piece.may_be_rewritten:
        piece.rewrite()
    return [
        {
            "source": source,
            "journal": [{k: v for k, v in hit._asdict().items() if v != ""} for hit in journal],
        }
        for source, journal in zip(piece.sources, piece.journals, strict=True)
    ]


def describe(cut: Partition, codes: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return, by task, a dictionary for each segment: see `introspect.explain_tasks.Part`."""
    senders = {
        (transfer.task, transfer.channel): task
        for task, piece in cut.pieces.items()
        for segment in piece.segments
        for transfer in segment.transfers
    }
    told: dict[str, Any] = {}
    for task, piece in cut.pieces.items():
        name_of = {slot: tensor.name for tensor, slot in piece.slots.items()}
        told[task] = parts = [
            {
                "nodes": [op.name for op in segment.ops],
                "after": [s.number for s in piece.segments if segment.number in s.followers],
                "receives": [],
                "sends": [
                    [name, transfer.task]
                    for transfer in segment.transfers
                    for name in [name_of[slot] for slot in transfer.slots] or [""]
                ],
                "may_wait": segment.blocking,
                **code,
            }
            for segment, code in zip(piece.segments, codes[task], strict=True)
        ]
        for number, channel in enumerate(piece.channels):
            for waiting in channel.wakes:
                wanted = piece.segments[waiting].input_slots
                names = [name_of[slot] for slot in channel.slots if slot in wanted] or [""]
                parts[waiting]["receives"] += [[name, senders[task, number]] for name in names]
    return told
