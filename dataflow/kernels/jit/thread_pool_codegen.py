"""The machine code of `thread_pool`: how members and callers take calls, wait, and wake each other.

The team's memory is a block of integers; fields that different threads write are on separate cache lines.
"""

from __future__ import annotations

from dataflow.kernels.jit.llvm_builder import Writer, module

#: The machine is busy if this process lost a processor twice or more in a window, and after fewer
#: microseconds of processor time than this on average. (With nothing else at work it lost 17 in a second of that.)
_BUSY_US = 8000
#: How often that is judged, and for how long callers then work alone.
_WINDOW_NS, _ALONE_NS = 30_000_000, 500_000_000
#: The most calls in a list: their number has 16 bits in the word.
MOST_CALLS = (1 << 16) - 1

#: Offsets in the team's memory, in bytes. Fields written by different threads are on separate cache
#: lines.
_WORD, _DONE, _SLEEPERS, _CALLER_SLEEPS, _CALLS = 0, 64, 128, 192, 256
PATIENCE, _MEMBERS, STOPPED, _EACH, _JOINED, BUSY = 264, 272, 280, 288, 320, 384
#: Until when callers work alone; the beginning of the window, and the processor time and switches then.
ALONE_UNTIL, SINCE, USED, SWITCHES = 448, 456, 464, 472
MEMORY_BYTES = 512

#: The number of the system call `futex`, and the instruction for a short pause.
MACHINES = {"x86_64": (202, "pause"), "aarch64": (98, "yield")}
_WAIT, _WAKE, _ALL = 128, 129, 0x7FFFFFFF  # futex: those of this process
_CLOCK_MONOTONIC, _RUSAGE_SELF = 1, 0
#: The integers of ``struct rusage``: user and system time in seconds and microseconds, ..., involuntary switches.
_RUSAGE_FIELDS, _USER, _SYSTEM, _INVOLUNTARY = 18, 0, 2, 17


def source(futex: int, moment: str) -> str:
    """The functions in LLVM's assembly language.

    ``serve(memory)`` is a member's main loop. ``run(memory, members, each, count, list)`` publishes a
    list, takes part, and returns when all its calls are made; the list begins with pairs (address of a
    function, offset of its table in the list). It says 0 where all calls were made here: the team worked for
    another caller, or the machine is busy. ``share(table)`` is ``run`` with its arguments, and then the list, in
    a table. ``wait(count)`` only spins, to measure how long it takes.
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

    def now(self, room: str) -> str:
        """The system's steady clock, in nanoseconds; ``room`` is memory for two integers."""
        self.declare("@clock_gettime", "i32", "ptr", result="i32")
        self.call("@clock_gettime", ("i32", _CLOCK_MONOTONIC), ("ptr", room), result="i32")
        return self.moment(room, 0, 1_000_000_000)

    def moment(self, room: str, at: int, unit: int) -> str:
        """A time that the system gives as seconds and ``unit`` parts of a second, in these parts."""
        seconds, parts = (self.load("i64", self.element("i64", room, at + i)) for i in range(2))
        return self.op("add", self.op("mul", seconds, unit), parts)

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
    patience = w.load("i64", w.place(PATIENCE))
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
    stopped = w.see(STOPPED)
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
    room = w.room(f"[{_RUSAGE_FIELDS} x i64]")
    now = w.now(room)
    early = w.compare("ult", now, w.see(ALONE_UNTIL))
    # A list without members wakes those that are to end.
    w.branch(w.put(f"and i1 {early}, {w.compare('ne', '%members', 0)}"), "alone", "ask")
    w.begin("ask")
    busy = w.put(f"atomicrmw xchg ptr {w.place(BUSY)}, i64 1 seq_cst")
    w.branch(w.compare("eq", busy, 0), "publish", "alone")
    w.begin("alone")
    w.make("%list", 0, w.op("mul", "%each", "%count"))
    w.leave("i64", 0)
    w.begin("publish")
    elapsed = w.op("sub", now, w.load("i64", w.place(SINCE)))
    w.when(w.compare("ugt", elapsed, _WINDOW_NS), lambda: _judge(w, now, room))
    patience = w.load("i64", w.place(PATIENCE))
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
    w.show(0, BUSY)
    w.leave("i64", 1)
    return w


def _judge(w: _Text, now: str, room: str) -> None:
    """Ends a window: callers work alone for a while if this process lost its processors often in it."""
    w.declare("@getrusage", "i32", "ptr", result="i32")
    w.call("@getrusage", ("i32", _RUSAGE_SELF), ("ptr", room), result="i32")
    used = w.op("add", w.moment(room, _USER, 1_000_000), w.moment(room, _SYSTEM, 1_000_000))
    switches = w.load("i64", w.element("i64", room, _INVOLUNTARY))
    found = []
    for value, offset in ((switches, SWITCHES), (used, USED)):
        found.append(w.op("sub", value, w.load("i64", w.place(offset))))
        w.store("i64", value, w.place(offset))
    w.store("i64", now, w.place(SINCE))
    often = w.compare("sgt", w.op("mul", found[0], _BUSY_US), found[1])
    is_busy = w.put(f"and i1 {often}, {w.compare('sgt', found[0], 1)}")
    w.when(is_busy, lambda: w.show(w.op("add", now, _ALONE_NS), ALONE_UNTIL))


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
