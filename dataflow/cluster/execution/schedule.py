"""Chains: segments of a partition that run one after the other, with no messages in between.

If a partition's messages arrive together, the order of its segments is known in advance, and needs no
counters. The work of a step between two messages is then one generated function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.cluster.execution.compiled_partition import CompiledPartition

_OBJECT = np.dtype(object)


class SegmentChain(NamedTuple):
    """``numbers`` of segments in the order in which they run, and the counts ``pending`` after them.

    ``drops`` are the slots that are dead once a segment has run; ``sends`` are all transfers
    (task, channel, slots), and ``sent`` the slots that are dead once these are sent.
    """

    numbers: list[int]
    pending: list[int]
    drops: list[list[int]]
    sends: Sequence[tuple[str, int, Sequence[int]]]
    sent: list[int]


def first_chain(partition: CompiledPartition, channels: Iterable[int] = ()) -> SegmentChain:
    """The segments that need no messages except those on some channels."""
    pending = partition.pending.copy()
    return _follow(
        partition, pending, [n for n, count in enumerate(pending) if not count], channels
    )


def next_chain(
    partition: CompiledPartition, before: SegmentChain, channels: Iterable[int]
) -> SegmentChain:
    """The segments that can run after those ``before`` once messages on more channels have arrived."""
    return _follow(partition, before.pending.copy(), [], channels)


def _follow(
    partition: CompiledPartition, pending: list[int], ready: list[int], channels: Iterable[int]
) -> SegmentChain:
    segments = partition.plan.segments
    queue = deque(ready)
    numbers = []

    def count_down(targets: Sequence[int]) -> None:
        for number in targets:
            pending[number] -= 1
            if not pending[number]:
                queue.append(number)

    for channel in channels:
        count_down(partition.plan.channels[channel][1])
    while queue:
        number = queue.popleft()
        # Segments that may block go last, so that nothing else waits with them.
        if segments[number].blocking and any(not segments[n].blocking for n in queue):
            queue.append(number)
            continue
        numbers.append(number)
        count_down(segments[number].followers)
    sends = [transfer for number in numbers for transfer in segments[number].transfers]
    goes = {slot for _, _, slots in sends for slot in slots}
    drops = [[slot for slot in partition.releases[n] if slot not in goes] for n in numbers]
    read_later = {s for n, count in enumerate(pending) if count for s in segments[n].input_slots}
    sent = sorted(goes - read_later - set(partition.plan.fetch_slots))
    return SegmentChain(numbers, pending, drops, sends, sent)


def take_in(slots: list[Any], where: Sequence[int], tensors: Sequence[Any]) -> None:
    """Put the tensors of messages into their slots.

    As in a local run, a number is a NumPy scalar and not an array of rank 0.
    """
    for slot, value in zip(where, tensors, strict=True):
        slots[slot] = value if value.shape or value.dtype is _OBJECT else value[()]


def collector(slots: Sequence[int]) -> Callable[[list[Any]], list[Any]]:
    """Returns a function that takes the values of these slots from all slots."""
    scope: dict[str, Any] = {}
    exec(f"def collect(slots):\n    return {_values(slots)}", scope)
    return scope["collect"]  # type: ignore[no-any-return]


def taker(where: Sequence[int]) -> Callable[[list[Any], list[Any]], None]:
    """Returns `take_in` for these slots, without a loop."""
    if not where:
        return lambda slots, tensors: take_in(slots, (), tensors)
    names = [f"t{number}" for number in range(len(where))]
    lines = ["def take(slots, tensors):", f"    {', '.join(names)}, = tensors"]
    for name, slot in zip(names, where, strict=True):
        lines.append(
            f"    slots[{int(slot)}] = {name} if {name}.shape or {name}.dtype is OBJECT else {name}[()]"
        )
    scope: dict[str, Any] = {"OBJECT": _OBJECT}
    exec("\n".join(lines), scope)
    return scope["take"]  # type: ignore[no-any-return]


def _values(slots: Sequence[int]) -> str:
    return f"[{', '.join(f'slots[{int(slot)}]' for slot in slots)}]"


def runner(
    partition: CompiledPartition,
    chain: SegmentChain,
    part: slice = slice(None),
    results: Sequence[int] = (),
) -> Callable[[list[Any], int], list[Any]]:
    """A function that runs the segments of a chain, or a ``part`` of them, on the values in slots.

    It returns those of ``results``. Its second argument is the task's count of updates
    when the step began. It raises the errors of `CompiledPartition.run_segment`.
    """
    lines = ["def run(slots, read_at):", "    try:"]
    scope: dict[str, Any] = {
        "functions": partition.functions,
        "explained": partition.explained,
        "updated": partition.session.updated,
    }
    for number, drops in zip(chain.numbers[part], chain.drops[part], strict=True):
        lines.append(f"        number = {number}")
        call = partition.call_on_slots(number, f"functions[{number}]")
        limits = partition.scopes[number]
        if limits is not None:
            scope[f"scope_{number}"] = limits
            call = f"with scope_{number}(): {call}"
        lines.append(f"        {call}")
        if partition.updates[number]:
            lines.append("        updated(read_at)")
            lines.append(
                "        read_at += 1  # the step is not behind what it has changed itself"
            )
        if drops:
            lines.append(f"        {' = '.join(f'slots[{slot}]' for slot in drops)} = None")
    lines.append(f"        return {_values(results)}")
    lines += ["    except Exception as error:", "        raise explained(error, number) from error"]
    name = f"<chain of segments {chain.numbers[part]}>"
    exec(compile("\n".join(lines), name, "exec"), scope)
    return scope["run"]  # type: ignore[no-any-return]
