"""A builder for loops in LLVM assembly, and the packing of panels for matrix products.

A panel is the right matrix as `avx512_microkernel` reads it: row by row, up to three vectors wide.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from dataflow.kernels.jit.avx512_microkernel import LANES, MOST_ROWS, NUMBER_BYTES, VECTOR_BYTES

VECTOR = f"<{LANES} x float>"
_LOAD = f"@llvm.masked.load.v{LANES}f32.p0"
_STORE = f"@llvm.masked.store.v{LANES}f32.p0"
_PREFETCH = "@llvm.prefetch.p0"
ALL_LANES = (1 << LANES) - 1


class Writer:
    """Writes a function with loops in LLVM assembly; all scalars have 64 bits."""

    def __init__(self, signature: str) -> None:
        self.lines = [f"define {signature} {{", "entry:"]
        self.block = "entry"
        self.count = 0

    def name(self, start: str) -> str:
        self.count += 1
        return f"{start}{self.count}"

    def put(self, text: str) -> str:
        """Adds the instruction ``text`` and returns the name of its result."""
        name = self.name("%x")
        self.lines.append(f"  {name} = {text}")
        return name

    def op(self, kind: str, a: str, b: str | int) -> str:
        return self.put(f"{kind} i64 {a}, {b}")

    def at(self, start: str, *offsets: tuple[str, str]) -> str:
        """``start`` plus the sum of ``index * stride``."""
        for index, stride in offsets:
            start = self.op("add", start, self.op("mul", index, stride))
        return start

    def least(self, a: str, b: str | int) -> str:
        return self.put(f"select i1 {self.put(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def quotient_up(self, a: str, b: str | int) -> str:
        return self.op("udiv", self.op("sub", self.op("add", a, b), 1), b)

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def loop(self, limit: str, body: Callable[[str], str | int]) -> None:
        """Runs ``body(i)`` for i from 0 while i < ``limit``; it returns the increment of i."""
        self._repeat(limit, lambda i, _: (body(i), ""))

    def fold(self, limit: str, kind: str, start: str, body: Callable[[str, str], str]) -> str:
        """Folds ``value = body(i, value)`` over i from 0 to ``limit``, beginning with ``start``."""
        return self._repeat(limit, lambda i, value: (1, body(i, value)), kind, start)

    def _repeat(
        self,
        limit: str,
        body: Callable[[str, str], tuple[str | int, str]],
        kind: str = "",
        start: str = "",
    ) -> str:
        head, inside, end = self.name("head"), self.name("inside"), self.name("end")
        i, following, before = self.name("%i"), self.name("%next"), self.block
        carried = self.name("%carried")
        self.lines += [f"  br label %{head}", f"{head}:", ""]
        place = len(self.lines) - 1
        more = self.put(f"icmp slt i64 {i}, {limit}")
        self.lines.append(f"  br i1 {more}, label %{inside}, label %{end}")
        self.begin(inside)
        step, value = body(i, carried)
        self.lines += [f"  {following} = add i64 {i}, {step}", f"  br label %{head}"]
        self.lines[place] = f"  {i} = phi i64 [0, %{before}], [{following}, %{self.block}]"
        if kind:
            self.lines[place] += (
                f"\n  {carried} = phi {kind} [{start}, %{before}], [{value}, %{self.block}]"
            )
        self.begin(end)
        return carried

    def switch(self, value: str, cases: dict[int, Callable[[], None]]) -> None:
        after = self.name("after")
        labels = {number: self.name("case") for number in cases}
        choices = " ".join(f"i64 {number}, label %{label}" for number, label in labels.items())
        self.lines.append(f"  switch i64 {value}, label %{after} [ {choices} ]")
        for number, case in cases.items():
            self.begin(labels[number])
            case()
            self.lines.append(f"  br label %{after}")
        self.begin(after)

    def pointer(self, address: str) -> str:
        return self.put(f"inttoptr i64 {address} to ptr")

    def mask(self, lanes: str) -> str:
        """The mask of the first ``lanes`` lanes of a vector."""
        bits = self.put(f"trunc i64 {lanes} to i{LANES}")
        return self.put(f"bitcast i{LANES} {bits} to <{LANES} x i1>")

    def load(self, address: str, mask: str) -> str:
        place = self.pointer(address)
        return self.put(
            f"call {VECTOR} {_LOAD}(ptr {place}, i32 {NUMBER_BYTES}, <{LANES} x i1> {mask}, "
            f"{VECTOR} zeroinitializer)"
        )

    def prefetch(self, address: str) -> None:
        """Prefetches a cache line into L2; it may lie beyond the array."""
        place = self.pointer(address)
        self.lines.append(f"  call void {_PREFETCH}(ptr {place}, i32 0, i32 2, i32 1)")

    def store(self, vector: str, address: str) -> None:
        place = self.pointer(address)
        self.lines.append(f"  store {VECTOR} {vector}, ptr {place}, align {VECTOR_BYTES}")

    def text(self) -> str:
        return "\n".join([*self.lines, "  ret void", "}", ""])


DECLARED = (
    f"declare {VECTOR} {_LOAD}(ptr, i32, <{LANES} x i1>, {VECTOR})\n"
    f"declare void {_STORE}({VECTOR}, ptr, i32, <{LANES} x i1>)\n"
    f"declare void {_PREFETCH}(ptr, i32, i32, i32)\n"
)


def _signature(name: str) -> str:
    """``last``: columns in the last of ``vectors``, ``mask``: its bits; ``stride``: in bytes."""
    numbers = ", ".join(f"i64 %{x}" for x in ("from", "to", "steps", "vectors", "last", "mask"))
    return f"internal void @{name}({numbers}, i64 %stride) noinline"


def pack_rows(name: str) -> str:
    """Copies rows of the right matrix, padded with zeros after the last column."""
    w = Writer(_signature(name))
    mask = w.mask("%mask")
    every = f"<{', '.join(['i1 true'] * LANES)}>"

    def copy(vectors: int) -> None:
        def row(step: str) -> int:
            start = w.at("%from", (step, "%stride"))
            target = w.at("%to", (step, str(VECTOR_BYTES * vectors)))
            for v in range(vectors):
                here = w.op("add", start, VECTOR_BYTES * v)
                w.prefetch(w.op("add", here, VECTOR_BYTES * vectors))
                vector = w.load(here, mask if v == vectors - 1 else every)
                w.store(vector, w.op("add", target, VECTOR_BYTES * v))
            return 1

        w.loop("%steps", row)

    w.switch("%vectors", {v: functools.partial(copy, v) for v in MOST_ROWS})
    return w.text()


def pack_turned(name: str) -> str:
    """Packs a transposed matrix: transposes blocks of 16 x 16 numbers.

    The last column is repeated as padding, and up to 15 rows may be written after the last one.
    """
    w = Writer(_signature(name))
    row_bytes = w.op("mul", "%vectors", VECTOR_BYTES)
    columns = w.op("add", w.op("mul", w.op("sub", "%vectors", 1), LANES), "%last")

    def block(step: str) -> int:
        here = w.least(w.op("sub", "%steps", step), LANES)
        mask = w.mask(w.op("lshr", str(ALL_LANES), w.op("sub", str(LANES), here)))
        start = w.at("%from", (step, str(NUMBER_BYTES)))
        target = w.at("%to", (step, row_bytes))

        def vector(v: str) -> int:
            first = w.op("mul", v, LANES)
            last = w.op("sub", w.op("sub", columns, first), 1)
            corner = w.at(start, (first, "%stride"))
            starts = [w.at(corner, (w.least(str(i), last), "%stride")) for i in range(LANES)]
            lines = [w.load(at, mask) for at in starts]
            for at in starts:  # each on a page of its own, beyond the hardware prefetcher
                w.prefetch(w.op("add", at, 2 * VECTOR_BYTES))
            to = w.at(target, (v, str(VECTOR_BYTES)))
            for i, line in enumerate(turned_block(w, lines)):
                w.store(line, w.at(to, (str(i), row_bytes)))
            return 1

        w.loop("%vectors", vector)
        return LANES

    w.loop("%steps", block)
    return w.text()


def turned_block(w: Writer, lines: list[str]) -> list[str]:
    """The transpose of 16 vectors: swaps single numbers, then groups of 2, 4 and 8."""
    for distance in (1, 2, 4, 8):
        following = list(lines)
        for i in range(LANES):
            if i & distance:
                continue
            low = [j if not j & distance else LANES + j - distance for j in range(LANES)]
            high = [j + distance if not j & distance else LANES + j for j in range(LANES)]
            for target, order in ((i, low), (i + distance, high)):
                numbers = ", ".join(f"i32 {j}" for j in order)
                following[target] = w.put(
                    f"shufflevector {VECTOR} {lines[i]}, {VECTOR} {lines[i + distance]}, "
                    f"<{LANES} x i32> <{numbers}>"
                )
        lines = following
    return lines
