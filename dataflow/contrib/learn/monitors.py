"""``tf.contrib.learn.monitors``: hooks that know the estimator they watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import logging
from dataflow.graph.collections import GraphKeys
from dataflow.namespaces import explain_absent
from dataflow.train.global_step import get_global_step
from dataflow.train.hooks import LoggingTensorHook, StopAtStepHook
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook

__all__ = [
    "Monitor",
    "PrintTensor",
    "StopAtStep",
    "ValidationMonitor",
    "replace_monitors_with_hooks",
]

StopAtStep = StopAtStepHook


class Monitor(SessionRunHook):
    """A hook that is given the estimator, by `fit`, before it starts."""

    _estimator: Any = None

    def set_estimator(self, estimator: Any) -> None:
        """The estimator that is trained."""
        self._estimator = estimator


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """The hooks for a training of ``estimator``: monitors are hooks here, and are given it."""
    hooks = list(monitors_or_hooks or [])
    for hook in hooks:
        if isinstance(hook, Monitor):
            hook.set_estimator(estimator)
    return hooks


class PrintTensor(LoggingTensorHook):
    """Logs tensors every ``every_n`` steps."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(tensor_names, every_n_iter=every_n)


class ValidationMonitor(Monitor):
    """Evaluates every ``every_n_steps``, where there is a new checkpoint; may stop the training.

    With ``early_stopping_rounds`` training stops when the ``early_stopping_metric`` has not
    improved for so many steps; ``best_step`` and ``best_value`` say when it was best. Checkpoints
    come from ``RunConfig(save_checkpoints_steps=...)``: without a new one nothing is evaluated.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Sequence[Any] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
    ) -> None:
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._evaluation = {
            "x": x,
            "y": y,
            "input_fn": input_fn,
            "batch_size": batch_size,
            "steps": eval_steps,
            "metrics": metrics,
            "hooks": hooks,
            "name": name,
        }
        self._every_n_steps = every_n_steps
        self._rounds = early_stopping_rounds
        self._metric = early_stopping_metric
        self._minimize = early_stopping_metric_minimize
        self._step: Any = None
        self._last_checkpoint: str | None = None
        self._last_step = 0
        self.early_stopped = False
        self.best_step: int | None = None
        self.best_value: Any = None
        self.best_metrics: dict[str, Any] | None = None

    def begin(self) -> None:
        """Finds the step."""
        self._step = get_global_step()

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Evaluates, if it is time and there is a new checkpoint."""
        step = int(run_values.results) + 1
        if step - self._last_step < self._every_n_steps:
            return
        checkpoint = self._estimator.core.latest_checkpoint()
        if checkpoint is None or checkpoint == self._last_checkpoint:
            return
        self._last_checkpoint, self._last_step = checkpoint, step
        found = self._estimator.evaluate(**self._evaluation)
        logging.info("Validation (step %d): %s", step, found)
        if self._rounds is None:
            return
        if self._metric not in found:
            raise ValueError(
                f"ValidationMonitor: early_stopping_metric {self._metric!r} is not among "
                f"{sorted(found)}"
            )
        value, at = found[self._metric], int(found[GraphKeys.GLOBAL_STEP])
        if self.best_value is None or (
            value < self.best_value if self._minimize else value > self.best_value
        ):
            self.best_value, self.best_step, self.best_metrics = value, at, found
        elif at - (self.best_step or 0) >= self._rounds:
            logging.info("Stopping. Best step: %s with %s.", self.best_step, self.best_metrics)
            self.early_stopped = True
            run_context.request_stop()


def __getattr__(name: str) -> Any:
    from dataflow.contrib.learn import step_monitors

    if not name.startswith("_") and hasattr(step_monitors, name):
        return getattr(step_monitors, name)
    return _absent(name)


_absent = explain_absent(__name__)
