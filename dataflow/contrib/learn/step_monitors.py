"""Monitors of ``tf.contrib.learn`` that look at each step: what a program overrides, and ready ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import logging
from dataflow.contrib.learn.monitor_hooks import RunHookAdapterForMonitors, name_of as name_of
from dataflow.contrib.learn.monitors import Monitor
from dataflow.graph.default_stacks import default_graph
from dataflow.summary import FileWriterCache, Summary
from dataflow.train.global_step import get_global_step
from dataflow.train.hooks import NanLossDuringTrainingError
from dataflow.train.saver import Saver
from dataflow.train.session_run_hook import SessionRunArgs


class BaseMonitor(Monitor):
    """Called before and after each step, with the values afterwards that it asked for before.

    Override `step_begin`, which returns tensors or their names, `step_end`, which gets a dict of their
    values and returns True to stop the training, and `post_step`, `begin` and `end`.
    """

    def __init__(self) -> None:
        self._begun = False
        self._max_steps: int | None = None
        self._current_step: int | None = None
        self._current_epoch: int | None = None

    def begin(self, max_steps: int | None = None) -> None:
        """Training starts. Raises `ValueError` when it has already."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._begun, self._max_steps = True, max_steps
        self._current_step = self._current_epoch = None

    def end(self, session: Any = None) -> None:
        """Training is over. Raises `ValueError` when it did not begin."""
        if not self._begun:
            raise ValueError("end called without begin.")
        self._begun, self._max_steps = False, None

    def epoch_begin(self, epoch: int) -> None:
        """An epoch starts. Raises `ValueError` within another, or for a number below 0."""
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """The epoch is over. Raises `ValueError` for another one."""
        if self._current_epoch != epoch:
            raise ValueError(f"epoch_end expected {self._current_epoch} but got {epoch}.")
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """A step starts: what to fetch in it. Raises `ValueError` for a number out of range."""
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: dict[str, Any]) -> bool:
        """The step is over, with what was fetched by name; True stops the training."""
        if self._current_step != step:
            raise ValueError(f"step_end expected {self._current_step} but got {step}.")
        self._current_step = None
        return False

    def post_step(self, step: int, session: Any) -> None:
        """After `step_end`, with the session."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """As a hook of its own, without an estimator."""
        self._hook = RunHookAdapterForMonitors([self])

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks `step_begin` what to fetch."""
        return self._hook.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Tells `step_end` and `post_step`."""
        self._hook.after_run(run_context, run_values)


class StopAtStep(BaseMonitor):
    """Stops after ``num_steps`` steps, or at the global step ``last_step``.

    Raises `ValueError` unless one of the two is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if (num_steps is None) == (last_step is None):
            raise ValueError("One of num_steps and last_step must be specified, and not both.")
        self._num_steps, self._stop_at = num_steps, last_step

    def step_begin(self, step: int) -> list[Any]:
        """Counts ``num_steps`` from the first step."""
        super().step_begin(step)
        if self._stop_at is None and self._num_steps is not None:
            self._stop_at = step + self._num_steps - 1
        return []

    def step_end(self, step: int, output: dict[str, Any]) -> bool:
        """True at the last step."""
        super().step_end(step, output)
        return self._stop_at is not None and step >= self._stop_at


class EveryN(BaseMonitor):
    """A monitor of every ``every_n_steps``-th step, and of the first ``first_n_steps``.

    Override `every_n_step_begin`, `every_n_step_end` and `every_n_post_step`.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step = 0
        self._active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """What to fetch in this step."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """What was fetched; True stops the training."""
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """After `every_n_step_end`, with the session."""

    def step_begin(self, step: int) -> list[Any]:
        """Asks `every_n_step_begin` where it is time."""
        super().step_begin(step)
        self._active = (
            step <= self._first_n_steps
            or step >= self._every_n_steps + self._last_active_step
            or step == self._max_steps
        )
        return self.every_n_step_begin(step) if self._active else []

    def step_end(self, step: int, output: dict[str, Any]) -> bool:
        """Tells `every_n_step_end` where it was time."""
        super().step_end(step, output)
        return bool(self._active and self.every_n_step_end(step, output))

    def post_step(self, step: int, session: Any) -> None:
        """Tells `every_n_post_step` where it was time."""
        super().post_step(step, session)
        if self._active:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        """Training is over: calls `every_n_post_step` for the last step, if that has not been done."""
        super().end(session)
        last = self._last_successful_step
        if last is not None and last != self._last_active_step:
            self.every_n_post_step(last, session)


class _WritesEvents(EveryN):
    """Writes to a writer, or into a folder: without either where the estimator's events are."""

    def __init__(self, every_n_steps: int, output_dir: str | None, summary_writer: Any) -> None:
        super().__init__(every_n_steps)
        self._output_dir, self._summary_writer = output_dir, summary_writer

    def set_estimator(self, estimator: Any) -> None:
        """Without a writer or a folder, the events go where the estimator's are."""
        super().set_estimator(estimator)
        if self._output_dir is None:
            self._output_dir = estimator.model_dir

    def _writer(self) -> Any:
        if self._summary_writer is None and self._output_dir is not None:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        return self._summary_writer


