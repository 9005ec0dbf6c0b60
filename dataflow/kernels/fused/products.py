"""Products of small tiles in machine code, for convolutions: no copy of the input is made.

A tile of ``rows`` times ``vectors`` results stays in registers while a sum runs over up to three
nested axes: for each step the row's number from the left array is multiplied with vectors of the
right one. Nothing is packed or expanded; where the next number lies is a matter of strides, so the
same code makes convolutions, their gradients, and plain products. Tiles follow each other along up
to four outer axes.

It needs 32 vector registers of 512 bits (AVX-512): with fewer, BLAS's own kernels are better.
Measured on one core of such a machine (peak 262 GFLOP/s), convolution 5 x 5, 32 to 64 channels,
batch 50: 4.9 ms by BLAS over expanded rows, 3.6 ms here.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dataflow.kernels.fused.native import Lazy, compile_source

#: Numbers in a vector.
LANES = 16
_LANE_BYTES = 4
_VECTOR_BYTES = LANES * _LANE_BYTES
#: Registers for results. LLVM moves the numbers of the left array ahead of their use, so some of
#: the 32 must be free: with 24 and more results half of the speed is lost, with 21 it is 250 GFLOP/s.
_TILE_REGISTERS = 21
_MAX_VECTORS = 4
OUTER, SUMMED = 4, 3


class Tile(NamedTuple):
    """What is fixed when a product is compiled; strides are in bytes, numbers are float32.

    ``left_stride`` and ``out_stride`` lead from a row of the tile to the next; ``left_step`` and
    ``right_step`` from a number of the innermost sum to the next. With ``adds`` the sums are added
    to what the output holds.
    """

    rows: int
    vectors: int
    left_stride: int
    out_stride: int
    left_step: int
    right_step: int
    adds: bool


class Axis(NamedTuple):
    """An axis outside of the tile: its length, and its strides in bytes."""

    length: int
    left: int = 0
    right: int = 0
    out: int = 0


ProductFunction = Callable[[int, int, int, Sequence[Axis], Sequence[Axis]], None]


@functools.cache
def is_available() -> bool:
    """True on a processor with AVX-512, with llvmlite installed; loads llvmlite."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return False
    return bool(llvm.get_host_cpu_features().get("avx512f"))


@functools.cache
def product(tile: Tile) -> Lazy[ProductFunction]:
    """The one `Lazy` of a tile's function."""
    return Lazy(functools.partial(compile_product, tile))


def compile_product(tile: Tile) -> ProductFunction:
    """Compiles at once. Raises `ImportError` where `is_available` is false."""
    if not is_available():
        raise ImportError("llvmlite is not installed, or the processor has no AVX-512")
    code = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(*compile_source(source(tile), "loop"))
    pack = struct.Struct("q" * (3 + 4 * OUTER + 3 * SUMMED)).pack

    def run(left: int, right: int, out: int, outer: Sequence[Axis], summed: Sequence[Axis]) -> None:
        """``outer`` and ``summed`` from the outermost axis in; all lengths are at least 1.

        The last of ``summed`` has the tile's own steps.
        """
        table = [left, right, out]
        for axis in [Axis(1)] * (OUTER - len(outer)) + [*outer]:
            table += axis
        for axis in [Axis(1)] * (SUMMED - len(summed)) + [*summed]:
            table += axis[:3]
        code(pack(*table))

    return run


