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
from dataflow.kernels.jit.llvm_builder import Writer, module
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
_PATIENCE, _MEMBERS, _STOPPED, _EACH, _JOINED, _BUSY = 264, 272, 280, 288, 320, 384
_MEMORY_BYTES = 448

#: The number of the system call `futex`, and the instruction for a short pause.
_MACHINES = {"x86_64": (202, "pause"), "aarch64": (98, "yield")}

Call = tuple[int, bytes]


class Team:
    """``members`` threads beside the caller's. Raises `ImportError` where there can be none."""

    def __init__(self, members: int) -> None:
        machine = platform.machine()
        if sys.platform != "linux" or machine not in _MACHINES:
            raise ImportError(f"teams are for Linux on {' and '.join(_MACHINES)}, not {machine}")
        names = "serve", "run", "wait", "share"
        serve, run, wait, self.share = compile_source(source(*_MACHINES[machine]), *names)
        self._buffer = np.zeros(_MEMORY_BYTES + 64, np.uint8)
        self.memory = -(-address_of(self._buffer) // 64) * 64
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4, ctypes.c_char_p)(run)
        self._set(_PATIENCE, max(1, int(_WAITING_SECONDS / _seconds_of_a_look(wait))))
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
        self._set(_STOPPED, 1)
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

# ---- the text ---------------------------------------------------------------------------------

_WAIT, _WAKE, _ALL = 128, 129, 0x7FFFFFFF  # futex: those of this process


def source(futex: int, moment: str) -> str:
    """The functions in LLVM's assembly language.

    ``serve(memory)`` is a member's main loop. ``run(memory, members, each, count, list)`` publishes a
    list, takes part, and returns when all its calls are made; the list begins with pairs (address of a
    function, offset of its table in the list). It says 0 where the team worked for another caller, and all calls were
    made here. ``share(table)`` is ``run`` with its arguments, and then the list, in a table. ``wait(count)`` only
    spins, to measure how long it takes.
    """
    functions = _take(), _serve(futex, moment), _run(futex, moment), _share(), _spin(moment)
    return module(*functions)


class _Text(Writer):
    """A function of the team's memory; all its accesses that another thread must see are atomic."""

    def place(self, offset: int) -> str:
        """The place of a field."""
        return self.element("i8", "%memory", offset)

    def see(self, offset: int) -> str:
        """The field's value as all threads agree on it."""
        return self.put(f"load atomic i64, ptr {self.place(offset)} seq_cst, align 8")

    def show(self, value: str | int, offset: int) -> None:
        """Stores the field's value for all threads."""
        self.do(f"store atomic i64 {value}, ptr {self.place(offset)} seq_cst, align 8")

    def change(self, kind: str, offset: int, by: str | int) -> str:
        """Adds to a field, or subtracts from it; the value before."""
        return self.put(f"atomicrmw {kind} ptr {self.place(offset)}, i64 {by} seq_cst")

    def futex(self, system_call: int, offset: int, operation: int, value: str | int) -> None:
        """Sleeps if the field (of 32 bits) has a value, or wakes this many threads."""
        zeros = [("i64", 0)] * 3
        place = ("ptr", self.place(offset))
        self.declare("@syscall", "i64", "...", result="i64")
        operands = (("i64", system_call), place, ("i64", operation), ("i64", value), *zeros)
        self.call("@syscall", *operands, result="i64 (i64, ...)")

    def pause(self, moment: str) -> None:
        """A short pause for the processor."""
        self.do(f'call void asm sideeffect "{moment}", ""()')

    def make(self, calls: str, first: str | int, count: str) -> None:
        """Makes so many calls of a list, from the ``first`` on."""

        def once(i: str) -> int:
            entry = self.element("i8", calls, self.op("mul", self.op("add", i, first), 16))
            function, offset = (
                self.load("ptr", entry),
                self.load("i64", self.element("i8", entry, 8)),
            )
            self.call(function, ("ptr", self.element("i8", calls, offset)))
            return 1

        self.loop(count, once)

    def idle(self, looks: str, patience: str, moment: str) -> None:
        """Pauses before the next look (block ``wait``), or after too many goes on with ``sleep``."""
        self.begin("idle")
        following = self.op("add", looks, 1)
        self.branch(self.compare("ult", looks, patience), "again", "sleep")
        self.begin("again")
        self.pause(moment)
        self.arrive(looks, following)
        self.jump("wait")


def _take() -> Writer:
    """Makes calls of list number ``epoch`` until none is left; returns how many."""
    w = _Text("internal i64 @take(ptr %memory, i64 %epoch)")
    w.enter("next")
    made = w.phi("i64", 0, "entry")
    seen = w.see(_WORD)
    w.branch(w.compare("eq", w.op("lshr", seen, 32), "%epoch"), "look", "over")
    w.begin("look")
    i = w.op("and", seen, MOST_CALLS)
    count = w.op("and", w.op("lshr", seen, 16), MOST_CALLS)
    w.branch(w.compare("ult", i, count), "claim", "over")
    w.begin("claim")
    raised = w.op("add", seen, 1)
    pair = w.put(f"cmpxchg ptr {w.place(_WORD)}, i64 {seen}, i64 {raised} seq_cst seq_cst")
    w.arrive(made, made)
    w.branch(w.put(f"extractvalue {{i64, i1}} {pair}, 1"), "make", "next")
    w.begin("make")
    calls, each = w.load("ptr", w.place(_CALLS)), w.load("i64", w.place(_EACH))
    w.make(calls, w.op("mul", i, each), each)
    w.arrive(made, w.op("add", made, 1))
    w.jump("next")
    w.begin("over")
    w.leave("i64", made)
    return w


