"""Clusters of plain servers, seen from outside: watched, killed and stopped, but not started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from dataflow.cluster.execution.calls import call
from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.management.processes import is_running
from dataflow.cluster.transport.connection_pool import connect
from dataflow.cluster_spec import ClusterSpec
from dataflow.errors import DeadlineExceededError, UnavailableError, UnimplementedError

#: A stopped task must not delay the answers of the others.
_ANSWER_SECONDS = 1.0


class ExternalTask(TaskHandle):
    """A task whose process was started from outside."""

    def __init__(self, job: str, index: int, address: str) -> None:
        super().__init__(job, index, address)
        self.state = "dead"


class ExternalBackend:
    """Knows the tasks of a spec, and asks each once for its process.

    A task that does not answer is "dead", and is contacted again whenever its state is requested.
    """

    has_logs = False
    has_starter = False
    head_gone = False  # there is none

    def __init__(self, spec: ClusterSpec, key: str, timeout_seconds: float = 1.0) -> None:
        self.key = key
        self.on_death: Callable[[Any, str], None] | None = None
        self.on_line: Callable[[Any, str], None] | None = None
        self._tasks = [
            ExternalTask(job, index, spec.task_address(job, index))
            for job in spec.jobs
            for index in spec.task_indices(job)
        ]
        for task in self._tasks:
            self._meet(task, timeout_seconds)
        if all(task.state == "dead" for task in self._tasks):
            raise UnavailableError(
                None,
                None,
                f"No task of {spec} answers. Were its servers started, and with this key?",
            )

    @property
    def tasks(self) -> list[ExternalTask]:
        """The tasks, with their current processes."""
        for task in self._tasks:
            if task.state == "dead":
                self._meet(task, 0.0)
            elif task.state == "running" and not _is_alive(task):
                task.state = "dead"
                if self.on_death is not None:
                    self.on_death(task, "its process has ended")
        return self._tasks

    def _meet(self, task: ExternalTask, timeout_seconds: float) -> None:
        try:
            connection = connect(
                task.address,
                self.key,
                "the cluster's owner",
                task.name,
                timeout_seconds,
                answer_seconds=_ANSWER_SECONDS,
            )
            connection.deadline = time.monotonic() + _ANSWER_SECONDS
            figures = call(connection, "status").head or {}
            connection.close()
        except (UnavailableError, DeadlineExceededError):
            return
        if task.pid not in (0, figures["pid"]):
            task.restarts += 1
        task.pid, task.host, task.state = figures["pid"], figures["host"], "running"

    def jobs(self) -> dict[str, dict[int, str]]:
        """Return the addresses by job and index."""
        jobs: dict[str, dict[int, str]] = {}
        for task in self._tasks:
            jobs.setdefault(task.job, {})[task.index] = task.address
        return jobs

    def signal(self, task: ExternalTask, number: int) -> None:
        """Send a signal to a task's process, which must be on this machine and not this one."""
        if task.host != os.uname().nodename:
            raise UnimplementedError(
                None, None, f"{task.name} is on {task.host}; signals reach this machine only."
            )
        if task.pid == os.getpid():
            raise UnimplementedError(
                None,
                None,
                f"{task.name} lives in this very process, which cannot be killed or paused. Start "
                "it in a process of its own, or use tf.cluster.launch.",
            )
        os.kill(task.pid, number)
        if number == signal.SIGKILL:
            deadline = time.monotonic() + 5
            while _is_alive(task) and time.monotonic() < deadline:
                time.sleep(0.005)

    def stop(self) -> None:
        """Does nothing: there are no processes of its own."""

    def need_starter(self, what: str) -> None:
        """Raise UnimplementedError: only the program that started the servers can start their processes."""
        raise UnimplementedError(
            None,
            None,
            f"{what} needs a cluster made by tf.cluster.launch: who started these servers starts "
            "their processes.",
        )

    def submit(self, task: ExternalTask, *_: object, **__: object) -> Any:
        """Raise UnimplementedError."""
        self.need_starter("Running functions in tasks")

    def result(self, reference: Any, timeout_seconds: float | None = None) -> Any:
        """Raise UnimplementedError."""
        self.need_starter("Running functions in tasks")

    def restart(self, task: ExternalTask, key: str) -> None:
        """Raise UnimplementedError."""
        self.need_starter("Starting a task again")

    def add(self, tasks: list[tuple[str, int]], key: str, timeout_seconds: float) -> Any:
        """Raise UnimplementedError."""
        self.need_starter("Adding tasks")

    def remove(self, task: ExternalTask) -> None:
        """Raise UnimplementedError."""
        self.need_starter("Removing tasks")

    def tell_all(self, key: str) -> None:
        """Nothing to tell."""


def _is_alive(task: ExternalTask) -> bool:
    if task.host != os.uname().nodename:
        return True  # known only by its silence
    return is_running(task.pid)
