"""The exchanges of collective ops among the members of a ring, on arrays.

A member sends to the one of the next rank and receives from the one before. `reduce_scatter` followed by
`gather_chunks` is the ring all-reduce of Patarasuk and Yuan (2009): in 2 (n - 1) steps each member sends
2 (n - 1) / n of the array, whatever n.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

#: A broadcast travels in pieces of this size, so that all links carry data at the same time.
_PIECE_BYTES = 1 << 20

#: What is reduced and divided at a time.
_BLOCK_BYTES = 1 << 17

MERGES: dict[str, Any] = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}


class Link(Protocol):
    """A member's place in the ring."""

    rank: int
    size: int

    def send(self, array: np.ndarray) -> None:
        """Send to the next member; the array may be changed when this returns, a part of a `vector` when
        something that was computed from it has come back around the ring."""

    def receive(self, start: int = 0, stop: int = 0) -> np.ndarray:
        """The next array of the member before; a part of a `vector` lies from ``start`` to ``stop`` there.

        If all members share one vector, it is that part of this member's own."""

    def vector(self, dtype: np.dtype, length: int) -> np.ndarray:
        """A vector whose content is undefined, and whose parts are sent without a copy where that is possible.

        It has a ``base`` where the next member reads its memory."""


def finish(array: np.ndarray, final: str, size: int) -> np.ndarray:
    """Apply the final op ("Id" or "Div") to a reduced array of one's own, in place."""
    if final == "Div":
        if array.dtype.kind in "iu":
            array -= np.fmod(array, size)  # towards zero, as C++ divides
            array //= size
        else:
            array /= size
    return array


def _bounds(length: int, size: int) -> list[int]:
    return [length * i // size for i in range(size + 1)]


def reduce_scatter(
    link: Link, flat: np.ndarray, result: np.ndarray, merge: str, final: str
) -> np.ndarray:
    """Reduce into ``result``, a `Link.vector`; returns the part of it that belongs to this rank.

    The other parts hold what has been sent.
    """
    rank, size = link.rank, link.size
    bounds, combine = _bounds(len(flat), size), MERGES[merge]
    for step in range(1, size + 1):
        chunk = (rank - step) % size
        own = flat[bounds[chunk] : bounds[chunk + 1]]
        merged = result[bounds[chunk] : bounds[chunk + 1]]
        if step == 1:
            merged[...] = own
        else:
            got = link.receive(bounds[chunk], bounds[chunk + 1])
            if step < size or final != "Div":
                combine(got, own, out=merged)
            else:  # divided while it is in the processor's cache
                length = max(1, _BLOCK_BYTES // flat.itemsize)
                for start in range(0, len(merged), length):
                    block = slice(start, start + length)
                    combine(got[block], own[block], out=merged[block])
                    finish(merged[block], final, size)
            del got  # its memory is the sender's, who waits for it
        if step < size:
            link.send(merged)
    return merged


def gather_chunks(link: Link, result: np.ndarray) -> None:
    """Fill the vector ``result`` with all ranks' parts; this rank's is there."""
    rank, size = link.rank, link.size
    bounds = _bounds(len(result), size)
    link.send(result[bounds[rank] : bounds[rank + 1]])
    for step in range(1, size):
        chunk = (rank - step) % size
        part = result[bounds[chunk] : bounds[chunk + 1]]
        got = link.receive(bounds[chunk], bounds[chunk + 1])
        if not _is_same(got, part):
            part[...] = got
        del got
        if step < size - 1:
            link.send(part)
    if result.base is not None:  # the next member reads it yet
        result.flags.writeable = False


def _is_same(got: np.ndarray, part: np.ndarray) -> bool:
    """Whether a chunk came by staying where it is, in a vector that all members share."""
    there, here = got.__array_interface__["data"][0], part.__array_interface__["data"][0]
    return bool(there == here)


def all_reduce(link: Link, value: np.ndarray, merge: str, final: str) -> np.ndarray:
    """The reduced array, the same bits on every rank; it may be read-only."""
    flat = value.reshape(-1)
    result = link.vector(flat.dtype, len(flat))
    reduce_scatter(link, flat, result, merge, final)
    gather_chunks(link, result)
    return result.reshape(value.shape)


def all_gather(link: Link, value: np.ndarray) -> np.ndarray:
    """All ranks' arrays of the same shape, behind each other; it may be read-only."""
    result = link.vector(value.dtype, link.size * value.size)
    result[link.rank * value.size : (link.rank + 1) * value.size] = value.reshape(-1)
    gather_chunks(link, result)
    return result.reshape(link.size * value.shape[0], *value.shape[1:])


def broadcast(
    link: Link, value: np.ndarray | None, source: int, dtype: Any, shape: tuple[int, ...]
) -> np.ndarray:
    """The array of the rank ``source``; each rank passes its pieces on to the next."""
    is_last = (link.rank + 1) % link.size == source
    result = np.empty(shape, dtype) if value is None else value
    flat = result.reshape(-1)
    length = max(1, _PIECE_BYTES // flat.itemsize)
    for start in range(0, max(1, len(flat)), length):
        piece = flat[start : start + length]
        if value is None:
            got = link.receive()
            if not is_last:
                link.send(got)
            piece[...] = got
            del got
        else:
            link.send(piece)
    return result
