"""Which memory an exchange uses that all its members share, on one machine (`transport.shm_common`).

The leader chooses when all have come, and tells each with its rank; a member says, as it comes, which
memory it still has arrays in (a fetched result may be kept for long), and whether it can share any.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.cluster.transport.shm_common import MOST_MEMBERS, CommonMemory
from dataflow.kernels.collective_groups import Request

#: Smaller vectors travel in messages.
_SHARE_FROM_BYTES = 1 << 10
#: Vectors of one exchange, for results that are kept while the next ones are computed.
_MOST_EACH = 3
#: Exchanges whose memory is kept, by a leader and by a member, and its bytes.
_MOST_KEPT, _MOST_BYTES = 128, 1 << 29
#: Memory that was used within this time is not given up for another exchange.
_RECENT_SECONDS = 10.0


class Chosen(NamedTuple):
    """What the leader says of the memory: a number, its descriptor, and the vector's bytes."""

    number: int
    fd: int
    num_bytes: int


class _Made:
    """What a leader made for one exchange, by number."""

    def __init__(self, members: Sequence[tuple[str, str]]) -> None:
        self.members = members
        self.memory: dict[int, CommonMemory] = {}
        self.used = 0.0

    def close(self) -> None:
        for memory in self.memory.values():
            memory.close()
        self.memory.clear()


class CommonVectors:
    """The memory that this task made as a leader, and what it has opened as a member."""

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, _Made] = OrderedDict()
        #: By the leader's incarnation and number.
        self._opened: OrderedDict[tuple[str, int], CommonMemory] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    # The leader

    def choose(
        self,
        request: Request,
        members: Sequence[tuple[str, str]],
        held: Sequence[Sequence[int] | None],
    ) -> Chosen | None:
        """Memory for an exchange of these members (task, session), by rank.

        ``held`` says for each where it has arrays. ``None``: they send messages, because one of them
        cannot share memory, or because too much of it is held or in use.
        """
        num_bytes = _vector_bytes(request)
        if None in held or len(members) > MOST_MEMBERS:
            return None
        if not _SHARE_FROM_BYTES <= num_bytes <= _MOST_BYTES:
            return None
        key = (request.group_key, request.instance_key, num_bytes, *members)
        taken = {number for numbers in held for number in numbers or ()}
        with self._lock:
            made = self._made.get(key)
            free = [] if made is None else [
                n for n, m in made.memory.items() if n not in taken and not m.is_held
            ]  # fmt: skip
            if free:
                assert made is not None
                number, memory = free[0], made.memory[free[0]]
            elif made is not None and len(made.memory) >= _MOST_EACH:
                return None
            else:
                fresh = CommonMemory.make(num_bytes) if self._has_room_for(num_bytes) else None
                if fresh is None:
                    return None
                number, memory = next(self._numbers), fresh
                made = self._made.setdefault(key, _Made(members))
                made.memory[number] = memory
            made.used = time.monotonic()
            self._made.move_to_end(key)
        memory.silence()
        return Chosen(number, memory.fd, num_bytes)

    def _has_room_for(self, num_bytes: int) -> bool:
        """Frees old memory if necessary; returns whether there is room afterwards."""
        while self._made:
            total = sum(m.num_bytes for made in self._made.values() for m in made.memory.values())
            if len(self._made) < _MOST_KEPT and total + num_bytes <= _MOST_BYTES:
                return True
            key, oldest = next(iter(self._made.items()))
            if oldest.used > time.monotonic() - _RECENT_SECONDS:
                return False
            oldest.close()
            del self._made[key]
        return True

    def forget(self, session: str) -> None:
        """A session is over: give up what it was a member of."""
        with self._lock:
            for key, made in list(self._made.items()):
                if any(name == session for _, name in made.members):
                    made.close()
                    del self._made[key]

    def of_leader(self, chosen: Chosen) -> CommonMemory | None:
        """The memory, in the leader's own process; ``None``: it was given up meanwhile."""
        with self._lock:
            every = (made.memory.get(chosen.number) for made in self._made.values())
            return next((memory for memory in every if memory is not None), None)

    # A member

    def held(self, leader: str) -> list[int]:
        """The numbers of a leader's memory in which this process has arrays."""
        with self._lock:
            return [
                n for (name, n), memory in self._opened.items() if name == leader and memory.is_held
            ]

    def open(self, leader: str, pid: int, chosen: Chosen) -> CommonMemory:
        """The memory that a leader (its incarnation and process) has chosen.

        Raises OSError or ValueError if it cannot be opened."""
        key = (leader, chosen.number)
        with self._lock:
            found = self._opened.get(key)
            if found is None:
                found = self._opened[key] = CommonMemory.open(pid, chosen.fd, chosen.num_bytes)
                for old, memory in list(self._opened.items())[: len(self._opened) - _MOST_KEPT]:
                    if not memory.is_held:
                        del self._opened[old]
            self._opened.move_to_end(key)
            return found

    def close(self) -> None:
        """Give all memory up; arrays that lie in it stay valid."""
        with self._lock:
            for made in self._made.values():
                made.close()
            self._made.clear()
            self._opened.clear()


def _vector_bytes(request: Request) -> int:
    """The bytes of the vector that goes around; 0: there is none."""
    dtype = np.dtype(request.dtype) if request.dtype in np.sctypeDict else np.dtype(object)
    if request.kind == "broadcast" or dtype.kind not in "iufc":
        return 0
    times = request.group_size if request.kind == "gather" else 1
    return int(np.prod(request.shape, dtype=np.int64)) * dtype.itemsize * times


def as_told(chosen: Any) -> Chosen | None:
    """What a leader's answer says, or ``None``."""
    return Chosen(*map(int, chosen)) if chosen else None
