"""Locks that a run holds across its nodes; light, as every plan gives them back when it fails."""

from __future__ import annotations

import threading
from collections.abc import Hashable


class Mutex:
    """A lock held by a run: by its thread in this process, by a segment of its step in a cluster.

    ``owner`` is that holder, ``num_holds`` how many locks it has taken and not given back: a thread
    that has the lock takes it again at once, as it computes one node after the other and would
    otherwise wait for itself. Both change under ``condition`` only.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.condition = threading.Condition()
        self.owner: Hashable | None = None
        self.num_holds = 0

    def give_back(self) -> None:
        """Gives back what was taken once; with the last of these the lock is free."""
        with self.condition:
            self.num_holds = max(self.num_holds - 1, 0)
            if not self.num_holds:
                self._free()

    def release(self, holder: Hashable) -> None:
        """Frees the lock if that holder has it, however often it has taken it."""
        with self.condition:
            if self.owner == holder:
                self._free()

    def _free(self) -> None:
        self.owner = None
        self.num_holds = 0
        self.condition.notify_all()


class _Held(threading.local):
    def __init__(self) -> None:
        self.mutexes: list[Mutex] = []
        self.holder: Hashable = threading.get_ident()


_held = _Held()


def held_mutexes() -> list[Mutex]:
    """The locks that runs of this thread hold."""
    return _held.mutexes


def holder() -> Hashable:
    """The holder of a lock that is taken now: this thread, whose runs do not overlap."""
    return _held.holder


def swap(other: tuple[list[Mutex], Hashable] | None) -> tuple[list[Mutex], Hashable]:
    """Makes this thread another holder (None: a new one), and returns the one that it was."""
    former = _held.mutexes, _held.holder
    _held.mutexes, _held.holder = other if other is not None else ([], object())
    return former


def release_held() -> None:
    """Gives back all locks of this thread; called when a run fails."""
    for mutex in held_mutexes():
        mutex.release(holder())
    held_mutexes().clear()
