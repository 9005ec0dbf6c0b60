"""`RunConfig` of `tf.contrib.learn`: TF_CONFIG as it was read before `tf.estimator`, and a session's options."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from dataflow.cluster_spec import ClusterSpec
from dataflow.estimator import run_config
from dataflow.estimator.cluster_task import ClusterTask, TaskType
from dataflow.runtime.config import ConfigProto, GPUOptions

__all__ = ["Environment", "RunConfig", "TaskType"]

#: What may change between two runs of one experiment.
_NOT_IN_UID = (
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
)


class Environment:
    """Where a cluster runs: in the cloud the master is the chief, elsewhere the first worker."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class RunConfig(run_config.RunConfig):
    """`tf.estimator.RunConfig` with the session's options among its arguments.

    TF_CONFIG may leave the task out, and needs no chief: worker 0 is it, or in the environment
    "cloud" the master. Raises `ValueError` for a task that the cluster has not, and where
    ``model_dir`` is another than TF_CONFIG's.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1.0,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: float | None = 600,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | None = None,
        session_config: Any = None,
    ) -> None:
        self._given_master = master
        environment = _environment()
        in_environment = environment.get("model_dir")
        if model_dir is not None and in_environment not in (None, model_dir):
            raise ValueError(
                "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
                f"model_dir in TF_CONFIG. model_dir: {model_dir}, TF_CONFIG: {in_environment}."
            )
        super().__init__(
            model_dir=(in_environment if model_dir is None else model_dir) or None,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
        )
        # Of both, steps are what counts; TensorFlow takes the seconds that are there by default.
        self.save_checkpoints_steps = save_checkpoints_steps
        default = save_checkpoints_steps is not None and save_checkpoints_secs == 600
        self.save_checkpoints_secs = None if default else save_checkpoints_secs
        self.environment = environment.get("environment", Environment.LOCAL)
        self.evaluation_master = evaluation_master
        if self.session_config is None and (
            num_cores or log_device_placement or gpu_memory_fraction < 1
        ):
            self.session_config = ConfigProto(
                log_device_placement=log_device_placement,
                inter_op_parallelism_threads=num_cores,
                intra_op_parallelism_threads=num_cores,
                gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
            )

    @property
    def cluster_spec(self) -> ClusterSpec:  # type: ignore[override]
        """The tasks of the cluster; programs of its time set ``_cluster_spec`` to have others."""
        return self.__dict__.get("_cluster_spec", self.__dict__["cluster_spec"])  # type: ignore[no-any-return]

    def _task_of_environment(self) -> ClusterTask:
        environment = _environment()
        task = environment.get("task", {})
        kind, index = task.get("type"), int(task.get("index") or 0)
        spec = ClusterSpec(environment.get("cluster", {}))
        master = self._given_master
        if master is None:
            master = _master(spec, kind, index)
        chief = {None: kind, Environment.CLOUD: TaskType.MASTER}.get(
            environment.get("environment") if kind else None, TaskType.WORKER
        )
        num_ps, num_workers = (
            len(spec.job_tasks(job)) if job in spec.jobs else 0
            for job in (TaskType.PS, TaskType.WORKER)
        )
        is_chief = kind == chief and index == 0
        service = environment.get("service")
        return ClusterTask(
            kind, index, is_chief, spec, num_ps, num_workers, index, master, None, service
        )

    @staticmethod
    def get_task_id() -> int:
        """The number of the task in TF_CONFIG, 0 by default."""
        return int(_environment().get("task", {}).get("index") or 0)

    def uid(self, whitelist: Sequence[str] | None = None) -> str:
        """A text that is the same for equal settings, those of ``whitelist`` aside."""
        left_out = _NOT_IN_UID if whitelist is None else whitelist
        state = {name: value for name, value in vars(self).items() if name not in left_out}
        return ", ".join(f"{name}={state[name]!r}" for name in sorted(state))


def _environment() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG") or "{}")
    return found


def _master(spec: ClusterSpec, kind: str | None, index: int) -> str:
    if not spec.jobs or (len(spec.jobs) == 1 and len(spec.job_tasks(spec.jobs[0])) == 1):
        return ""
    if not kind:
        return ""
    if kind not in spec.jobs:
        raise ValueError(f"{kind} is not a valid task_type in the cluster_spec: {spec.as_dict()}.")
    addresses = spec.job_tasks(kind)
    if not 0 <= index < len(addresses):
        raise ValueError(
            f"{index} is not a valid task_id for task_type {kind} in the cluster_spec: "
            f"{spec.as_dict()}."
        )
    return f"grpc://{addresses[index]}"
