"""Which task of a cluster a server is, and which others a session of its sees."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from dataflow.cluster_spec import ClusterSpec
from dataflow.device_spec import DeviceSpec
from dataflow.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dataflow.runtime.config import ConfigProto


def visible_tasks(addresses: dict[str, str], own: str, filters: list[str]) -> dict[str, str]:
    """Return the tasks that ``device_filters`` leave visible; its own is always visible.

    A filter is a device name in part, such as ``/job:ps`` or ``/job:worker/task:3``.
    """
    if not filters:
        return dict(addresses)
    result = {}
    for task, address in addresses.items():
        spec = DeviceSpec.from_string(task)
        for text in filters:
            wanted = DeviceSpec.from_string(text)
            if fnmatch.fnmatch(spec.job or "", wanted.job or "*") and wanted.task in (
                None,
                spec.task,
            ):
                result[task] = address
                break
    result[own] = addresses[own]
    return result


def which_task(spec: ClusterSpec, job_name: str | None, task_index: int | None) -> tuple[str, int]:
    if not job_name:
        if len(spec.jobs) != 1:
            raise ValueError(
                f"Server: job_name must be given: the cluster has the jobs {spec.jobs}."
            )
        job_name = spec.jobs[0]
    if job_name not in spec.jobs:
        raise InvalidArgumentError(
            None, None, f'Server: job "{job_name}" is not in the cluster: its jobs are {spec.jobs}.'
        )
    if task_index is None:
        if spec.num_tasks(job_name) != 1:
            raise ValueError(
                f"Server: task_index must be given: the job {job_name!r} has the tasks "
                f"{spec.task_indices(job_name)}."
            )
        task_index = spec.task_indices(job_name)[0]
    if task_index not in spec.task_indices(job_name):
        raise InvalidArgumentError(
            None,
            None,
            f'Server: task {task_index} is not in the job "{job_name}": its tasks are '
            f"{spec.task_indices(job_name)}.",
        )
    return job_name, int(task_index)


def group_leader(config: ConfigProto | None) -> str:
    """``experimental.collective_group_leader`` as a task's name here, "" if there is none."""
    named = str(getattr(getattr(config, "experimental", None), "collective_group_leader", "") or "")
    spec = DeviceSpec.from_string(named)
    return f"/job:{spec.job}/task:{spec.task or 0}" if spec.job else ""
