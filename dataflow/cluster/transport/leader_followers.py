"""Leader and followers: one thread receives for many connections while their messages are short.

Every connection that a task accepts has a thread of its own, which may spend any time on a message. While
the messages of several connections are short, such threads only compete for the interpreter's lock. So
they form a group: one of them, the leader, receives for all, and the others sleep. A connection whose
message may take long gets its own thread back, and a leader whose own connection has such a message hands
the lead on first.

Source: Schmidt, O'Ryan, Kircher, Pyarali, "Leader/Followers", PLoP 2000.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import weakref
from typing import Protocol

from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_errors import TooLong
from dataflow.cluster.transport.messages import Message

#: Messages taken in before the next look for others. Python allocates room for 1023 unless told.
_MOST_EVENTS = 32


class ShortWork(Protocol):
    """The interface that a group needs of a message handler."""

    def handle(self, connection: Connection, message: Message) -> None:
        """Handle one message; an exception ends the connection."""

    def is_short(self, connection: Connection, message: Message) -> bool:
        """Whether handling it neither waits nor takes long: meanwhile the other connections wait."""


class _Follower:
    """A connection in the group, and its thread, which sleeps or leads."""

    __slots__ = ("connection", "error", "fd", "leads", "left", "message", "sleep")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.fd = connection.fileno()
        self.leads = False
        #: Its thread is to go on by itself: with ``message``, or with ``error``.
        self.left = False
        self.message: Message | None = None
        self.error: BaseException | None = None
        self.sleep = threading.Lock()
        self.sleep.acquire()


def can_share_thread() -> bool:
    """Whether this system can wait for sockets that are added meanwhile (Linux)."""
    return hasattr(select, "epoll") and hasattr(os, "eventfd")


def _close_files(epoll: select.epoll, wake_fd: int) -> None:
    epoll.close()
    os.close(wake_fd)


class LeaderFollowers:
    """The connections of one listener that have only short work at present.

    Invariants: while there are seated threads, one leads; a connection is received from by one thread at a time,
    the leader while it sits and its own when it has left; who has left is woken once.
    """

    def __init__(self, handler: ShortWork) -> None:
        self._handler = handler
        self._seats: dict[int, _Follower] = {}  # by file descriptor
        self._leader: _Follower | None = None
        self._lock = threading.Lock()
        self._epoll = select.epoll()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake_fd, select.EPOLLIN)
        self._closed = False
        self._close_files = weakref.finalize(self, _close_files, self._epoll, self._wake_fd)

    def join(self, connection: Connection) -> Message | None:
        """Let the leader receive for ``connection``, or lead, until the connection needs its own thread.

        Returns the message that it has to deal with; ``None``: it has to receive for itself, at
        once where the connection has been closed. Raises what the leader met on the connection.
        """
        if connection.closed or connection.has_frame():
            return None
        seat = _Follower(connection)
        connection.on_close = lambda: self._leave(seat)
        with self._lock:
            if connection.closed or self._closed:
                return None
            try:
                self._epoll.register(seat.fd, select.EPOLLIN)
            except (OSError, ValueError):
                return None  # closed meanwhile
            self._seats[seat.fd] = seat
            if self._leader is None:
                self._leader = seat
                seat.leads = True
        if not seat.leads:
            seat.sleep.acquire()
        if seat.leads:
            self._lead(seat)
        connection.on_close = None
        if seat.error is not None:
            raise seat.error
        return seat.message

    def _lead(self, own: _Follower) -> None:
        """Receive for all until the own connection needs this thread; then another thread leads."""
        while not own.left:
            for fd, _ in self._epoll.poll(None, _MOST_EVENTS):
                if fd == self._wake_fd:
                    with contextlib.suppress(BlockingIOError):
                        os.eventfd_read(fd)
                    continue
                seat = self._seats.get(fd)
                if seat is not None:
                    self._receive(seat)
        with self._lock:
            self._leader = next(iter(self._seats.values()), None)
            if self._leader is not None:
                self._leader.leads = True
                self._leader.sleep.release()
            elif self._closed:
                self._close_files()

    def close(self) -> None:
        """Take no further connections; the files are closed when the last one has left."""
        with self._lock:
            self._closed = True
            if self._leader is None:
                self._close_files()

    def _receive(self, seat: _Follower) -> None:
        connection, handler = seat.connection, self._handler
        try:
            message = connection.receive_ready()
            while message is not None:
                if not handler.is_short(connection, message):
                    self._leave(seat, message)
                    return
                handler.handle(connection, message)
                if not connection.has_frame():
                    return
                message = connection.receive_ready()
        except TooLong:
            self._leave(seat)
        except BaseException as error:
            self._leave(seat, None, error)

    def _leave(
        self, seat: _Follower, message: Message | None = None, error: BaseException | None = None
    ) -> None:
        """Give a connection back to its thread. Any thread may call this, at any time."""
        with self._lock:
            if seat.left:
                return
            seat.left, seat.message, seat.error = True, message, error
            if self._seats.get(seat.fd) is seat:
                del self._seats[seat.fd]
                with contextlib.suppress(OSError, ValueError):
                    self._epoll.unregister(seat.fd)
            if seat.leads:
                os.eventfd_write(self._wake_fd, 1)
            else:
                seat.sleep.release()
