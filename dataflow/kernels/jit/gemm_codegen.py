"""The function that multiplies matrices in single precision: blocks of rows, of steps, panels, tiles.

`gemm` divides a product and calls it; here is the text of its loops, from the outside to the inside.
"""

from __future__ import annotations

import functools

from dataflow.kernels.jit.isa import BLOCK, NUMBER_BYTES, PLAIN, TILE_FIELDS, Isa
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.microkernel import call_tile
from dataflow.kernels.jit.packing import RATE_BITS, prefetch_part
from dataflow.kernels.jit.shared_functions import (
    PACK_LEFT,
    PACK_ROWS,
    PACK_TRANSPOSED,
    TALLER,
    function_at,
)

#: Rows of the right matrix in a panel; rows of the left one that are multiplied by it before the next
#: panel, so that they stay in an L2 cache of 512 KB.
MOST_STEPS, ROWS_TOGETHER = 256, 256
#: The room for a copy of a part of the left matrix, in strips (`pack_strips`), which lies before the panels.
LEFT_BYTES = (MOST_STEPS + BLOCK) * ROWS_TOGETHER * NUMBER_BYTES
ADDRESSES = ("left", "right", "out", "panel")
#: The table of a call: addresses, sizes, strides in bytes, the sizes of blocks, what becomes of panels (below),
#: whether the left matrix is copied, and where the matrices of the next product lie, of the same sizes and strides,
#: or 0: they are prefetched, as is what a product's next block of rows or steps reads.
FIELDS = (
    *(*ADDRESSES, "rows", "columns", "steps", "left_row", "left_step"),
    *("right_row", "right_column", "out_row", "most_rows", "most_steps", "kept", "packs_left"),
    *("next_left", "next_right", "next_out"),
)
#: Packing of panels: into one buffer that is reused; each into a place of its own, by the first block of rows,
#: for all that follow; already packed; and none, for a plain right matrix that is read where it lies.
IN_PASSING, TO_STAY, THERE, IN_PLACE = range(4)


def source(isa: Isa) -> str:
    """The function in LLVM's assembly language; its one argument is the table of `FIELDS`."""
    w = Writer("void @loop(ptr %table)")
    _Product(w, isa).write()
    return module(w, prefetch_part("prefetch"))


