"""`Experiment`: an estimator with what it is trained and evaluated on."""

from __future__ import annotations

import os
import time
from typing import Any

from dataflow.contrib.learn.exports import ExportStrategy
from dataflow.contrib.learn.monitors import replace_monitors_with_hooks
from dataflow.estimator.cluster_training import start_server
from dataflow.graph.collections import GraphKeys


class Experiment:
    """`train`, `evaluate`, `train_and_evaluate` and `test` of one estimator on its data.

    The estimator is one of `tf.contrib.learn` or of `tf.estimator`. `train_and_evaluate` looks every
    ``min_eval_frequency`` steps (1 by default, never with 0), and at most every ``check_interval_secs``
    seconds, whether there is a new checkpoint to evaluate; the last one is evaluated at the end.
    ``eval_metrics`` are those of ``Estimator.evaluate``, for estimators of `tf.contrib.learn`.
    ``export_strategies``: one `ExportStrategy` or a list of them with different names, of what is exported
    after the last evaluation.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Any,
        eval_input_fn: Any,
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        check_interval_secs: float | None = 5,
    ) -> None:
        if not hasattr(estimator, "evaluate"):
            raise ValueError("`estimator` must implement `Evaluable`.")
        if not hasattr(estimator, "fit") and not hasattr(estimator, "train"):
            raise ValueError("`estimator` must implement `Trainable`.")
        self._estimator = estimator
        self._is_old = hasattr(estimator, "fit")
        if eval_metrics and not self._is_old:
            raise ValueError(
                "`eval_metrics` must be `None` with a tf.estimator.Estimator: its model_fn says the "
                "metrics, or use tf.estimator.add_metrics."
            )
        self._export_strategies = _as_strategies(export_strategies)
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = list(train_monitors or [])
        self._eval_hooks = list(eval_hooks or [])
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._min_eval_frequency = (
            local_eval_frequency if min_eval_frequency is None else min_eval_frequency
        )
        if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
            raise ValueError(
                f"`train_steps_per_iteration` must be an integer. Got {train_steps_per_iteration!r}."
            )
        self._steps_per_iteration = train_steps_per_iteration
        self._check_interval_secs = check_interval_secs

    @property
    def estimator(self) -> Any:
        """The estimator."""
        return self._estimator

    @property
    def train_steps(self) -> int | None:
        """Up to which step is trained."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """How many batches are evaluated."""
        return self._eval_steps

    def _fit(self, steps: int | None = None, max_steps: int | None = None) -> Any:
        if self._is_old:
            return self._estimator.fit(
                input_fn=self._train_input_fn,
                steps=steps,
                max_steps=max_steps,
                monitors=self._train_monitors,
            )
        return self._estimator.train(
            input_fn=self._train_input_fn,
            hooks=replace_monitors_with_hooks(self._train_monitors, self._estimator),
            steps=steps,
            max_steps=max_steps,
        )

    def extend_train_hooks(self, additional_hooks: Any) -> None:
        """Adds hooks of the training."""
        self._train_monitors = [*self._train_monitors, *additional_hooks]

    def reset_export_strategies(self, new_export_strategies: Any = None) -> Any:
        """Exports by these from now on; returns those of before."""
        before = self._export_strategies
        self._export_strategies = _as_strategies(new_export_strategies)
        return before

    def _evaluate(self, name: str | None, steps: int | None) -> dict[str, Any]:
        given: dict[str, Any] = {"input_fn": self._eval_input_fn, "steps": steps, "name": name}
        if self._is_old:
            given["metrics"] = self._eval_metrics
        return self._estimator.evaluate(hooks=self._eval_hooks, **given)  # type: ignore[no-any-return]

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to step ``train_steps``; in a cluster, as the task that this process is.

        It begins after ``delay_secs``, by default five seconds for each task before this one.
        """
        config = self._estimator.config
        if delay_secs is None:
            delay_secs = min(60, 5 * (config.task_id or 0))
        server = start_server(config) if config.cluster_spec.jobs and config.master else None
        try:
            if delay_secs:
                time.sleep(delay_secs)
            return self._fit(max_steps=self._train_steps)
        finally:
            if server is not None:
                server.stop()

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluates the latest checkpoint, after ``delay_secs`` (``eval_delay_secs`` by default)."""
        delay = self._eval_delay_secs if delay_secs is None else delay_secs
        if delay:
            time.sleep(delay)
        return self._evaluate(name or "one_pass", self._eval_steps)

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Trains up to step ``train_steps``; evaluates new checkpoints on the way, and the last one.

        Returns (the last metrics, what the export strategies returned).
        """
        monitors = self._train_monitors
        frequency = self._min_eval_frequency
        if frequency is None:
            frequency = 1
        if frequency:
            self._train_monitors = [*monitors, self._validation(frequency)]
        try:
            self.train(delay_secs=0)
        finally:
            self._train_monitors = monitors
        found = self._evaluate(None, self._eval_steps)
        return found, self._exported(found)

    def _validation(self, every_n_steps: int) -> Any:
        from dataflow.contrib.learn.validation_monitor import ValidationMonitor

        return ValidationMonitor(
            input_fn=self._eval_input_fn,
            eval_steps=self._eval_steps,
            every_n_steps=every_n_steps,
            metrics=self._eval_metrics,
            hooks=self._eval_hooks,
            check_interval_secs=self._check_interval_secs,
        )

    def _exported(self, metrics: Any) -> list[Any]:
        folder = os.path.join(os.fspath(self._estimator.model_dir), "export")
        return [
            strategy.export(
                self._estimator, os.path.join(folder, strategy.name), eval_result=metrics
            )
            for strategy in self._export_strategies
        ]

    local_run = train_and_evaluate

    def continuous_train_and_eval(self, continuous_eval_predicate_fn: Any = None) -> Any:
        """Trains and evaluates in turns until step ``train_steps``; returns (metrics, exports).

        Each turn trains ``train_steps_per_iteration`` steps, otherwise ``min_eval_frequency`` (at
        least one). ``continuous_eval_predicate_fn(metrics)`` ends it by returning False; its metrics
        are None before the first turn. Exports are what the export strategies returned after the last turn.
        """
        every = self._steps_per_iteration
        if every is None:
            steps = self._train_steps
            every = 1000 if steps is None else min(self._min_eval_frequency or 1, steps)
        found: dict[str, Any] | None = None
        wanted = _predicate(continuous_eval_predicate_fn)
        while wanted(found):
            if found and self._train_steps and found[GraphKeys.GLOBAL_STEP] >= self._train_steps:
                break
            self._fit(steps=every)
            found = self._evaluate("one_pass", self._eval_steps)
        return found, None if found is None else self._exported(found)

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Any = None,
        max_evaluations: int | None = None,
    ) -> Any:
        """Evaluates each new checkpoint until one of step ``train_steps``; returns the last result.

        Between two evaluations ``continuous_eval_throttle_secs`` pass. ``max_evaluations`` bounds their
        number; ``continuous_eval_predicate_fn(metrics)`` ends them by returning False.
        """
        delay = self._eval_delay_secs if delay_secs is None else delay_secs
        if delay:
            time.sleep(delay)
        seen, count, found, new = None, 0, None, None
        wanted = _predicate(continuous_eval_predicate_fn)
        while (max_evaluations is None or count < max_evaluations) and wanted(new):
            began, new = time.time(), None
            latest = self._estimator_checkpoint()
            if latest is None or (evaluate_checkpoint_only_once and latest == seen):
                time.sleep(min(self._throttle_secs, 1.0))
                continue
            seen, count = latest, count + 1
            found = new = self._evaluate("continuous", self._eval_steps)
            if self._train_steps is not None and found[GraphKeys.GLOBAL_STEP] >= self._train_steps:
                break
            if count != max_evaluations:
                time.sleep(max(0.0, self._throttle_secs - (time.time() - began)))
        return found

    def _estimator_checkpoint(self) -> str | None:
        from dataflow.train.checkpoint_management import latest_checkpoint

        return latest_checkpoint(os.fspath(self._estimator.model_dir))

    def run_std_server(self) -> None:
        """Serves parameters for the others, until the process ends."""
        start_server(self._estimator.config).join()

    def test(self) -> dict[str, Any]:
        """One step of training, one batch of evaluation and the exports: does it run at all?"""
        self._fit(steps=1)
        found = self._evaluate("one_pass", 1)
        self._exported(found)
        return found


def _predicate(given: Any) -> Any:
    """``given``, or what is always true; `ValueError` for what cannot be called."""
    if given is None:
        return lambda metrics: True
    if not callable(given):
        raise ValueError(
            f"`continuous_eval_predicate_fn` must be a callable, or None, got {given!r}."
        )
    return given


def _as_strategies(given: Any) -> tuple[ExportStrategy, ...]:
    """The export strategies of an experiment; `ValueError` for other things, and for names that repeat."""
    found = () if given is None else (given,) if isinstance(given, ExportStrategy) else tuple(given)
    if not all(isinstance(strategy, ExportStrategy) for strategy in found):
        raise ValueError(
            "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, "
            f"found {given!r}."
        )
    names = [strategy.name for strategy in found]
    if len(set(names)) < len(names):
        raise ValueError(
            f"`export_strategies` must have unique names, found {names}: each name is a folder of exports."
        )
    return found
