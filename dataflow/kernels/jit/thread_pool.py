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
be read together, no thread can take a call of a list that is finished.

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
from dataflow.kernels.jit.compiler import address_of, compile_source
from dataflow.kernels.parallel import num_workers
from dataflow.kernels.subnormals import compute_in_this_thread

#: How long an idle member spins, and a caller that waits for the others' last calls. (An unrolled LSTM
#: on an idle machine takes 0.92 of TensorFlow's time with 30 us, 0.75 with 100, 0.70 with 400; waking
#: a sleeping member takes the caller 40 us.)
_WAITING_SECONDS = 300e-6
#: The most calls in a list: their number has 16 bits in the word.
MOST_CALLS = (1 << 16) - 1

#: Offsets in the team's memory, in bytes. Fields written by different threads are on separate cache
#: lines.
_WORD, _DONE, _SLEEPERS, _CALLER_SLEEPS, _CALLS = 0, 64, 128, 192, 256
_PATIENCE, _MEMBERS, _STOPPED, _EACH, _JOINED = 264, 272, 280, 288, 320
_MEMORY_BYTES = 384

#: The number of the system call `futex`, and the instruction for a short pause.
_MACHINES = {"x86_64": (202, "pause"), "aarch64": (98, "yield")}

Call = tuple[int, bytes]


