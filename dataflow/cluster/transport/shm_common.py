"""Memory that all members of a collective exchange map: a doorbell for each rank, and one vector.

The leader of a group makes it and the others open it, so that a chunk which goes around the ring stays
where it is: each member adds its own numbers to it and rings, and what is finished is there for all.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from dataflow.cluster.transport.doorbell import MOST_RINGS, Doorbell, has_doorbells
from dataflow.cluster.transport.shm_receive import address_of, make_memory, open_memory

#: The doorbells' part.
_HEAD_BYTES = 4096
_BELL_BYTES = 4
#: Each rings twice for each other member.
MOST_MEMBERS = MOST_RINGS // 2


class CommonMemory:
    """A mapping of it, by the descriptor ``fd``, which is closed with it if it is ``kept_open``."""

    def __init__(self, fd: int, num_bytes: int, kept_open: bool) -> None:
        self.num_bytes = num_bytes
        self._holders: list[None] = []  # appending and popping are atomic
        self.fd = fd if kept_open else -1
        try:
            self._mapping = mmap.mmap(fd, _HEAD_BYTES + num_bytes)
        except (OSError, ValueError, OverflowError):
            if kept_open:
                os.close(fd)
            raise
        self._address = address_of(self._mapping)

    @staticmethod
    def make(num_bytes: int) -> CommonMemory | None:
        """New memory for a vector of this many bytes; ``None`` where the system has none."""
        if not has_doorbells():
            return None
        try:
            return CommonMemory(make_memory(_HEAD_BYTES + num_bytes), num_bytes, True)
        except (OSError, ValueError, OverflowError):
            return None

    @staticmethod
    def open(pid: int, number: int, num_bytes: int) -> CommonMemory:
        """Memory that another process has made; raises OSError, or ValueError for a size that is none."""
        fd = open_memory(pid, number, _HEAD_BYTES + num_bytes)
        try:
            return CommonMemory(fd, num_bytes, False)
        finally:
            os.close(fd)

    @property
    def is_held(self) -> bool:
        """Whether an array of this process lies in it."""
        return bool(self._holders)

    def bell(self, rank: int) -> Doorbell:
        """The doorbell that a rank rings."""
        return Doorbell(self._mapping, self._address, _BELL_BYTES * rank)

    def silence(self) -> None:
        """Reset all doorbells; only while nobody waits for one."""
        self._mapping[: _BELL_BYTES * MOST_MEMBERS] = bytes(_BELL_BYTES * MOST_MEMBERS)

    def vector(self, dtype: np.dtype, length: int) -> np.ndarray:
        """The vector, which holds the memory until the last array over it is gone."""
        if length * dtype.itemsize > self.num_bytes:
            raise ValueError(f"{length} {dtype} in memory of {self.num_bytes} bytes")
        place = self._address + _HEAD_BYTES
        return np.asarray(_Holder(self._holders, dtype, length, place, self._mapping))

    def close(self) -> None:
        """Close the descriptor; the mapping lives as long as arrays over it."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class _Holder:
    """The base of the arrays over common memory."""

    __slots__ = ("__array_interface__", "_holders", "_mapping")

    def __init__(
        self,
        holders: list[None],
        dtype: np.dtype,
        length: int,
        place: int,
        mapping: mmap.mmap,
    ) -> None:
        self._holders = holders
        self._mapping = mapping  # which lives as long as this object
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (length,),
            "typestr": dtype.str,
            "data": (place, False),
        }
        holders.append(None)

    def __del__(self) -> None:
        self._holders.pop()
