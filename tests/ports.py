"""Ports for servers that tests start later, perhaps in other processes."""

from __future__ import annotations

import itertools
import os
import socket

# Below those that a kernel gives to whoever asks for any (from 32768 on), and above those of Ray's
# workers (to 19999): between choosing and listening nobody else gets one.
_FIRST, _COUNT = 20_000, 12_000
# Workers of pytest-xdist begin far from each other, and so do runs side by side, mostly.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
_run = os.getppid() if _worker else os.getpid()
_numbers = itertools.count(_run * 1009 + int(_worker or 0) * 5003)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 at which nobody listens, each given once."""
    found: list[int] = []
    for number in itertools.islice(_numbers, _COUNT):
        if len(found) == count:
            break
        port = _FIRST + number % _COUNT
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    assert len(found) == count, "no free ports"
    return found
