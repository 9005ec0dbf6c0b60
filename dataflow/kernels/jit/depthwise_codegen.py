"""Depthwise convolutions as machine code: sums over the taps of each channel, and those of the filters' gradients.

A block of neighboring places stays in registers, so that each vector of the input that is loaded serves all the
columns of the filter that see it. Lines, and groups of places that have the same columns inside, come from tables;
taps that lie outside are never read. The last channels are read and written under a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.kernels.jit.isa import NUMBER_BYTES, Isa
from dataflow.kernels.jit.llvm_builder import Writer, mask_of, module

#: The table of a call. The first array is read at ``place`` from one place to the next, ``column`` from one tap to the
#: next and ``row`` from a row of taps to the next. For results the second array is the filters, of which
#: ``other_column`` and ``other_row`` lead to the next tap, and places are written ``written`` apart; for filters it is
#: the gradient, and the taps' sums are written.
FIELDS = (
    *(
        "first",
        "other",
        "out",
        "images",
        "image",
        "other_image",
        "out_image",
        "lines",
        "line_table",
    ),
    *("channels", "groups", "group_table", "place", "column", "row"),
    *("other_column", "other_row", "written"),
)
#: A line: where its first place begins in the three arrays, and its rows of taps.
LINE_FIELDS = ("first", "other", "out", "rows")
#: A group of places of a line: the same, then its places and columns.
GROUP_FIELDS = ("first", "other", "out", "length", "columns")
#: Places in a block.
_PLACES = 4


def source(isa: Isa, columns: int, stride: int, of_filters: bool) -> str:
    """The function ``loop``, for filters of ``columns`` columns."""
    w = Writer("void @loop(ptr %table)")
    code = (_Filters if of_filters else _Results)(w, isa, columns, stride)
    code.write()
    return module(w)


class _Code:
    """The loops over images, lines, vectors of channels and groups of places; `group` is what differs."""

    def __init__(self, w: Writer, isa: Isa, columns: int, stride: int) -> None:
        self.w, self.isa, self.columns, self.stride = w, isa, columns, stride
        self.field: dict[str, str] = {}
        #: Of the last channels, else empty.
        self.mask = ""

    def write(self) -> None:
        w, field = self.w, self.w.fields("%table", FIELDS)
        self.field = field
        whole = w.op("and", field["channels"], -self.isa.lanes)
        left = w.op("sub", field["channels"], whole)
        bits = w.op("lshr", self.isa.all_lanes, w.op("sub", self.isa.lanes, left))
        mask = mask_of(w, self.isa.lanes, bits)

        def image(i: str) -> int:
            starts = [
                w.at(field[name], (i, field[by]))
                for name, by in (("first", "image"), ("other", "other_image"), ("out", "out_image"))
            ]
            w.loop(field["lines"], lambda j: line(j, starts))
            return 1

        def line(j: str, starts: list[str]) -> int:
            own = self._entry("line_table", j, LINE_FIELDS)
            places = [w.op("add", x, y) for x, y in zip(starts, own, strict=False)]

            def vector(channel: str, mask: str = "") -> int:
                self.mask = mask
                here = [w.at(x, (channel, NUMBER_BYTES)) for x in places]
                w.loop(field["groups"], lambda g: group(g, here))
                return self.isa.lanes

            def group(g: str, here: list[str]) -> int:
                of_group = self._entry("group_table", g, GROUP_FIELDS)
                at = [w.op("add", x, y) for x, y in zip(here, of_group, strict=False)]
                self.group(at, own[3], of_group[3], of_group[4])
                return 1

            w.loop(whole, vector)

            def rest() -> None:
                vector(whole, mask)

            w.when(w.compare("ne", left, 0), rest)
            return 1

        w.loop(field["images"], image)
        w.leave()

    def _entry(self, table: str, index: str, names: Sequence[str]) -> list[str]:
        start = self.w.at(self.field[table], (index, 8 * len(names)))
        return list(self.w.fields(self.w.pointer(start), names).values())

    def group(self, at: list[str], rows: str, length: str, columns: str) -> None:
        """The places of a group; ``at``: where they begin."""
        raise NotImplementedError

    def load(self, address: str) -> str:
        return self.w.load(self.isa.vector, self.w.pointer(address), NUMBER_BYTES, self.mask)

    def store(self, value: str, address: str) -> None:
        self.w.store(self.isa.vector, value, self.w.pointer(address), NUMBER_BYTES, self.mask)

    def multiplied(self, a: str, b: str, total: str) -> str:
        return self.w.intrinsic("fma", self.isa.vector, a, b, total)

    def following(self, start: str, by: str, count: int) -> list[str]:
        """``count`` addresses, each ``by`` bytes after the one before."""
        found = [start]
        for _ in range(count - 1):
            found.append(self.w.op("add", found[-1], by))
        return found

    def carried(
        self, limit: str, values: list[str], body: Callable[[str, list[str]], list[str]]
    ) -> list[str]:
        """What ``body(i, vectors)`` makes of vectors, for i from 0 to ``limit``."""
        vectors = [(self.isa.vector, value) for value in values]
        return self.w.carry(limit, vectors, lambda i, found: (1, body(i, found)))

    def either(self, condition: str, yes: Callable[[], Any], no: Callable[[], Any]) -> None:
        number = self.w.put(f"zext i1 {condition} to i64")
        self.w.switch(number, {1: yes, 0: no})


class _Results(_Code):
    """At each place the sum over the taps."""

    def group(self, at: list[str], rows: str, length: str, columns: str) -> None:
        w = self.w
        is_whole = w.compare("eq", columns, self.columns)
        is_long = w.compare("sge", length, _PLACES)
        is_block = w.put(f"and i1 {is_whole}, {is_long}")

        def blocks() -> None:
            last = w.op("sub", length, _PLACES)

            def block(i: str) -> int:
                self._block(at, rows, w.least(i, last))  # the last one meets some places again
                return _PLACES

            w.loop(length, block)

        def single() -> None:
            def place(i: str) -> int:
                self._place(at, rows, columns, i)
                return 1

            w.loop(length, place)

        self.either(is_block, blocks, single)

    def _block(self, at: list[str], rows: str, place: str) -> None:
        w, field = self.w, self.field
        start = w.at(at[0], (place, field["place"]))

        def row(y: str, totals: list[str]) -> list[str]:
            totals = list(totals)
            first = w.at(at[1], (y, field["other_row"]))
            weights = [
                self.load(x) for x in self.following(first, field["other_column"], self.columns)
            ]
            seen = (_PLACES - 1) * self.stride + self.columns
            line = w.at(start, (y, field["row"]))
            for number, address in enumerate(self.following(line, field["column"], seen)):
                users = [
                    (p, number - p * self.stride)
                    for p in range(_PLACES)
                    if 0 <= number - p * self.stride < self.columns
                ]
                value = self.load(address) if users else ""
                for p, tap in users:
                    totals[p] = self.multiplied(value, weights[tap], totals[p])
            return totals

        totals = self.carried(rows, ["zeroinitializer"] * _PLACES, row)
        out = w.at(at[2], (place, field["written"]))
        for total, to in zip(totals, self.following(out, field["written"], _PLACES), strict=True):
            self.store(total, to)

    def _place(self, at: list[str], rows: str, columns: str, place: str) -> None:
        w, field = self.w, self.field
        start = w.at(at[0], (place, field["place"]))

        def row(y: str, totals: list[str]) -> list[str]:
            line = w.at(start, (y, field["row"]))
            first = w.at(at[1], (y, field["other_row"]))

            def tap(x: str, totals: list[str]) -> list[str]:
                value = self.load(w.at(line, (x, field["column"])))
                weight = self.load(w.at(first, (x, field["other_column"])))
                return [self.multiplied(value, weight, totals[0])]

            return self.carried(columns, totals, tap)

        (total,) = self.carried(rows, ["zeroinitializer"], row)
        self.store(total, w.at(at[2], (place, field["written"])))


class _Filters(_Code):
    """For each tap the sum over the places, added to what is there."""

    def group(self, at: list[str], rows: str, length: str, columns: str) -> None:
        w, field = self.w, self.field

        def row(y: str) -> int:
            line = w.at(at[0], (y, field["row"]))
            out = w.at(at[2], (y, field["other_row"]))

            def all_columns() -> None:
                self._columns(line, at[1], out, length)

            def single() -> None:
                def tap(x: str) -> int:
                    start = w.at(line, (x, field["column"]))

                    def place(i: str, totals: list[str]) -> list[str]:
                        value = self.load(w.at(start, (i, field["place"])))
                        grad = self.load(w.at(at[1], (i, field["written"])))
                        return [self.multiplied(value, grad, totals[0])]

                    (total,) = self.carried(length, ["zeroinitializer"], place)
                    self._add(total, w.at(out, (x, field["other_column"])))
                    return 1

                w.loop(columns, tap)

            self.either(w.compare("eq", columns, self.columns), all_columns, single)
            return 1

        w.loop(rows, row)

    def _columns(self, line: str, grad: str, out: str, length: str) -> None:
        """A row of taps; places with even and odd numbers have totals of their own."""
        w, field = self.w, self.field
        blocks = w.op("udiv", length, _PLACES)

        def places(first: str, count: int, totals: list[str]) -> list[str]:
            totals = list(totals)
            start, other = (
                w.at(line, (first, field["place"])),
                w.at(grad, (first, field["written"])),
            )
            grads = [self.load(x) for x in self.following(other, field["written"], count)]
            seen = (count - 1) * self.stride + self.columns
            for number, address in enumerate(self.following(start, field["column"], seen)):
                users = [
                    (p, number - p * self.stride)
                    for p in range(count)
                    if 0 <= number - p * self.stride < self.columns
                ]
                value = self.load(address) if users else ""
                for p, tap in users:
                    which = p % 2 * self.columns + tap
                    totals[which] = self.multiplied(value, grads[p], totals[which])
            return totals

        totals = self.carried(
            blocks,
            ["zeroinitializer"] * (2 * self.columns),
            lambda i, totals: places(w.op("mul", i, _PLACES), _PLACES, totals),
        )
        done = w.op("mul", blocks, _PLACES)
        totals = self.carried(
            w.op("sub", length, done),
            totals,
            lambda i, totals: places(w.op("add", done, i), 1, totals),
        )
        for tap, to in enumerate(self.following(out, field["other_column"], self.columns)):
            both = f"{totals[tap]}, {totals[tap + self.columns]}"
            self._add(w.put(f"fadd {self.isa.vector} {both}"), to)

    def _add(self, total: str, address: str) -> None:
        before = self.load(address)
        self.store(self.w.put(f"fadd {self.isa.vector} {before}, {total}"), address)
