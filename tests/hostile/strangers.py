"""Sockets that speak, or do not speak, the protocol of a task: for the rogues of this folder."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.messages import HEADER, Kind

KEY = "a key for tests"
SECRET = b"TOP-SECRET-0123456789-abcdefghij"

# An address of its own where loopback has many: at 127.0.0.1 a client of another test's Jupyter, whose
# port was given away again, may knock too.
OWN_HOST = "127.77.0.1" if sys.platform == "linux" else "127.0.0.1"


def frame(kind: Kind, **head: Any) -> bytes:
    """A frame with a head and no tensors."""
    return b"".join(messages.encode(kind, head=head))


def greeting(**changes: Any) -> dict[str, Any]:
    """What a task says first."""
    return {
        "protocol": messages.PROTOCOL_VERSION,
        "nonce": "0" * 32,
        "host": "",
        "task": "/job:ps/task:0",
        "incarnation": "1",
        "local": "",
        "limit": 1 << 20,
        **changes,
    }


def read_frame(sock: socket.socket) -> tuple[int, dict[str, Any], bytes]:
    """Kind, head and bytes of the next frame, which has no tensors; raises EOFError at the end."""

    def read(count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = sock.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    header = read(HEADER.size)
    _, kind, _, _, _, _, meta_bytes, payload_bytes = HEADER.unpack(header)
    data = read(meta_bytes + payload_bytes)
    return kind, json.loads(data[:meta_bytes]) if meta_bytes else {}, header + data


class Rogue:
    """Listens and lets ``serve`` do with each connection what it likes."""

    def __init__(self, serve: Callable[[socket.socket], None], local: str = "") -> None:
        family = socket.AF_UNIX if local else socket.AF_INET
        self._listening = socket.socket(family, socket.SOCK_STREAM)
        self._listening.bind("\0" + local if local else ("127.0.0.1", 0))
        self._listening.listen()
        self.address = "" if local else f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.errors: list[BaseException] = []
        self._serve = serve
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(20)
                try:
                    self._serve(connection)
                except (EOFError, OSError):
                    pass  # the other end has left
                except BaseException as error:
                    self.errors.append(error)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(30)
        assert not self._thread.is_alive()
        assert not self.errors, self.errors


def eventually(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)
