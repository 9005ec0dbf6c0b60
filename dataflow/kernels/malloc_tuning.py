"""Memory for many runs of a plan: the C library's allocator, and the collector of cycles.

Programs that run the same plan again and again free and allocate the same sizes. By default glibc
gives large blocks back to the system at once and gets them, page by page, zeroed, for the next run:
in an unrolled LSTM that was a fifth of the time. So it is told to keep them, and what is free goes
back to the system when a plan has been compiled that is large, and when one has died.

What the heap grows by comes in huge pages, where the system has them for who asks: an array of 2 MB lies on 512
pages otherwise, and there are more of those than the processor knows the addresses of. A training step of a small
ResNet takes 0.96 of the time, of a U-Net and of a transformer 0.98. (NumPy asks itself for arrays of 4 MB and more.)
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import mmap
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dataflow.kernels import large_arrays

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
#: Blocks up to this size come from the heap; glibc allows no more.
_LARGEST_BLOCK_BYTES = 32 << 20
#: What may lie free at the end of the heap.
_KEPT_BYTES = 256 << 20
#: What the heap grows by beside what is asked for: once, in huge pages, and glibc's own number. (Were more than
#: `_KEPT_BYTES` free, glibc would give it all back.)
_REACHED_BYTES, _USUAL_PAD_BYTES = 128 << 20, 128 << 10
_HUGE_PAGE_BYTES = 2 << 20

#: Compiling a line takes some 4 KB for a moment: of so many lines it is worth giving back.
_MANY_LINES = 5_000


@functools.cache
def _glibc(
    function: str, *argument_types: type, result: type = ctypes.c_int
) -> Callable[..., int] | None:
    """A function of glibc; ``None`` where there is another C library."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = getattr(ctypes.CDLL(None), function)
    except (OSError, AttributeError):
        return None
    found.argtypes, found.restype = argument_types, result
    return found  # type: ignore[no-any-return]


def keep_freed_memory() -> bool:
    """Sets glibc's thresholds, once a process, and how its heap grows; ``False`` where there is another C library."""
    kept = _set_thresholds()
    if kept and hasattr(mmap, "MADV_HUGEPAGE"):
        _grow_by_huge_pages(mmap.MADV_HUGEPAGE)
    return kept


@functools.cache
def _set_thresholds() -> bool:
    mallopt = _glibc("mallopt", ctypes.c_int, ctypes.c_int)
    if mallopt is None:
        return False
    return bool(
        mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK_BYTES) and mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    )


class _Heap(NamedTuple):
    """The functions of the C library that `_grow_by_huge_pages` calls."""

    sbrk: Callable[..., int]
    malloc: Callable[..., int]
    free: Callable[..., int]
    madvise: Callable[..., int]
    mallopt: Callable[..., int]


@functools.cache
def _heap() -> _Heap | None:
    size, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    found = (
        _glibc("sbrk", ctypes.c_ssize_t, result=pointer),
        _glibc("malloc", size, result=pointer),
        _glibc("free", pointer),
        _glibc("madvise", pointer, size, number),
        _glibc("mallopt", number, number),
    )
    known = [function for function in found if function is not None]
    return _Heap(*known) if len(known) == len(found) else None


#: Where the heap ended when `_grow_by_huge_pages` last looked.
_known_end = [0]


def _grow_by_huge_pages(advice: int) -> None:
    """Makes the heap reach further, and asks for huge pages there; memory comes page by page, when it is used.

    Does nothing while the heap ends where it did, nor for the memory of other threads than the first.
    """
    heap = _heap()
    if heap is None or heap.sbrk(0) == _known_end[0]:
        return
    heap.mallopt(_TOP_PAD, _REACHED_BYTES)
    # Nearly the largest block of the heap: what is free at its end is seldom as large, so it grows.
    block = heap.malloc(_LARGEST_BLOCK_BYTES - _HUGE_PAGE_BYTES)
    heap.free(block)
    heap.mallopt(_TOP_PAD, _USUAL_PAD_BYTES)
    end = _known_end[0] = heap.sbrk(0)
    begin = -(-(block or end) // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
    if 0 < end - begin <= _KEPT_BYTES:
        heap.madvise(begin, end - begin, advice)


def give_back_freed_memory() -> None:
    """Returns free memory, kept blocks and pages of heaps, to the system; takes about 1 ms for each MB."""
    large_arrays.release()
    trim = _glibc("malloc_trim", ctypes.c_size_t)
    if trim is not None:
        trim(0)


def give_back_after_compiling(num_lines: int) -> None:
    """As `give_back_freed_memory`, where compiling so many lines has taken much for a moment."""
    if num_lines >= _MANY_LINES:
        give_back_freed_memory()


class _AfterCollection:
    """Gives memory back at the end of the collection of cycles in which something large has died.

    What it refers to is freed later than its death is told, so the end of the collection is waited for.
    """

    def __init__(self) -> None:
        self.due = False

    def __call__(self, phase: str, _: dict[str, int]) -> None:
        if self.due and phase == "stop":
            self.due = False
            give_back_freed_memory()

    def ask(self) -> None:
        self.due = True
        if self not in gc.callbacks:
            gc.callbacks.append(self)


_after_collection = _AfterCollection()


def give_back_when_it_dies(plan: object) -> None:
    """As `give_back_freed_memory`, once ``plan``, which ran often, and its buffers have been collected."""
    weakref.finalize(plan, _after_collection.ask).atexit = False


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """The collector of cycles waits while a plan is made.

    What is made is many objects that stay. The collector would look through all of the process's
    objects several times meanwhile, 0.4 s each time where there are a million, and find nothing.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
