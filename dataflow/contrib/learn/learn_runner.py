"""``tf.contrib.learn.python.learn.learn_runner``: an experiment as this process's task says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.contrib.learn.experiment import Experiment
from dataflow.estimator.cluster_task import TaskType

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
        if getattr(run_config, "model_dir", None) is None:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        experiment = experiment_fn(run_config, hparams)
    else:
        experiment = experiment_fn(output_dir)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment, got {experiment!r}.")
    config = experiment.estimator.config
    if schedule is None:
        in_cluster = config.cluster_spec.jobs or config.task_type == TaskType.EVALUATOR
        schedule = _SCHEDULES[config.task_type] if in_cluster else "train_and_evaluate"
    task = getattr(experiment, schedule, None)
    if schedule.startswith("_") or not callable(task):
        known = sorted(n for n in dir(experiment) if not n.startswith("_") and n != "estimator")
        raise ValueError(f"Schedule references non-existent task {schedule}; choose from {known}.")
    return task()
