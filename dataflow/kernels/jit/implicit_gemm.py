"""Sums of products over strided arrays by lists of steps, in machine code: for convolutions.

A step says where tiles (`microkernel`) lie in the left array, in the packed right one and in
the output, and along which axes they repeat; other steps pack filters and pad lines of an image. No
image is unfolded (as ``im2col`` does): strides and the distances between segments say where the next
number lies, so the same code computes convolutions and their gradients, for all sizes.

A list is made once for a problem and holds offsets only; a call supplies the addresses of the
arrays. Threads take pieces of the list, and stay in machine code for the whole of a piece.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.compiler import JitEntry, address_of
from dataflow.kernels.jit.isa import PLAIN, TILE_FIELDS, Isa, needed_isa
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.microkernel import call_tile
from dataflow.kernels.jit.shared_functions import (
    PACK_ROWS,
    PACK_TRANSPOSED,
    SUM_TAPS,
    TAPS,
    compile_with,
    function_at,
    need,
    tile_address,
)
from dataflow.kernels.jit.thread_pool import run_calls

#: The kinds of steps.
_TILES, _PAD, _PACK_ROWS, _PACK_TRANSPOSED, _SUM_TAPS = range(5)
_AXES = 3
#: The arrays that a step refers to; the call supplies their addresses.
IMAGE, PADDED, FILTERS, RIGHT, OUT = range(5)
NUM_ARRAYS = OUT + 1
_FIELDS = (
    *("kind", "from_array", "from", "right_array", "right", "to_array", "to", "tile"),
    *(f"{what}{axis}" for axis in range(_AXES) for what in ("length", "left_by", "out_by")),
    *TILE_FIELDS,
)
_STEP_BYTES = 8 * len(_FIELDS)
_PLACE_OF = {name: place for place, name in enumerate(_FIELDS)}
#: Where a step says which array it reads or writes, and where in it.
_PLACES_OF_ARRAYS = [
    (_PLACE_OF[f"{name}_array"], _PLACE_OF[name]) for name in ("from", "right", "to")
]
#: A call's table: the list, its length, and the arrays.
_pack_call = struct.Struct("q" * (2 + NUM_ARRAYS)).pack


class Axis(NamedTuple):
    """A repetition of tiles: how many, and the bytes from one to the next."""

    length: int
    left: int
    out: int


class Code(NamedTuple):
    """The address of the function that takes a call's table, and for what processor it and tiles are."""

    isa: Isa
    walk: int


def compile_code() -> Code:
    """Compiles now. Raises `ImportError` where `isa.host` is ``None``."""
    isa = needed_isa()
    (walk,) = compile_with(isa, source(isa), "walk")
    return Code(isa, walk)


#: The same code serves all sizes of problems.
code: JitEntry[Code] = JitEntry(compile_code, at_once=True)


class Panel(NamedTuple):
    """Columns of a right matrix that are processed together: those of a tile."""

    first: int
    vectors: int
    #: Columns in the last vector.
    last: int
    #: Bytes of a packed row.
    row_bytes: int

    @property
    def mask(self) -> int:
        """A bit for each column of the last vector."""
        return (1 << self.last) - 1


