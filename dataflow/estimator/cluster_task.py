"""Which task of a cluster this process is: TF_CONFIG, as `RunConfig` reads it."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from dataflow.cluster_spec import ClusterSpec


class TaskType:
    """Names of jobs in a cluster. A master is a chief that evaluates too."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


#: What the tasks of a job see of a cluster; "{}" is the task's own number. Others see everything.
_FILTERS = {
    TaskType.MASTER: ("/job:ps", "/job:master"),
    TaskType.CHIEF: ("/job:ps", "/job:chief"),
    TaskType.WORKER: ("/job:ps", "/job:worker/task:{}"),
    TaskType.PS: ("/job:ps", "/job:worker", "/job:chief", "/job:master"),
}


class ClusterTask(NamedTuple):
    """One process's place. ``master``: the target of its sessions, "" for this process alone.

    ``device_filters`` is ``None`` outside a cluster, ``global_id_in_cluster`` for the evaluator,
    which is no part of the cluster that trains.
    """

    task_type: str | None
    task_id: int
    is_chief: bool
    cluster_spec: ClusterSpec
    num_ps_replicas: int
    num_worker_replicas: int
    global_id_in_cluster: int | None
    master: str
    device_filters: tuple[str, ...] | None
    service: Any


def task_from_environment() -> ClusterTask:
    """The task that TF_CONFIG names, or a worker alone. Raises `ValueError` for a faulty one."""
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        environment = json.loads(text)
    except json.JSONDecodeError as e:
        raise ValueError(f"TF_CONFIG is no JSON: {e}. It reads: {text[:200]!r}") from e
    spec = ClusterSpec(environment.get("cluster", {}))
    given = environment.get("task", {})
    if not spec.jobs:
        return _alone(given, environment)
    chief = TaskType.MASTER if TaskType.MASTER in spec.jobs else TaskType.CHIEF
    kind, index = _checked_task(spec, given, chief)
    service = environment.get("service")
    if kind == TaskType.EVALUATOR:
        return ClusterTask(kind, index, False, ClusterSpec({}), 0, 0, None, "", None, service)
    return ClusterTask(
        kind,
        index,
        kind == chief,
        spec,
        _count(spec, TaskType.PS),
        _count(spec, TaskType.WORKER) + 1,
        _global_id(spec, kind, index, chief),
        _master(spec, kind, index, environment),
        tuple(text.format(index) for text in _FILTERS[kind]),
        service,
    )


def _alone(given: Any, environment: Any) -> ClusterTask:
    kind, index = given.get("type", TaskType.WORKER), int(given.get("index", 0))
    if kind != TaskType.WORKER or index != 0:
        raise ValueError(
            f'TF_CONFIG names the task {kind}:{index}, but no cluster: without "cluster" the task '
            "can only be worker:0."
        )
    service = environment.get("service")
    return ClusterTask(kind, 0, True, ClusterSpec({}), 0, 1, 0, "", None, service)


def _count(spec: ClusterSpec, job: str) -> int:
    return spec.num_tasks(job) if job in spec.jobs else 0


def _checked_task(spec: ClusterSpec, given: Any, chief: str) -> tuple[str, int]:
    if chief not in spec.jobs:
        raise ValueError(
            f'If "cluster" is set in TF_CONFIG, it must have one "chief" node; its jobs are '
            f"{spec.jobs}."
        )
    if chief == TaskType.MASTER and TaskType.CHIEF in spec.jobs:
        raise ValueError('The "cluster" in TF_CONFIG cannot have both "master" and "chief".')
    if spec.num_tasks(chief) > 1:
        raise ValueError(
            f'The "cluster" in TF_CONFIG must have only one "{chief}" node, it has '
            f"{spec.num_tasks(chief)}."
        )
    kind, index = given.get("type"), given.get("index")
    if not kind or index is None:
        raise ValueError(
            'If "cluster" is set in TF_CONFIG, "task" must have "type" and "index" too; got '
            f"{given!r}."
        )
    index = int(index)
    if kind == TaskType.EVALUATOR and chief == TaskType.MASTER:
        raise ValueError(
            'With a "master" in TF_CONFIG there is no "evaluator": the master evaluates. Name it '
            '"chief" to evaluate in a task of its own.'
        )
    if kind != TaskType.EVALUATOR:
        if kind not in spec.jobs or kind not in _FILTERS:
            raise ValueError(
                f"{kind} is not a valid task_type in the cluster_spec: {spec.as_dict()}. Jobs are "
                "chief (or master), worker, ps and evaluator."
            )
        if index not in spec.task_indices(kind):
            raise ValueError(
                f"{index} is not a valid task_id for task_type {kind} in the cluster_spec: "
                f"{spec.as_dict()}"
            )
    elif index < 0:
        raise ValueError(f"Task index must be a non-negative number, got {index}.")
    return str(kind), index


def _global_id(spec: ClusterSpec, kind: str, index: int, chief: str) -> int:
    """The place among chief, workers and parameter servers, counted in this order."""
    before = 0
    for job in (chief, TaskType.WORKER, TaskType.PS):
        if job == kind:
            return before + index
        before += _count(spec, job)
    raise AssertionError(kind)


def _master(spec: ClusterSpec, kind: str, index: int, environment: Any) -> str:
    if "session_master" in environment:
        return str(environment["session_master"])
    if len(spec.jobs) == 1 and spec.num_tasks(kind) == 1:
        return ""
    return f"grpc://{spec.task_address(kind, index)}"
