"""``tf.contrib.learn.python.learn.learn_runner``: an experiment as this process's task says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.contrib.hyperparameters import HParams
from dataflow.contrib.learn.experiment import Experiment
from dataflow.estimator.cluster_task import TaskType
from dataflow.estimator.run_config import RunConfig

#: What each task of a cluster does where no schedule is given.
_SCHEDULES = {
    TaskType.MASTER: "train_and_evaluate",
    TaskType.CHIEF: "train",
    TaskType.WORKER: "train",
    TaskType.PS: "run_std_server",
    TaskType.EVALUATOR: "continuous_eval",
}


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: Any = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Makes the experiment and calls its method ``schedule``; returns what that does.

    ``experiment_fn(output_dir)``, or with a ``run_config`` ``experiment_fn(run_config, hparams)``.
    Without a schedule this process's task in TF_CONFIG decides; alone it is
    ``train_and_evaluate``. Raises `ValueError` for an unknown schedule, `TypeError` where
    ``experiment_fn`` gives no `Experiment`.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError("Experiment builder 'experiment_fn' is not callable.")
    if run_config is not None:
        experiment = _of_config(experiment_fn, run_config, hparams)
    else:
        if not output_dir:
            raise ValueError("Must specify an output directory `output_dir`.")
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = experiment_fn(output_dir)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment, got {experiment!r}.")
    schedule = schedule or _default_schedule(experiment.estimator.config)
    task = getattr(experiment, schedule, None)
    known = sorted(
        name
        for name in dir(type(experiment))
        if not name.startswith("_") and callable(getattr(type(experiment), name))
    )
    if schedule.startswith("_") or not hasattr(experiment, schedule):
        raise ValueError(f"Schedule references non-existent task {schedule}; choose from {known}.")
    if not callable(task):
        raise TypeError(f"Schedule references non-callable member {schedule}; choose from {known}.")
    return task()


def _of_config(experiment_fn: Callable[..., Any], run_config: Any, hparams: Any) -> Any:
    if not isinstance(run_config, RunConfig):
        raise ValueError(f"`run_config` must be `RunConfig` instance, got {run_config!r}.")
    if not run_config.model_dir:
        raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
    if hparams is not None and not isinstance(hparams, HParams):
        raise ValueError(f"`hparams` must be `HParams` instance, got {hparams!r}.")
    experiment = experiment_fn(run_config, hparams)
    used = getattr(getattr(experiment, "estimator", None), "config", run_config)
    if getattr(used, "model_dir", None) not in (None, run_config.model_dir):
        raise RuntimeError(
            "`RunConfig` instance is expected to be used by the `Estimator` inside the `Experiment`: "
            f"expected {run_config.model_dir}, but got {used.model_dir}."
        )
    return experiment


def _default_schedule(config: Any) -> str:
    """What this process's task does; ``train_and_evaluate`` where there is no cluster."""
    jobs = config.cluster_spec.jobs if config is not None and config.cluster_spec else ()
    if config is not None and config.task_type == TaskType.EVALUATOR:
        return _SCHEDULES[TaskType.EVALUATOR]
    if not {TaskType.PS, TaskType.WORKER, TaskType.MASTER, TaskType.CHIEF} & set(jobs):
        return "train_and_evaluate"
    if not config.task_type:
        raise ValueError("Must specify a schedule: TF_CONFIG names a cluster, but no task.")
    if config.task_type not in _SCHEDULES:
        raise ValueError(
            f"No default schedule for task type: {config.task_type}. Please specify a schedule."
        )
    return _SCHEDULES[config.task_type]
