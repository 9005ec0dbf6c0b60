"""Faults of the links between tasks, made on request: messages are late, or held while a link is cut.

A fault holds frames back where they are sent, as a slow or broken network would: the sender goes on, the
receiver waits, the order is kept, and both ends stay connected until the link has been silent for as
long as a real one may be. Only links between tasks have faults; clients and the cluster's owner, who
makes and mends them, reach a task at all times.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dataflow.cluster.transport import sockets
from dataflow.errors import DeadlineExceededError, UnavailableError

if TYPE_CHECKING:
    from dataflow.cluster.transport.connection import Connection


class Fault(NamedTuple):
    """``is_cut``: nothing gets through; ``delay_seconds``: what gets through is late by that."""

    is_cut: bool = False
    delay_seconds: float = 0.0


WHOLE = Fault()


class LinkFaults:
    """The faults of one task's links: of all of them, and of those to single tasks.

    Connections whose link is whole pay for this with one comparison a message (`Connection.line`).
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._faults: dict[str, Fault] = {}  # by task; "" for all
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()

    def between(self, peer: str) -> Fault:
        """The fault of the link to ``peer``; delays add up."""
        if not self._faults or not peer.startswith("/job:"):
            return WHOLE
        own, other = self._faults.get("", WHOLE), self._faults.get(peer, WHOLE)
        return Fault(own.is_cut or other.is_cut, own.delay_seconds + other.delay_seconds)

    @property
    def are_whole(self) -> bool:
        """Whether no link of the task has a fault."""
        return not self._faults

    def replace(self, faults: Mapping[str, Fault]) -> None:
        """Have these faults, by task (``""``: of all links), and no others."""
        with self.changed:
            self._faults = {task: fault for task, fault in faults.items() if fault != WHOLE}
            for connection in list(self._connections):
                self._watch(connection)
            self.changed.notify_all()

    def watch(self, connection: Connection) -> None:
        """Subject a connection to the faults, from now on."""
        with self.changed:
            self._connections.add(connection)
            self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        if connection.line is None and self.between(connection.peer) != WHOLE:
            connection.line = DelayLine(connection, self)

    def wait_until_whole(self, peer: str, timeout_seconds: float, deadline: float | None) -> None:
        """Wait while the link to ``peer`` is cut.

        Raises UnavailableError after the time-out, DeadlineExceededError when the deadline (of
        `time.monotonic`) comes first.
        """
        started = time.monotonic()
        end = started + timeout_seconds
        last = end if deadline is None else min(end, deadline)
        with self.changed:
            while self.between(peer).is_cut:
                left = last - time.monotonic()
                if left <= 0:
                    cls = UnavailableError if last == end else DeadlineExceededError
                    raise cls(
                        None,
                        None,
                        f"{peer} cannot be reached: its link is cut, and was for "
                        f"{time.monotonic() - started:.3g} s. cluster.mend({peer!r}) ends that.",
                    )
                self.changed.wait(left)


class DelayLine:
    """The frames of one connection that are held back, and the thread that lets them go."""

    def __init__(self, connection: Connection, faults: LinkFaults) -> None:
        self._connection = connection
        self._faults = faults
        self._frames: deque[tuple[float, bytes]] = deque()  # with the time at which each was sent
        self._thread: threading.Thread | None = None

    def is_over(self) -> bool:
        """Whether the link is whole again and nothing is held back. Called with the sender's lock."""
        with self._faults.changed:
            return self._thread is None and self._faults.between(self._connection.peer) == WHOLE

    def put(self, frame: bytes) -> None:
        """Hold a frame back. Called with the sender's lock."""
        with self._faults.changed:
            self._frames.append((time.monotonic(), frame))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._deliver, name=f"link to {self._connection.peer}", daemon=True
                )
                self._thread.start()
            self._faults.changed.notify_all()

    def _deliver(self) -> None:
        connection, changed = self._connection, self._faults.changed
        while (frame := self._next()) is not None:
            try:
                connection.sock.sendall(frame)
            except OSError:
                break  # the thread that receives on it says why
        with changed:
            self._thread = None
            self._frames.clear()

    def _next(self) -> bytes | None:
        """Wait for a frame that is due; ``None`` when the line has ended."""
        connection, faults = self._connection, self._faults
        while True:
            with faults.changed:
                if connection.closed:
                    return None
                fault = faults.between(connection.peer)
                now = time.monotonic()
                if self._frames:
                    sent, frame = self._frames[0]
                    wait = (
                        sent
                        + (sockets.SILENCE_SECONDS if fault.is_cut else fault.delay_seconds)
                        - now
                    )
                    if wait <= 0 and not fault.is_cut:
                        self._frames.popleft()
                        return frame
                    if wait > 0:
                        faults.changed.wait(wait)
                        continue
                elif fault != WHOLE:
                    faults.changed.wait()
                    continue
                is_silent = fault.is_cut
            if is_silent:
                connection.wake()  # for both ends: the other machine has been silent for too long
                return None
            # The sender's lock comes first, in `Connection.send` as here.
            with connection.send_lock, faults.changed:
                if not self._frames and faults.between(connection.peer) == WHOLE:
                    connection.line = None
                    return None

    def close(self) -> None:
        """The connection was closed."""
        with self._faults.changed:
            self._faults.changed.notify_all()