class StepCounter(_WritesEvents):
    """Writes how many steps run in a second, as the summary "global_step/sec"."""

    def __init__(
        self, every_n_steps: int = 100, output_dir: str | None = None, summary_writer: Any = None
    ) -> None:
        super().__init__(every_n_steps, output_dir, summary_writer)
        self._last_time: float | None = None
        self._last_reported = 0

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """Counts the steps since the last time."""
        now = time.time()
        writer = self._writer()
        if self._last_time is not None and writer is not None:
            rate = (step - self._last_reported) / max(now - self._last_time, 1e-9)
            value = Summary.Value(tag="global_step/sec", simple_value=rate)
            writer.add_summary(Summary(value=[value]), step)
        self._last_time, self._last_reported = now, step
        return False


class SummarySaver(_WritesEvents):
    """Writes a merged summary every ``save_steps`` steps."""

    def __init__(
        self,
        summary_op: Any,
        save_steps: int = 100,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
    ) -> None:
        super().__init__(save_steps, output_dir, summary_writer)
        self._summary_op, self._scaffold = summary_op, scaffold

    def _op(self) -> Any:
        return self._scaffold.summary_op if self._summary_op is None else self._summary_op

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the summary."""
        return [] if self._op() is None else [self._op()]

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """Writes it."""
        writer = self._writer()
        if self._op() is not None and writer is not None:
            writer.add_summary(outputs[self._op().name], step)
        return False


class CheckpointSaver(BaseMonitor):
    """Saves every ``save_steps`` steps, or every ``save_secs`` seconds, and at the end."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
    ) -> None:
        super().__init__()
        if (save_secs is None) == (save_steps is None):
            raise ValueError("Exactly one of save_steps and save_secs should be provided.")
        self._path = f"{checkpoint_dir}/{checkpoint_basename}"
        self._secs, self._steps = save_secs, save_steps
        self._saver, self._scaffold = saver, scaffold
        self._last_saved: int | None = None
        self._last_time = 0.0

    def begin(self, max_steps: int | None = None) -> None:
        """Training starts; makes a saver where none was given."""
        super().begin(max_steps)
        self._last_saved = None
        if self._saver is None and self._scaffold is None:
            self._saver = Saver()  # once there is a session, no node can be added

    def post_step(self, step: int, session: Any) -> None:
        """Saves, where it is time."""
        first = self._last_saved is None
        by_step = self._steps is not None and step - (self._last_saved or 0) >= self._steps
        by_time = self._secs is not None and time.time() - self._last_time >= self._secs
        if first or by_step or by_time:
            self._save(step, session)

    def end(self, session: Any = None) -> None:
        """Saves the last step."""
        super().end(session)
        if session is not None:
            self._save(int(session.run(get_global_step())), session)

    def _save(self, step: int, session: Any) -> None:
        if step == self._last_saved:
            return
        self._last_saved, self._last_time = step, time.time()
        saver = self._scaffold.saver if self._saver is None else self._saver
        saver.save(session, self._path, global_step=step)


class NanLoss(EveryN):
    """Stops the training, or raises, when ``loss_tensor`` is NaN."""

    def __init__(
        self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True
    ) -> None:
        super().__init__(every_n_steps)
        self._loss_tensor, self._fail = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the loss."""
        return [self._loss_tensor]

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """True, or a `NanLossDuringTrainingError`, when it is NaN."""
        if not np.any(np.isnan(outputs[name_of(self._loss_tensor)])):
            return False
        if self._fail:
            raise NanLossDuringTrainingError
        logging.error("Model diverged with loss = NaN.")
        return True


class CaptureVariable(EveryN):
    """Keeps the values of a variable: the dict ``values`` by step."""

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self._var_values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        """The values so far, by step."""
        return self._var_values

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the variable."""
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """Keeps it."""
        self._var_values[step] = outputs[self._var_name]
        return False


class GraphDump(BaseMonitor):
    """Keeps what all nodes of the graph gave, except those of ``ignore_ops``: ``data`` by step."""

    IGNORE_OPS = (
        "Const",
        "Assign",
        "Identity",
        "Placeholder",
        "RandomUniform",
        "Cast",
        "RestoreSlice",
    )

    def __init__(self, ignore_ops: Sequence[str] | None = None) -> None:
        super().__init__()
        self._ignored = tuple(ignore_ops or GraphDump.IGNORE_OPS)
        self._data: dict[int, dict[str, Any]] = {}

    @property
    def data(self) -> dict[int, dict[str, Any]]:
        """The outputs of each step, by name."""
        return self._data

    def step_begin(self, step: int) -> list[Any]:
        """Asks for all outputs."""
        super().step_begin(step)
        ops = default_graph().get_operations()
        return [t.name for op in ops if op.type not in self._ignored for t in op.outputs]

    def step_end(self, step: int, output: dict[str, Any]) -> bool:
        """Keeps them."""
        super().step_end(step, output)
        self._data[step] = output
        return False

    def compare(
        self, other_dump: GraphDump, step: int, atol: float = 1e-6
    ) -> tuple[list[str], list[str]]:
        """The names whose values agree with another dump's, and those whose do not."""
        same: list[str] = []
        different: list[str] = []
        for name, value in self.data[step].items():
            if name not in other_dump.data[step]:
                raise ValueError(f"{name} missing from other_dump.")
            other = other_dump.data[step][name]
            close = np.shape(value) == np.shape(other) and (
                np.allclose(value, other, atol=atol)
                if np.asarray(value).dtype.kind in "fc"
                else np.array_equal(value, other)
            )
            (same if close else different).append(name)
        return same, different
