"""Memory for many runs of a plan: the C library's allocator, and the collector of cycles.

Programs that run the same plan again and again free and allocate the same sizes. By default glibc
gives large blocks back to the system at once and gets them, page by page, zeroed, for the next run:
in an unrolled LSTM that was a fifth of the time.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import sys
from collections.abc import Iterator

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: Blocks up to this size come from the heap; glibc allows no more.
_LARGEST_BLOCK_BYTES = 32 << 20
#: What may lie free at the end of the heap.
_KEPT_BYTES = 256 << 20


@functools.cache
def keep_freed_memory() -> bool:
    """Sets glibc's thresholds, once a process; ``False`` where there is another C library."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    return bool(
        mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK_BYTES) and mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    )


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