def split_rows(rows: int, vectors: int) -> list[tuple[int, int]]:
    """(rows of a tile, number of such tiles), one or two, that together have ``rows`` rows."""
    most = _TILE_REGISTERS // vectors
    tiles = -(-rows // most)
    each = -(-rows // tiles)
    whole, rest = divmod(rows, each)
    return [(each, whole)] + ([(rest, 1)] if rest else [])


def vectors_of(columns: int) -> int | None:
    """Vectors in a tile for so many columns; ``None`` where they do not divide into vectors."""
    whole, rest = divmod(columns, LANES)
    if rest or not whole:
        return None
    return max(v for v in range(1, _MAX_VECTORS + 1) if whole % v == 0)


def source(tile: Tile) -> str:
    """The function in LLVM's assembly language; its one argument is the table of 64-bit numbers."""
    vector = f"<{LANES} x float>"
    lines = ["define void @loop(ptr %table) {", "entry:"]
    place = 0

    def field(name: str, kind: str = "i64") -> None:
        nonlocal place
        lines.append(f"  %{name}.at = getelementptr i64, ptr %table, i64 {place}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
        place += 1

    for name in ("left", "right", "out"):
        field(name, "ptr")
    for o in range(OUTER):
        for what in ("n", "l", "r", "o"):
            field(f"{what}{o}")
    for k in range(SUMMED):
        for what in ("count", "a", "b"):
            field(f"{what}{k}")
    pointers = ("left", "right", "out")
    before = "entry"
    for o in range(OUTER):
        lines += [f"  br label %outer{o}", f"outer{o}:"]
        lines.append(f"  %i{o} = phi i64 [0, %{before}], [%i{o}.next, %end{o}]")
        for name in pointers:
            start = f"%{name}" if o == 0 else f"%{name}.p{o - 1}"
            lines.append(f"  %{name}.p{o} = phi ptr [{start}, %{before}], [%{name}.q{o}, %end{o}]")
        before = f"outer{o}"
    last = OUTER - 1
    sums = [(i, v) for i in range(tile.rows) for v in range(tile.vectors)]
    steps = (("a", tile.left_step), ("b", tile.right_step))
    lines += [
        # One loop for all sums: LLVM keeps the results of nested ones in memory. Where an axis
        # ends, the pointers are set to the next place of the axis around it.
        "  %count01 = mul i64 %count0, %count1",
        "  %total = mul i64 %count01, %count2",
    ]
    for short, by in steps:
        lines += [
            f"  %{short}2.run = mul i64 %count2, {by}",
            f"  %{short}1.turn = sub i64 %{short}1, %{short}2.run",
            f"  %{short}1.run = mul i64 %count1, %{short}1",
            f"  %{short}0.turn = sub i64 %{short}0, %{short}1.run",
        ]
    lines += ["  br label %sum", "sum:"]
    for counter in ("k", "k1", "k2"):
        lines.append(f"  %{counter} = phi i64 [0, %{before}], [%{counter}.next, %sum]")
    lines.append(f"  %a.p = phi ptr [%left.p{last}, %{before}], [%a.q, %sum]")
    lines.append(f"  %b.p = phi ptr [%right.p{last}, %{before}], [%b.q, %sum]")
    for i, v in sums:
        lines.append(
            f"  %c.{i}.{v} = phi {vector} [zeroinitializer, %{before}], [%t.{i}.{v}, %sum]"
        )
    for v in range(tile.vectors):
        lines.append(f"  %rightat{v} = getelementptr i8, ptr %b.p, i64 {v * _VECTOR_BYTES}")
        lines.append(f"  %right{v} = load {vector}, ptr %rightat{v}, align {_LANE_BYTES}")
    for i in range(tile.rows):
        lines.append(f"  %leftat{i} = getelementptr i8, ptr %a.p, i64 {i * tile.left_stride}")
        lines.append(f"  %one{i} = load float, ptr %leftat{i}, align {_LANE_BYTES}")
        lines.append(f"  %first{i} = insertelement {vector} poison, float %one{i}, i64 0")
        mask = f"<{LANES} x i32> zeroinitializer"
        lines.append(f"  %all{i} = shufflevector {vector} %first{i}, {vector} poison, {mask}")
        for v in range(tile.vectors):
            lines.append(
                f"  %t.{i}.{v} = call {vector} @llvm.fmuladd.v{LANES}f32({vector} %all{i}, "
                f"{vector} %right{v}, {vector} %c.{i}.{v})"
            )
    lines += [
        "  %k2.up = add i64 %k2, 1",
        "  %k2.ends = icmp eq i64 %k2.up, %count2",
        "  %k2.next = select i1 %k2.ends, i64 0, i64 %k2.up",
        "  %k2.carry = zext i1 %k2.ends to i64",
        "  %k1.up = add i64 %k1, %k2.carry",
        "  %k1.ends = icmp eq i64 %k1.up, %count1",
        "  %k1.next = select i1 %k1.ends, i64 0, i64 %k1.up",
    ]
    for short, by in steps:
        lines += [
            f"  %{short}1.here = select i1 %k2.ends, i64 %{short}1.turn, i64 0",
            f"  %{short}0.here = select i1 %k1.ends, i64 %{short}0.turn, i64 0",
            f"  %{short}.turn = add i64 %{short}1.here, %{short}0.here",
            f"  %{short}.by = add i64 %{short}.turn, {by}",
            f"  %{short}.q = getelementptr i8, ptr %{short}.p, i64 %{short}.by",
        ]
    lines += [
        "  %k.next = add i64 %k, 1",
        "  %k.more = icmp slt i64 %k.next, %total",
        "  br i1 %k.more, label %sum, label %store",
    ]
    lines.append("store:")
    for i, v in sums:
        offset = i * tile.out_stride + v * _VECTOR_BYTES
        lines.append(f"  %o{i}.{v}.at = getelementptr i8, ptr %out.p{last}, i64 {offset}")
        value = f"%t.{i}.{v}"
        if tile.adds:
            lines.append(f"  %old{i}.{v} = load {vector}, ptr %o{i}.{v}.at, align {_LANE_BYTES}")
            lines.append(f"  %new{i}.{v} = fadd {vector} %old{i}.{v}, {value}")
            value = f"%new{i}.{v}"
        lines.append(f"  store {vector} {value}, ptr %o{i}.{v}.at, align {_LANE_BYTES}")
    lines.append(f"  br label %end{last}")
    for o in reversed(range(OUTER)):
        after = f"end{o - 1}" if o else "done"
        lines.append(f"end{o}:")
        for name, stride in zip(pointers, "lro", strict=True):
            lines.append(f"  %{name}.q{o} = getelementptr i8, ptr %{name}.p{o}, i64 %{stride}{o}")
        lines += [
            f"  %i{o}.next = add i64 %i{o}, 1",
            f"  %i{o}.more = icmp slt i64 %i{o}.next, %n{o}",
            f"  br i1 %i{o}.more, label %outer{o}, label %{after}",
        ]
    signature = ", ".join([vector] * 3)
    lines += ["done:", "  ret void", "}"]
    lines.append(f"declare {vector} @llvm.fmuladd.v{LANES}f32({signature})")
    return "\n".join(lines) + "\n"