def _serve(futex: int, moment: str) -> Writer:
    w = _Text("void @serve(ptr %memory)")
    patience = w.load("i64", w.place(_PATIENCE))
    w.enter("rest")
    known = w.phi("i64", 0, "entry")
    w.enter("wait")
    looks = w.phi("i64", 0, "rest")
    epoch = w.op("lshr", w.see(_WORD), 32)
    w.branch(w.compare("eq", epoch, known), "idle", "new")
    w.idle(looks, patience, moment)
    w.begin("sleep")
    w.change("add", _SLEEPERS, 1)
    w.futex(futex, _WORD + 4, _WAIT, known)
    w.change("sub", _SLEEPERS, 1)
    w.arrive(known, known)
    w.jump("rest")
    w.begin("new")
    stopped = w.see(_STOPPED)
    members = w.see(_MEMBERS)
    asked = w.compare("slt", w.change("add", _JOINED, 1), members)
    w.branch(w.compare("ne", stopped, 0), "end", "chosen")
    w.begin("chosen")
    w.arrive(known, epoch)
    w.branch(asked, "begin", "rest")
    w.begin("begin")
    made = w.call("@take", ("ptr", "%memory"), ("i64", epoch), result="i64")
    w.arrive(known, epoch)
    w.branch(w.compare("ne", made, 0), "report", "rest")
    w.begin("report")
    w.change("add", _DONE, made)
    w.arrive(known, epoch)
    w.branch(w.compare("ne", w.see(_CALLER_SLEEPS), 0), "wake", "rest")
    w.begin("wake")
    w.futex(futex, _DONE, _WAKE, 1)
    w.arrive(known, epoch)
    w.jump("rest")
    w.begin("end")
    w.leave()
    return w


def _run(futex: int, moment: str) -> Writer:
    w = _Text("i64 @run(ptr %memory, i64 %members, i64 %each, i64 %count, ptr %list)")
    busy = w.put(f"atomicrmw xchg ptr {w.place(_BUSY)}, i64 1 seq_cst")
    w.branch(w.compare("eq", busy, 0), "publish", "alone")
    w.begin("alone")
    w.make("%list", 0, w.op("mul", "%each", "%count"))
    w.leave("i64", 0)
    w.begin("publish")
    patience = w.load("i64", w.place(_PATIENCE))
    w.store("i64", "%each", w.place(_EACH))
    w.store("ptr", "%list", w.place(_CALLS))
    w.show("%members", _MEMBERS)
    for field in (_DONE, _CALLER_SLEEPS, _JOINED):
        w.show(0, field)
    epoch = w.op("and", w.op("add", w.op("lshr", w.see(_WORD), 32), 1), 0xFFFFFFFF)
    w.show(w.op("or", w.op("shl", epoch, 32), w.op("shl", "%count", 16)), _WORD)
    w.branch(w.compare("ne", w.see(_SLEEPERS), 0), "wake", "take")
    w.begin("wake")
    wakes = w.select(w.compare("eq", "%members", 0), _ALL, "%members")
    w.futex(futex, _WORD + 4, _WAKE, wakes)
    w.enter("take")
    made = w.call("@take", ("ptr", "%memory"), ("i64", epoch), result="i64")
    others = w.op("sub", "%count", made)
    w.enter("wait")
    looks = w.phi("i64", 0, "take")
    w.branch(w.compare("eq", w.see(_DONE), others), "end", "idle")
    w.idle(looks, patience, moment)
    w.begin("sleep")
    w.show(1, _CALLER_SLEEPS)
    now = w.see(_DONE)
    w.branch(w.compare("eq", now, others), "end", "down")
    w.begin("down")
    w.futex(futex, _DONE, _WAIT, now)
    w.jump("sleep")
    w.begin("end")
    w.show(0, _BUSY)
    w.leave("i64", 1)
    return w


def _share() -> Writer:
    w = _Text("void @share(ptr %table)")
    kinds = ("ptr", *["i64"] * 3)
    values = [(k, w.load(k, w.element("i64", "%table", i))) for i, k in enumerate(kinds)]
    w.call("@run", *values, ("ptr", w.element("i64", "%table", len(kinds))), result="i64")
    w.leave()
    return w


def _spin(moment: str) -> Writer:
    w = _Text("void @wait(i64 %limit)")

    def once(_: str) -> int:
        w.pause(moment)
        return 1

    w.loop("%limit", once)
    w.leave()
    return w
