"""The shared-memory segments that a connection writes to: tensors are copied or computed there.

A kernel that can write its result to a given array may get one in a free segment
(`OutgoingSegments.allocate`); its result is then sent without a copy. A segment is used again when
both sides are done with it: the receiver has cleared its first byte (see `shm_receive`), and the
last array over the allocation is gone here.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from dataflow.cluster.transport.messages import describe_shared
from dataflow.cluster.transport.shm_receive import BUSY, DATA_OFFSET, FREE, interface
from dataflow.cluster.transport.shm_vector import Segment, is_unread, vector_in

#: From this size a tensor goes through shared memory; measured: at 128 KB a step (pull and push)
#: took 103 us of processor time shared and 128 through the socket, at 256 KB a round trip
#: took 48 us shared and 66 us through the socket, at 100 MB 14 ms and 26 ms.
SHARE_FROM_BYTES = 32 << 10
#: Segments of one connection: each is an open file of the sender, of which a process may have 1024.
_MAX_SEGMENTS = 48
#: How many dtypes and shapes have their places remembered.
_MOST_KINDS = 256


class Place:
    """Where an array of one dtype and shape lies in a segment, and its descriptor in frames."""

    __slots__ = ("array", "descriptor", "interface", "mapping", "segment")

    def __init__(self, segment: Segment, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        self.segment = segment
        self.mapping = segment.mapping
        self.interface = interface(segment.address, dtype, shape, False)
        # Its memory lives as long as the mapping, which is this object's.
        self.array = np.ndarray(shape, dtype, segment.mapping, DATA_OFFSET)
        self.descriptor = describe_shared(self.array, segment.number)

    def give_back(self) -> None:
        """Undo `put`: the array is not sent after all."""
        self.mapping[0] = FREE


class Allocation:
    """Keeps a segment from being used again until the last array of this process over it is gone.

    It is the base of such an array.
    """

    __slots__ = ("__array_interface__", "is_sent", "place")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.is_sent = False
        self.__array_interface__ = place.interface
        place.segment.allocated = True

    def __del__(self) -> None:
        self.place.segment.allocated = False


def put(places: list[Place], array: np.ndarray) -> Place | None:
    """Put a contiguous array into one of several places of its dtype and shape, for the peer to read.

    It is copied, unless it was computed in one of them. ``None``: none is free.
    """
    allocation: Any = array.base
    if type(allocation) is Allocation and not allocation.is_sent and allocation.place in places:
        allocation.is_sent = True  # the peer clears the byte once
        allocation.place.mapping[0] = BUSY
        return allocation.place
    for place in places:
        if place.mapping[0] == FREE and not place.segment.allocated:
            place.array[...] = array
            place.mapping[0] = BUSY
            return place
    return None


class OutgoingSegments:
    """The segments that one connection writes to; guarded by the connection's send lock.

    ``limit_bytes`` bounds all of them together; a tensor that finds no room travels in its frame.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.total_bytes = 0
        self._segments: list[Segment] = []
        #: Segments of vectors that are gone here, whose parts the peer may still read.
        self._lingering: list[Segment] = []
        self._places: dict[tuple[np.dtype, tuple[int, ...]], list[Place]] = {}
        self._announced = 0
        #: Whether there are segments that have not been announced to the peer.
        self.has_news = False

    def places(self, dtype: np.dtype, shape: tuple[int, ...]) -> list[Place]:
        """Where arrays of a kind can lie; the list grows with the segments."""
        found = self._places.get((dtype, shape))
        if found is None:
            if len(self._places) >= _MOST_KINDS:
                self._places.clear()
            size = math.prod(shape) * dtype.itemsize
            found = [Place(s, dtype, shape) for s in self._segments if s.fits(size)]
            self._places[dtype, shape] = found
        return found

    def put(self, array: np.ndarray) -> Place | None:
        """As the function `put`, in an existing or a new place; ``None`` if there is no room."""
        places = self.places(array.dtype, array.shape)
        place = put(places, array)
        if place is None and self._make(array.nbytes):
            place = put(places, array)
        return place

    def allocate(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray | None:
        """An array whose content is undefined, to be written and then `put`.

        ``None`` if there is no room, and for an array that is too small to be shared.
        """
        places = self._places.get((dtype, shape))
        if places is None:
            if math.prod(shape) * dtype.itemsize < SHARE_FROM_BYTES:
                return None
            places = self.places(dtype, shape)
        for place in places:
            if place.mapping[0] == FREE and not place.segment.allocated:
                return np.asarray(Allocation(place))
        if not self._make(math.prod(shape) * dtype.itemsize):
            return None
        return np.asarray(Allocation(places[-1]))

    def allocate_vector(self, dtype: np.dtype, length: int) -> np.ndarray | None:
        """A vector whose content is undefined, to be written and sent in parts (`shm_vector`).

        ``None`` if there is no room.
        """
        size = length * dtype.itemsize
        for segment in self._lingering.copy():
            if is_unread(segment):
                self._lingering.remove(segment)
                segment.allocated = False
        for segment in self._segments:
            if segment.fits(size) and segment.mapping[0] == FREE and not segment.allocated:
                return vector_in(segment, dtype, length, self._lingering)
        fresh = self._new_segment(size)
        if fresh is None:
            return None
        return vector_in(fresh, dtype, length, self._lingering)

    def _new_segment(self, size: int) -> Segment | None:
        capacity = size + size // 8
        if self.total_bytes + capacity > self.limit_bytes or len(self._segments) >= _MAX_SEGMENTS:
            return None
        try:
            segment = Segment(len(self._segments), capacity)
        except OSError:
            return None
        self.total_bytes += capacity
        self._segments.append(segment)
        self.has_news = True
        for (dtype, shape), places in self._places.items():
            if segment.fits(math.prod(shape) * dtype.itemsize):
                places.append(Place(segment, dtype, shape))
        return segment

    def _make(self, size: int) -> bool:
        """Make a segment for arrays of this many bytes; its places are tried last."""
        return self._new_segment(size) is not None

    def announcements(self) -> list[dict[str, Any]]:
        """Return where to map the segments that have not been announced to the peer."""
        fresh = self._segments[self._announced :]
        self._announced = len(self._segments)
        self.has_news = False
        return [{"number": s.number, "fd": s.fd, "size": s.capacity} for s in fresh]

    def close(self) -> None:
        """Release the segments; a receiver's mapping stays valid until its views are gone."""
        for segment in self._segments:
            os.close(segment.fd)
        self._segments.clear()
        self._lingering.clear()
        for places in self._places.values():
            places.clear()  # a caller that still has the list finds no place
        self._places.clear()
        self.limit_bytes = 0
