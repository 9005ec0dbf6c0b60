"""Calls of a task's methods over a connection, and locks that wait no longer than a step may."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from dataflow import errors
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.cluster.transport.remote_errors import restore_error


@contextlib.contextmanager
def held(lock: threading.Lock | threading.RLock, deadline: float | None) -> Iterator[None]:
    """Hold a lock; another thread may be waiting for a task while holding it.

    Raises DeadlineExceededError if the lock is not free by the deadline.
    """
    seconds = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
    if not lock.acquire(timeout=seconds):
        raise errors.DeadlineExceededError(
            None, None, "Timed out while another thread was waiting for a task of the cluster."
        )
    try:
        yield
    finally:
        lock.release()


def call(
    connection: Connection,
    method: str,
    head: dict[str, Any] | None = None,
    tensors: Sequence[Any] = (),
) -> Message:
    """Call a method of a task and return its reply; raises the error that the task raised.

    The reply must arrive before `Connection.deadline`.
    """
    connection.send(Kind.CALL, 0, 0, tensors, {"method": method, **(head or {})})
    reply = connection.receive()
    if reply.kind == Kind.ERROR:
        raise restore_error(reply.head)
    return reply
