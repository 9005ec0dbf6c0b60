"""`train_and_evaluate`: training that is evaluated, and exported, as it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dataflow import logging
from dataflow.estimator.cluster_task import TaskType
from dataflow.estimator.cluster_training import (
    CheckpointEvaluator,
    EvaluateCheckpoints,
    run_task,
)
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.exporters import Exporter
from dataflow.train.session_run_hook import SessionRunHook


class _TrainFields(NamedTuple):
    input_fn: Any
    max_steps: int | None
    hooks: tuple[Any, ...]
    saving_listeners: tuple[Any, ...]


def _check_hooks(hooks: Sequence[Any] | None) -> None:
    for hook in hooks or ():
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")


def _check_exporters(exporters: Sequence[Any]) -> None:
    names = set()
    for exporter in exporters:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be an Exporter or a list of them, given: {exporter}")
        if not exporter.name:
            raise ValueError("An Exporter cannot have a name that is `None` or empty.")
        if not isinstance(exporter.name, str):
            raise ValueError(f"An Exporter must have a string name, given: {exporter.name!r}")
        if exporter.name in names:
            raise ValueError(
                f"`exporters` must have unique names. Two are called {exporter.name!r}."
            )
        names.add(exporter.name)


class TrainSpec(_TrainFields):
    """What to train on, and up to which step (``None``: to the end of the input)."""

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        saving_listeners: Any = None,
    ) -> TrainSpec:
        if not callable(input_fn):
            raise TypeError(f"`input_fn` must be callable, given: {input_fn}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        _check_hooks(hooks)
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
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Sequence[Any] | None = None,
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
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        _check_hooks(hooks)
        if exporters is not None and not isinstance(exporters, (list, tuple)):
            exporters = [exporters]
        _check_exporters(exporters or ())
        return super().__new__(
            cls, input_fn, steps, name, tuple(hooks or ()), tuple(exporters or ()),
            start_delay_secs, throttle_secs,
        )  # fmt: skip


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]]:
    """Trains, evaluating checkpoints on the way and at the end.

    Without a cluster all in this process: returns the last evaluation's metrics and what the
    exporters returned. Evaluations follow checkpoints: ``RunConfig(save_checkpoints_steps=...)``
    says how often they are written.

    Where TF_CONFIG names a cluster (see `RunConfig`), this process is one of its tasks, and all run
    the same program: the chief and the workers train (a worker begins 5 seconds after the one
    before it), with variables on the parameter servers; a ``ps`` serves them until it is ended; the
    evaluator, which stands outside the cluster, evaluates and exports each new checkpoint until
    ``max_steps``. ``model_dir`` must be one folder that they share. Returns (None, []).
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`, got {estimator!r}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`, got {train_spec!r}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`, got {eval_spec!r}")
    if estimator.config.cluster_spec.jobs or estimator.config.task_type == TaskType.EVALUATOR:
        run_task(estimator, train_spec, eval_spec)
        return None, []
    evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
    listener = EvaluateCheckpoints(evaluator, eval_spec.throttle_secs, train_spec.max_steps)
    estimator.train(
        train_spec.input_fn,
        hooks=list(train_spec.hooks),
        max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, listener],
    )
    if evaluator.metrics is None:
        logging.warning("train_and_evaluate: nothing was trained; the evaluation is skipped.")
    return evaluator.metrics, evaluator.exports