class Team:
    """``members`` threads beside the caller's. Raises `ImportError` where there can be none."""

    def __init__(self, members: int) -> None:
        machine = platform.machine()
        if sys.platform != "linux" or machine not in _MACHINES:
            raise ImportError(f"teams are for Linux on {' and '.join(_MACHINES)}, not {machine}")
        serve, run, wait = compile_source(source(*_MACHINES[machine]), "serve", "run", "wait")
        self._buffer = np.zeros(_MEMORY_BYTES + 64, np.uint8)
        self._memory = -(-address_of(self._buffer) // 64) * 64
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4, ctypes.c_char_p)(run)
        self.busy = threading.Lock()
        self._set(_PATIENCE, max(1, int(_WAITING_SECONDS / _seconds_of_a_look(wait))))
        self._process = os.getpid()
        serving = ctypes.CFUNCTYPE(None, ctypes.c_int64)(serve)

        def work() -> None:
            compute_in_this_thread()
            serving(self._memory)

        self._threads = [
            threading.Thread(target=work, name="dataflow-team", daemon=True) for _ in range(members)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.stop)  # the machine code is freed with the interpreter

    def _set(self, place: int, number: int) -> None:
        ctypes.c_int64.from_address(self._memory + place).value = number

    def run(self, calls: Sequence[Call], each: int, members: int) -> None:
        """As `run_calls`, with at most ``members`` members; the caller holds `busy`."""
        count = len(calls)
        offset = 16 * count
        places: list[int] = []
        tables = [b""]
        for function, table in calls:
            places += (function, offset)
            offset += len(table)
            tables.append(table)
        tables[0] = struct.pack(f"{2 * count}q", *places)
        self._run(self._memory, members, each, count // each, b"".join(tables))

    def stop(self) -> None:
        """Ends the threads; does nothing in a forked process."""
        if os.getpid() != self._process:
            return
        with self.busy:
            self._set(_STOPPED, 1)
            self._run(self._memory, 0, 1, 0, b"")
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

    With ``each``, so many consecutive calls belong together: one thread makes them, in order.

    The team makes them if this thread may use several threads (`parallel.limited_to`) and no other
    thread is using the team; otherwise this thread does. A table's length is a multiple of 8 bytes.
    """
    members = min(num_workers(), len(calls)) - 1
    if members > 0 and len(calls) <= MOST_CALLS:
        team = _team(os.getpid())
        if team is not None and team.busy.acquire(blocking=False):
            try:
                team.run(calls, each, members)
                return
            finally:
                team.busy.release()
    for function, table in calls:
        _callable(function)(table)


@functools.lru_cache(maxsize=1024)
def _callable(function: int) -> Callable[[bytes], None]:
    return _TABLE_FUNCTION(function)


_TABLE_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p)

# ---- the text ---------------------------------------------------------------------------------

_WAIT, _WAKE, _ALL = 128, 129, 0x7FFFFFFF  # futex: those of this process


def source(futex: int, moment: str) -> str:
    """The functions in LLVM's assembly language.

    ``serve(memory)`` is a member's main loop. ``run(memory, members, each, count, list)`` publishes a
    list, takes part, and returns when all its calls are made; the list begins with pairs (address of a
    function, offset of its table in the list). ``wait(count)`` only spins, to measure how long it takes.
    """
    pause = f'  call void asm sideeffect "{moment}", ""()'

    def places(*names: tuple[str, int]) -> list[str]:
        return [f"  %{n} = getelementptr i8, ptr %memory, i64 {place}" for n, place in names]

    def word(name: str) -> str:
        return f"  %{name} = load atomic i64, ptr %word seq_cst, align 8"

    def system(call: int, place: str, number: str) -> str:
        return (
            f"  call i64 (i64, ...) @syscall(i64 {futex}, ptr {place}, i64 {call}, i64 {number}, "
            "i64 0, i64 0, i64 0)"
        )

    def idle(looks: str) -> list[str]:
        """Pauses before the next look, or goes to sleep after too many."""
        return [
            "idle:",
            f"  %{looks}.next = add i64 %{looks}, 1",
            f"  %patient = icmp ult i64 %{looks}, %patience",
            "  br i1 %patient, label %again, label %sleep",
            "again:",
            pause,
            "  br label %wait",
        ]

    # Makes calls of list number %epoch until none is left; returns how many.
    take = [
        "define internal i64 @take(ptr %memory, i64 %epoch) {",
        "entry:",
        *places(("word", _WORD), ("list.at", _CALLS), ("each.at", _EACH)),
        "  br label %next",
        "next:",
        "  %made = phi i64 [0, %entry], [%made, %claim], [%made.now, %made.one]",
        word("seen"),
        "  %seen.epoch = lshr i64 %seen, 32",
        "  %same = icmp eq i64 %seen.epoch, %epoch",
        "  br i1 %same, label %look, label %over",
        "look:",
        "  %i = and i64 %seen, 65535",
        "  %count.high = lshr i64 %seen, 16",
        "  %count = and i64 %count.high, 65535",
        "  %more = icmp ult i64 %i, %count",
        "  br i1 %more, label %claim, label %over",
        "claim:",
        "  %raised = add i64 %seen, 1",
        "  %pair = cmpxchg ptr %word, i64 %seen, i64 %raised seq_cst seq_cst",
        "  %mine = extractvalue {i64, i1} %pair, 1",
        "  br i1 %mine, label %make, label %next",
        "make:",
        "  %list = load ptr, ptr %list.at",
        "  %each = load i64, ptr %each.at",
        "  %first = mul i64 %i, %each",
        "  %after = add i64 %first, %each",
        "  br label %call",
        "call:",
        "  %c = phi i64 [%first, %make], [%c.next, %call]",
        "  %offset = mul i64 %c, 16",
        "  %entry.at = getelementptr i8, ptr %list, i64 %offset",
        "  %function = load ptr, ptr %entry.at",
        "  %place.at = getelementptr i8, ptr %entry.at, i64 8",
        "  %place = load i64, ptr %place.at",
        "  %table = getelementptr i8, ptr %list, i64 %place",
        "  call void %function(ptr %table)",
        "  %c.next = add i64 %c, 1",
        "  %all = icmp eq i64 %c.next, %after",
        "  br i1 %all, label %made.one, label %call",
        "made.one:",
        "  %made.now = add i64 %made, 1",
        "  br label %next",
        "over:",
        "  ret i64 %made",
        "}",
    ]
    serve = [
        "define void @serve(ptr %memory) {",
        "entry:",
        *places(
            ("word", _WORD),
            ("epoch.at", _WORD + 4),
            ("done", _DONE),
            ("sleepers", _SLEEPERS),
            ("caller", _CALLER_SLEEPS),
            ("patience.at", _PATIENCE),
            ("members.at", _MEMBERS),
            ("stopped.at", _STOPPED),
            ("joined", _JOINED),
        ),
        "  %patience = load i64, ptr %patience.at",
        "  br label %rest",
        "rest:",
        "  %known = phi i64 [0, %entry], [%epoch, %unasked], [%epoch, %report], [%epoch, %wake],"
        " [%epoch, %begin], [%known, %sleep]",
        "  br label %wait",
        "wait:",
        "  %count = phi i64 [0, %rest], [%count.next, %again]",
        word("seen"),
        "  %epoch = lshr i64 %seen, 32",
        "  %same = icmp eq i64 %epoch, %known",
        "  br i1 %same, label %idle, label %new",
        *idle("count"),
        "sleep:",
        "  %before = atomicrmw add ptr %sleepers, i64 1 seq_cst",
        system(_WAIT, "%epoch.at", "%known"),
        "  %after = atomicrmw sub ptr %sleepers, i64 1 seq_cst",
        "  br label %rest",
        "new:",
        "  %stopped = load atomic i64, ptr %stopped.at seq_cst, align 8",
        "  %stops = icmp ne i64 %stopped, 0",
        "  %members = load atomic i64, ptr %members.at seq_cst, align 8",
        "  %ticket = atomicrmw add ptr %joined, i64 1 seq_cst",
        "  %asked = icmp slt i64 %ticket, %members",
        "  br i1 %stops, label %end, label %chosen",
        "chosen:",
        "  br i1 %asked, label %begin, label %unasked",
        "unasked:",
        "  br label %rest",
        "begin:",
        "  %made = call i64 @take(ptr %memory, i64 %epoch)",
        "  %some = icmp ne i64 %made, 0",
        "  br i1 %some, label %report, label %rest",
        "report:",
        "  %total = atomicrmw add ptr %done, i64 %made seq_cst",
        "  %sleeps = load atomic i64, ptr %caller seq_cst, align 8",
        "  %asleep = icmp ne i64 %sleeps, 0",
        "  br i1 %asleep, label %wake, label %rest",
        "wake:",
        system(_WAKE, "%done", "1"),
        "  br label %rest",
        "end:",
        "  ret void",
        "}",
    ]
    run = [
        "define void @run(ptr %memory, i64 %members, i64 %each, i64 %count, ptr %list) {",
        "entry:",
        *places(
            ("word", _WORD),
            ("epoch.at", _WORD + 4),
            ("done", _DONE),
            ("sleepers", _SLEEPERS),
            ("caller", _CALLER_SLEEPS),
            ("list.at", _CALLS),
            ("patience.at", _PATIENCE),
            ("members.at", _MEMBERS),
            ("joined", _JOINED),
            ("each.at", _EACH),
        ),
        "  %patience = load i64, ptr %patience.at",
        "  store i64 %each, ptr %each.at",
        "  store ptr %list, ptr %list.at",
        "  store atomic i64 %members, ptr %members.at seq_cst, align 8",
        "  store atomic i64 0, ptr %done seq_cst, align 8",
        "  store atomic i64 0, ptr %caller seq_cst, align 8",
        "  store atomic i64 0, ptr %joined seq_cst, align 8",
        word("old"),
        "  %old.epoch = lshr i64 %old, 32",
        "  %raised = add i64 %old.epoch, 1",
        "  %epoch = and i64 %raised, 4294967295",
        "  %high = shl i64 %epoch, 32",
        "  %middle = shl i64 %count, 16",
        "  %new = or i64 %high, %middle",
        "  store atomic i64 %new, ptr %word seq_cst, align 8",
        "  %asleep = load atomic i64, ptr %sleepers seq_cst, align 8",
        "  %some = icmp ne i64 %asleep, 0",
        "  br i1 %some, label %wake, label %take",
        "wake:",
        "  %none = icmp eq i64 %members, 0",
        f"  %wakes = select i1 %none, i64 {_ALL}, i64 %members",
        system(_WAKE, "%epoch.at", "%wakes"),
        "  br label %take",
        "take:",
        "  %made = call i64 @take(ptr %memory, i64 %epoch)",
        "  %others = sub i64 %count, %made",
        "  br label %wait",
        "wait:",
        "  %looks = phi i64 [0, %take], [%looks.next, %again]",
        "  %so.far = load atomic i64, ptr %done seq_cst, align 8",
        "  %all = icmp eq i64 %so.far, %others",
        "  br i1 %all, label %end, label %idle",
        *idle("looks"),
        "sleep:",
        "  store atomic i64 1, ptr %caller seq_cst, align 8",
        "  %now = load atomic i64, ptr %done seq_cst, align 8",
        "  %finished = icmp eq i64 %now, %others",
        "  br i1 %finished, label %end, label %down",
        "down:",
        system(_WAIT, "%done", "%now"),
        "  br label %sleep",
        "end:",
        "  ret void",
        "}",
    ]
    wait = [
        "define void @wait(i64 %limit) {",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %count = phi i64 [0, %entry], [%count.next, %loop]",
        "  %count.next = add i64 %count, 1",
        pause,
        "  %more = icmp ult i64 %count.next, %limit",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    declared = "declare i64 @syscall(i64, ...)"
    return "\n".join([*take, *serve, *run, *wait, declared, ""])
