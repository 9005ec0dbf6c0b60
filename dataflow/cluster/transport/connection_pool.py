"""Makes connections to other tasks, and keeps the idle ones."""

from __future__ import annotations

import errno
import math
import os
import socket
import threading
import time
import weakref

from dataflow.addresses import split_address
from dataflow.capabilities import SOCKETS
from dataflow.cluster.transport import handshake, in_process, registry
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_errors import stopped_error
from dataflow.cluster.transport.link_faults import LinkFaults
from dataflow.cluster.transport.messages import ProtocolError, max_message_bytes
from dataflow.cluster.transport.sockets import SILENCE_SECONDS
from dataflow.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    UnauthenticatedError,
    UnavailableError,
)

#: How long to try to reach a task that has never answered: it may still be starting.
FIRST_CONTACT_SECONDS = float(os.environ.get("DATAFLOW_FIRST_CONTACT_SECONDS", "10"))
#: How long to try to reach a task that has answered before: it may be restarting.
RECONNECT_SECONDS = 1.0
_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.ETIMEDOUT)
#: A connection that was used this recently is not checked for being alive.
_FRESH_SECONDS = 0.02


class _Directory:
    """Local socket names by address, so that a second connection need not ask over TCP."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}


_directory = _Directory()


def connect(
    address: str,
    key: str,
    own_name: str,
    task: str = "",
    timeout_seconds: float = 10.0,
    unreachable_seconds: float = 0.0,
    answer_seconds: float | None = None,
    deadline: float | None = None,
) -> Connection:
    """Return an authenticated connection to the task at ``address``, trying until the time-out.

    ``answer_seconds`` is how long a task that accepts may take to identify itself: a stopped process
    accepts and says nothing.
    ``unreachable_seconds``, if longer, is the time-out as long as no machine answers at all; a machine
    that refuses is running, and only the task is missing.
    ``deadline`` (of `time.monotonic`) is the caller's own.

    Raises UnavailableError that says which address was tried for how long, DeadlineExceededError
    with the same when the deadline came first; UnauthenticatedError at once when the keys differ,
    FailedPreconditionError when the protocols do, and InvalidArgumentError when another task than
    ``task`` is there.
    """
    if not SOCKETS:
        # The same interface.
        return in_process.connect(address, key, own_name, task, timeout_seconds)  # type: ignore[return-value]
    host, port = split_address(address)
    started = time.monotonic()
    last = math.inf if deadline is None else deadline
    pause = 0.01
    peer = task or f"the task at {address}"
    if answer_seconds is None:
        answer_seconds = handshake.HANDSHAKE_SECONDS
    while True:
        until = min(time.monotonic() + answer_seconds, last)
        try:
            return _connect_once(host, port, key, own_name, peer, until)
        except (OSError, UnavailableError, DeadlineExceededError) as error:
            why = error
        unreachable = _is_silent(why) or getattr(why, "errno", 0) in _UNREACHABLE
        stopped = registry.stopped_at(address)
        if stopped is not None and stopped.for_good:
            raise stopped_error(peer, address, stopped)
        end = started + max(timeout_seconds, unreachable_seconds if unreachable else 0.0)
        now = time.monotonic()
        if now + pause > min(end, last):
            if stopped is not None:
                raise stopped_error(peer, address, stopped)
            tried = (
                f"tried {host}:{port} for {now - started:.3g} s ({getattr(why, 'message', why)})"
            )
            if last <= end:
                raise DeadlineExceededError(
                    None, None, f"{peer} cannot be reached in time: {tried}."
                ) from None
            raise UnavailableError(
                None,
                None,
                f"{peer} cannot be reached: {tried}. "
                "Has it been started, and is its address the one in the ClusterSpec?",
            ) from None
        time.sleep(pause)
        pause = min(2 * pause, 0.25)


def _is_silent(error: BaseException) -> bool:
    """Whether the error means that the other end did not answer in time; it may only be slow."""
    return isinstance(error, TimeoutError | DeadlineExceededError)


def _connect_once(
    host: str,
    port: int,
    key: str,
    own_name: str,
    peer: str,
    deadline: float,
) -> Connection:
    """Connect, over the local socket if there is one; ``deadline`` covers all of it."""
    address = f"{host}:{port}"
    name = _directory.names.get(address)
    if name is not None:
        try:
            local = _local_socket(name)
            return _introduce(local, key, own_name, peer, address, deadline)
        except (OSError, UnavailableError, UnauthenticatedError, DeadlineExceededError) as error:
            # Another process may have taken the name.
            _directory.names.pop(address, None)
            if _is_silent(error):
                raise
    sock = socket.create_connection((host, port), timeout=max(0.001, deadline - time.monotonic()))
    connection = _introduce(sock, key, own_name, peer, address, deadline)
    name = connection.greeting.get("local")
    if not name or connection.greeting.get("host") != handshake.host_identity():
        return connection
    try:
        local = _local_socket(name)
        local_link = _introduce(local, key, own_name, peer, address, deadline)
    except (OSError, UnavailableError):
        return connection  # same machine, but another network namespace
    connection.close()
    _directory.names[address] = name
    return local_link


def _local_socket(name: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # a process that is stopped accepts no more than its queue holds
        sock.connect("\0" + name)
    except BlockingIOError:
        sock.close()
        raise TimeoutError("its queue of connections is full") from None
    except OSError:
        sock.close()
        raise
    return sock


def _introduce(
    sock: socket.socket,
    key: str,
    own_name: str,
    peer: str,
    address: str,
    deadline: float,
) -> Connection:
    sock.settimeout(None)
    connection = Connection(sock, peer, handshake.HANDSHAKE_MAX_BYTES)
    connection.address = address
    connection.deadline = deadline
    try:
        connection.greeting = handshake.introduce(connection, key, own_name)
        connection.peer_limit_bytes = int(
            connection.greeting.get("limit") or connection.peer_limit_bytes
        )
    except (ProtocolError, ValueError) as error:
        connection.close()
        raise UnavailableError(
            None, None, f"{peer} answered, but is no task of a dataflow cluster: {error}"
        ) from None
    except BaseException:
        connection.close()
        raise
    there = connection.greeting.get("task")
    if peer.startswith("/job:") and there != peer:
        connection.close()
        raise InvalidArgumentError(
            None,
            None,
            f"{own_name} looks for {peer} at {address}, and the task that listens there is "
            f"{there}: their ClusterSpecs differ. Every task and client of a cluster needs the "
            "same spec.",
        )
    connection.deadline = None
    connection.limit_bytes = max_message_bytes()
    return connection


class ConnectionPool:
    """Idle connections by address. Take one, use it, give it back; broken ones are dropped.

    The last one given back is the first taken, so that its shared-memory segments are warm.
    """

    def __init__(self, key: str, own_name: str) -> None:
        self.key = key
        self.own_name = own_name
        self._idle: dict[str, list[Connection]] = {}
        self._known: set[str] = set()
        self._made: weakref.WeakSet[Connection] = weakref.WeakSet()
        #: Of the links of the task whose pool this is.
        self.faults = LinkFaults()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def connections(self) -> list[Connection]:
        """The open connections, in use or idle."""
        return [connection for connection in list(self._made) if not connection.closed]

    def take(
        self,
        address: str,
        task: str = "",
        timeout_seconds: float | None = None,
        deadline: float | None = None,
    ) -> Connection:
        """Return a connection to ``address`` that has no other user.

        ``deadline`` covers reaching the task and everything on the connection until it is given back
        (`Connection.deadline`).

        A task that has answered before and whose machine refuses now has died and gets one second;
        a machine that has stopped answering gets as long as one that falls silent
        (``DATAFLOW_SILENCE_SECONDS``); a new task may still be starting and gets ten
        (``DATAFLOW_FIRST_CONTACT_SECONDS``).
        """
        while True:
            try:
                connection = self._idle[address].pop()
            except (KeyError, IndexError):
                break
            if connection.patience_seconds is not None and not connection.closed:
                connection.set_patience(None)
            # A connection that was used a moment ago is not checked for being alive.
            if time.monotonic() - connection.used < _FRESH_SECONDS or connection.is_quiet():
                connection.deadline = deadline
                return connection
            connection.close()
        unreachable_seconds = 0.0
        answer_seconds = timeout_seconds
        if timeout_seconds is None:
            known = address in self._known
            timeout_seconds = RECONNECT_SECONDS if known else FIRST_CONTACT_SECONDS
            unreachable_seconds = SILENCE_SECONDS if known else 0.0
        longest = max(timeout_seconds, unreachable_seconds)
        self.faults.wait_until_whole(task, longest, deadline)
        connection = connect(
            address,
            self.key,
            self.own_name,
            task,
            timeout_seconds,
            unreachable_seconds,
            answer_seconds,
            deadline,
        )
        connection.deadline = deadline
        self.faults.watch(connection)
        self._known.add(address)
        self._made.add(connection)
        return connection

    def take_warm(self, address: str) -> Connection | None:
        """The connection that was given back last, if there is one, without a check that it is alive."""
        try:
            return self._idle[address].pop()
        except (KeyError, IndexError):
            return None

    def give_unused(self, connection: Connection) -> None:
        """Take back an unused connection that `take_warm` gave."""
        if connection.ended:
            connection.close()
        else:
            self._idle[connection.address].append(connection)

    def give(self, connection: Connection, may_end: bool = False) -> None:
        """Take back a connection whose conversation is over.

        ``may_end``: the peer may close it even now, so that `take` checks it however soon it is.
        """
        if connection.closed or connection.ended or self._closed or connection.has_frame():
            connection.close()
            return
        connection.used = -math.inf if may_end else time.monotonic()
        connection.deadline = None
        idle = self._idle.get(connection.address)
        if idle is None:
            with self._lock:
                idle = self._idle.setdefault(connection.address, [])
        idle.append(connection)
        if self._closed:  # meanwhile
            connection.close()

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they come back."""
        with self._lock:
            self._closed = True
            connections = [connection for idle in self._idle.values() for connection in idle]
            self._idle.clear()
        for connection in connections:
            connection.close()
