"""The functions that products and convolutions call: tiles (`microkernel`), and the packing of panels (`packing`).

They are most of the text of either, and take LLVM longer than all the rest of a first step: so they are one module,
compiled once, and others find them in a table of addresses.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from dataflow.kernels.jit.compiler import address_of, compile_source
from dataflow.kernels.jit.isa import Isa
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.microkernel import all_tiles, tile_name
from dataflow.kernels.jit.packing import pack_rows, pack_transposed

#: What texts call the table.
_SYMBOL = "dataflow_shared_functions"
#: Places in it: of the packs, and of a tile (`tile_place`), by the widest that there may be and more than any has rows.
PACK_ROWS, PACK_TRANSPOSED = range(2)
_WIDEST, TALLER = 4, 16


def tile_place(rows: int, vectors: int) -> int:
    """The place of a tile in the table."""
    return vectors * TALLER + rows


def function_at(w: Writer, place: str | int) -> str:
    """The address at a place of the table."""
    w.external(_SYMBOL)
    return w.load("ptr", w.element("ptr", f"@{_SYMBOL}", place))


def source(isa: Isa) -> str:
    """The functions, and ``where``, which writes their addresses into the table."""
    where = Writer("void @where(i64 %to)")
    found = {PACK_ROWS: "@pack_rows", PACK_TRANSPOSED: "@pack_transposed"}
    found |= {tile_place(*size): tile_name(isa, *size) for size in isa.sizes}
    for place, name in found.items():
        where.store("ptr", name, where.pointer(where.op("add", "%to", 8 * place)))
    where.leave()
    packs = pack_rows(isa, "pack_rows"), pack_transposed(isa, "pack_transposed")
    return module(where, *all_tiles(isa), *packs)


#: Machine code refers to them as long as the process lives.
_tables: list[np.ndarray] = []


@functools.cache
def table(isa: Isa) -> np.ndarray:
    """The addresses by place; 0 where there is no function. Compiles now, as `compile_source`."""
    found = np.zeros(_WIDEST * TALLER, np.int64)
    (where,) = compile_source(source(isa), "where")
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(where)(address_of(found))
    _tables.append(found)
    return found


def compile_with(isa: Isa, text: str, *names: str) -> list[int]:
    """The addresses of the functions of a text that uses `function_at`."""
    return compile_source(text, *names, data={_SYMBOL: address_of(table(isa))})
