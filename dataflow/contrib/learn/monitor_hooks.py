"""Monitors of `tf.contrib.learn` as one hook of a session."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from dataflow.train.global_step import get_global_step
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook


def name_of(asked: Any) -> str:
    """The name by which a monitor gets what it asked for."""
    return asked if isinstance(asked, str) else str(asked.name)


def _element(asked: Any, graph: Any) -> Any:
    """What to fetch: an operation's name alone stands for its only output."""
    if not isinstance(asked, str) or ":" in asked:
        return graph.as_graph_element(asked)
    outputs = graph.get_operation_by_name(asked).outputs
    if len(outputs) != 1:
        raise ValueError(f"{asked!r} has {len(outputs)} outputs: write {asked}:0 for the first.")
    return outputs[0]


class RunHookAdapterForMonitors(SessionRunHook):
    """Calls monitors at each step, whose number is the global step: other workers' steps count too."""

    def __init__(self, monitors: Sequence[Any]) -> None:
        self._monitors = list(monitors)
        self._step: int | None = None
        self._step_tensor: Any = None

    def begin(self) -> None:
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._step = None  # it goes on from the step that was restored

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks `step_begin` of each what to fetch."""
        session = run_context.session
        if self._step is None:
            self._step_tensor = get_global_step(session.graph)
            self._step = int(session.run(self._step_tensor)) + 1
        asked = [each for m in self._monitors for each in m.step_begin(self._step) or ()]
        fetches = {name_of(each): _element(each, session.graph) for each in asked}
        return SessionRunArgs([self._step_tensor, fetches])

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Tells `step_end` and then `post_step` of each."""
        now, outputs = run_values.results
        step = self._step or 0
        for monitor in self._monitors:
            if monitor.step_end(step, outputs):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(step, run_context.session)
        # The run may have read the global step before it was counted.
        self._step = max(int(now), step) + 1

    def end(self, session: Any) -> None:
        for monitor in self._monitors:
            given = "session" in inspect.signature(monitor.end).parameters
            monitor.end(session) if given else monitor.end()
