"""`SessionRunHook` and what it is given: a hook is called around every run of a monitored session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run: more to fetch (in any nesting), more to feed, and options."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave a hook: the values of its fetches, the options and the metadata."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run that is being made: what the user asked for, and the session."""

    def __init__(self, original_args: SessionRunArgs, session: BaseSession) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the user asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The plain session, for runs of the hook's own."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes `MonitoredSession.should_stop` true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Base of hooks; each method may be overridden."""

    def begin(self) -> None:
        """Called once before the session is made; nodes may still be added to the graph."""

    def after_create_session(self, session: BaseSession, coord: Any) -> None:
        """Called when a session was made or, after a failure, made anew; the graph is finalized."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; may return `SessionRunArgs`."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that succeeded."""

    def end(self, session: BaseSession) -> None:
        """Called at the end of the session, unless an error ended it."""
