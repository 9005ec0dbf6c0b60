"""The innermost loop of sums of products: tiles of results in registers.

A tile of ``rows`` times ``vectors`` results stays in registers while a sum runs: each step loads the
vectors of a row of the right matrix and multiplies them by one number from each row of the left
one. Given the same loop for x86-64, LLVM hoists the loads of the left numbers and spills results to memory;
written by hand (`microkernel_x86`), it can use all registers. NEON's loop is LLVM's (`microkernel_portable`).

A sum consists of segments of equal length; between segments the addresses in both matrices advance
by given distances. Matrix products have one segment, convolutions one for each line of a window.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.kernels.jit import microkernel_portable, microkernel_x86
from dataflow.kernels.jit.isa import NEON, Isa
from dataflow.kernels.jit.llvm_builder import Assembly, Writer

#: The arguments of a tile's function: addresses of the left rows, the right ones and the output, and of
#: the table of `isa.TILE_FIELDS`.
_KINDS = ("i64", "i64", "i64", "ptr")
_ARGUMENTS = "(i64 %left, i64 %right, i64 %out, ptr %table)"


def tiles_of_sizes(isa: Isa, sizes: Sequence[tuple[int, int]]) -> list[Writer | Assembly]:
    """The functions of tiles of these sizes, (rows, vectors)."""
    return [_tile(isa, rows, vectors) for rows, vectors in sizes]


def tile_name(isa: Isa, rows: int, vectors: int) -> str:
    """The name of a tile's function in LLVM's assembly language."""
    name = f"tile{rows}x{vectors}"
    return f"@{name}" if isa is NEON else f'@"\\01{name}"'  # as it is, on every system


def call_tile(w: Writer, isa: Isa, tile: str, *operands: str) -> None:
    """Calls a tile's function, given by its name or address, on its arguments."""
    convention = "" if isa is NEON else microkernel_x86.CONVENTION
    w.call(tile, *zip(_KINDS, operands, strict=True), convention=convention)


def _tile(isa: Isa, rows: int, vectors: int) -> Writer | Assembly:
    name = tile_name(isa, rows, vectors)
    if isa is not NEON:
        declared = f"declare {microkernel_x86.CONVENTION} void {name}({', '.join(_KINDS)})"
        return Assembly(f"tile{rows}x{vectors}", declared, microkernel_x86.tile(isa, rows, vectors))
    w = Writer(f"internal void {name}{_ARGUMENTS} noinline")
    microkernel_portable.write(w, isa, rows, vectors)
    return w
