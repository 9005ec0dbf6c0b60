"""`train_and_evaluate`: training that is evaluated, and exported, as it goes."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from dataflow import logging
from dataflow.estimator.estimator import Estimator
from dataflow.train.saving_hooks import CheckpointSaverListener


class _TrainFields(NamedTuple):
    input_fn: Any
    max_steps: int | None
    hooks: tuple[Any, ...]
    saving_listeners: tuple[Any, ...]


class TrainSpec(_TrainFields):
    """What to train on, and up to which step (``None``: to the end of the input)."""

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Any,
        max_steps: int | None = None,
        hooks: Any = None,
        saving_listeners: Any = None,
    ) -> TrainSpec:
        if not callable(input_fn):
            raise TypeError(f"`input_fn` must be callable, given: {input_fn}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(
            cls, input_fn, max_steps, tuple(hooks or ()), tuple(saving_listeners or ())
        )


class _EvalFields(NamedTuple):
    input_fn: Any
    steps: int | None
    name: str | None
    hooks: tuple[Any, ...]
    exporters: tuple[Any, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """What to evaluate on, for how many batches, and how often at most."""

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Any,
        steps: int | None = 100,
        name: str | None = None,
        hooks: Any = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        if not callable(input_fn):
            raise TypeError(f"`input_fn` must be callable, given: {input_fn}")
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if start_delay_secs < 0 or throttle_secs < 0:
            raise ValueError("start_delay_secs and throttle_secs must be >= 0.")
        if exporters is not None and not isinstance(exporters, (list, tuple)):
            exporters = [exporters]
        return super().__new__(
            cls, input_fn, steps, name, tuple(hooks or ()), tuple(exporters or ()),
            start_delay_secs, throttle_secs,
        )  # fmt: skip


class _EvaluateCheckpoints(CheckpointSaverListener):
    """Evaluates when a checkpoint was saved, but not more often than every throttle_secs."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator = estimator
        self._spec = spec
        self._max_steps = max_steps
        self._last_time: float | None = None
        self._is_first = True
        self.last_step: int | None = None
        self.metrics: dict[str, Any] | None = None
        self.exports: list[Any] = []

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates, if it is time; the checkpoint before the first step does not count."""
        if self._is_first:
            self._is_first = False
            self._last_time = time.monotonic()
            return
        since = time.monotonic() - (self._last_time or 0.0)
        last = self._max_steps is not None and global_step_value >= self._max_steps
        if not last and since < self._spec.throttle_secs:
            return
        self.evaluate(global_step_value, last)

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluates the last checkpoint, unless that was done."""
        if global_step_value != self.last_step:
            self.evaluate(global_step_value, True)

    def evaluate(self, step: int, is_last: bool) -> None:
        """Evaluates and exports the latest checkpoint."""
        spec, estimator = self._spec, self._estimator
        self._last_time = time.monotonic()
        self.last_step = step
        self.metrics = estimator.evaluate(
            spec.input_fn, steps=spec.steps, hooks=spec.hooks, name=spec.name
        )
        if spec.exporters:
            import os

            self.exports = [
                exporter.export(
                    estimator=estimator,
                    export_path=os.path.join(estimator.model_dir, "export", exporter.name),
                    checkpoint_path=estimator.latest_checkpoint(),
                    eval_result=self.metrics,
                    is_the_final_export=is_last,
                )
                for exporter in spec.exporters
            ]


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]]:
    """Trains, evaluating checkpoints on the way and at the end, in this process.

    Returns the last evaluation's metrics and what the exporters returned. Evaluations follow
    checkpoints: ``RunConfig(save_checkpoints_steps=...)`` says how often they are written.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`, got {estimator!r}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`, got {train_spec!r}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`, got {eval_spec!r}")
    listener = _EvaluateCheckpoints(estimator, eval_spec, train_spec.max_steps)
    estimator.train(
        train_spec.input_fn,
        hooks=list(train_spec.hooks),
        max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, listener],
    )
    if listener.metrics is None:
        logging.warning("train_and_evaluate: nothing was trained; the evaluation is skipped.")
    return listener.metrics, listener.exports
