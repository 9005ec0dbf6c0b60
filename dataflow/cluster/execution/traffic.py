"""Samples of the messages that a task sends and receives, taken while a client watches.

Both ends of a message must choose the same steps: those whose number has zeros where the watcher's mask
has ones. While no client watches, the mask lets no step through, and a message costs one comparison.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.cluster.partition.graph_partition import GraphPartition


#: Messages are no longer noted once nobody has asked for the notes for this time.
_WATCHED_SECONDS = 3.0
_KEPT = 128
#: The mask that lets no step through.
NOBODY = (1 << 63) - 1

#: Stand-ins for a channel's number: a step's result, all of a step's gradients, its fed values.
RESULT, ALL_CHANNELS, FEEDS = -1, -2, -3


class Traffic:
    """The messages of the steps that ``mask`` lets through (``not step & mask``)."""

    def __init__(self) -> None:
        self.mask = NOBODY
        self._until = 0.0
        self._sent: deque[tuple[Any, ...]] = deque(maxlen=_KEPT)
        self._received: deque[tuple[Any, ...]] = deque(maxlen=_KEPT)

    def sent(
        self,
        step: int,
        target: str,
        channel: int,
        names: Callable[[], Sequence[str]],
        tensors: Sequence[Any],
    ) -> None:
        """Note a message that leaves now; ``names`` of its tensors are asked for when it is read."""
        now = time.time()
        if tensors and self._is_watched(now):
            sizes = [int(getattr(tensor, "nbytes", 0) or 0) for tensor in tensors]
            self._sent.append((step, target, channel, names, sizes, now))

    def received(self, step: int, source: str, channel: int) -> None:
        """Note a message with tensors that has arrived."""
        now = time.time()
        if self._is_watched(now):
            self._received.append((step, source, channel, now))

    def _is_watched(self, now: float) -> bool:
        if now < self._until:
            return True
        self.mask = NOBODY
        return False

    def read(self, mask: int) -> dict[str, Any]:
        """Return the notes since the last call, and go on with ``mask``.

        ``sent``: (step, target, channel, names, sizes in bytes, seconds since 1970); ``received``:
        (step, source, channel, seconds).
        """
        self._until = time.time() + _WATCHED_SECONDS
        self.mask = mask
        sent, received = [], []
        while self._sent:
            step, target, channel, names, sizes, when = self._sent.popleft()
            sent.append((step, target, channel, list(names())[: len(sizes)], sizes, when))
        while self._received:
            received.append(self._received.popleft())
        return {"sent": sent, "received": received}


def names_of_slots(partition: GraphPartition, slots: Sequence[int]) -> list[str]:
    """The names of the tensors in a partition's slots."""
    by_slot = {slot: tensor.name for tensor, slot in partition.slots.items()}
    return [by_slot[slot] for slot in slots]


def names_of_transfer(partition: GraphPartition, task: str, channel: int) -> list[str]:
    """The names of the tensors of one message of a partition."""
    for segment in partition.segments:
        for transfer in segment.transfers:
            if transfer[0] == task and transfer[1] == channel:
                return names_of_slots(partition, transfer[2])
    return []
