"""The functions that products and convolutions call: tiles (`microkernel`), and the packing of panels (`packing`).

They are most of the text of either, and take LLVM longer than all the rest of a first step: so each is compiled
once, when something needs its group, and others find it in a table of addresses.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import numpy as np

from dataflow.kernels.jit.compiler import QUICKLY, WELL, address_of, compile_source, made_twice
from dataflow.kernels.jit.isa import NEON, Isa
from dataflow.kernels.jit.llvm_builder import Assembly, Writer, module
from dataflow.kernels.jit.microkernel import tile_name, tiles_of_sizes
from dataflow.kernels.jit.packing import pack_rows, pack_strips, pack_transposed
from dataflow.kernels.jit.tap_sums import sum_taps

#: What texts call the table.
_SYMBOL = "dataflow_shared_functions"
#: Places in it: of the packs, of sums of taps, and of a tile (`tile_place`), by the widest that there may be and more
#: than any has rows.
PACK_ROWS, PACK_TRANSPOSED, PACK_LEFT, SUM_TAPS = range(4)
_WIDEST, TALLER = 4, 16
#: Groups of functions, beside those of the tiles of a width, which is their number of vectors.
PACKS, TAPS = "packs", "taps"
Group = str | int


def tile_place(rows: int, vectors: int) -> int:
    """The place of a tile in the table."""
    return vectors * TALLER + rows


def function_at(w: Writer, place: str | int) -> str:
    """The address at a place of the table."""
    w.external(_SYMBOL)
    return w.load("ptr", w.element("ptr", f"@{_SYMBOL}", place))


def groups_of(isa: Isa) -> list[Group]:
    """All groups."""
    return [PACKS, TAPS, *range(1, isa.most_vectors + 1)]


def source(isa: Isa, *groups: Group) -> str:
    """The functions of some groups (of all, if none is given), and ``where``, which writes their addresses into the
    table."""
    where = Writer("void @where(i64 %to)")
    parts: list[Writer | Assembly] = []
    for group in groups or groups_of(isa):
        places, functions = _functions(isa, group)
        parts += functions
        for place, name in places.items():
            where.store("ptr", name, where.pointer(where.op("add", "%to", 8 * place)))
    where.leave()
    return module(where, *parts)


def _functions(isa: Isa, group: Group) -> tuple[dict[int, str], list[Writer | Assembly]]:
    """A group's functions, and the name of each by place."""
    if group == PACKS:
        return (
            {
                PACK_ROWS: "@pack_rows",
                PACK_TRANSPOSED: "@pack_transposed",
                PACK_LEFT: "@pack_left",
            },
            [
                pack_rows(isa, "pack_rows"),
                pack_transposed(isa, "pack_transposed"),
                pack_strips(isa, "pack_left"),
            ],
        )
    if group == TAPS:
        return {SUM_TAPS: "@sum_taps"}, [sum_taps("sum_taps")]
    sizes = [size for size in isa.sizes if size[1] == group]
    return {tile_place(*size): tile_name(isa, *size) for size in sizes}, tiles_of_sizes(isa, sizes)


#: Machine code refers to them as long as the process lives; one for each processor, and more in tests.
_tables: list[tuple[Isa, np.ndarray]] = []


@functools.cache
def table(isa: Isa) -> np.ndarray:
    """The addresses by place; 0 where no function has been needed yet."""
    found = np.zeros(_WIDEST * TALLER, np.int64)
    _tables.append((isa, found))
    return found


class _Filled:
    """A group of functions in the table."""

    def __init__(self, isa: Isa, addresses: Sequence[int]) -> None:
        self._isa = isa
        self.use(addresses)

    def use(self, addresses: Sequence[int]) -> None:
        """Writes the addresses that ``where``, which lies here, knows into the table."""
        for isa, to in _tables:
            if isa == self._isa:
                ctypes.CFUNCTYPE(None, ctypes.c_int64)(addresses[0])(address_of(to))


@functools.cache
def need(isa: Isa, group: Group) -> None:
    """Has the functions of a group in the table: compiles them now, as `compile_source`."""
    table(isa)
    text = source(isa, group)
    if group == PACKS:
        packs = "pack_rows", "pack_transposed", "pack_left"
        made_twice(text, ("where",), functools.partial(_Filled, isa), counted=packs)
        return
    # On x86-64 tiles are in the processor's language.
    level = WELL if group == TAPS or isa is NEON else QUICKLY
    _Filled(isa, compile_source(text, "where", level=level))


def tile_address(isa: Isa, rows: int, vectors: int) -> int:
    """Where a tile's function lies; compiles it now."""
    need(isa, vectors)
    return int(table(isa)[tile_place(rows, vectors)])


def compile_with(isa: Isa, text: str, *names: str) -> list[int]:
    """The addresses of the functions of a text that uses `function_at`; tiles and sums of taps are to be `need`ed before
    they are called. The text itself mostly calls them."""
    need(isa, PACKS)
    return compile_source(text, *names, data={_SYMBOL: address_of(table(isa))}, level=QUICKLY)
