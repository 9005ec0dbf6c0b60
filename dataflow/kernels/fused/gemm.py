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
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.kernels.fused.native import Lazy, address_of, compile_source
from dataflow.kernels.fused.panels import ALL_LANES, DECLARED, Writer, pack_rows, pack_turned
from dataflow.kernels.fused.team import run_calls
from dataflow.kernels.fused.tile_assembly import (
    LANES,
    MOST_ROWS,
    NUMBER_BYTES,
    TILE_FIELDS,
    VECTOR_BYTES,
    all_tiles,
    is_available,
    tile_name,
)

#: With fewer multiplications, packing and calling cost more than is saved.
SMALL_PRODUCT = 1 << 20
#: A packed panel (48 KB) serves at least so many rows, and is not mostly padding.
_LEAST_ROWS, _LEAST_COLUMNS = 4, LANES
#: Rows of the right matrix in a panel; rows of the left one that stay in the second cache.
_MOST_STEPS, _MOST_ROWS = 256, 512
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
    transposed = right_column != NUMBER_BYTES
    if (transposed and right_row != NUMBER_BYTES) or out.strides[1] != NUMBER_BYTES:
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
                *(left, right + i * right_column, to + i * NUMBER_BYTES),
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


def source(transposed: bool) -> str:
    """The function in LLVM's assembly language; its one argument is the table of `_FIELDS`."""
    w = Writer("void @loop(ptr %table)")
    field = {
        name: w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %table, i64 {i}')}")
        for i, name in enumerate(_FIELDS)
    }
    tiles_left = w.put("alloca i64")
    tile_table = w.put(f"alloca [{len(TILE_FIELDS)} x i64]")
    no_turn = w.put("alloca [2 x i64]")  # the sum of a tile is one segment

    def set_tile(name: str, number: str) -> None:
        place = w.put(f"getelementptr i64, ptr {tile_table}, i64 {TILE_FIELDS.index(name)}")
        w.lines.append(f"  store i64 {number}, ptr {place}")

    w.lines.append(f"  store [2 x i64] zeroinitializer, ptr {no_turn}")
    set_tile("segments", w.put(f"ptrtoint ptr {no_turn} to i64"))
    set_tile("num_segments", "1")
    for name, of in (("row", "left_row"), ("step", "left_step"), ("out_row", "out_row")):
        set_tile(name, field[of])

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
                mask = w.op("lshr", str(ALL_LANES), w.op("sub", str(LANES), last))
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
                set_tile("right_step", w.op("mul", vectors, VECTOR_BYTES))
                for name, number in (("count", steps), ("mask", mask), ("adds", adds)):
                    set_tile(name, number)
                first_out = w.at(out, (column, str(NUMBER_BYTES)))
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
                    )
                    given = ", ".join(f"i64 {x}" for x in arguments) + f", ptr {tile_table}"

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
    pack = pack_turned("pack") if transposed else pack_rows("pack")
    return "".join([w.text(), all_tiles(), pack, DECLARED])
