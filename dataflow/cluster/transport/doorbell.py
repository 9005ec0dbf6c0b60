"""A count in memory that two processes share: one raises it, the other sleeps until it is high enough.

A message takes some 100 us of both sides' processors, mostly Python's; raising a count takes 3. Linux wakes
the one that sleeps (``futex(2)``); elsewhere there are no doorbells, and messages are sent.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import sys
import threading
from collections.abc import Callable

_WAIT, _WAKE = 0, 1
_ALL = 2**31 - 1
#: The number of the system call, by processor.
_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
#: The highest count: it is one byte, which no reader can see half written.
MOST_RINGS = 255
#: Taking a lock and letting it go orders what is written (and read) before and after.
_order = threading.Lock()


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


@functools.cache
def has_doorbells() -> bool:
    """Whether this system has them."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and os.uname().machine in _FUTEX


@functools.cache
def _system_call() -> Callable[..., int]:
    call = ctypes.CDLL(None).syscall
    call.argtypes = [ctypes.c_long] * 7
    call.restype = ctypes.c_long
    number = _FUTEX[os.uname().machine]
    return functools.partial(call, number)


class Doorbell:
    """The count in the byte ``offset`` of a mapping; the byte is the first of four that are aligned.

    ``address`` is where the mapping begins.
    """

    __slots__ = ("_address", "_mapping", "_offset")

    def __init__(self, mapping: mmap.mmap, address: int, offset: int) -> None:
        self._mapping = mapping
        self._address = address + offset
        self._offset = offset

    def ring(self, count: int) -> None:
        """Raise the count and wake all waiters: whoever sees the new count also sees what was written before."""
        with _order:
            pass
        self._mapping[self._offset] = count
        self.wake()

    def wake(self) -> None:
        """Wake all waiters without raising the count, so that they look at something else."""
        _system_call()(self._address, _WAKE, _ALL, 0, 0, 0)

    def has_rung(self, count: int) -> bool:
        """Whether the count is at least this."""
        if self._mapping[self._offset] < count:
            return False
        with _order:
            pass
        return True

    def wait(self, count: int, seconds: float) -> bool:
        """Sleep until the count may have changed, for at most ``seconds``; return `has_rung`."""
        seen = self._mapping[self._offset]
        if seen < count:
            limit = _Time(int(seconds), int(seconds % 1 * 1e9))
            word = int.from_bytes(bytes([seen, 0, 0, 0]), sys.byteorder)
            _system_call()(self._address, _WAIT, word, ctypes.addressof(limit), 0, 0)
        return self.has_rung(count)
