"""Accepting connections on a task's address and its local socket, with a thread for each of them."""

from __future__ import annotations

import logging
import os
import secrets
import select
import socket
import threading
import time
from typing import Protocol

from dataflow.addresses import split_address
from dataflow.cluster.transport import handshake
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.leader_followers import LeaderFollowers, ShortWork, can_share_thread
from dataflow.cluster.transport.link_faults import LinkFaults
from dataflow.cluster.transport.messages import ProtocolError, max_message_bytes
from dataflow.cluster.transport.refusals import Refusals
from dataflow.cluster.transport.registry import forget_stopped
from dataflow.errors import OpError, UnavailableError
from dataflow.kernels.subnormals import compute_in_this_thread

log = logging.getLogger("dataflow.cluster")

#: How long a task waits that cannot accept a connection, as no descriptor or thread is left.
_BACK_OFF_SECONDS = 0.2


class Handler(ShortWork, Protocol):
    """The callbacks of a listener, on the connection's own thread or on the group's leader."""

    def connection_closed(self, connection: Connection) -> None:
        """The peer is gone or was refused in the middle of a conversation."""


class Listener:
    """Accepts connections for one task, on its address and on a local socket.

    Garbage, silence, a wrong key and an old protocol are refused, counted and logged (`refusals`).
    Listens on the host it is given and nowhere else.
    """

    def __init__(
        self,
        address: str,
        key: str,
        task: str,
        handler: Handler,
        limit_bytes: int | None = None,
        faults: LinkFaults | None = None,
    ) -> None:
        host, port = split_address(address)
        self.task = task
        self.incarnation = secrets.token_hex(8)
        self.refusals = Refusals(task)
        self._key = key
        self._handler = handler
        self._limit_bytes = limit_bytes or max_message_bytes()
        self._connections: set[Connection] = set()
        self._faults = faults or LinkFaults()
        self._group = LeaderFollowers(handler) if can_share_thread() else None
        self._lock = threading.Lock()
        self._closed = False
        self._socket = _listening_socket(host, port, task)
        self.address = f"{host}:{self._socket.getsockname()[1]}"
        forget_stopped(self.address)
        self._local_name = ""
        self._local = self._listen_locally()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(
            target=self._accept_loop, name=f"accept {task}", daemon=True
        )
        self._thread.start()

    def _listen_locally(self) -> socket.socket | None:
        if not hasattr(socket, "AF_UNIX") or not os.path.isdir("/proc/self"):
            return None  # abstract names are Linux's
        self._local_name = f"dataflow-{os.getpid()}-{secrets.token_hex(8)}"
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        local.bind("\0" + self._local_name)
        local.listen(128)
        return local

    def _accept_loop(self) -> None:
        poll = select.poll()
        sockets = {s.fileno(): s for s in (self._socket, self._local) if s is not None}
        poll.register(self._wake_read, select.POLLIN)
        backs_off, told = True, False
        while not self._closed:
            if backs_off:
                backs_off = False
                for fd in sockets:
                    poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll():
                if fd == self._wake_read:
                    return
                try:
                    self._accept(sockets[fd])
                except ConnectionError:
                    pass  # it has gone again
                except (OSError, RuntimeError) as error:
                    backs_off = True
                    if not told:
                        told = True
                        log.error("%s cannot take connections at present: %s", self.task, error)
            if backs_off:
                # Those who wait go on waiting in the system's queue. Were it polled, it would say
                # at once, and again and again, that they do.
                for fd in sockets:
                    poll.unregister(fd)
                poll.poll(1000 * _BACK_OFF_SECONDS)

    def _accept(self, listening: socket.socket) -> None:
        """Give a connection a thread. Raises what the system says when it has none left of either."""
        sock, source = listening.accept()
        name = f"{source[0]}:{source[1]}" if source else "a local socket"
        try:
            threading.Thread(
                target=self._serve,
                args=(sock, name),
                name=f"connection {self.task}",
                daemon=True,
            ).start()
        except RuntimeError:
            sock.close()
            raise

    def _serve(self, sock: socket.socket, source: str) -> None:
        compute_in_this_thread()  # the handler does
        try:
            connection = Connection(sock, source, handshake.HANDSHAKE_MAX_BYTES)
        except OSError:
            sock.close()  # it has gone again
            return
        try:
            connection.deadline = time.monotonic() + handshake.HANDSHAKE_SECONDS
            greeting = {
                "task": self.task,
                "incarnation": self.incarnation,
                "local": self._local_name,
                "limit": self._limit_bytes,
            }
            handshake.greet(connection, self._key, greeting)
            connection.deadline = None
            connection.limit_bytes = connection.peer_limit_bytes = self._limit_bytes
        except (
            Exception
        ) as error:  # any malformed input from an unknown peer is a reason to refuse it
            self._refuse(connection, source, error)
            return
        with self._lock:
            if self._closed:
                connection.close()
                return
            self._connections.add(connection)
        self._faults.watch(connection)
        try:
            handler, group = self._handler, self._group
            message = None
            while True:
                if message is None:
                    message = connection.receive()
                is_short = group is not None and handler.is_short(connection, message)
                handler.handle(connection, message)
                message = group.join(connection) if group is not None and is_short else None
        except UnavailableError:
            connection.close()
        except ProtocolError as error:
            self._refuse(connection, source, error)
        except Exception:
            log.exception("%s: a message from %s could not be handled", self.task, connection.peer)
            connection.close()
        finally:
            with self._lock:
                self._connections.discard(connection)
            self._handler.connection_closed(connection)

    def _refuse(self, connection: Connection, source: str, error: Exception) -> None:
        if not self._closed:
            self.refusals.add(source, error.message if isinstance(error, OpError) else str(error))
        connection.close()

    @property
    def connections(self) -> list[Connection]:
        """The connections that are open now."""
        with self._lock:
            return list(self._connections)

    def close(self) -> None:
        """Stop listening and end every connection; its own thread closes it, as others may not (`Connection.wake`)."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            connections = list(self._connections)
        os.write(self._wake_write, b"x")
        if threading.current_thread() is not self._thread:
            self._thread.join(5)
        for sock in (self._socket, self._local):
            if sock is not None:
                sock.close()
        for connection in connections:
            connection.wake()
        if self._group is not None:
            self._group.close()
        os.close(self._wake_write)
        os.close(self._wake_read)
        self.refusals.close()


def _listening_socket(host: str, port: int, task: str) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        sock.listen(128)
    except OSError as error:
        raise UnavailableError(
            None,
            None,
            f"{task} cannot listen on {host}:{port}: {error.strerror or error}. Is another task "
            "still running there? Give the task another port in the ClusterSpec.",
        ) from None
    return sock
