"""Shared-memory segments for large tensors between two tasks on one machine.

The sender owns the segments: anonymous files (`os.memfd_create`) that the receiver maps through
``/proc/<pid>/fd/<fd>``. They have no name in any directory, so that nothing is left behind however
either side dies. The first byte of a segment says whether a tensor lies in it: the sender sets it,
the receiver clears it when the last view of the array is gone, and only then is the segment used
again.
"""

from __future__ import annotations

import mmap
import os
import secrets
from typing import Any

import numpy as np

from dataflow.cluster.messages import Descriptor, ProtocolError, describe_shared

#: Data starts here, so that it is aligned for vector instructions.
DATA_OFFSET = 64
FREE, BUSY = 0, 1

_PROBE_BYTES = 32
#: Segments of one link: each is an open file of the sender, of which a process may have 1024.
_MAX_SEGMENTS = 48


def can_create() -> bool:
    """Whether this system has anonymous memory files that a peer can open by process and number."""
    return hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")


class Probe:
    """A tiny segment whose random content shows whether a peer can read this process's segments."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.secret = secrets.token_hex(_PROBE_BYTES // 2).encode()
        self.fd = os.memfd_create("dataflow-probe")
        os.write(self.fd, self.secret)

    def describe(self) -> dict[str, Any]:
        """Return what the peer needs to try: it answers with the content."""
        return {"pid": self.pid, "fd": self.fd}

    def accepts(self, answer: Any) -> bool:
        """Whether the peer's answer is the content, that is, it did read this process's memory."""
        return isinstance(answer, str) and answer.encode() == self.secret


_probe: Probe | None = None


def own_probe() -> Probe | None:
    """Return this process's probe, made at first use (and again after a fork)."""
    global _probe
    if not can_create():
        return None
    if _probe is None or _probe.pid != os.getpid():
        try:
            _probe = Probe()
        except OSError:
            return None
    return _probe


def read_probe(description: Any) -> str | None:
    """Return the content of a peer's probe, or ``None`` where it is out of reach."""
    try:
        with open(f"/proc/{int(description['pid'])}/fd/{int(description['fd'])}", "rb") as file:
            return file.read(_PROBE_BYTES).decode("ascii")
    except (OSError, TypeError, KeyError, ValueError):
        return None


class OutgoingSegments:
    """The segments that one link writes to; not thread-safe, the link's send lock guards it.

    ``limit_bytes`` bounds all of them together; a tensor that finds no room travels in its frame.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.total_bytes = 0
        self._segments: list[tuple[int, mmap.mmap, np.ndarray, int]] = []  # fd, map, bytes, size
        self._announced = 0
        #: Whether there are segments that the peer has not been told of.
        self.has_news = False

    def place(self, array: np.ndarray) -> bytes | None:
        """Copy ``array`` into a free segment; return its descriptor, or ``None`` without room."""
        size = array.nbytes
        number = self._find_free(size)
        if number is None:
            number = self._make(size)
            if number is None:
                return None
        _, mapping, data, _ = self._segments[number]
        target = data[DATA_OFFSET : DATA_OFFSET + size].view(array.dtype).reshape(array.shape)
        np.copyto(target, array)
        mapping[0] = BUSY
        return describe_shared(array, number)

    def _find_free(self, size: int) -> int | None:
        for number, (_, mapping, _, capacity) in enumerate(self._segments):
            if size <= capacity <= 4 * size and mapping[0] == FREE:
                return number
        return None

    def _make(self, size: int) -> int | None:
        capacity = size + size // 8
        if self.total_bytes + capacity > self.limit_bytes or len(self._segments) >= _MAX_SEGMENTS:
            return None
        try:
            fd = os.memfd_create("dataflow-tensors")
            os.ftruncate(fd, DATA_OFFSET + capacity)
            mapping = mmap.mmap(fd, DATA_OFFSET + capacity)
        except OSError:
            return None
        self.total_bytes += capacity
        data = np.frombuffer(mapping, dtype=np.uint8)
        self._segments.append((fd, mapping, data, capacity))
        self.has_news = True
        return len(self._segments) - 1

    def announcements(self) -> list[dict[str, int]]:
        """Return where to map the segments that the peer has not been told of."""
        fresh = self._segments[self._announced :]
        first = self._announced
        self._announced = len(self._segments)
        self.has_news = False
        return [
            {"number": first + index, "pid": os.getpid(), "fd": fd, "size": capacity}
            for index, (fd, _, _, capacity) in enumerate(fresh)
        ]

    def close(self) -> None:
        """Give the segments back; a receiver's mapping stays valid until its views are gone."""
        for fd, _, _, _ in self._segments:
            os.close(fd)
        self._segments.clear()
        self.limit_bytes = 0


class _Lease:
    """Keeps a segment busy until the last array over it is gone."""

    __slots__ = ("__array_interface__", "_mapping")

    def __init__(self, mapping: mmap.mmap, interface: dict[str, Any]) -> None:
        self._mapping = mapping
        self.__array_interface__ = interface

    def __del__(self) -> None:
        self._mapping[0] = FREE


class IncomingSegments:
    """The peer's segments, mapped here."""

    def __init__(self) -> None:
        self._segments: dict[int, tuple[mmap.mmap, int, int]] = {}  # map, address, size
        #: By segment, what lay in it last, and how NumPy is told of it.
        self._last: dict[int, tuple[Descriptor, dict[str, Any]]] = {}

    def add(self, head: dict[str, Any] | None) -> None:
        """Map the segment that a SEGMENT message announces."""
        try:
            number, pid, fd, size = (int(head[key]) for key in ("number", "pid", "fd", "size"))  # type: ignore[index]
        except (KeyError, TypeError, ValueError):
            raise ProtocolError(f"a segment announced as {head}") from None
        try:
            with open(f"/proc/{pid}/fd/{fd}", "r+b") as file:
                mapping = mmap.mmap(file.fileno(), DATA_OFFSET + size)
        except (OSError, ValueError) as error:
            raise ProtocolError(f"segment {head} cannot be mapped: {error}") from None
        address = np.frombuffer(mapping, dtype=np.uint8).__array_interface__["data"][0]
        self._segments[number] = (mapping, address, size)
        self._last.pop(number, None)

    def view(self, descriptor: Descriptor) -> np.ndarray:
        """Return the array that lies in a segment; read-only, without a copy."""
        found = self._segments.get(descriptor.segment)
        if found is None or descriptor.num_bytes > found[2]:
            raise ProtocolError(
                f"a tensor in segment {descriptor.segment}, which was not announced"
            )
        last = self._last.get(descriptor.segment)
        if last is None or last[0] is not descriptor:
            assert descriptor.dtype is not None
            interface = {
                "version": 3,
                "shape": descriptor.shape,
                "typestr": descriptor.dtype.str,
                "data": (found[1] + DATA_OFFSET, True),
            }
            last = self._last[descriptor.segment] = (descriptor, interface)
        return np.asarray(_Lease(found[0], last[1]))

    def close(self) -> None:
        """Forget the mappings; those still viewed live on until the views are gone."""
        self._segments.clear()