def panels_of(isa: Isa, columns: int) -> list[Panel]:
    """Panels of about equal width."""
    lanes = isa.lanes
    vectors = -(-columns // lanes)
    count = -(-vectors // isa.most_vectors)
    panels, first = [], 0
    for i in range(count):
        wide = (vectors - first + count - i - 1) // (count - i)
        last = min(columns - (first + wide - 1) * lanes, lanes)
        panels.append(Panel(first * lanes, wide, last, wide * isa.vector_bytes))
        first += wide
    return panels


class Strip(NamedTuple):
    """``tiles`` tiles of equal height, from row ``first`` on."""

    first: int
    rows: int
    tiles: int


def strips_of(rows: int, most: int) -> list[Strip]:
    """One or two strips that together have ``rows`` rows, in tiles of at most ``most``."""
    each = -(-rows // -(-rows // most))
    whole, rest = divmod(rows, each)
    strips = [Strip(0, each, whole)]
    return strips + [Strip(whole * each, rest, 1)] if rest else strips


class Steps:
    """A list of steps, in pieces that threads may run in any order."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._rows: list[list[int]] = []
        self._ends = [0]
        #: Arrays of numbers that steps refer to, and their addresses.
        self._segments: dict[tuple[Any, ...], tuple[Array, int]] = {}
        #: By the identity of segments: these, their address, and the sum of their distances in the right array.
        self._read_after: dict[int, tuple[tuple[Any, ...], int, int]] = {}
        self._table: Any = None

    def end_piece(self) -> None:
        """Ends a piece: the steps added since the last one."""
        if len(self._rows) > self._ends[-1]:
            self._ends.append(len(self._rows))

    def _add(self, **fields: int) -> None:
        row = [0] * len(_FIELDS)
        for name, value in fields.items():
            row[_PLACE_OF[name]] = value
        self._rows.append(row)

    def pad(
        self, lines: int, at: int, line_bytes: int, to: int, wide_bytes: int, before: int
    ) -> None:
        """Copies lines of the image to wider ones, with zeros ``before`` and after."""
        self._add(
            kind=_PAD, **{"from": at}, to=to,
            length0=lines, left_by0=line_bytes, out_by0=wide_bytes, length1=before,
        )  # fmt: skip

    def pack(
        self, panel: Panel, rows: int, at: int, to: int, stride: int, transposed: bool
    ) -> None:
        """Packs rows of the filters; ``stride`` leads to the next row, or column if ``transposed``."""
        self._add(
            kind=_PACK_TRANSPOSED if transposed else _PACK_ROWS, **{"from": at}, to=to,
            length0=rows, left_by0=panel.vectors, out_by0=panel.last, length1=panel.mask,
            left_by1=stride,
        )  # fmt: skip

    def tiles(
        self,
        rows: int,
        panel: Panel,
        *,
        left: tuple[int, int],
        right: tuple[int, int],
        out: int,
        row: int,
        step: int,
        right_step: int,
        out_row: int,
        count: int,
        segments: tuple[tuple[int, int], ...],
        adds: bool,
        axes: Sequence[Axis] = (),
        to: int = OUT,
        ends: int = PLAIN,
        bias: int = 0,
    ) -> None:
        """Computes the sums of ``rows`` rows; ``left`` and ``right`` are (array, byte offset), ``to`` the array
        of ``out``.

        ``axes`` are at most two, the outermost first; the tiles of the rows form a third one. The sums
        end as ``ends`` says; ``bias`` is the offset of the biases in the right array.
        """
        address, distances = self._kept_segments(segments)
        read = len(segments) * count * right_step + distances
        outer = [1, 0, 0] * (2 - len(axes)) + [x for axis in axes for x in axis]
        tail = [row, step, right_step, out_row, panel.mask, int(adds), count, address]
        tail += [len(segments), ends, bias - right[1] - read]
        for strip in strips_of(rows, self._code.isa.most_rows[panel.vectors - 1]):
            tile = tile_address(self._code.isa, strip.rows, panel.vectors)
            following = (strip.tiles, strip.rows * row, strip.rows * out_row)
            start, to_start = left[1] + strip.first * row, out + strip.first * out_row
            self._rows.append(  # in the order of `_FIELDS`: a network has thousands
                [_TILES, left[0], start, *right, to, to_start, tile, *outer, *following, *tail]
            )

    def sum_taps(
        self, start: int, out: int, axes: Sequence[Axis], outputs: int, distances: tuple[int, ...]
    ) -> None:
        """Adds up, for each place of three axes and each output, the numbers of `PADDED` that lie at these
        distances from the place."""
        need(self._code.isa, TAPS)
        lengths: dict[str, int] = {}
        for i, axis in enumerate(axes):
            lengths |= {f"length{i}": axis.length, f"left_by{i}": axis.left}
            lengths[f"out_by{i}"] = axis.out
        self._add(
            kind=_SUM_TAPS, from_array=PADDED, **{"from": start}, to_array=OUT, to=out, **lengths,
            count=outputs, segments=self._kept(distances), num_segments=len(distances),
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many steps have been added."""
        return len(self._rows)

    def repeat(self, first: int, last: int, moved: Sequence[int]) -> None:
        """Adds `tiles` and `sum_taps` from the ``first`` to before the ``last`` once more, so many bytes further on in
        each array: writing them anew for each image of a batch takes ten times as long."""
        for row in self._rows[first:last]:
            again = row.copy()
            for array, at in _PLACES_OF_ARRAYS:
                again[at] += moved[row[array]]
            self._rows.append(again)

    def _kept(self, numbers: tuple[Any, ...]) -> int:
        """The address of numbers that steps refer to."""
        found = self._segments.get(numbers)
        if found is None:
            array = np.array(numbers, np.int64)
            found = self._segments[numbers] = array, address_of(array)
        return found[1]

    def _kept_segments(self, segments: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        """The address of segments, and the sum of their distances in the right array.

        Many steps have the same tuple, which may be long.
        """
        found = self._read_after.get(id(segments))
        if found is None:
            distances = sum(after for _, after in segments)
            found = self._read_after[id(segments)] = segments, self._kept(segments), distances
        return found[1:]

    def run(self, arrays: Sequence[int]) -> None:
        """Runs all steps; ``arrays`` are the addresses of those from `IMAGE` to `OUT`."""
        self._end()
        start = address_of(self._table)
        run_calls(
            [
                (self._code.walk, _pack_call(start + first * _STEP_BYTES, last - first, *arrays))
                for first, last in itertools.pairwise(self._ends)
            ]
        )

    def in_one_call(self) -> tuple[int, int, int, list[Array]] | None:
        """The function that runs all steps, the beginning of its table (where they are, and how many), to be followed by
        the arrays' addresses, and what must be kept; ``None`` where there are several pieces."""
        self._end()
        if len(self._ends) > 2:
            return None
        return (
            self._code.walk,
            address_of(self._table),
            len(self._rows),
            [self._table, *(array for array, _ in self._segments.values())],
        )

    def _end(self) -> None:
        if self._table is None:
            self.end_piece()
            self._table = np.array(self._rows, np.int64)
            self._read_after.clear()  # keeps tuples alive for their identity


# ---- the text ---------------------------------------------------------------------------------


def source(isa: Isa) -> str:
    """``walk``, whose argument is a call's table."""
    w = Writer("void @walk(ptr %table)")
    _Walk(w, isa).write()
    return module(w)


class _Walk:
    """Writes the loop over the steps of a call, and what each kind of step does."""

    def __init__(self, w: Writer, isa: Isa) -> None:
        self.w, self.isa = w, isa
        self.arrays = self.step = ""

    def write(self) -> None:
        w = self.w
        steps, count = self._load("%table", 0), self._load("%table", 1)
        self.arrays = w.element("i64", "%table", 2)

        def one(number: str) -> int:
            self.step = w.pointer(w.at(steps, (number, _STEP_BYTES)))
            w.switch(
                self._field("kind"),
                {
                    _TILES: self._tiles,
                    _PAD: self._pad,
                    _PACK_ROWS: lambda: self._pack(PACK_ROWS),
                    _PACK_TRANSPOSED: lambda: self._pack(PACK_TRANSPOSED),
                    _SUM_TAPS: self._sums,
                },
            )
            return 1

        w.loop(count, one)
        w.leave()

    def _load(self, base: str, index: str | int) -> str:
        return self.w.load("i64", self.w.element("i64", base, index))

    def _field(self, name: str) -> str:
        return self._load(self.step, _FIELDS.index(name))

    def _place(self, array: str | int, name: str) -> str:
        """Where a step begins in an array."""
        return self.w.op("add", self._load(self.arrays, array), self._field(name))

    def _axes(self) -> list[list[str]]:
        names = ("length", "left_by", "out_by")
        return [[self._field(f"{name}{axis}") for name in names] for axis in range(_AXES)]

    def _along(
        self, axes: list[list[str]], left: str, out: str, body: Callable[[str, str], None]
    ) -> None:
        """Runs ``body(left, out)`` at all places of these axes."""
        if not axes:
            body(left, out)
            return
        w, (length, left_by, out_by) = self.w, axes[0]

        def inside(i: str) -> int:
            self._along(axes[1:], w.at(left, (i, left_by)), w.at(out, (i, out_by)), body)
            return 1

        w.loop(length, inside)

    def _tiles(self) -> None:
        w = self.w
        left = self._place(self._field("from_array"), "from")
        right = self._place(self._field("right_array"), "right")
        out = self._place(self._field("to_array"), "to")
        tile = w.pointer(self._field("tile"))
        own = w.element("i64", self.step, _FIELDS.index(TILE_FIELDS[0]))

        def multiply(left: str, out: str) -> None:
            call_tile(w, self.isa, tile, left, right, out, own)

        self._along(self._axes(), left, out, multiply)

    def _sums(self) -> None:
        *outer, inner = self._axes()
        function = function_at(self.w, SUM_TAPS)
        rest = [self._field(name) for name in ("count", "segments", "num_segments")]

        def add(left: str, out: str) -> None:
            numbers = (left, out, *inner, *rest)
            self.w.call(function, *[("i64", x) for x in numbers])

        left = self._place(self._field("from_array"), "from")
        self._along(outer, left, self._place(self._field("to_array"), "to"), add)

    def _pad(self) -> None:
        w = self.w
        start, target = self._place(IMAGE, "from"), self._place(PADDED, "to")
        line, wide, before = map(self._field, ("left_by0", "out_by0", "length1"))
        after = w.op("sub", w.op("sub", wide, line), before)

        def zeros(at: str, size: str) -> None:
            operands = (("ptr", w.pointer(at)), ("i8", 0), ("i64", size), ("i1", "false"))
            w.call("@llvm.memset.p0.i64", *operands)

        def row(i: str) -> int:
            to = w.at(target, (i, wide))
            inside = w.op("add", to, before)
            zeros(to, before)
            places = ("ptr", w.pointer(inside)), ("ptr", w.pointer(w.at(start, (i, line))))
            w.call("@llvm.memcpy.p0.p0.i64", *places, ("i64", line), ("i1", "false"))
            zeros(w.op("add", inside, line), after)
            return 1

        w.loop(self._field("length0"), row)

    def _pack(self, function: int) -> None:
        names = ("length0", "left_by0", "out_by0", "length1", "left_by1")
        numbers = [self._place(FILTERS, "from"), self._place(RIGHT, "to"), *map(self._field, names)]
        self.w.call(function_at(self.w, function), *[("i64", x) for x in numbers])
