"""`ClusterSpec`: which tasks a cluster has and where each of them listens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dataflow.addresses import split_address
from dataflow.display import ClusterPicture


class ClusterSpec(ClusterPicture):
    """The jobs of a cluster, each a set of tasks with an address ``host:port``.

    A host without a port names a task, too, for programs that only place nodes; no server starts there.

    ``cluster`` is one of

    - a mapping from a job's name to a list of addresses, or to ``{task index: address}`` where only
      some tasks are known (a worker needs the parameter servers' addresses, not its peers');
    - another `ClusterSpec`, or an object with ``.cluster_spec`` or ``.spec`` that is one;
    - a ``ClusterDef`` protocol buffer, or its serialized bytes.

    Raises TypeError or ValueError that says which job and task, what was got and what is needed.
    """

    def __init__(self, cluster: Any) -> None:
        self._jobs: dict[str, dict[int, str]] = {}
        for job, tasks in _items_of(cluster):
            if not isinstance(job, str) or not job:
                raise TypeError(f"ClusterSpec: a job's name must be text, got {job!r}.")
            if not (job[0].isalpha() and all(c.isalnum() or c in "_-" for c in job)):
                raise ValueError(
                    f"ClusterSpec: the job name {job!r} cannot be part of a device name; use "
                    "letters, digits, '_' or '-', beginning with a letter."
                )
            self._jobs[job] = _tasks_of(job, tasks)
        self._check_addresses()

    def _check_addresses(self) -> None:
        """Two tasks cannot listen at one address; port 0 becomes a free one for each of them."""
        task_at: dict[tuple[str, int], str] = {}
        for task, address in self.addresses().items():
            if ":" not in address:
                continue  # a host alone, as in programs that only place their nodes
            host, port = split_address(address)
            other = task_at.setdefault((host.lower(), port), task)
            if port and other != task:
                raise ValueError(
                    f"ClusterSpec: {other} and {task} have the same address, {address!r}; each task "
                    "needs one of its own. Give one of them another port."
                )

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, sorted."""
        return sorted(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return how many tasks of the job have an address."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the indices of the job's tasks, sorted."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return ``host:port`` of a task. Raises ValueError for one that is not in the spec."""
        tasks = self._job(job_name)
        try:
            return tasks[task_index]
        except KeyError:
            raise ValueError(
                f"ClusterSpec: job {job_name!r} has no task {task_index!r}; "
                f"its tasks are {sorted(tasks)}."
            ) from None

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the job's addresses by index, ``None`` where a task is not known."""
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Return what the spec can be made from: lists for dense jobs, dicts for sparse ones."""
        result: dict[str, list[str] | dict[int, str]] = {}
        for job in self.jobs:
            tasks = self._jobs[job]
            if sorted(tasks) == list(range(len(tasks))):
                result[job] = [tasks[index] for index in range(len(tasks))]
            else:
                result[job] = {index: tasks[index] for index in sorted(tasks)}
        return result

    def as_cluster_def(self) -> Any:
        """Return the ``ClusterDef`` protocol buffer; it is loaded at the first call."""
        from dataflow.cluster_def import to_cluster_def

        return to_cluster_def(self._jobs)

    def addresses(self) -> dict[str, str]:
        """Return the address of each task by ``/job:<job>/task:<index>``."""
        return {
            f"/job:{job}/task:{index}": tasks[index]
            for job, tasks in sorted(self._jobs.items())
            for index in sorted(tasks)
        }

    def merge(self, other: Any) -> ClusterSpec:
        """Return the union of both specs. Raises ValueError where they give one task two addresses.

        What one task knows of its cluster (a sparse spec) is completed by what another knows.
        """
        merged = {job: dict(tasks) for job, tasks in self._jobs.items()}
        for job, tasks in ClusterSpec(other)._jobs.items():
            mine = merged.setdefault(job, {})
            for index, address in tasks.items():
                if mine.setdefault(index, address) != address:
                    raise ValueError(
                        f"Two cluster specs disagree: /job:{job}/task:{index} is at "
                        f"{mine[index]} in one and at {address} in the other. Every task and "
                        "client of a cluster needs the same spec."
                    )
        return ClusterSpec(merged)

    def _job(self, job_name: str) -> dict[int, str]:
        try:
            return self._jobs[job_name]
        except KeyError:
            raise ValueError(
                f"ClusterSpec: there is no job {job_name!r}; the jobs are {self.jobs}."
            ) from None

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dict):
            other = ClusterSpec(other)
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(tuple(self.addresses().items()))

    def __str__(self) -> str:
        jobs = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in self.as_dict().items())
        return f"ClusterSpec({{{jobs}}})"

    __repr__ = __str__


def _items_of(cluster: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(cluster, ClusterSpec):
        return list(cluster._jobs.items())
    for attribute in ("cluster_spec", "spec"):
        inner = getattr(cluster, attribute, None)
        if isinstance(inner, ClusterSpec):
            return list(inner._jobs.items())
    if isinstance(cluster, Mapping):
        return cluster.items()
    if isinstance(cluster, bytes) or hasattr(cluster, "SerializeToString"):
        from dataflow.cluster_def import from_cluster_def

        return list(from_cluster_def(cluster).items())
    raise TypeError(
        f"ClusterSpec: got {type(cluster).__name__} {cluster!r}; expected a mapping from job "
        "names to lists of 'host:port' (or to {index: 'host:port'}), a ClusterSpec or a ClusterDef."
    )


def _tasks_of(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, Mapping):
        pairs = list(tasks.items())
    elif isinstance(tasks, (list, tuple)):
        pairs = list(enumerate(tasks))
    else:
        raise TypeError(
            f"ClusterSpec: the tasks of job {job!r} must be a list of addresses or a dict from "
            f"index to address, got {type(tasks).__name__} {tasks!r}."
        )
    result = {}
    for index, address in pairs:
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise TypeError(
                f"ClusterSpec: a task index of job {job!r} must be an integer from 0, "
                f"got {index!r}."
            )
        if not isinstance(address, str):
            raise TypeError(
                f"ClusterSpec: the address of /job:{job}/task:{index} must be text 'host:port', "
                f"got {address!r}."
            )
        try:
            if ":" in address:
                split_address(address)
        except ValueError as error:
            raise ValueError(f"ClusterSpec: /job:{job}/task:{index}: {error}") from None
        result[index] = address.removeprefix("grpc://")
    return result


def addresses_by_job(tasks: Iterable[Any]) -> dict[str, dict[int, str]]:
    """The addresses of tasks, each with a ``job``, an ``index`` and an ``address``: for a `ClusterSpec`."""
    jobs: dict[str, dict[int, str]] = {}
    for task in tasks:
        jobs.setdefault(task.job, {})[task.index] = task.address
    return jobs
