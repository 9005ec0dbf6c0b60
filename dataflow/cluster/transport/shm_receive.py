"""Shared-memory segments for large tensors between two tasks on one machine.

The sender owns the segments: anonymous files (`os.memfd_create`) that the receiver maps through
``/proc/<pid>/fd/<fd>``. They have no name in any directory, so nothing is left behind however either
side dies. The first byte of a segment says whether a tensor lies in it: the sender sets it,
the receiver clears it when the last view of the array is gone, and only then is the segment used
again. Where a vector is sent in parts, each part has one of the bytes after the first. The sender's side
is in `shm_send` and `shm_vector`.

Memory is shared over local sockets only, where the system says which process is at the other end: a
peer names a descriptor of its own and no process, and what is opened must be memory of this kind
that it cannot shrink (a mapping past the end of a file ends the process that reads it).
"""

from __future__ import annotations

import mmap
import os
import secrets
import socket
import stat
import struct
from typing import Any, NamedTuple

import numpy as np

try:
    import fcntl
except ImportError:  # WebAssembly, where no message comes; `ClusterSpec` and its kin still load
    fcntl = None  # type: ignore[assignment]

from dataflow.cluster.transport.messages import Descriptor, ProtocolError

#: Data starts here, so that it is aligned for vector instructions; the bytes before it are flags.
DATA_OFFSET = 64
FREE, BUSY = 0, 1

_PROBE_BYTES = 32
_NAME = "dataflow"
#: The target of the link ``/proc/PID/fd/N`` for such a file.
_LINK = f"/memfd:{_NAME}"
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid


def make_memory(num_bytes: int, content: bytes = b"") -> int:
    """Return the descriptor of an anonymous file of this many bytes, which keeps that size.

    Raises OSError where the system has none.
    """
    if not hasattr(os, "memfd_create"):
        raise OSError("this system has no anonymous memory files")
    fd = os.memfd_create(_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, num_bytes)
        os.write(fd, content)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    except OSError:
        os.close(fd)
        raise
    return fd


def open_memory(pid: int, number: int, num_bytes: int) -> int:
    """Open memory that another process made with `make_memory`, given the process and its descriptor.

    Raises OSError for anything else, without having touched it: it may be a pipe or a terminal.
    """
    if pid <= 0 or number < 0:
        raise OSError(f"no descriptor {number} of process {pid}")
    # O_PATH only names the file: nothing is opened, and the file cannot be exchanged afterwards.
    path = os.open(f"/proc/{pid}/fd/{number}", os.O_PATH | os.O_CLOEXEC)
    try:
        found = os.fstat(path)
        if not (
            stat.S_ISREG(found.st_mode)
            and found.st_uid == os.geteuid()
            and found.st_size >= num_bytes
            and os.readlink(f"/proc/self/fd/{path}").split(" ")[0] == _LINK
        ):
            raise OSError(f"descriptor {number} of process {pid} is not a task's shared memory")
        fd = os.open(f"/proc/self/fd/{path}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(path)
    if not fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        os.close(fd)
        raise OSError(f"descriptor {number} of process {pid} can be made smaller")
    return fd


def pid_of_peer(sock: socket.socket) -> int:
    """Return the process at the other end of a local socket; 0 if it is not this user's."""
    pid, uid, _ = _CREDENTIALS.unpack(
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(pid) if uid == os.geteuid() else 0


class Probe:
    """A tiny segment whose random content shows whether a peer can read this process's segments.

    It exists inside the context; ``number`` is its descriptor, ``None`` if it could not be made.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_hex(_PROBE_BYTES // 2)
        self.number: int | None = None

    def __enter__(self) -> Probe:
        try:
            self.number = make_memory(_PROBE_BYTES, self._secret.encode())
        except OSError:
            pass
        return self

    def __exit__(self, *_: object) -> None:
        if self.number is not None:
            os.close(self.number)

    def holds(self, content: object) -> bool:
        """Whether ``content`` is the probe's, which proves that the peer can read this process's memory."""
        return isinstance(content, str) and content == self._secret


def read_probe(pid: int, number: Any) -> str | None:
    """Return the content of a peer's probe, or ``None`` where it is out of reach."""
    try:
        fd = open_memory(pid, number, _PROBE_BYTES)
    except (OSError, TypeError):
        return None
    try:
        return os.pread(fd, _PROBE_BYTES, 0).decode("ascii", "replace")
    finally:
        os.close(fd)


def address_of(mapping: mmap.mmap) -> int:
    """Where a mapping begins in this process."""
    return int(np.frombuffer(mapping, dtype=np.uint8).__array_interface__["data"][0])


def interface(
    address: int, dtype: np.dtype, shape: tuple[int, ...], reads: bool, offset: int = 0
) -> dict[str, Any]:
    """The array interface (NumPy) of an array in the segment at an address; ``reads``: it is read-only."""
    return {
        "version": 3,
        "shape": shape,
        "typestr": dtype.str,
        "data": (address + DATA_OFFSET + offset, reads),
    }


class Seat(NamedTuple):
    """Where an array lies in a segment: its array interface, and the segment's byte that it has."""

    interface: dict[str, Any]
    flag: int


class Lease:
    """Keeps a segment of the peer's, or a part of it, busy until the last array over it is gone."""

    __slots__ = ("__array_interface__", "_flag", "_mapping")

    def __init__(self, mapping: mmap.mmap, seat: Seat) -> None:
        self._mapping = mapping
        self.__array_interface__, self._flag = seat

    def __del__(self) -> None:
        self._mapping[self._flag] = FREE


class IncomingSegments:
    """The peer's segments, mapped here."""

    def __init__(self) -> None:
        #: The process at the other end; 0: it shares no memory.
        self.pid = 0
        self._segments: dict[int, tuple[mmap.mmap, int, int]] = {}  # map, address, size

    def add(self, head: dict[str, Any] | None) -> None:
        """Map the segment that a SEGMENT message announces."""
        try:
            number, fd, size = (int(head[key]) for key in ("number", "fd", "size"))  # type: ignore[index]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ProtocolError("a segment announced without its number, fd and size") from None
        try:
            opened = open_memory(self.pid, fd, DATA_OFFSET + size)
            try:
                mapping = mmap.mmap(opened, DATA_OFFSET + size)
            finally:
                os.close(opened)
        except (OSError, ValueError, OverflowError) as error:
            raise ProtocolError(f"segment {number} cannot be mapped: {error}") from None
        self._segments[number] = (mapping, address_of(mapping), size)

    def find(self, descriptor: Descriptor) -> tuple[mmap.mmap, Seat]:
        """What a `Lease` of the array needs."""
        dtype, shape, _, number, num_bytes, offset, flag = descriptor
        found = self._segments.get(number)
        if found is None or offset + num_bytes > found[2]:
            raise ProtocolError(f"a tensor in segment {number}, which was not announced")
        if flag >= DATA_OFFSET:
            raise ProtocolError(f"a part of segment {number} with the flag {flag}")
        assert dtype is not None
        return found[0], Seat(interface(found[1], dtype, shape, True, offset), flag)

    def view(self, descriptor: Descriptor) -> np.ndarray:
        """Return the array that lies in a segment; read-only, without a copy."""
        return np.asarray(Lease(*self.find(descriptor)))

    def close(self) -> None:
        """Forget the mappings; a mapping with live views is kept until they are gone."""
        self._segments.clear()
