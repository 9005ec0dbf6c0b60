"""Sockets: waiting for data, and how long the machine at the other end may be silent."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterable

#: How long another machine may be silent before it counts as dead. Shorter silences are stalls: a cable that
#: was unplugged, a switch that restarts. The other machine's system answers (TCP's acknowledgments and
#: probes), so a process that is stopped or busy is never taken for dead; and a process that died on a
#: running machine is noticed at once, by the end of its connections.
SILENCE_SECONDS = float(os.environ.get("DATAFLOW_SILENCE_SECONDS", "30"))


def notice_silence(sock: socket.socket) -> None:
    """Let the system end a TCP connection whose other machine is silent for `SILENCE_SECONDS`."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    probe = max(1, round(SILENCE_SECONDS / 6))
    for name, value in (
        ("TCP_KEEPIDLE", probe),
        ("TCP_KEEPINTVL", probe),
        ("TCP_KEEPCNT", 5),
        ("TCP_USER_TIMEOUT", round(SILENCE_SECONDS * 1000)),  # milliseconds, unacknowledged
    ):
        option = getattr(socket, name, None)  # not every system has all of them
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def wait_readable(fds: Iterable[int], timeout_seconds: float | None = None) -> list[int]:
    """Return the file descriptors that can be read or have ended; none when the time is up."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    timeout = None if timeout_seconds is None else max(0.0, timeout_seconds * 1000)
    return [fd for fd, _ in poll.poll(timeout)]
