"""Shared-memory segments for large tensors between two tasks on one machine.

The sender owns the segments: anonymous files (`os.memfd_create`) that the receiver maps through
``/proc/<pid>/fd/<fd>``. They have no name in any directory, so that nothing is left behind however
either side dies. The first byte of a segment says whether a tensor lies in it: the sender sets it,
the receiver clears it when the last view of the array is gone, and only then is the segment used
again. The sender's side is in `outgoing_memory`.
"""

from __future__ import annotations

import mmap
import os
import secrets
from typing import Any

import numpy as np

from dataflow.cluster.messages import Descriptor, ProtocolError

#: Data starts here, so that it is aligned for vector instructions.
DATA_OFFSET = 64
FREE, BUSY = 0, 1

_PROBE_BYTES = 32


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


def address_of(mapping: mmap.mmap) -> int:
    """Where a mapping begins in this process."""
    return int(np.frombuffer(mapping, dtype=np.uint8).__array_interface__["data"][0])


def interface(address: int, dtype: np.dtype, shape: tuple[int, ...], reads: bool) -> dict[str, Any]:
    """How NumPy is told of an array in the segment at an address; ``reads``: it is only read."""
    return {
        "version": 3,
        "shape": shape,
        "typestr": dtype.str,
        "data": (address + DATA_OFFSET, reads),
    }


class Lease:
    """Keeps a segment of the peer's busy until the last array over it is gone."""

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
        self._segments[number] = (mapping, address_of(mapping), size)

    def find(self, descriptor: Descriptor) -> tuple[mmap.mmap, dict[str, Any]]:
        """What a `Lease` of the array needs: its memory, and how NumPy is told of it."""
        found = self._segments.get(descriptor.segment)
        if found is None or descriptor.num_bytes > found[2]:
            raise ProtocolError(
                f"a tensor in segment {descriptor.segment}, which was not announced"
            )
        assert descriptor.dtype is not None
        return found[0], interface(found[1], descriptor.dtype, descriptor.shape, True)

    def view(self, descriptor: Descriptor) -> np.ndarray:
        """Return the array that lies in a segment; read-only, without a copy."""
        return np.asarray(Lease(*self.find(descriptor)))

    def close(self) -> None:
        """Forget the mappings; those still viewed live on until the views are gone."""
        self._segments.clear()
