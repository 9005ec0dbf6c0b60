"""Locks that a run holds across its nodes; light, as every plan gives them back when it fails."""

from __future__ import annotations

import threading


class Mutex:
    """A lock held by a run. ``owner`` is the thread of that run.

    A thread that finds itself the owner takes the lock over: its own earlier run failed while it
    held it, for runs of one thread do not overlap.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.condition = threading.Condition()
        self.owner: int | None = None
        self.holds = 0


_held = threading.local()


def held_mutexes() -> list[Mutex]:
    """The locks that runs of this thread hold."""
    mutexes: list[Mutex] = _held.__dict__.setdefault("mutexes", [])
    return mutexes


def release_held() -> None:
    """Gives back all locks of this thread; called when a run fails."""
    for mutex in held_mutexes():
        with mutex.condition:
            if mutex.owner == threading.get_ident():
                mutex.owner = None
                mutex.condition.notify_all()
    held_mutexes().clear()
