"""How widgets learn of every `Session.run`, or run it themselves. Free where nobody listens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.base_session import BaseSession


class RunEvent(NamedTuple):
    """One run that is over, by names."""

    graph: Graph
    session: BaseSession
    fetches: list[str]
    feeds: list[str]
    needed: frozenset[str]
    error: BaseException | None = None  # what it failed with


#: Callbacks in order of subscription; `Session.run` looks at it once per run.
listeners: list[Callable[[RunEvent], None]] = []
_hear_failures: list[Callable[[RunEvent], None]] = []


def subscribe(
    callback: Callable[[RunEvent], None], *, failures: bool = False
) -> Callable[[], None]:
    """Calls ``callback(event)`` after every run that gave a result; returns a function that unsubscribes.

    With ``failures`` also after a run that failed, with its ``error``.
    """
    lists = [listeners, _hear_failures] if failures else [listeners]
    for each in lists:
        each.append(callback)

    def unsubscribe() -> None:
        for each in lists:
            if callback in each:
                each.remove(callback)

    return unsubscribe


def publish(event: RunEvent) -> None:
    """Tells every listener; an error in one is shown as a warning and does not stop the run."""
    import warnings

    for callback in list(listeners if event.error is None else _hear_failures):
        try:
            callback(event)
        except Exception as e:  # a broken view must not break the user's training
            warnings.warn(f"a listener of Session.run failed: {e!r}", RuntimeWarning, stacklevel=2)


#: Who runs what ``Session.run`` of a thread is asked for, see `take_runs`.
_taken = threading.local()

#: ``runner(session, fetches, feed_dict)`` returns what `Session.run` is to return.
Runner = Callable[[Any, Any, Any], Any]


def take_runs(runner: Runner) -> Callable[[], None]:
    """Lets ``runner`` do every `Session.run` of this thread; returns a function that ends this.

    That is how a step is recorded which a loop of others runs: a job, a monitored session, ``fit``.
    What it returns is to be called in the same thread, once or more. One runner at a time:
    `RuntimeError` where there is one.
    """
    if runner_here() is not None:
        raise RuntimeError("the runs of this thread are taken already")
    _taken.runner = runner
    listeners.append(_ignore)  # a run that looks at its listeners looks for a runner

    def end() -> None:
        if runner_here() is runner:
            _taken.runner = None
            listeners.remove(_ignore)

    return end


def runner_here() -> Runner | None:
    """Who does the runs of this thread, if somebody does."""
    return getattr(_taken, "runner", None)


def _ignore(_event: RunEvent) -> None:
    """A listener that only makes runs take the way on which they look for a runner."""
