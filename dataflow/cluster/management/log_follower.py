"""Forwards the output of a cluster's tasks to its owner."""

from __future__ import annotations

import threading
from collections import deque

from dataflow.cluster.execution.calls import call
from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.transport.connection_pool import connect
from dataflow.cluster.transport.messages import Kind
from dataflow.errors import OpError

_KEPT_LINES = 1000


class LogFollower:
    """The last lines that each task printed in all its lives; a thread for each task reads them.

    With ``shows`` they are printed here, too.
    """

    def __init__(self, key: str, shows: bool) -> None:
        self._key = key
        self._shows = shows
        self._lines: dict[str, deque[str]] = {}

    def follow(self, task: TaskHandle) -> None:
        """Read a task's output until its process ends."""
        threading.Thread(
            target=self._read, args=(task,), name=f"log {task.name}", daemon=True
        ).start()

    def take(self, task: TaskHandle, line: str) -> None:
        """Keep one more line of a task."""
        self._lines.setdefault(task.name, deque(maxlen=_KEPT_LINES)).append(line)
        if self._shows:
            print(f"({task.name}) {line}")

    def last(self, task: str, num_lines: int) -> list[str]:
        """Return the last lines of a task, by its name."""
        return list(self._lines.get(task, ()))[-num_lines:] if num_lines > 0 else []

    def _read(self, task: TaskHandle) -> None:
        try:
            connection = connect(task.address, self._key, "the cluster's owner", task.name, 2.0)
            message = call(connection, "logs.follow")
            while True:
                for line in (message.head or {}).get("lines", ()):
                    self.take(task, line)
                message = connection.receive()
                if message.kind != Kind.LOG:
                    return
        except OpError:
            return  # the task has ended; the watcher reports why
