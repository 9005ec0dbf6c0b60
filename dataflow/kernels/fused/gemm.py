"""Matrix products in single precision on processors with AVX-512.

The right matrix is packed, a panel of up to three vectors of columns and `_MOST_STEPS` rows at a
time, into a buffer that stays in the core's first cache; then all tiles of rows of the left matrix
(`tile_assembly`) meet it, which is read where it lies, whatever its strides. One function serves
all shapes; it is compiled once for a right matrix as it is, and once for a transposed one.

Measured on one core beside OpenBLAS (microseconds): 128 x 784 x 256 201 (218); times a transposed
matrix, 128 x 512 x 156, 86 (113); 50 x 3136 x 1024 1480 (2170), the gradient of its weights 1210
(1660); 1024 x 1024 x 1024 8250 (8310), 99 % of what the core can do.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.kernels.fused.native import Lazy, address_of, compile_source
from dataflow.kernels.fused.products import is_available
from dataflow.kernels.fused.team import run_calls
from dataflow.kernels.fused.tile_assembly import (
    LANES,
    MOST_ROWS,
    VECTOR_BYTES,
    tile_function,
    tile_name,
)

#: With fewer multiplications, packing and calling cost more than is saved.
SMALL_PRODUCT = 1 << 20
#: A packed panel (48 KB) serves at least so many rows, and is not mostly padding.
_LEAST_ROWS, _LEAST_COLUMNS = 4, LANES
#: Rows of the right matrix in a panel; rows of the left one that stay in the second cache.
_MOST_STEPS, _MOST_ROWS = 256, 512
_NUMBER_BYTES = 4
_FIELDS = (
    *("left", "right", "out", "rows", "columns", "steps", "left_row", "left_step"),
    *("right_row", "right_column", "out_row", "panel", "most_rows", "most_steps", "adds"),
)
_PANEL_BYTES = max(MOST_ROWS) * VECTOR_BYTES * _MOST_STEPS
_pack = struct.Struct("q" * len(_FIELDS)).pack
_local = threading.local()

#: Products come in great numbers, and the code of all tiles takes 40 ms to compile.
_CALLS_BEFORE_COMPILING, _CALLS_BEFORE_USE = 50, 200


class Compiled:
    """The machine code: where it is, and as a function of its table."""

    __slots__ = ("address", "call")

    def __init__(self, address: int) -> None:
        self.address = address
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(address)


def compile_gemm(transposed: bool) -> Compiled:
    """Compiles at once. Raises `ImportError` where `is_available` is false."""
    if not is_available():
        raise ImportError("llvmlite is not installed, or the processor has no AVX-512")
    return Compiled(*compile_source(source(transposed), "loop"))


_functions = {
    transposed: Lazy(
        functools.partial(compile_gemm, transposed), _CALLS_BEFORE_COMPILING, _CALLS_BEFORE_USE
    )
    for transposed in (False, True)
}


def multiply(a: Any, b: Any, out: Any, adds: bool = False, parts: int = 1) -> bool:
    """``out = a @ b``, or ``out += a @ b``, for matrices; ``False`` where it is left to BLAS.

    That is: until the code is there, for small products, other types than float32, and layouts in
    which neither rows nor columns of ``b``, or not the rows of ``out``, are contiguous.

    The team's threads share so many ``parts`` of it: columns, rows where there are more of these,
    or steps of the sum.
    """
    (rows, steps), columns = a.shape, b.shape[1]
    if (
        rows * steps * columns < SMALL_PRODUCT
        or rows < _LEAST_ROWS
        or columns < _LEAST_COLUMNS
        or not a.dtype.char == b.dtype.char == out.dtype.char == "f"
    ):
        return False
    right_row, right_column = b.strides
    transposed = right_column != _NUMBER_BYTES
    if (transposed and right_row != _NUMBER_BYTES) or out.strides[1] != _NUMBER_BYTES:
        return False
    function = _functions[transposed].get()
    if function is None:
        return False
    left_row, left_step = a.strides
    left, right, to = address_of(a), address_of(b), address_of(out)
    others: list[Any] = []
    tables: list[bytes] = []

    def put(
        left: int, right: int, to: int, rows: int, columns: int, steps: int, out: Any, adds: bool
    ) -> None:
        blocks = -(-steps // _MOST_STEPS)
        most_steps = -(-steps // (blocks * LANES)) * LANES
        most_rows = -(-rows // -(-rows // _MOST_ROWS))
        table = _pack(
            *(left, right, to, rows, columns, steps),
            *(left_row, left_step, right_row, right_column, out.strides[0]),
            *(_panel(len(tables)), most_rows, most_steps, adds),
        )
        tables.append(table)

    if parts < 2:
        put(left, right, to, rows, columns, steps, out, adds)
        function.call(tables[0])
        return True
    if not transposed and steps >= 2 * rows * (parts - 1):
        # A matrix of weights, larger than the results: each thread has its rows of it, those that
        # it writes when the weights' gradient is made (its rows, below) and when they are updated.
        # A cache of another core is three times as far as one's own.
        for i, length in _shares(steps, parts):
            if i:
                others.append(np.empty(out.shape, np.float32))
                to = address_of(others[-1])
            here = others[-1] if i else out
            put(
                left + i * left_step,
                right + i * right_row,
                *(to, rows, columns, length, here, adds and not i),
            )
    elif columns >= rows:
        for i, length in _shares(columns, parts):
            put(
                *(left, right + i * right_column, to + i * _NUMBER_BYTES),
                *(rows, length, steps, out, adds),
            )
    else:
        for i, length in _shares(rows, parts):
            put(
                *(left + i * left_row, right, to + i * out.strides[0]),
                *(length, columns, steps, out, adds),
            )
    run_calls([(function.address, table) for table in tables])
    for other in others:
        out += other
    return True


def _shares(length: int, parts: int) -> Iterator[tuple[int, int]]:
    """(start, length) of parts that begin at multiples of a vector's length."""
    size = -(-length // parts)
    size = -(-size // LANES) * LANES
    for i in range(0, length, size):
        yield i, min(size, length - i)


def _panel(number: int) -> int:
    """The address of one of this thread's buffers."""
    panels = _local.__dict__.setdefault("panels", [])
    while len(panels) <= number:
        buffer = np.empty(_PANEL_BYTES + VECTOR_BYTES, np.uint8)
        panels.append((-(-address_of(buffer) // VECTOR_BYTES) * VECTOR_BYTES, buffer))
    return panels[number][0]  # type: ignore[no-any-return]


# ---- the text ---------------------------------------------------------------------------------

_VECTOR = f"<{LANES} x float>"
_LOAD = f"@llvm.masked.load.v{LANES}f32.p0"
_PREFETCH = "@llvm.prefetch.p0"
_ALL_LANES = (1 << LANES) - 1


class _Writer:
    """Writes loops in LLVM's assembly language; all scalars are of 64 bits."""

    def __init__(self, signature: str) -> None:
        self.lines = [f"define {signature} {{", "entry:"]
        self.block = "entry"
        self.count = 0

    def name(self, start: str) -> str:
        self.count += 1
        return f"{start}{self.count}"

    def put(self, text: str) -> str:
        """A new name for what ``text`` computes."""
        name = self.name("%x")
        self.lines.append(f"  {name} = {text}")
        return name

    def op(self, kind: str, a: str, b: str | int) -> str:
        return self.put(f"{kind} i64 {a}, {b}")

    def at(self, start: str, *offsets: tuple[str, str]) -> str:
        """``start`` plus the products of pairs."""
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
        """``body(i)`` for i from 0 while it is below ``limit``; it gives the step to the next."""
        head, inside, end = self.name("head"), self.name("inside"), self.name("end")
        i, following, before = self.name("%i"), self.name("%next"), self.block
        self.lines += [f"  br label %{head}", f"{head}:", ""]
        place = len(self.lines) - 1
        more = self.put(f"icmp slt i64 {i}, {limit}")
        self.lines.append(f"  br i1 {more}, label %{inside}, label %{end}")
        self.begin(inside)
        self.lines += [f"  {following} = add i64 {i}, {body(i)}", f"  br label %{head}"]
        self.lines[place] = f"  {i} = phi i64 [0, %{before}], [{following}, %{self.block}]"
        self.begin(end)

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
        """The first ``lanes`` of a vector."""
        bits = self.put(f"trunc i64 {lanes} to i{LANES}")
        return self.put(f"bitcast i{LANES} {bits} to <{LANES} x i1>")

    def load(self, address: str, mask: str) -> str:
        place = self.pointer(address)
        return self.put(
            f"call {_VECTOR} {_LOAD}(ptr {place}, i32 {_NUMBER_BYTES}, <{LANES} x i1> {mask}, "
            f"{_VECTOR} zeroinitializer)"
        )

    def prefetch(self, address: str) -> None:
        """Asks for a line of memory, for the second cache; it may lie beyond the array."""
        place = self.pointer(address)
        self.lines.append(f"  call void {_PREFETCH}(ptr {place}, i32 0, i32 2, i32 1)")

    def store(self, vector: str, address: str) -> None:
        place = self.pointer(address)
        self.lines.append(f"  store {_VECTOR} {vector}, ptr {place}, align {VECTOR_BYTES}")

    def text(self) -> str:
        return "\n".join([*self.lines, "  ret void", "}", ""])


def source(transposed: bool) -> str:
    """The function in LLVM's assembly language; its one argument is the table of `_FIELDS`."""
    w = _Writer("void @loop(ptr %table)")
    field = {
        name: w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %table, i64 {i}')}")
        for i, name in enumerate(_FIELDS)
    }
    tiles_left = w.put("alloca i64")

    def row_block(first_row: str) -> str:
        rows = w.least(w.op("sub", field["rows"], first_row), field["most_rows"])
        left = w.at(field["left"], (first_row, field["left_row"]))
        out = w.at(field["out"], (first_row, field["out_row"]))

        def step_block(first_step: str) -> str:
            steps = w.least(w.op("sub", field["steps"], first_step), field["most_steps"])
            first_left = w.at(left, (first_step, field["left_step"]))
            later = w.put(f"zext i1 {w.put(f'icmp ne i64 {first_step}, 0')} to i64")
            adds = w.op("or", later, field["adds"])

            def panel(column: str) -> str:
                # Three vectors of columns, but two and two rather than three and one.
                remaining = w.op("sub", field["columns"], column)
                vectors = w.quotient_up(remaining, LANES)
                four = w.put(f"icmp eq i64 {vectors}, 4")
                vectors = w.least(w.put(f"select i1 {four}, i64 2, i64 {vectors}"), 3)
                width = w.op("mul", vectors, LANES)
                last = w.op("sub", w.least(remaining, width), w.op("sub", width, LANES))
                mask = w.op("lshr", str(_ALL_LANES), w.op("sub", str(LANES), last))
                right = w.at(
                    field["right"],
                    (first_step, field["right_row"]),
                    (column, field["right_column"]),
                )
                stride = field["right_column" if transposed else "right_row"]
                numbers = ", ".join(
                    f"i64 {x}" for x in (right, field["panel"], steps, vectors, last, mask, stride)
                )
                w.lines.append(f"  call void @pack({numbers})")
                first_out = w.at(out, (column, str(_NUMBER_BYTES)))
                wide = w.put(f"icmp eq i64 {vectors}, 3")
                most = w.put(f"select i1 {wide}, i64 {MOST_ROWS[3]}, i64 {MOST_ROWS[2]}")
                w.lines.append(f"  store i64 {w.quotient_up(rows, most)}, ptr {tiles_left}")

                def tile(row: str) -> str:
                    tiles = w.put(f"load i64, ptr {tiles_left}")
                    w.lines.append(f"  store i64 {w.op('sub', tiles, 1)}, ptr {tiles_left}")
                    here = w.quotient_up(w.op("sub", rows, row), tiles)
                    arguments = (
                        w.at(first_left, (row, field["left_row"])),
                        field["panel"],
                        w.at(first_out, (row, field["out_row"])),
                        *(steps, field["left_row"], field["left_step"], field["out_row"]),
                        *(mask, adds),
                    )
                    given = ", ".join(f"i64 {x}" for x in arguments)

                    def call(height: int, across: int) -> None:
                        w.lines.append(f"  call void {tile_name(height, across)}({given})")

                    w.switch(
                        w.op("add", width, here),
                        {
                            across * LANES + height: functools.partial(call, height, across)
                            for across, most_rows in MOST_ROWS.items()
                            for height in range(1, most_rows + 1)
                        },
                    )
                    return here

                w.loop(rows, tile)
                return width

            w.loop(field["columns"], panel)
            return field["most_steps"]

        w.loop(field["steps"], step_block)
        return field["most_rows"]

    w.loop(field["rows"], row_block)
    tiles = [
        tile_function(height, across)
        for across, most_rows in MOST_ROWS.items()
        for height in range(1, most_rows + 1)
    ]
    declared = f"declare {_VECTOR} {_LOAD}(ptr, i32, <{LANES} x i1>, {_VECTOR})\n"
    declared += f"declare void {_PREFETCH}(ptr, i32, i32, i32)\n"
    return "".join([w.text(), *tiles, _pack_transposed() if transposed else _pack_rows(), declared])


_PACK = (
    "internal void @pack(i64 %from, i64 %to, i64 %steps, i64 %vectors, i64 %last, i64 %mask, "
    "i64 %stride) noinline"
)


def _pack_rows() -> str:
    """Copies rows of the right matrix, zeros after the last column."""
    w = _Writer(_PACK)
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


def _pack_transposed() -> str:
    """Turns blocks of 16 x 16 numbers round; after the last column comes that one again."""
    w = _Writer(_PACK)
    row_bytes = w.op("mul", "%vectors", VECTOR_BYTES)
    columns = w.op("add", w.op("mul", w.op("sub", "%vectors", 1), LANES), "%last")

    def block(step: str) -> int:
        here = w.least(w.op("sub", "%steps", step), LANES)
        mask = w.mask(w.op("lshr", str(_ALL_LANES), w.op("sub", str(LANES), here)))
        start = w.at("%from", (step, str(_NUMBER_BYTES)))
        target = w.at("%to", (step, row_bytes))

        def vector(v: str) -> int:
            first = w.op("mul", v, LANES)
            last = w.op("sub", w.op("sub", columns, first), 1)
            corner = w.at(start, (first, "%stride"))
            lines = [
                w.load(w.at(corner, (w.least(str(i), last), "%stride")), mask) for i in range(LANES)
            ]
            to = w.at(target, (v, str(VECTOR_BYTES)))
            for i, line in enumerate(_turned(w, lines)):
                w.store(line, w.at(to, (str(i), row_bytes)))
            return 1

        w.loop("%vectors", vector)
        return LANES

    w.loop("%steps", block)
    return w.text()


def _turned(w: _Writer, lines: list[str]) -> list[str]:
    """The columns of 16 vectors: pairs of numbers change places, then twos, fours and eights."""
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
                    f"shufflevector {_VECTOR} {lines[i]}, {_VECTOR} {lines[i + distance]}, "
                    f"<{LANES} x i32> <{numbers}>"
                )
        lines = following
    return lines
