"""`ClusterDef`, TensorFlow's protocol buffer of a cluster.

The layout (cluster.proto): a ClusterDef holds jobs (field 1); a JobDef holds its name (field 1) and
a map of tasks (field 2) whose entries hold index (field 1) and address (field 2).
"""

from __future__ import annotations

from typing import Any

from dataflow.formats.protobuf_wire import WireError, bytes_field, fields, varint_field


class TaskMap(dict[int, str]):
    """The tasks of one job by index."""


class JobDef:
    """One job: ``name`` and ``tasks`` (index to address)."""

    def __init__(self, name: str = "", tasks: dict[int, str] | None = None) -> None:
        self.name = name
        self.tasks = TaskMap(tasks or {})


class ClusterDef:
    """A list of `JobDef` in ``job``; ``SerializeToString`` and ``ParseFromString`` as elsewhere."""

    def __init__(self, job: list[JobDef] | None = None) -> None:
        self.job = list(job or [])

    def SerializeToString(self) -> bytes:
        """Return the protocol buffer's bytes."""
        return b"".join(bytes_field(1, _job_bytes(job)) for job in self.job)

    def ParseFromString(self, data: bytes) -> None:
        """Replace the content with the message encoded in ``data``. Raises ValueError if it is not one."""
        self.job = [_read_job(part) for number, part in _fields(data) if number == 1]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ClusterDef) and self.SerializeToString() == other.SerializeToString()
        )

    def __repr__(self) -> str:
        return "ClusterDef(" + ", ".join(f"{j.name}: {dict(j.tasks)}" for j in self.job) + ")"


def to_cluster_def(jobs: dict[str, dict[int, str]]) -> ClusterDef:
    """Return the ClusterDef of ``{job: {index: address}}``, jobs and tasks sorted."""
    return ClusterDef(
        [JobDef(name, dict(sorted(tasks.items()))) for name, tasks in sorted(jobs.items())]
    )


def from_cluster_def(definition: Any) -> dict[str, dict[int, str]]:
    """Return ``{job: {index: address}}`` of a ClusterDef (ours or TensorFlow's) or of its bytes."""
    data = definition if isinstance(definition, bytes) else definition.SerializeToString()
    parsed = ClusterDef()
    parsed.ParseFromString(data)
    return {job.name: dict(job.tasks) for job in parsed.job}


def _job_bytes(job: JobDef) -> bytes:
    entries = (
        bytes_field(2, varint_field(1, index) + bytes_field(2, address.encode()))
        for index, address in sorted(job.tasks.items())
    )
    return bytes_field(1, job.name.encode()) + b"".join(entries)


def _fields(data: bytes) -> list[tuple[int, Any]]:
    try:
        return [(number, value) for number, _, value in fields(data)]
    except WireError as e:
        raise ValueError(f"The bytes are no ClusterDef: {e}.") from e


def _read_job(data: bytes) -> JobDef:
    job = JobDef()
    if not isinstance(data, bytes):
        raise ValueError("The bytes are no ClusterDef: a job is a number.")
    for number, part in _fields(data):
        if number == 1:
            job.name = part.decode()
        elif number == 2:
            entry = dict(_fields(part))
            job.tasks[int(entry.get(1, 0))] = bytes(entry.get(2, b"")).decode()
    return job
