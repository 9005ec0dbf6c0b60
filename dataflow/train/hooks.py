"""Hooks that look at training: logging, stopping, counting, waiting, feeding."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import logging as log
from dataflow.graph.default_stacks import default_graph
from dataflow.train.global_step import get_global_step
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class SecondOrStepTimer:
    """Says when something is due: every so many seconds, or every so many steps."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets the last time, so that the next step is due."""
        self._last_triggered_step: int | None = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether ``step`` is due; never twice for one step."""
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None and self._last_triggered_time is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        if self._every_steps is not None:
            return step >= self._last_triggered_step + self._every_steps
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that ``step`` was done; returns (seconds, steps) since the one before."""
        now = time.time()
        if self._last_triggered_time is None or self._last_triggered_step is None:
            elapsed: tuple[float | None, int | None] = (None, None)
        else:
            elapsed = (now - self._last_triggered_time, step - self._last_triggered_step)
        self._last_triggered_time = now
        self._last_triggered_step = step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The last step that was done, or ``None``."""
        return self._last_triggered_step


class NeverTriggerTimer(SecondOrStepTimer):
    """A timer for which nothing is ever due."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """Always False."""
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Changes nothing."""
        return None, None

    def last_triggered_step(self) -> int | None:
        """Always ``None``."""
        return None


def needed_global_step(hook: Any) -> Any:
    """The global step, for hooks that cannot do without; raises `RuntimeError`."""
    step = get_global_step()
    if step is None:
        raise RuntimeError(
            f"Global step should be created to use {type(hook).__name__}: call "
            "tf.train.get_or_create_global_step() and pass it to minimize()."
        )
    return step


def as_fetchable(item: Any) -> Any:
    """The tensor that a hook's argument names: ``"loss"``, ``"loss:0"``, or the tensor itself.

    Raises `ValueError` for an element of another graph, and for a name of several outputs.
    """
    graph = default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item!r} should have graph attribute that is equal to current graph."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    element = graph.as_graph_element(item + ":0")
    if len(element.op.outputs) > 1:
        raise ValueError(
            f"Name {item} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return element


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every ``every_n_iter`` runs or ``every_n_secs`` seconds.

    ``tensors``: a dict from label to tensor (or name), or a list. ``formatter``: a function from
    the dict of values to the text. With ``at_end`` alone, only the last values are logged.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Any = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, dict):
            self._tag_order = list(tensors)
        else:
            self._tag_order = list(tensors)
            tensors = {item: item for item in self._tag_order}
        self._tensors = tensors
        self._formatter = formatter
        self._timer: SecondOrStepTimer = (
            NeverTriggerTimer()
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._log_at_end = at_end
        self._iter_count = 0
        self._should_trigger = False

    def begin(self) -> None:
        """Looks the tensors up."""
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: as_fetchable(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensors where they are due."""
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs what was fetched."""
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: BaseSession) -> None:
        """Logs the last values, with ``at_end``."""
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        elapsed, _ = self._timer.update_last_triggered_step(self._iter_count)
        if self._formatter:
            log.info(self._formatter(values))
            return
        with np.printoptions(suppress=True):
            text = ", ".join(f"{_label(tag)} = {values[tag]!s}" for tag in self._tag_order)
        log.info("%s%s", text, "" if elapsed is None else f" ({elapsed:.3f} sec)")


def _label(tag: Any) -> str:
    return tag if isinstance(tag, str) else getattr(tag, "name", str(tag))


class StopAtStepHook(SessionRunHook):
    """Stops after ``num_steps`` more steps, or when the global step is ``last_step``.

    Raises `ValueError` unless exactly one is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Finds the global step."""
        self._global_step_tensor = needed_global_step(self)

    def after_create_session(self, session: BaseSession, coord: Any) -> None:
        """Sets the last step, where it is relative."""
        if self._last_step is None:
            self._last_step = int(session.run(self._global_step_tensor)) + int(self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the global step."""
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks to stop at the last step."""
        assert self._last_step is not None
        # What was fetched may be the step before or after this run's increment.
        if run_values.results + 1 >= self._last_step:
            if run_context.session.run(self._global_step_tensor) >= self._last_step:
                run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN."""

    def __str__(self) -> str:
        return super().__str__() or "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops when ``loss_tensor`` is NaN; by default with a `NanLossDuringTrainingError`."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the loss."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks for NaN."""
        if not np.any(np.isnan(run_values.results)):
            return
        text = (
            f"NaN loss during training: the value of {getattr(self._loss_tensor, 'name', 'loss')!r}"
            f" is {run_values.results}. A smaller learning rate often helps; "
            "tf.add_check_numerics_ops() finds the node where it starts."
        )
        if self._fail_on_nan_loss:
            raise NanLossDuringTrainingError(text)
        log.warning("%s", text)
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Delays a worker until the global step has reached ``wait_until_step``."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step
        self._worker_is_started = False

    def begin(self) -> None:
        """Finds the global step."""
        self._worker_is_started = False
        self._global_step_tensor = needed_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits, before the first run."""
        if self._worker_is_started:
            return
        if self._wait_until_step > 0:
            log.info("Waiting for global step %d before starting training.", self._wait_until_step)
            while int(run_context.session.run(self._global_step_tensor)) < self._wait_until_step:
                time.sleep(0.5)
        self._worker_is_started = True


class FinalOpsHook(SessionRunHook):
    """Runs ``final_ops`` at the end; the values are in ``final_ops_values``."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, once the session has ended."""
        return self._final_ops_values

    def end(self, session: BaseSession) -> None:
        """Runs them."""
        if self._final_ops is not None:
            self._final_ops_values = session.run(
                self._final_ops, feed_dict=self._final_ops_feed_dict
            )


class FeedFnHook(SessionRunHook):
    """Feeds what ``feed_fn()`` returns to each run."""

    def __init__(self, feed_fn: Any) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Calls the function."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
