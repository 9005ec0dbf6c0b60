"""`MonitoredSession`: a session with hooks that initializes, restores and recovers by itself.

It is made of layers, each a session around another, as TensorFlow's: recovery (a new session after
a preemption), coordination (queue threads), hooks, and the plain session.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from dataflow.errors import OutOfRangeError
from dataflow.graph.default_stacks import default_graph
from dataflow.missing import unknown_argument
from dataflow.runtime.base_session import RUN_ARGUMENTS
from dataflow.train.saving_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from dataflow.train.scaffold import ChiefSessionCreator, Scaffold, WorkerSessionCreator
from dataflow.train.wrapped_sessions import (
    CoordinatedSessionCreator,
    RecoverableSession,
    StepContext,
)

log = logging.getLogger("tensorflow")


USE_DEFAULT = object()


class _MonitoredSession:
    """What `MonitoredSession` and `SingularMonitoredSession` share."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: Any,
        hooks: Sequence[Any],
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = default_graph().finalized
        self._graph_used = default_graph()
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: Any
        if should_recover:
            self._sess = RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    @property
    def graph(self) -> Any:
        """The graph; ``None`` once closed."""
        session = self._coordinated_creator.tf_sess
        return None if self._sess is None or session is None else session.graph

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
        **misspelled: Any,
    ) -> Any:
        """As `Session.run`, with the hooks around it."""
        if misspelled:
            raise unknown_argument("MonitoredSession.run", misspelled, RUN_ARGUMENTS)
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        return self._sess.run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Any) -> Any:
        """Calls ``step_fn(step_context)``, whose runs may or may not call the hooks.

        Raises `ValueError` unless its one parameter is called ``step_context``.
        """
        import inspect

        names = list(inspect.signature(step_fn).parameters)
        if names not in (["step_context"], ["self", "step_context"]):
            raise ValueError(
                f"`step_fn` may either have one `step_context` argument, or with `self`. Got {names}"
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess, None)

    def should_stop(self) -> bool:
        """Whether a hook or thread asked to stop, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def _is_closed(self) -> bool:
        """TensorFlow's private name for it, which programs ask for."""
        return self._coordinated_creator.tf_sess is None

    def close(self) -> None:
        """Ends the hooks and closes the session."""
        self._close_internal()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, exception_type: Any, exception_value: Any, traceback: Any) -> bool:
        # The end of the input is how training ends.
        if exception_type in (OutOfRangeError, StopIteration):
            exception_type = None
        self._close_internal(exception_type)
        return exception_type is None

    def _tf_sess(self) -> Any:
        """The plain session."""
        return self._coordinated_creator.tf_sess

    def _close_internal(self, exception_type: Any = None) -> None:
        try:
            if not exception_type and self._sess is not None:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    self._graph_used._unsafe_unfinalize()


class MonitoredSession(_MonitoredSession):
    """A session that initializes or restores, runs hooks, and recovers from preemption.

    Args:
        session_creator: by default a `ChiefSessionCreator`.
        hooks: `SessionRunHook`s.
        stop_grace_period_secs: how long to wait for threads at the end.

    After `AbortedError` or `UnavailableError` (a task of a cluster was lost) a new session is made
    from the last checkpoint and the run is repeated. Leaving its block after `OutOfRangeError` is
    a normal end.
    """

    def __init__(
        self, session_creator: Any = None, hooks: Any = None, stop_grace_period_secs: float = 120
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not recover: errors of preemption reach the caller."""

    def __init__(
        self,
        hooks: Any = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The plain session."""
        return self._tf_sess()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A `MonitoredSession` for training.

    The chief initializes or restores from ``checkpoint_dir``, and saves checkpoints (by default
    every 600 seconds), summaries (every 100 steps) and the rate of steps there; workers wait for
    it. ``None`` for seconds and steps switches a service off.
    """
    save_summaries_steps, save_summaries_secs = _how_often(
        save_summaries_steps, save_summaries_secs, (100, None)
    )
    save_checkpoint_steps, save_checkpoint_secs = _how_often(
        save_checkpoint_steps, save_checkpoint_secs, (None, 600)
    )
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks or [], stop_grace_period_secs)
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    all_hooks: list[Any] = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if (log_step_count_steps or 0) > 0:
            all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
        summaries = {"save_steps": save_summaries_steps, "save_secs": save_summaries_secs}
        if any((often or 0) > 0 for often in summaries.values()):
            all_hooks.append(
                SummarySaverHook(**summaries, output_dir=summary_dir, scaffold=scaffold)
            )
    checkpoints = {"save_steps": save_checkpoint_steps, "save_secs": save_checkpoint_secs}
    if checkpoint_dir and any((often or 0) > 0 for often in checkpoints.values()):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir, **checkpoints, scaffold=scaffold, save_graph_def=save_graph_def
            )
        )
    return MonitoredSession(creator, [*all_hooks, *(hooks or [])], stop_grace_period_secs)


def _how_often(steps: Any, secs: Any, default: tuple[int | None, float | None]) -> tuple[Any, Any]:
    """Steps and seconds between two savings: of what the caller left out the default, else ``None``."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return tuple(None if value is USE_DEFAULT else value for value in (steps, secs))  # type: ignore[return-value]