def widths_of(isa: Isa, columns: int) -> set[int]:
    """How many vectors wide the panels of so many columns are (`_Product._vectors_of`)."""
    left, found = -(-columns // isa.lanes), set()
    while left:
        vectors = 2 if isa.most_vectors == 3 and left == 4 else min(left, isa.most_vectors)
        found.add(vectors)
        left -= vectors
    return found


class _Product:
    """Writes the loops; where one is inside of another, it finds the outer one's values here."""

    def __init__(self, w: Writer, isa: Isa) -> None:
        self.w, self.isa = w, isa
        self.field = w.fields("%table", FIELDS)
        self.plain = w.compare("eq", self.field["right_column"], NUMBER_BYTES)
        self.right_stride = w.select(
            self.plain, self.field["right_row"], self.field["right_column"]
        )
        self.pack = function_at(w, w.select(self.plain, PACK_ROWS, PACK_TRANSPOSED))
        self.tiles_left = w.room("i64")
        self.tile_table = w.room(f"[{len(TILE_FIELDS)} x i64]")

    def _set_tile(self, name: str, number: str | int) -> None:
        index = TILE_FIELDS.index(name)
        self.w.store("i64", number, self.w.element("i64", self.tile_table, index))

    def write(self) -> None:
        w, field = self.w, self.field
        distances = w.room("[2 x i64]")  # the sum of a tile is one segment
        w.store("[2 x i64]", "zeroinitializer", distances)
        self._set_tile("segments", w.put(f"ptrtoint ptr {distances} to i64"))
        self._set_tile("num_segments", 1)
        self._set_tile("ends", PLAIN)
        for name, of in (("row", "left_row"), ("out_row", "out_row")):
            self._set_tile(name, field[of])
        self.packs_left = w.compare("ne", field["packs_left"], 0)
        self.left_copy = w.op("sub", field["panel"], LEFT_BYTES)
        # The first panel is the widest. Strips of the left matrix are as high as its tiles, for all panels.
        self.strip_rows = self._most_rows(self._vectors_of(field["columns"]))
        w.loop(field["rows"], self._row_block)
        w.leave()

    def _row_block(self, first_row: str) -> str:
        w, field = self.w, self.field
        self.first_row = first_row
        self.rows = w.least(w.op("sub", field["rows"], first_row), field["most_rows"])
        self.left = w.at(field["left"], (first_row, field["left_row"]))
        self.out = w.at(field["out"], (first_row, field["out_row"]))
        w.loop(field["steps"], self._step_block)
        return field["most_rows"]

    def _step_block(self, first_step: str) -> str:
        w, field, lanes = self.w, self.field, self.isa.lanes
        self.first_step = first_step
        self.steps = w.least(w.op("sub", field["steps"], first_step), field["most_steps"])
        there = w.at(self.left, (first_step, field["left_step"]))
        self.first_left = w.select(self.packs_left, self.left_copy, there)
        strip_bytes = w.op("mul", w.op("add", self.steps, BLOCK), NUMBER_BYTES)
        self.left_row = w.select(self.packs_left, strip_bytes, field["left_row"])

        def pack_left() -> None:
            sizes = (self.steps, self.rows, field["left_step"], self.strip_rows)
            numbers = (there, self.left_copy, *sizes)
            w.call(function_at(w, PACK_LEFT), *[("i64", x) for x in numbers])

        w.when(self.packs_left, pack_left)
        # Where each panel has its own place, it comes right after the panels before it.
        all_vectors = w.op("mul", w.quotient_up(field["columns"], lanes), self.isa.vector_bytes)
        self.before = w.op("mul", first_step, all_vectors)
        # A transposed panel is written in blocks of this many rows.
        self.whole_steps = w.op("mul", w.quotient_up(self.steps, lanes), lanes)
        self.adds = w.put(f"zext i1 {w.compare('ne', first_step, 0)} to i64")
        self._find_next()
        w.loop(field["columns"], self._panel)
        return field["most_steps"]

    def _find_next(self) -> None:
        """What comes after this block, as `prefetch_part` takes it; at 0 where it has been read before."""
        w, field = self.w, self.field
        next_step = w.op("add", self.first_step, field["most_steps"])
        next_row = w.op("add", self.first_row, field["most_rows"])
        more_steps = w.compare("slt", next_step, field["steps"])
        more_rows = w.compare("slt", next_row, field["rows"])
        rows_below = w.at(field["left"], (next_row, field["left_row"]))
        steps_beside = w.at(self.left, (next_step, field["left_step"]))
        after = w.select(more_rows, rows_below, field["next_left"])
        left = w.select(more_steps, steps_beside, after)
        # Later blocks of rows find the right numbers in a cache, and panels that are there lie one after the other.
        is_first = w.compare("eq", self.first_row, 0)
        packed = w.compare("eq", field["kept"], THERE)
        steps_below = w.at(field["right"], (next_step, field["right_row"]))
        unread = w.select(packed, 0, w.select(is_first, steps_below, 0))
        right = w.select(more_steps, unread, w.select(more_rows, 0, field["next_right"]))
        out = w.select(more_steps, 0, w.select(more_rows, 0, field["next_out"]))
        by_rows = w.compare("eq", field["left_step"], NUMBER_BYTES)
        by_steps = self.plain
        columns = field["columns"]
        # Packing the first panel of some steps prefetches the second one.
        widest = w.op("mul", self._vectors_of(columns), self.isa.lanes)
        here = w.select(more_steps, w.least(columns, widest), columns)
        self.part_of = w.op("mul", self.rows, columns)
        self.nexts = [
            (start, lines, w.op("mul", numbers, NUMBER_BYTES), stride, self._rate(lines))
            for start, lines, numbers, stride in (
                (
                    left,
                    w.select(by_rows, self.rows, self.steps),
                    w.select(by_rows, self.steps, self.rows),
                    w.select(by_rows, field["left_row"], field["left_step"]),
                ),
                (
                    right,
                    w.select(by_steps, self.steps, columns),
                    w.select(by_steps, here, self.steps),
                    self.right_stride,
                ),
                (out, self.rows, columns, field["out_row"]),
            )
        ]
        any_next = w.op("or", w.op("or", left, right), out)
        self.is_any_next = w.compare("ne", any_next, 0)

    def _rate(self, lines: str) -> str:
        """How many of the lines are prefetched for each number of the block's output."""
        w = self.w
        return w.quotient_up(w.op("shl", lines, RATE_BITS), self.part_of)

    def _panel(self, column: str) -> str:
        w, isa, field = self.w, self.isa, self.field
        remaining = w.op("sub", field["columns"], column)
        self.vectors = vectors = self._vectors_of(remaining)
        width = w.op("mul", vectors, isa.lanes)
        last = w.op("sub", w.least(remaining, width), w.op("sub", width, isa.lanes))
        mask = w.op("lshr", isa.all_lanes, w.op("sub", isa.lanes, last))
        row_bytes = self._packed(column, last, mask)
        self._set_tile("right_step", row_bytes)
        for name, number in (("count", self.steps), ("mask", mask), ("adds", self.adds)):
            self._set_tile(name, number)
        self.first_out = w.at(self.out, (column, NUMBER_BYTES))
        self.column, self.width = column, w.least(remaining, width)
        most = w.select(self.packs_left, self.strip_rows, self._most_rows(vectors))
        w.store("i64", w.quotient_up(self.rows, most), self.tiles_left)
        w.loop(self.rows, self._tile)
        return width

    def _vectors_of(self, columns: str) -> str:
        """How many vectors wide the first of the panels with so many ``columns`` is."""
        w, isa = self.w, self.isa
        vectors = w.quotient_up(columns, isa.lanes)
        if isa.most_vectors == 3:  # rather two and two than three and one
            vectors = w.select(w.compare("eq", vectors, 4), 2, vectors)
        return w.least(vectors, isa.most_vectors)

    def _most_rows(self, vectors: str) -> str:
        """The most rows of a tile of so many vectors."""
        others, fewest = self.isa.most_rows[-2:]
        return self.w.select(self.w.compare("eq", vectors, self.isa.most_vectors), fewest, others)

    def _packed(self, column: str, last: str, mask: str) -> str:
        """Packs the panel that begins at a column where it is not there yet; returns its bytes from row to row.

        ``last``: the columns in the last of its vectors, and ``mask`` their bits.
        """
        w, field = self.w, self.field
        right = w.at(
            field["right"],
            (self.first_step, field["right_row"]),
            (column, field["right_column"]),
        )
        column_bytes = w.op("mul", column, NUMBER_BYTES)
        own = w.op("add", self.before, w.op("mul", column_bytes, self.whole_steps))
        passing = w.compare("eq", field["kept"], IN_PASSING)
        place = w.op("add", field["panel"], w.select(passing, 0, own))
        row_bytes = w.op("mul", self.vectors, self.isa.vector_bytes)
        in_place = w.compare("eq", field["kept"], IN_PLACE)
        self.panel = place = w.select(in_place, right, place)
        row_bytes = w.select(in_place, field["right_row"], row_bytes)

        def pack() -> None:
            numbers = (right, place, self.steps, self.vectors, last, mask, self.right_stride)
            w.call(self.pack, *[("i64", x) for x in numbers])

        def pack_once() -> None:
            w.when(w.compare("eq", self.first_row, 0), pack)

        w.switch(field["kept"], {IN_PASSING: pack, TO_STAY: pack_once})
        return row_bytes

    def _tile(self, row: str) -> str:
        w, field = self.w, self.field
        tiles = w.load("i64", self.tiles_left)
        w.store("i64", w.op("sub", tiles, 1), self.tiles_left)
        here = w.quotient_up(w.op("sub", self.rows, row), tiles)
        place = w.op("add", w.op("mul", self.vectors, TALLER), here)
        packed_step = w.op("mul", here, NUMBER_BYTES)
        self._set_tile("step", w.select(self.packs_left, packed_step, field["left_step"]))
        call_tile(
            w,
            self.isa,
            function_at(w, place),
            w.at(self.first_left, (row, self.left_row)),
            self.panel,
            w.at(self.first_out, (row, field["out_row"])),
            self.tile_table,
        )
        w.when(self.is_any_next, lambda: self._prefetch_next(row, here))
        return here

    def _prefetch_next(self, row: str, here: str) -> None:
        """After a tile: a part of what comes next, as large as the tile is of the block."""
        w = self.w
        before = w.op("mul", self.rows, self.column)
        part = [w.at(before, (x, self.width)) for x in (row, w.op("add", row, here))]

        def prefetch(*numbers: str) -> None:
            w.call("@prefetch", *[("i64", x) for x in numbers])

        for numbers in self.nexts:
            body = functools.partial(prefetch, *numbers, *part)
            w.when(w.compare("ne", numbers[0], 0), body)
