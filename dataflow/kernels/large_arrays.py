"""Memory for results that are too large for the C library to keep.

glibc returns a freed block of more than 32 MB to the system, whatever it is told (`malloc_tuning`), and
gets the next one zeroed, page by page: for a network on images that was a third of a training step. So
such blocks are kept here. An array gives its block back when it and all of its views have died. What is
kept beside what is in use is never more than was in use at once before, so that the peak of the
process's memory stays the same; `release` frees it.
"""

from __future__ import annotations

import collections
import contextlib
import math
import mmap
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

#: glibc's largest threshold for blocks of its heap.
LEAST_BYTES = 32 << 20
#: A kept block serves an array that fills at least this part of it.
_LEAST_FILLED = 0.8


class Pooled(np.ndarray):
    """What an array from here has as its base: its life is that of the array and all of its views."""


class _MemoryPool:
    """Blocks that no array uses now, the longest kept first."""

    def __init__(self) -> None:
        # Entered again where a collection of cycles within it frees arrays.
        self._lock = threading.RLock()
        self._returned: collections.deque[mmap.mmap] = collections.deque()
        self._free: list[mmap.mmap] = []
        self._used_bytes = self._free_bytes = self._most_used_bytes = 0

    def take(self, num_bytes: int) -> mmap.mmap:
        """A block of at least that size."""
        with self._lock:
            self._collect()
            most = num_bytes / _LEAST_FILLED
            found = next((i for i, b in enumerate(self._free) if num_bytes <= len(b) <= most), None)
            block = None if found is None else self._free.pop(found)
            if block is not None:
                self._free_bytes -= len(block)
            self._used_bytes += num_bytes if block is None else len(block)
            self._most_used_bytes = max(self._most_used_bytes, self._used_bytes)
            while self._free and self._used_bytes + self._free_bytes > self._most_used_bytes:
                self._free_bytes -= len(self._free.pop(0))
        return _new_block(num_bytes) if block is None else block

    def give_back(self, block: mmap.mmap) -> None:
        """Called where an array dies, which may be anywhere: takes no lock."""
        self._returned.append(block)

    def _collect(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            self._used_bytes -= len(block)
            self._free.append(block)
            self._free_bytes += len(block)

    def release(self) -> None:
        """Frees what is not in use, and forgets how much was."""
        with self._lock:
            self._collect()
            self._free, self._free_bytes = [], 0
            self._most_used_bytes = self._used_bytes


def _new_block(num_bytes: int) -> mmap.mmap:
    block = mmap.mmap(-1, num_bytes)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy asks for its own
        with contextlib.suppress(OSError):  # a kernel without them
            block.madvise(mmap.MADV_HUGEPAGE)
    return block


_pool = _MemoryPool()


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """`numpy.empty`, of kept memory where the array is large."""
    num_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if num_bytes < LEAST_BYTES or sys.platform == "emscripten":  # its memory never shrinks
        return np.empty(shape, dtype)
    block = _pool.take(num_bytes)
    owner = Pooled(num_bytes, np.uint8, block)
    weakref.finalize(owner, _pool.give_back, block).atexit = False
    return np.ndarray(shape, dtype, owner)


def zeros(shape: Sequence[int], dtype: Any) -> Any:
    """`numpy.zeros`, of kept memory where the array is large."""
    array = empty(shape, dtype)
    if array.base is None:
        return np.zeros(shape, dtype)  # pages of the system are zeros already
    array.fill(0)
    return array


def owns_memory(array: Any) -> bool:
    """Whether the memory of a NumPy array is its own, no other array's."""
    return array.base is None or type(array.base) is Pooled


def release() -> None:
    """Gives the system what is kept and not in use."""
    _pool.release()
