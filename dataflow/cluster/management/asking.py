"""Asking all tasks of a cluster the same thing at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from dataflow.cluster.management.backend import TaskHandle
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.remote_errors import restore_error
from dataflow.cluster.transport.sockets import wait_readable
from dataflow.errors import OpError

#: How long a task may take to answer, as it may be stopped.
ANSWER_SECONDS = 1.0


def ask_all(
    pool: ConnectionPool,
    tasks: Iterable[TaskHandle],
    method: str,
    head: dict[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Call a method (`transport.method_table`) of several tasks; their answers by name.

    All are asked before the first answer is waited for: they work at the same time, and those that do not answer
    cost a second together. Tasks that do not answer, or answer with an error, are left out.
    """
    deadline = time.monotonic() + ANSWER_SECONDS
    asked: list[tuple[str, Connection]] = []
    answers: dict[str, dict[str, Any]] = {}
    for task in tasks:
        try:
            connection = pool.take(task.address, task.name, ANSWER_SECONDS)
            connection.deadline = deadline
            connection.send(Kind.CALL, head={"method": method, **(head or {})})
        except OpError:
            continue
        asked.append((task.name, connection))
    for name, connection in _as_they_answer(asked, deadline):
        connection.deadline = time.monotonic() + ANSWER_SECONDS
        try:
            reply = connection.receive()
            pool.give(connection)
            if reply.kind == Kind.ERROR:
                raise restore_error(reply.head)
            answers[name] = reply.head or {}
        except OpError:
            pass
    return answers


def _as_they_answer(
    asked: list[tuple[str, Connection]], deadline: float
) -> Iterator[tuple[str, Connection]]:
    """Those whose answer, or end, has come; the others' connections are closed at the deadline.

    One that is stopped does not use up the time of those asked after it.
    """
    # Where tasks are in this process a connection has no file; they answer while one waits.
    yield from [(name, found) for name, found in asked if found.fileno() < 0]
    waiting = {found.fileno(): (name, found) for name, found in asked if found.fileno() >= 0}
    while waiting:
        ready = wait_readable(waiting, deadline - time.monotonic())
        if not ready:
            break
        for fd in ready:
            yield waiting.pop(fd)
    for _, connection in waiting.values():
        connection.close()
