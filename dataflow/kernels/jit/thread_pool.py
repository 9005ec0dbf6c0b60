"""A pool of threads that run machine code together, without the interpreter.

A `parallel._Helper` must wake up and take the interpreter lock before it can start, which takes
0.1 ms, while the products of a small network take 0.05 to 0.2 ms. A member of this pool (a `Team`)
never holds that lock: it waits inside machine code for the next list of calls, first spinning for
`_WAITING_SECONDS` (without yielding the processor: on a busy machine a yield costs milliseconds),
then asleep on a futex. The caller takes part; calls are handed out one by one as threads become free,
so a thread that is busy elsewhere makes fewer of them.

Measured on two cores, the product of 128 x 784 and 784 x 256, microseconds: 240 by one thread, 245
by two with a sleeping helper, 140 here, and 160 where the member was asleep.

The list is published in one 64-bit word: its number, its length, and the index of the next call. A
thread that increments that index atomically makes the call. As the word holds everything that must
be read together, no thread can take a call of a list that is finished. A team works for one caller at a
time; a thread that finds it at work makes all of its calls itself.

On a busy machine threads that wait for each other lose: one is taken off its processor in the middle of a
call, and the other spins meanwhile. Callers therefore look every 30 ms at how often the system did that
(involuntary context switches); where it was often, they work alone for half a second, and the members sleep.
(A step beside some twelve busy processes on two cores, before and now: an unrolled LSTM 125 and 75 ms, with 22
and 14 ms of processor time; an MLP 7.5 and 3.6 ms.)

Linux on x86-64 and 64-bit ARM, with llvmlite; elsewhere `run_calls` makes the calls one by one.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import platform
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from dataflow.kernels.blas import num_threads
from dataflow.kernels.jit.compiler import QUICKLY, address_of, compile_source
from dataflow.kernels.jit.thread_pool_codegen import (
    MACHINES,
    MEMORY_BYTES,
    MOST_CALLS,
    PATIENCE,
    STOPPED,
    source,
)
from dataflow.kernels.parallel import num_workers
from dataflow.kernels.subnormals import compute_in_this_thread

#: How long an idle member spins, and a caller that waits for the others' last calls. (An unrolled LSTM
#: on an idle machine takes 0.92 of TensorFlow's time with 30 us, 0.75 with 100, 0.70 with 400; waking
#: a sleeping member takes the caller 40 us.)
_WAITING_SECONDS = 300e-6
Call = tuple[int, bytes]


class Team:
    """``members`` threads beside the caller's. Raises `ImportError` where there can be none."""

    def __init__(self, members: int) -> None:
        machine = platform.machine()
        if sys.platform != "linux" or machine not in MACHINES:
            raise ImportError(f"teams are for Linux on {' and '.join(MACHINES)}, not {machine}")
        names = "serve", "run", "wait", "share"
        serve, run, wait, self.share = compile_source(
            source(*MACHINES[machine]), *names, level=QUICKLY
        )
        self._buffer = np.zeros(MEMORY_BYTES + 64, np.uint8)
        self.memory = -(-address_of(self._buffer) // 64) * 64
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4, ctypes.c_char_p)(run)
        self._set(PATIENCE, max(1, int(_WAITING_SECONDS / _seconds_of_a_look(wait))))
        self._process = os.getpid()
        serving = ctypes.CFUNCTYPE(None, ctypes.c_int64)(serve)

        def work() -> None:
            compute_in_this_thread()
            serving(self.memory)

        self._threads = [
            threading.Thread(target=work, name="dataflow-team", daemon=True) for _ in range(members)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.stop)  # the machine code is freed with the interpreter

    def _set(self, place: int, number: int) -> None:
        ctypes.c_int64.from_address(self.memory + place).value = number

    def run(self, calls: Sequence[Call], each: int, members: int) -> None:
        """As `run_calls`, with at most ``members`` members."""
        count = len(calls)
        offset = 16 * count
        places: list[int] = []
        tables = [b""]
        for function, table in calls:
            places += (function, offset)
            offset += len(table)
            tables.append(table)
        tables[0] = struct.pack(f"{2 * count}q", *places)
        self._run(self.memory, members, each, count // each, b"".join(tables))

    def stop(self) -> None:
        """Ends the threads; does nothing in a forked process."""
        if os.getpid() != self._process:
            return
        self._set(STOPPED, 1)
        while not self._run(self.memory, 0, 1, 0, b""):  # it works for another thread
            time.sleep(1e-4)
        for thread in self._threads:
            thread.join()


def _seconds_of_a_look(wait: int) -> float:
    """The duration of one spin: the minimum of several measurements, as a thread may be interrupted."""
    function, count = ctypes.CFUNCTYPE(None, ctypes.c_int64)(wait), 200

    def measured() -> float:
        begin = time.perf_counter()
        function(count)
        return (time.perf_counter() - begin) / count

    return min(measured() for _ in range(10))


@functools.cache
def _team(_process: int) -> Team | None:
    """The team of this process (a fork gets its own)."""
    try:
        return Team(max(1, num_threads() - 1))
    except ImportError:
        return None


def run_calls(calls: Sequence[Call], each: int = 1) -> None:
    """Calls ``function(table)`` for each (address of machine code, its table), in any order.

    With ``each``, this many consecutive calls belong together: one thread makes them, in order.

    The team makes them if this thread may use several threads (`parallel.limited_to`) and no other
    thread is using the team; otherwise this thread does. A table's length is a multiple of 8 bytes.
    """
    team, members = team_for(len(calls))
    if team is not None:
        team.run(calls, each, members)
        return
    for function, table in calls:
        _callable(function)(table)


def team_for(count: int) -> tuple[Team | None, int]:
    """The team that makes so many calls, and with how many members; ``None`` where this thread does it alone."""
    members = min(num_workers(), count) - 1
    if members < 1 or count > MOST_CALLS:
        return None, 0
    return _team(os.getpid()), members


def call_table(function: int, table: bytes) -> None:
    """One call of machine code, by this thread."""
    _callable(function)(table)


@functools.lru_cache(maxsize=1024)
def _callable(function: int) -> Callable[[bytes], None]:
    return _TABLE_FUNCTION(function)


_TABLE_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
