"""`RunConfig`: where and how an estimator runs."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dataflow.estimator.cluster_task import ClusterTask, task_from_environment
from dataflow.formats.local_paths import local_path
from dataflow.runtime.config import ConfigProto

_UNSET = object()
#: What TF_CONFIG says, and no program.
_OF_THE_TASK = (
    "master",
    "task_type",
    "task_id",
    "is_chief",
    "cluster_spec",
    "num_ps_replicas",
    "num_worker_replicas",
    "global_id_in_cluster",
)
_LOGGED_FIRST = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
)


class RunConfig:
    """Folder, seed, and how often checkpoints, summaries and logs are written.

    Checkpoints come every ``save_checkpoints_secs`` seconds (600) or ``save_checkpoints_steps``
    steps; giving both is a `ValueError`.

    ``train_distribute``: a `tf.distribute.Strategy`; each of its replicas gets batches of its own from
    the input function's dataset, and all make one step together. Evaluation, with
    ``eval_distribute`` too, is on one device: its numbers are those of the whole data either way.

    The environment variable TF_CONFIG (JSON: ``{"cluster": {job: [addresses]}, "task": {"type":
    job, "index": n}}``) makes this process a task of a cluster: see `train_and_evaluate`. A task
    sees only itself and the parameter servers (``session_config.device_filters``), so that workers
    do not wait for each other. Raises `ValueError` for a TF_CONFIG that does not hold together.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _UNSET,
        save_checkpoints_secs: Any = _UNSET,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Any = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: Any = None,
        session_creation_timeout_secs: float = 7200,
        checkpoint_save_graph_def: bool = True,
    ) -> None:
        steps_given = save_checkpoints_steps not in (_UNSET, None)
        secs_given = save_checkpoints_secs not in (_UNSET, None)
        if steps_given and secs_given:
            raise ValueError(
                "Can not provide both save_checkpoints_steps and save_checkpoints_secs."
            )
        if save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = 600 if save_checkpoints_steps is _UNSET else None
        self.save_checkpoints_secs = save_checkpoints_secs
        self.save_checkpoints_steps = (
            None if save_checkpoints_steps is _UNSET else save_checkpoints_steps
        )
        if experimental_distribute is not None:
            train_distribute = train_distribute or experimental_distribute.train_distribute
            eval_distribute = eval_distribute or experimental_distribute.eval_distribute
        for name, strategy in (
            ("train_distribute", train_distribute),
            ("eval_distribute", eval_distribute),
        ):
            if strategy is not None and not hasattr(strategy, "scope"):
                raise ValueError(f"{name} is a tf.distribute.Strategy or None, got {strategy!r}.")
        _check(
            {
                "model_dir": model_dir,
                "tf_random_seed": tf_random_seed,
                "save_summary_steps": save_summary_steps,
                "save_checkpoints_steps": self.save_checkpoints_steps,
                "save_checkpoints_secs": self.save_checkpoints_secs,
                "session_config": session_config,
                "keep_checkpoint_max": keep_checkpoint_max,
                "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
            }
        )
        self.model_dir = None if model_dir is None else local_path(model_dir)
        self.tf_random_seed = tf_random_seed
        self.save_summary_steps = save_summary_steps
        self.session_config = session_config
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.log_step_count_steps = log_step_count_steps
        self.device_fn = device_fn
        self.protocol = protocol
        self.train_distribute = train_distribute
        self.eval_distribute = eval_distribute
        self.experimental_max_worker_delay_secs = experimental_max_worker_delay_secs
        self.session_creation_timeout_secs = session_creation_timeout_secs
        self.checkpoint_save_graph_def = checkpoint_save_graph_def
        task = self._task_of_environment()
        self.task_type = task.task_type
        self.task_id = task.task_id
        self.is_chief = task.is_chief
        self.cluster_spec = task.cluster_spec
        self.num_ps_replicas = task.num_ps_replicas
        self.num_worker_replicas = task.num_worker_replicas
        self.global_id_in_cluster = task.global_id_in_cluster
        self.master = task.master
        self.evaluation_master = ""
        self.service = task.service
        if self.session_config is None and task.device_filters is not None:
            self.session_config = ConfigProto(
                allow_soft_placement=True, device_filters=list(task.device_filters)
            )

    def _task_of_environment(self) -> ClusterTask:
        return task_from_environment()

    def __setattr__(self, name: str, value: Any) -> None:
        # A subclass may say a value by a property of its own, as with TensorFlow's: that is then what is read.
        if isinstance(getattr(type(self), name, None), property):
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    def replace(self, **kwargs: Any) -> RunConfig:
        """A copy with other values.

        Raises `ValueError` for names that are none of the constructor's, and for values that cannot be.
        """
        steps, secs = (kwargs.get(f"save_checkpoints_{each}") for each in ("steps", "secs"))
        if steps is not None and secs is not None:
            raise ValueError(
                "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
            )
        result = copy.copy(self)
        if steps is not None:
            kwargs.setdefault("save_checkpoints_secs", None)
        elif secs is not None:
            kwargs.setdefault("save_checkpoints_steps", None)
        for name, value in kwargs.items():
            if name not in vars(self) or name in _OF_THE_TASK:
                raise ValueError(
                    f"Replacing {name} is not supported: it is no setting of RunConfig."
                )
            setattr(result, name, value)
        _check(kwargs)
        return result


def _check(values: dict[str, Any]) -> None:
    """Raises `ValueError` for a setting that cannot be; others and ``None`` are passed over."""
    given = {name: value for name, value in values.items() if value is not None}
    for name in (
        "save_checkpoints_steps",
        "save_checkpoints_secs",
        "save_summary_steps",
        "keep_checkpoint_max",
    ):
        if given.get(name, 0) < 0:
            raise ValueError(f"{name} should be >= 0, got {given[name]}.")
    if given.get("keep_checkpoint_every_n_hours", 1) <= 0:
        raise ValueError(
            "keep_checkpoint_every_n_hours should be > 0, got "
            f"{given['keep_checkpoint_every_n_hours']}."
        )
    if given.get("model_dir", "folder") == "":
        raise ValueError("model_dir should be non-empty.")
    if not isinstance(given.get("tf_random_seed", 1), (int, np.integer)):
        raise ValueError(f"tf_random_seed must be integer, got {given['tf_random_seed']!r}.")
    if not hasattr(given.get("session_config", ConfigProto()), "allow_soft_placement"):
        raise ValueError(
            f"session_config must be instance of ConfigProto, got {given['session_config']!r}."
        )


def config_text(config: RunConfig) -> str:
    """The values as TensorFlow logs them: ``{'_model_dir': '/tmp/run', '_tf_random_seed': None, ...}``."""
    names = dict.fromkeys([*_LOGGED_FIRST, *vars(config)])
    return str({f"_{name}": getattr(config, name) for name in names})
