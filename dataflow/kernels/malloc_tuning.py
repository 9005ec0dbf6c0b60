"""Memory for many runs of a plan: the C library's allocator, and the collector of cycles.

Programs that run the same plan again and again free and allocate the same sizes. By default glibc
gives large blocks back to the system at once and gets them, page by page, zeroed, for the next run:
in an unrolled LSTM that was a fifth of the time. So it is told to keep them, and what is free goes
back to the system when a plan has been compiled that is large, and when one has died.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator

from dataflow.kernels import large_arrays

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
#: Blocks up to this size come from the heap; glibc allows no more.
_LARGEST_BLOCK_BYTES = 32 << 20
#: What may lie free at the end of the heap.
_KEPT_BYTES = 256 << 20


#: Compiling a line takes some 4 KB for a moment: of so many lines it is worth giving back.
_MANY_LINES = 5_000


@functools.cache
def _glibc(function: str, *argument_types: type) -> Callable[..., int] | None:
    """A function of glibc; ``None`` where there is another C library."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = getattr(ctypes.CDLL(None), function)
    except (OSError, AttributeError):
        return None
    found.argtypes, found.restype = argument_types, ctypes.c_int
    return found  # type: ignore[no-any-return]


@functools.cache
def keep_freed_memory() -> bool:
    """Sets glibc's thresholds, once a process; ``False`` where there is another C library."""
    mallopt = _glibc("mallopt", ctypes.c_int, ctypes.c_int)
    if mallopt is None:
        return False
    return bool(
        mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK_BYTES) and mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    )


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
