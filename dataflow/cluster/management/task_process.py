"""Runs in the process of a launched task: its server, and the log of its output."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TextIO

from dataflow.cluster.management.server import Server
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.method_table import answers
from dataflow.cluster_spec import ClusterSpec
from dataflow.errors import UnavailableError
from dataflow.formats.checkpoint_writer import set_checkpoint_format

_KEPT_LINES = 1000
#: Prefixes of lines by which Ray announces the next lines to its log monitor.
_RAY_MARKS = (":actor_name:", ":task_name:", ":job_id:")


class LogStream(io.TextIOBase):
    """Takes what the process prints, keeps the last lines and sends each line to the followers."""

    def __init__(self, name: str, below: TextIO, log: TaskLog) -> None:
        self._name = name
        self._below = below
        self._log = log
        self._rest = ""

    def writable(self) -> bool:
        """True: `print` may write here."""
        return True

    def write(self, text: str) -> int:
        """Pass the text on to the stream below, and whole lines to the log."""
        self._below.write(text)
        *lines, self._rest = (self._rest + text).split("\n")
        lines = [line for line in lines if not line.startswith(_RAY_MARKS)]
        if lines:
            self._log.add(lines)
        return len(text)

    def flush(self) -> None:
        """Flush the stream below."""
        self._below.flush()

    def fileno(self) -> int:
        """Return the descriptor of the stream below."""
        return int(self._below.fileno())

    def isatty(self) -> bool:
        """No: progress bars should write lines."""
        return False


class TaskLog:
    """The last lines that a task printed, and the connections that follow them."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._followers: list[Connection] = []
        self._lock = threading.Lock()

    def add(self, lines: list[str]) -> None:
        """Keep lines and send them to the followers; a closed one is dropped."""
        with self._lock:
            self.lines.extend(lines)
            followers = list(self._followers)
        for connection in followers:
            try:
                connection.send(Kind.LOG, head={"lines": lines})
            except UnavailableError:
                with self._lock:
                    if connection in self._followers:
                        self._followers.remove(connection)

    @answers("logs.follow")
    def follow(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        """Answer a follower's call with the lines so far, and send it all later ones."""
        with self._lock:
            self._followers.append(connection)
            return {"lines": list(self.lines)}


class TaskProcess:
    """A task: made in the process that is to hold it. All methods but `wait` return at once."""

    def __init__(
        self,
        job: str,
        index: int,
        host: str,
        port: int,
        key: str,
        environment: dict[str, str] | None = None,
        checkpoint_format: str | None = None,
    ) -> None:
        os.environ.update(environment or {})
        if checkpoint_format is not None:
            set_checkpoint_format(checkpoint_format)
        self.name = f"/job:{job}/task:{index}"
        self.log = TaskLog()
        sys.stdout = LogStream("stdout", sys.stdout, self.log)
        sys.stderr = LogStream("stderr", sys.stderr, self.log)
        address = f"{host}:{port}"
        self.server = Server({job: {index: address}}, job, index, key=key, services=(self.log,))

    def describe(self) -> dict[str, Any]:
        """Return where the task is: address, process, machine."""
        return {"address": self.server.address, "pid": os.getpid(), "host": os.uname().nodename}

    def set_cluster(self, jobs: dict[str, dict[int, str]], key: str) -> None:
        """Tell the task about the other tasks."""
        self.server.set_cluster(ClusterSpec(jobs), key)

    def wait(self) -> str:
        """Return when the server is stopped. A call that fails instead means that it has died."""
        self.server.join()
        return "stopped"

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function of the user in this process; it gets the server as first argument."""
        from dataflow.graph.default_stacks import use_graph
        from dataflow.graph.graph import Graph

        with use_graph(Graph()):
            return function(self.server, *args, **kwargs)

    def stop(self) -> None:
        """Stop the server; `wait` returns."""
        self.server.stop()

    def __repr__(self) -> str:
        return self.name
