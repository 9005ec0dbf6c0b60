"""Hooks that write files: checkpoints, summaries, steps per second, profiles."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.serialize import write_graph
from dataflow.runtime.config import RunOptions
from dataflow.summary.file_writer import FileWriterCache
from dataflow.train.hooks import SecondOrStepTimer, needed_global_step
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

log = logging.getLogger("tensorflow")


class CheckpointSaverListener:
    """Told of each checkpoint that a `CheckpointSaverHook` saves; methods may be overridden."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session: BaseSession, global_step_value: int) -> None:
        """Called before a checkpoint is saved."""

    def after_save(self, session: BaseSession, global_step_value: int) -> Any:
        """Called after it; a true result stops the training."""

    def end(self, session: BaseSession, global_step_value: int) -> None:
        """Called at the end."""


class _OfGlobalStep(SessionRunHook):
    """A hook that asks for the global step in each run."""

    _global_step_tensor: Any
    _steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """How far each run takes the global step, for a loop of steps inside of one run."""
        self._steps_per_run = steps_per_run

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the global step."""
        return SessionRunArgs(self._global_step_tensor)


class CheckpointSaverHook(_OfGlobalStep):
    """Saves a checkpoint every ``save_secs`` seconds or ``save_steps`` steps, and at the end.

    Raises `ValueError` for a ``saver`` and a ``scaffold`` at once.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Any = None,
        save_graph_def: bool = True,
    ) -> None:
        log.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._checkpoint_dir = local_path(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self.listeners = list(listeners or [])
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """Finds the global step."""
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step_tensor = needed_global_step(self)
        for listener in self.listeners:
            listener.begin()

    def after_create_session(self, session: BaseSession, coord: Any) -> None:
        """Writes the graph, and the first checkpoint."""
        graph = default_graph()
        if self._save_graph_def:
            write_graph(graph, self._checkpoint_dir, "graph.pbtxt")
        self._summary_writer.add_graph(graph)
        self.save_now(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves where it is due."""
        if self._timer.should_trigger_for_step(int(run_values.results) + self._steps_per_run):
            step = int(run_context.session.run(self._global_step_tensor))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: BaseSession) -> None:
        """Saves the last state."""
        step = int(session.run(self._global_step_tensor))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self.listeners:
            listener.end(session, step)

    def _save(self, session: BaseSession, step: int) -> bool:
        from tensorboard.compat.proto.event_pb2 import SessionLog

        log.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self.listeners:
            listener.before_save(session, step)
        self._get_saver().save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        self._summary_writer.add_session_log(
            SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step
        )
        should_stop = False
        for listener in self.listeners:
            if listener.after_save(session, step):
                log.info("A listener requested that training be stopped: %s", listener)
                should_stop = True
        return should_stop

    def use_saver(self, saver: Any) -> None:
        """Saves with ``saver`` from now on."""
        self._saver = saver

    def save_now(self, session: BaseSession) -> None:
        """Saves, and counts steps and seconds from here."""
        step = int(session.run(self._global_step_tensor))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = default_graph().get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                "No items in collection SAVERS. Please add a saver to the collection or provide a "
                "saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                "More than one item in collection SAVERS. Please indicate which one to use by "
                "passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


class SummarySaverHook(SessionRunHook):
    """Writes summaries every ``save_steps`` steps or ``save_secs`` seconds.

    What is written is ``summary_op``, or that of the scaffold; raises `ValueError` unless exactly
    one of the two is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Opens the writer."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._global_step_tensor = needed_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the summaries where they are due."""
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        requests = {"global_step": self._global_step_tensor}
        if self._request_summary and self._summaries():
            requests["summary"] = self._summaries()
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes them."""
        from tensorboard.compat.proto.event_pb2 import SessionLog

        if self._summary_writer is None:
            return
        step = int(run_values.results["global_step"]) + 1
        if self._next_step is None or self._request_summary:
            step = int(run_context.session.run(self._global_step_tensor))
        if self._next_step is None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", []):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: BaseSession | None = None) -> None:
        """Flushes the writer."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any]:
        op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if op is None:
            return []
        return list(op) if isinstance(op, (list, tuple)) else [op]


class StepCounterHook(_OfGlobalStep):
    """Writes and logs steps per second, every so many steps or seconds."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer = summary_writer
        self._output_dir = output_dir

    def begin(self) -> None:
        """Opens the writer."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step_tensor = needed_global_step(self)
        self._summary_tag = self._global_step_tensor.op.name + "/sec"

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the rate where it is due."""
        if not self._timer.should_trigger_for_step(int(run_values.results) + self._steps_per_run):
            return
        step = int(run_context.session.run(self._global_step_tensor))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds:
                self._log_and_record(int(steps or 0), seconds, step)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        rate = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            from dataflow.formats.summary_protos import scalar_summary

            self._summary_writer.add_summary(scalar_summary(self._summary_tag, rate), global_step)
        log.info("%s: %g", self._summary_tag, rate)


class ProfilerHook(SessionRunHook):
    """Writes a Chrome trace ``timeline-<step>.json`` every so many steps or seconds."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._output_dir = local_path(output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Opens the writer."""
        self._next_step: int | None = None
        self._file_writer = FileWriterCache.get(self._output_dir or ".")
        self._global_step_tensor = needed_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for a trace where one is due."""
        self._request_profile = self._next_step is not None and (
            self._timer.should_trigger_for_step(self._next_step)
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._request_profile else None
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the trace."""
        step = int(run_values.results["global_step"])
        if self._next_step is None:
            self._timer.update_last_triggered_step(step)
        step += 1
        if self._request_profile:
            from dataflow.formats.atomic_files import write_atomically
            from dataflow.summary.chrome_trace import Timeline

            step = int(run_context.session.run(self._global_step_tensor))
            self._timer.update_last_triggered_step(step)
            trace = Timeline(run_values.run_metadata.step_stats).generate_chrome_trace_format(
                self._show_dataflow, self._show_memory
            )
            path = os.path.join(self._output_dir, f"timeline-{step}.json")
            log.info("Saving timeline for %d into %r.", step, path)
            write_atomically(path, trace.encode())
            self._file_writer.add_run_metadata(run_values.run_metadata, f"step_{step}", step)
        self._next_step = step + 1
