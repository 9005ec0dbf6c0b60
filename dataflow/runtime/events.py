"""Listeners of runs: how widgets learn of every `Session.run`. Free when there are no listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class RunEvent(NamedTuple):
    """One finished run, by names."""

    graph: Any
    session: Any
    fetches: list[str]
    feeds: list[str]
    needed: frozenset[str]


#: Callbacks in order of subscription; `Session.run` looks at it once per run.
listeners: list[Callable[[RunEvent], None]] = []


def subscribe(callback: Callable[[RunEvent], None]) -> Callable[[], None]:
    """Calls ``callback(event)`` after every run; returns a function that unsubscribes."""
    listeners.append(callback)

    def unsubscribe() -> None:
        if callback in listeners:
            listeners.remove(callback)

    return unsubscribe


def publish(event: RunEvent) -> None:
    """Tells every listener; an error in one is shown as a warning and does not stop the run."""
    import warnings

    for callback in list(listeners):
        try:
            callback(event)
        except Exception as e:  # a broken view must not break the user's training
            warnings.warn(f"a listener of Session.run failed: {e!r}", RuntimeWarning, stacklevel=2)
