"""Hooks that stop a training when a metric of its evaluations says so, or at a checkpoint's step."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from typing import Any

from dataflow import logging
from dataflow.dtypes import bool_
from dataflow.estimator.estimator import Estimator
from dataflow.formats.event_files import read_scalars
from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.ops.state import assign
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.ops.variable_store import AUTO_REUSE
from dataflow.train.checkpoint_management import latest_checkpoint, load_variable
from dataflow.train.global_step import get_global_step
from dataflow.train.hooks import SecondOrStepTimer, StopAtStepHook
from dataflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


def read_eval_metrics(eval_dir: Any) -> dict[int, dict[str, float]]:
    """The scalars of the event files in ``eval_dir``: step -> metric -> value, in the order of the steps."""
    folder = local_path(eval_dir)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found: dict[int, dict[str, float]] = {}
    for name in names:
        if not name.startswith("events.out.tfevents."):
            continue
        for step, scalars in read_scalars(os.path.join(folder, name)):
            found.setdefault(step, {}).update(scalars)
    return dict(sorted(found.items()))


def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook for `estimator.train` that stops the training, on all workers, when ``should_stop_fn()`` is true.

    The chief asks every ``run_every_secs`` seconds or ``run_every_steps`` steps; the answer is a variable, which
    the other workers read. Raises `TypeError` for anything but an estimator, `ValueError` for both intervals.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}"
        )
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if not estimator.config.is_chief:
        return _CheckForStoppingHook()
    return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)


def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: Any = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Stops when ``metric_name`` was above ``threshold`` in an evaluation after ``min_steps`` steps.

    ``eval_dir``: where the evaluations' events are, `estimator.eval_dir()` where None is given. Intervals and
    errors are those of `make_early_stopping_hook`.
    """
    crossed = _crossed(estimator, metric_name, threshold, operator.gt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, crossed, run_every_secs, run_every_steps)


def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: Any = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """`stop_if_higher_hook` for a metric that was below ``threshold``."""
    crossed = _crossed(estimator, metric_name, threshold, operator.lt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, crossed, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: Any = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Stops when ``metric_name`` did not rise above its best value for so many steps.

    The other arguments are those of `stop_if_higher_hook`.
    """
    steps = max_steps_without_increase
    stuck = _stuck(estimator, metric_name, steps, operator.gt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stuck, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: Any = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Stops when ``metric_name`` did not fall below its best value for so many steps.

    The other arguments are those of `stop_if_higher_hook`.
    """
    steps = max_steps_without_decrease
    stuck = _stuck(estimator, metric_name, steps, operator.lt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stuck, run_every_secs, run_every_steps)


def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """`tf.train.StopAtStepHook`, whose workers go on until the chief has saved ``last_step``."""
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)


def _values(
    estimator: Estimator, metric_name: str, eval_dir: Any, min_steps: int
) -> list[tuple[int, float]]:
    """The metric in each evaluation from ``min_steps`` on: (step, value)."""
    folder = estimator.eval_dir() if eval_dir is None else eval_dir
    found = read_eval_metrics(folder)
    return [(step, values[metric_name]) for step, values in found.items() if step >= min_steps]


def _crossed(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    beyond: Callable[[Any, Any], Any],
    eval_dir: Any,
    min_steps: int,
) -> Callable[[], bool]:
    def should_stop() -> bool:
        for step, value in _values(estimator, metric_name, eval_dir, min_steps):
            if beyond(value, threshold):
                logging.info(
                    'At step %s, metric "%s" has value %s, beyond the threshold %s.',
                    step,
                    metric_name,
                    value,
                    threshold,
                )
                return True
        return False

    return should_stop


def _stuck(
    estimator: Estimator,
    metric_name: str,
    max_steps: int,
    better: Callable[[Any, Any], Any],
    eval_dir: Any,
    min_steps: int,
) -> Callable[[], bool]:
    def should_stop() -> bool:
        best: tuple[int, float] | None = None
        for step, value in _values(estimator, metric_name, eval_dir, min_steps):
            if best is None or better(value, best[1]):
                best = step, value
            if step - best[0] >= max_steps:
                logging.info(
                    'Metric "%s" has been no better than %s, of step %s, for %s steps.',
                    metric_name,
                    best[1],
                    best[0],
                    step - best[0],
                )
                return True
        return False

    return should_stop


def _get_or_create_stop_var() -> Any:
    """The bool variable, shared by all workers, that says whether the training is to stop."""
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable(
            "STOP",
            shape=[],
            dtype=bool_,
            initializer=lambda shape, dtype=None, partition_info=None: False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopOnPredicateHook(SessionRunHook):
    """The chief's hook: evaluates the predicate, and stores the answer for all workers."""

    def __init__(
        self,
        should_stop_fn: Callable[[], bool],
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> None:
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop = should_stop_fn
        self._timer = SecondOrStepTimer(run_every_secs, run_every_steps)

    def begin(self) -> None:
        self._step = get_global_step()
        self._stop_var = _get_or_create_stop_var()
        self._stop = assign(self._stop_var, True)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = int(run_values.results)
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop():
            logging.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop)
            run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """The hook of the other workers: reads the chief's decision."""

    def begin(self) -> None:
        self._stop = _get_or_create_stop_var()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()


class _StopAtCheckpointStepHook(SessionRunHook):
    """The hook of the other workers: stops once a checkpoint of the last step exists."""

    def __init__(self, model_dir: str, last_step: int, wait_seconds: float = 30) -> None:
        self._model_dir = model_dir
        self._last_step = last_step
        self._wait_seconds = wait_seconds

    def begin(self) -> None:
        self._step = get_global_step()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if int(run_values.results) < self._last_step:
            return
        checkpoint = latest_checkpoint(self._model_dir)
        if checkpoint and load_variable(checkpoint, GraphKeys.GLOBAL_STEP) >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait_seconds)
