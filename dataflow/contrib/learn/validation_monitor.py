"""``tf.contrib.learn.monitors.ValidationMonitor``: evaluations within a training, which may stop it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

from dataflow import logging
from dataflow.contrib.learn.step_monitors import EveryN
from dataflow.estimator.estimator import Estimator
from dataflow.train import checkpoint_management

#: What only estimators of `tf.contrib.learn` take.
_OF_LEARN = ("x", "y", "batch_size", "metrics")


class ValidationMonitor(EveryN):
    """Evaluates every ``every_n_steps``, where there is a new checkpoint; may stop the training.

    With ``early_stopping_rounds`` training stops when the ``early_stopping_metric`` has not
    improved for so many steps; ``best_step`` and ``best_value`` say when it was best. Checkpoints
    come from ``RunConfig(save_checkpoints_steps=...)``: without a new one nothing is evaluated.
    ``check_interval_secs`` are the seconds that pass at least between two looks for one: None here, as until
    TensorFlow 1.3, where 1.15 waits 5. Raises `ValueError` without data, and in a training whose evaluation
    does not have the metric.
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
        check_interval_secs: float | None = None,
    ) -> None:
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._arguments = {
            "x": x,
            "y": y,
            "input_fn": input_fn,
            "batch_size": batch_size,
            "steps": eval_steps,
            "metrics": metrics,
            "hooks": hooks,
            "name": name,
        }
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._check_interval_secs = check_interval_secs
        self._last_check: float | None = None
        self._last_checkpoint: str | None = None
        self.early_stopped = False
        self.best_step: int | None = None
        self.best_value: Any = None
        self.best_metrics: dict[str, Any] | None = None

    def every_n_step_end(self, step: int, outputs: dict[str, Any]) -> bool:
        """Evaluates, where there is a new checkpoint; True where the training is to stop."""
        super().every_n_step_end(step, outputs)
        if self._estimator is None:
            raise ValueError("ValidationMonitor: call set_estimator before the training begins.")
        if not self._has_new_checkpoint():
            return False
        found = self._evaluate()
        numbers = ", ".join(f"{name} = {value}" for name, value in found.items())
        logging.info("Validation (step %d): %s", step, numbers)
        return self.early_stopping_rounds is not None and self._is_stuck(step, found)

    def _has_new_checkpoint(self) -> bool:
        now = time.time()
        last, wait = self._last_check, self._check_interval_secs
        if wait is not None and last is not None and now - last <= wait:
            return False
        self._last_check = now
        checkpoint = checkpoint_management.latest_checkpoint(self._estimator.model_dir)
        is_new = checkpoint is not None and checkpoint != self._last_checkpoint
        self._last_checkpoint = checkpoint
        return is_new

    def _evaluate(self) -> dict[str, Any]:
        arguments = self._arguments
        if isinstance(self._estimator, Estimator):
            given = [name for name in _OF_LEARN if arguments[name] is not None]
            if given:
                raise ValueError(
                    f"tf.estimator.Estimator has no {given} for its evaluations: give ValidationMonitor input_fn."
                )
            arguments = {k: v for k, v in arguments.items() if k not in _OF_LEARN}
        found: dict[str, Any] = self._estimator.evaluate(**arguments)
        return found

    def _is_stuck(self, step: int, found: dict[str, Any]) -> bool:
        """Whether the metric has not been better for as many steps as are waited for."""
        if self.early_stopping_metric not in found:
            raise ValueError(
                f"Metric {self.early_stopping_metric} missing from outputs {set(found)}."
            )
        value, best = found[self.early_stopping_metric], self.best_value
        if best is None or (value < best if self.early_stopping_metric_minimize else value > best):
            self.best_value, self.best_step = value, step
            self.best_metrics = copy.deepcopy(found)
        if step - (self.best_step or 0) < (self.early_stopping_rounds or 0):
            return False
        logging.info("Stopping. Best step: %s with %s.", self.best_step, self.best_metrics)
        self.early_stopped = True
        return True
