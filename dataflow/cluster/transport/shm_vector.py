"""Segments of shared memory on the sender's side, and vectors in them that are sent in parts.

The chunks of a collective exchange are parts of one vector: a chunk is computed where the next task reads
it, and the finished vector is the result, so that nothing is copied on its way. Each part has a byte of
the segment's head, which its receiver clears; the segment is used again when all bytes are clear and
the last array over the vector is gone here.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from dataflow.cluster.transport.messages import encode_part
from dataflow.cluster.transport.shm_receive import (
    BUSY,
    DATA_OFFSET,
    address_of,
    interface,
    make_memory,
)

#: The most parts that may be sent of a vector, each once; the first byte is for whole arrays.
MOST_PARTS = DATA_OFFSET - 1
_UNREAD = bytes(DATA_OFFSET)


class Segment:
    """One block of memory; ``allocated`` while an array of this process lies in it."""

    __slots__ = ("address", "allocated", "capacity", "fd", "mapping", "number")

    def __init__(self, number: int, capacity: int) -> None:
        self.number = number
        self.capacity = capacity
        self.fd = make_memory(DATA_OFFSET + capacity)
        try:
            self.mapping = mmap.mmap(self.fd, DATA_OFFSET + capacity)
        except OSError:
            os.close(self.fd)
            raise
        self.address = address_of(self.mapping)
        self.allocated = False

    def fits(self, size: int) -> bool:
        """Whether an array of this many bytes fits without wasting much."""
        return size <= self.capacity <= 4 * size


class Vector:
    """Keeps a segment from being used again until the last array of this process over it is gone.

    It is the base of such an array.
    """

    __slots__ = ("__array_interface__", "_lingering", "num_sent", "segment")

    def __init__(
        self, segment: Segment, dtype: np.dtype, length: int, lingering: list[Segment]
    ) -> None:
        self.segment = segment
        self.num_sent = 0
        self._lingering = lingering
        self.__array_interface__ = interface(segment.address, dtype, (length,), False)
        segment.allocated = True

    def __del__(self) -> None:
        if self.num_sent:
            self._lingering.append(self.segment)
        else:
            self.segment.allocated = False

    def frame(self, kind: int, tag: int, id: int, part: np.ndarray) -> bytes | None:
        """The frame that sends a part, which is busy from now on; ``None``: there were too many."""
        if self.num_sent >= MOST_PARTS:
            return None
        self.num_sent += 1
        segment = self.segment
        offset = part.__array_interface__["data"][0] - segment.address - DATA_OFFSET
        frame = encode_part(kind, tag, id, part, segment.number, offset, self.num_sent)
        segment.mapping[self.num_sent] = BUSY
        return frame


def vector_in(
    segment: Segment, dtype: np.dtype, length: int, lingering: list[Segment]
) -> np.ndarray:
    """A vector in a free segment, which goes to the list ``lingering`` when the vector is gone."""
    return np.asarray(Vector(segment, dtype, length, lingering))


def vector_of(array: np.ndarray) -> Any:
    """The `Vector` that an array is a part of, or ``None``."""
    base: Any = array.base
    if type(base) is np.ndarray:
        base = base.base
    return base if type(base) is Vector else None


def is_unread(segment: Segment) -> bool:
    """Whether the peer reads no part of a segment."""
    return segment.mapping[:DATA_OFFSET] == _UNREAD
