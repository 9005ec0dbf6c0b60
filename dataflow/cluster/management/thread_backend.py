"""Tasks as threads of this process, for `launch(backend="threads")`: where no processes can be started.

Each task is a `Server` of its own, with variables of its own, on a port of loopback. What a process
would suffer is simulated: a task that is killed stops at once and loses its variables, one that is
paused begins no further step.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError as Late
from typing import Any

from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.management.server import Server
from dataflow.cluster_spec import ClusterSpec, addresses_by_job
from dataflow.errors import UnavailableError
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.graph import Graph


def not_returned(timeout_seconds: float | None) -> TimeoutError:
    """The error for a function that has not returned in time; Ray raises a TimeoutError, too."""
    return TimeoutError(f"The function has not returned within {timeout_seconds:g} s.")


class ThreadTask(TaskHandle):
    """A task whose server lives in this process."""

    def __init__(self, job: str, index: int) -> None:
        super().__init__(job, index)
        self.pid = os.getpid()
        self.host = os.uname().nodename
        self.server: Server | None = None


class ThreadBackend:
    """Starts, stops and disturbs the tasks of a cluster in this process."""

    has_logs = False  # what the tasks print is printed here
    has_starter = True
    head_gone = False  # there is none

    def __init__(self, jobs_and_indices: list[tuple[str, int]], key: str) -> None:
        self.on_death: Callable[[Any, str], None] | None = None
        self.on_line: Callable[[Any, str], None] | None = None
        self.tasks: list[ThreadTask] = []
        try:
            self.add(jobs_and_indices, key, 0.0)
        except BaseException:
            self.stop()
            raise
        self.tell_all(key)

    def jobs(self) -> dict[str, dict[int, str]]:
        """Return the addresses by job and index."""
        return addresses_by_job(self.tasks)

    def tell_all(self, key: str) -> None:
        """Tell every task about all of them."""
        spec = ClusterSpec(self.jobs())
        for task in self.tasks:
            if task.server is not None and task.state != "dead":
                task.server.set_cluster(spec, key)

    def need_starter(self, what: str) -> None:
        """Nothing is missing: tasks can be started."""

    def add(
        self, jobs_and_indices: list[tuple[str, int]], key: str, timeout_seconds: float
    ) -> list[ThreadTask]:
        """Start further tasks; the others are told of them by `tell_all`."""
        added = [ThreadTask(job, index) for job, index in jobs_and_indices]
        for task in added:
            self._start(task, key, "127.0.0.1:0")
            self.tasks = [*self.tasks, task]
        return added

    def _start(self, task: ThreadTask, key: str, address: str) -> None:
        task.server = Server({task.job: {task.index: address}}, task.job, task.index, key=key)
        task.server.say = functools.partial(self._say, task)
        task.address = task.server.address
        task.state = "running"

    def _say(self, task: ThreadTask, line: str) -> None:
        if self.on_line is not None:
            self.on_line(task, line)

    def restart(self, task: ThreadTask, key: str) -> None:
        """Start a task again at its address. Its variables are gone."""
        self._start(task, key, task.address)
        self.tell_all(key)
        task.restarts += 1

    def remove(self, task: ThreadTask) -> None:
        """Stop a task for good."""
        self.tasks = [other for other in self.tasks if other is not task]
        self._end(task)

    def _end(self, task: ThreadTask) -> None:
        task.state = "stopped"
        if task.server is not None:
            task.server.service.load.go_on()
            task.server.stop()

    def signal(self, task: ThreadTask, number: int) -> None:
        """Do to a task what the signal would do to its process: SIGKILL, SIGSTOP or SIGCONT."""
        server = task.server
        assert server is not None
        if number == signal.SIGSTOP:
            server.service.load.pause()
        elif number == signal.SIGCONT:
            server.service.load.go_on()
        else:
            self._end(task)
            task.state = "dead"
            if self.on_death is not None:
                self.on_death(task, "it was killed")

    def submit(self, task: ThreadTask, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Start a function with the task's server in a thread; `result` waits for what it returns."""
        if task.server is None or task.state == "dead":
            raise UnavailableError(None, None, f"{task.name} is {task.state}.")
        server, future = task.server, Future[Any]()

        def run() -> None:
            try:
                with use_graph(Graph()):
                    future.set_result(function(server, *args, **kw))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name=f"{task.name} {function.__name__}", daemon=True).start()
        return future

    def result(self, reference: Any, timeout_seconds: float | None = None) -> Any:
        """Return the result of `submit`; raises what the function raised."""
        try:
            return reference.result(timeout_seconds)
        except Late:
            if reference.done():
                raise
            raise not_returned(timeout_seconds) from None

    def stop(self) -> None:
        """Stop all tasks."""
        for task in self.tasks:
            with contextlib.suppress(Exception):
                self._end(task)
