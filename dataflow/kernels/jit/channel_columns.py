"""Writes loops over matrices [rows, channels] in LLVM assembly, in blocks of columns.

A block is four vectors wide, with its sums or factors in registers, whatever the number of channels: of few channels
several rows count as one, of many the last block overlaps the one before, with the same numbers. So no vector has a
mask. Where a row of few channels does not fill a block, what lies beyond belongs to the next row; sums of it are not
used, results are written again after it. The last rows, which have none after them, are computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.kernels.jit.llvm_builder import Writer, vector_of, vector_type
from dataflow.kernels.jit.loop_codegen import DATA_OFFSET

_VECTOR_BYTES = 64
_VECTORS = 4
#: Of a matrix, what is read twice while it is in the cache.
_CHUNK_BYTES = 1 << 16
#: Vectors of scratch memory for each share of the rows.
AREAS = 6
#: The fields of a table that are numbers; all others are integers.
_NUMBERS = frozenset({"epsilon", "correction", "average"})


def block_columns(size: int) -> int:
    """The columns of a block of numbers of ``size`` bytes each."""
    return _VECTORS * _VECTOR_BYTES // size


def struct_format(fields: Sequence[str]) -> str:
    """The fields as `struct` packs them."""
    return "".join("d" if name in _NUMBERS else "q" for name in fields)


class ChannelWriter(Writer):
    """A function of one table, on numbers of a type."""

    def __init__(self, name: str, element: str, fields: Sequence[str]) -> None:
        super().__init__(f"void @{name}(ptr %table)")
        self.element_type = element
        self.size = 4 if element == "float" else 8
        self.lanes = _VECTOR_BYTES // self.size
        self.vector = vector_type(self.lanes, element)
        self.columns = block_columns(self.size)
        self._fields = fields
        integers = [name for name in fields if name not in _NUMBERS]
        self.field = {name: self.load("i64", self._place(name)) for name in integers}

    def _place(self, name: str) -> str:
        return self.element("i64", "%table", self._fields.index(name))

    # ---- numbers and arrays

    def number(self, name: str) -> str:
        """A field that is a number."""
        return self._narrow(self.load("double", self._place(name)))

    def _narrow(self, double: str) -> str:
        if self.element_type == "double":
            return double
        return self.put(f"fptrunc double {double} to float")

    def real(self, integer: str) -> str:
        """An integer as a number."""
        return self.put(f"sitofp i64 {integer} to {self.element_type}")

    def array(self, name: str) -> str:
        """Where the numbers of an array begin."""
        place = self.op("add", self.field[name], DATA_OFFSET)
        return self.load("ptr", self.pointer(place))

    def area(self, share: str, number: int) -> str:
        """A vector of scratch memory; those of the share after the last serve all."""
        place = self.op("add", self.op("mul", share, AREAS), number)
        return self.at_number(self.array("scratch"), self.op("mul", place, self.field["area"]))

    def at_number(self, base: str, index: str | int) -> str:
        return self.element(self.element_type, base, index)

    def every(self, scalar: str) -> str:
        return self.spread(self.lanes, self.element_type, scalar)

    def math(self, kind: str, op: str, a: str, b: str) -> str:
        """``fadd``, ``fsub``, ``fmul`` or ``fdiv`` of vectors or single numbers."""
        return self.put(f"{op} {kind} {a}, {b}")

    # ---- loops

    def carrying(
        self,
        limit: str,
        kind: str,
        values: list[str],
        body: Callable[[str, list[str]], list[str]],
    ) -> list[str]:
        """Runs ``body(i, values)`` for i < ``limit``, each time with the values that it returned before."""
        head, inside, end, before = *map(self.name, ("head", "inside", "end")), self.block
        self.enter(head)
        i = self.phi("i64", 0, before)
        carried = [self.phi(kind, value, before) for value in values]
        self.branch(self.compare("slt", i, limit), inside, end)
        self.begin(inside)
        found = body(i, carried)
        self.arrive(i, self.op("add", i, 1))
        for phi, value in zip(carried, found, strict=True):
            self.arrive(phi, value)
        self.jump(head)
        self.begin(end)
        return carried

    def each_channel(
        self, body: Callable[[Callable[[str], str], Callable[..., None]], None]
    ) -> None:
        """Runs ``body(load, store)`` on vectors along the channels."""
        channels = self.field["channels"]
        whole = self.op("and", channels, -self.lanes)

        def here(place: str, mask: str) -> None:
            def load(base: str) -> str:
                return self.load(self.vector, self.at_number(base, place), self.size, mask)

            def store(value: str, base: str) -> None:
                self.store(self.vector, value, self.at_number(base, place), self.size, mask)

            body(load, store)

        def vector(place: str) -> int:
            here(place, "")
            return self.lanes

        def rest() -> None:
            left = self.spread(self.lanes, "i64", self.op("sub", channels, whole))
            kind, all_lanes = vector_type(self.lanes, "i64"), range(self.lanes)
            here(whole, self.put(f"icmp slt {kind} {vector_of('i64', all_lanes)}, {left}"))

        self.loop(whole, vector)
        self.when(self.compare("slt", whole, channels), rest)

    def each_share(self, body: Callable[[str, str, str], None]) -> None:
        """Runs ``body(share, its first row, its number of rows)`` for the shares of the table."""
        field = self.field

        def share(i: str) -> int:
            number = self.op("add", i, field["first"])
            begin = self.op("mul", number, field["share_rows"])
            rows = self.least(self.op("sub", field["rows"], begin), field["share_rows"])
            body(number, begin, rows)
            return 1

        self.loop(self.op("sub", field["last"], field["first"]), share)

    def each_chunk(self, begin: str, rows: str, body: Callable[[str, str, str], None]) -> None:
        """Runs ``body(rows before in the share, rows, rows to the end of the matrix)`` for parts of a share."""
        in_cache = self.op("udiv", _CHUNK_BYTES // self.size, self.field["channels"])
        joined = self.joined()
        whole = self.op("mul", self.op("udiv", in_cache, joined), joined)
        most = self.select(self.compare("eq", whole, 0), joined, whole)
        chunks = self.quotient_up(rows, most)

        def chunk(i: str) -> int:
            before = self.op("mul", i, most)
            here = self.least(self.op("sub", rows, before), most)
            first = self.op("add", begin, before)
            body(before, here, self.op("sub", self.field["rows"], first))
            return 1

        self.loop(chunks, chunk)

    def row_of(self, name: str, row: str) -> str:
        """Where a row of a matrix begins."""
        return self.at_number(self.array(name), self.op("mul", row, self.field["channels"]))

    def fill_zeros(self, *areas: str) -> None:
        def zero(_: Any, store: Callable[..., None]) -> None:
            for area in areas:
                store("zeroinitializer", area)

        self.each_channel(zero)

    def copy(self, source: str, area: str) -> str:
        """A vector, repeated up to the width of a block."""
        self.each_channel(lambda load, store: store(load(source), area))
        self.repeat(area)
        return area

    # ---- blocks

    def joined(self) -> str:
        """How many rows count as one."""
        channels = self.field["channels"]
        several = self.op("udiv", self.columns, channels)
        return self.select(self.compare("ult", channels, self.columns), several, 1)

    def repeat(self, area: str) -> None:
        """Repeats a vector of few channels up to the width of a block."""
        channels = self.field["channels"]
        missing = self.op("sub", self.columns, channels)

        def number(i: str) -> int:
            value = self.load(self.element_type, self.at_number(area, i))
            place = self.at_number(area, self.op("add", i, channels))
            self.store(self.element_type, value, place)
            return 1

        self.loop(missing, number)

    def fold(self, area: str, load: Callable[[str], str]) -> str:
        """The sum of the rows that counted as one, for the channels of `each_channel`."""

        def one(i: str, total: list[str]) -> list[str]:
            row = self.at_number(area, self.op("mul", i, self.field["channels"]))
            return [self.math(self.vector, "fadd", total[0], load(row))]

        return self.carrying(self.joined(), self.vector, ["zeroinitializer"], one)[0]


class Sweep:
    """The loops over rows of matrices: ``body(type, numbers of the inputs, numbers of the vectors)`` for each vector.

    ``available`` rows may be touched.
    """

    def __init__(
        self,
        w: ChannelWriter,
        inputs: Sequence[str],
        rows: str,
        available: str,
        vectors: Sequence[str],
        body: Callable[[str, list[str], list[str]], list[str]],
    ) -> None:
        self.w, self.inputs, self.rows, self.vectors, self.body = w, inputs, rows, vectors, body
        channels, self.joined = w.field["channels"], w.joined()
        self.width = w.op("mul", self.joined, channels)
        self.narrow = w.compare("ult", channels, w.columns)
        self.last = w.select(self.narrow, 0, w.op("sub", channels, w.columns))
        self.room = w.op("sub", w.op("mul", available, channels), w.columns)
        self.blocks = w.select(self.narrow, 1, w.quotient_up(channels, w.columns))

    def add_up(self, sums: Sequence[str]) -> None:
        """Adds up what the body returns, in one vector for each."""
        w = self.w

        def block(i: str) -> int:
            places = self._places(i)
            constants = [self._read(self.vectors, p) for p in places]

            def row(number: str, totals: list[str]) -> list[str]:
                found = [x for made in self._row(number, places, constants) for x in made]
                return [w.math(w.vector, "fadd", a, b) for a, b in zip(totals, found, strict=True)]

            zeros = ["zeroinitializer"] * (len(places) * len(sums))
            totals = w.carrying(self._whole_rows(places[0]), w.vector, zeros, row)
            for k, total in enumerate(totals):
                target = w.at_number(sums[k % len(sums)], places[k // len(sums)])
                w.store(w.vector, total, target, w.size)
            return 1

        w.loop(self.blocks, block)

        def add(values: list[str], _: str, channel: str) -> None:
            for value, total in zip(values, sums, strict=True):
                place = w.at_number(total, channel)
                value = w.math(w.element_type, "fadd", w.load(w.element_type, place), value)
                w.store(w.element_type, value, place)

        self._singly(add)

    def store(self, output: str) -> None:
        """Stores what the body returns: block by block of few channels, else row by row, as memory lies."""
        w = self.w

        def row(number: str, places: list[str], constants: list[list[str]]) -> int:
            for p, (value,) in zip(places, self._row(number, places, constants), strict=True):
                here = w.op("add", w.op("mul", number, self.width), p)
                w.store(w.vector, value, w.at_number(output, here), w.size)
            return 1

        def joined_rows() -> None:
            places = self._places("0")
            constants = [self._read(self.vectors, p) for p in places]
            w.loop(self._whole_rows("0"), lambda number: row(number, places, constants))

        def wide_row(number: str) -> int:
            def block(i: str) -> int:
                places = self._places(i)
                return row(number, places, [self._read(self.vectors, p) for p in places])

            w.loop(self.blocks, block)
            return 1

        w.when(self.narrow, joined_rows)
        w.loop(w.select(self.narrow, 0, self.rows), wide_row)

        def put(values: list[str], here: str, _: str) -> None:
            w.store(w.element_type, values[0], w.at_number(output, here))

        self._singly(put)

    def _places(self, block: str) -> list[str]:
        """The columns at which the vectors of a block begin."""
        w = self.w
        column = w.least(w.op("mul", block, w.columns), self.last)
        return [w.op("add", column, v * w.lanes) for v in range(_VECTORS)]

    def _whole_rows(self, column: str) -> str:
        """How many rows (of joined ones) a block that begins at a column may touch."""
        w = self.w
        left = w.op("sub", self.room, column)
        reached = w.op("add", w.op("sdiv", left, self.width), 1)
        reached = w.select(w.compare("slt", left, 0), 0, reached)
        return w.least(w.op("udiv", self.rows, self.joined), reached)

    def _read(self, bases: Sequence[str], place: str) -> list[str]:
        w = self.w
        return [w.load(w.vector, w.at_number(base, place), w.size) for base in bases]

    def _row(self, number: str, places: list[str], constants: list[list[str]]) -> list[list[str]]:
        """What the body makes of a block's vectors."""
        w = self.w
        begin = w.op("mul", number, self.width)
        return [
            self.body(w.vector, self._read(self.inputs, w.op("add", begin, p)), values)
            for p, values in zip(places, constants, strict=True)
        ]

    def _singly(self, put: Callable[[list[str], str, str], None]) -> None:
        """The last rows of few channels, number by number: ``put(values, place, channel)``."""
        w = self.w
        channels, done = w.field["channels"], w.op("mul", self._whole_rows("0"), self.joined)

        def single(i: str) -> int:
            begin = w.op("mul", w.op("add", done, i), channels)

            def number(channel: str) -> int:
                here = w.op("add", begin, channel)
                read = [w.load(w.element_type, w.at_number(x, here)) for x in self.inputs]
                fixed = [w.load(w.element_type, w.at_number(v, channel)) for v in self.vectors]
                put(self.body(w.element_type, read, fixed), here, channel)
                return 1

            w.loop(channels, number)
            return 1

        # Of many channels there is a block for every row.
        w.loop(w.select(self.narrow, w.op("sub", self.rows, done), 0), single)
