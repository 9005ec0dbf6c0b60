"""Packing of panels for matrix products, in machine code.

A panel is the right matrix as `microkernel` reads it: row by row, as many vectors wide as a tile.
"""

from __future__ import annotations

import functools

from dataflow.kernels.jit.isa import NUMBER_BYTES, Isa
from dataflow.kernels.jit.llvm_builder import Writer, mask_of, vector_of, vector_type

#: How many lines ahead a part of a left matrix is prefetched: the hardware does not foresee where the next line of
#: its rows begins.
_LINES_AHEAD = 8


def _function(name: str) -> Writer:
    """``last``: columns in the last of ``vectors``, ``mask``: its bits; ``stride``: in bytes."""
    numbers = ", ".join(f"i64 %{x}" for x in ("from", "to", "steps", "vectors", "last", "mask"))
    return Writer(f"internal void @{name}({numbers}, i64 %stride) noinline")


def _prefetch(w: Writer, address: str) -> None:
    """Prefetches a cache line into L2; it may lie beyond the array."""
    how = (("i32", 0), ("i32", 2), ("i32", 1))
    w.call("@llvm.prefetch.p0", ("ptr", w.pointer(address)), *how)


def pack_rows(isa: Isa, name: str) -> Writer:
    """Copies rows of the right matrix, padded with zeros after the last column."""
    w, vector_bytes = _function(name), isa.vector_bytes
    mask = mask_of(w, isa.lanes, "%mask")
    every = vector_of("i1", ["true"] * isa.lanes)

    def copy(vectors: int) -> None:
        def row(step: str) -> int:
            start = w.at("%from", (step, "%stride"))
            target = w.at("%to", (step, vector_bytes * vectors))
            for v in range(vectors):
                here = w.op("add", start, vector_bytes * v)
                _prefetch(w, w.op("add", here, vector_bytes * vectors))
                chosen = mask if v == vectors - 1 else every
                vector = w.load(isa.vector, w.pointer(here), NUMBER_BYTES, chosen)
                to = w.pointer(w.op("add", target, vector_bytes * v))
                w.store(isa.vector, vector, to, vector_bytes)
            return 1

        w.loop("%steps", row)

    w.switch("%vectors", {v: functools.partial(copy, v) for v in range(1, isa.most_vectors + 1)})
    w.leave()
    return w


def copy_steps(isa: Isa, name: str, step_bytes: int) -> Writer:
    """Copies ``steps`` lines of ``rows`` numbers each, ``stride`` bytes apart, to lines ``step_bytes`` apart."""
    numbers = ", ".join(f"i64 %{x}" for x in ("from", "to", "steps", "rows", "stride"))
    w = Writer(f"internal void @{name}({numbers}) noinline")
    whole = w.op("and", "%rows", -isa.lanes)
    left = w.op("sub", "%rows", whole)
    mask = mask_of(w, isa.lanes, w.op("lshr", isa.all_lanes, w.op("sub", isa.lanes, left)))

    def line(step: str) -> int:
        start, target = w.at("%from", (step, "%stride")), w.at("%to", (step, step_bytes))

        def copy(row: str, chosen: str = "") -> int:
            here, to = (w.pointer(w.at(x, (row, NUMBER_BYTES))) for x in (start, target))
            _prefetch(w, w.at(start, (row, NUMBER_BYTES), ("%stride", _LINES_AHEAD)))
            w.store(isa.vector, w.load(isa.vector, here, NUMBER_BYTES, chosen), to, NUMBER_BYTES)
            return isa.lanes

        w.loop(whole, copy)

        def rest() -> None:
            copy(whole, mask)

        w.when(w.compare("ne", left, 0), rest)
        return 1

    w.loop("%steps", line)
    w.leave()
    return w


def pack_transposed(isa: Isa, name: str) -> Writer:
    """Packs a transposed matrix: transposes blocks of as many rows and columns as a vector has numbers.

    The last column is repeated as padding, and rows may be written after the last one, up to whole blocks.
    """
    w, lanes, vector_bytes = _function(name), isa.lanes, isa.vector_bytes
    kind = isa.vector
    row_bytes = w.op("mul", "%vectors", vector_bytes)
    columns = w.op("add", w.op("mul", w.op("sub", "%vectors", 1), lanes), "%last")

    def block(step: str) -> int:
        here = w.least(w.op("sub", "%steps", step), lanes)
        mask = mask_of(w, lanes, w.op("lshr", isa.all_lanes, w.op("sub", lanes, here)))
        start = w.at("%from", (step, NUMBER_BYTES))
        target = w.at("%to", (step, row_bytes))

        def vector(v: str) -> int:
            first = w.op("mul", v, lanes)
            last = w.op("sub", w.op("sub", columns, first), 1)
            corner = w.at(start, (first, "%stride"))
            starts = [w.at(corner, (w.least(str(i), last), "%stride")) for i in range(lanes)]
            lines = [w.load(kind, w.pointer(at), NUMBER_BYTES, mask) for at in starts]
            for at in starts:  # each on a page of its own, beyond the hardware prefetcher
                _prefetch(w, w.op("add", at, 2 * vector_bytes))
            to = w.at(target, (v, vector_bytes))
            for i, line in enumerate(_transposed(w, isa, lines)):
                w.store(kind, line, w.pointer(w.at(to, (str(i), row_bytes))), vector_bytes)
            return 1

        w.loop("%vectors", vector)
        return lanes

    w.loop("%steps", block)
    w.leave()
    return w


def _transposed(w: Writer, isa: Isa, rows: list[str]) -> list[str]:
    """The transpose of as many vectors as each has numbers: swaps single numbers, then groups of 2, 4, ..."""
    lines, lanes, kind = rows, isa.lanes, isa.vector
    for distance in (1 << i for i in range(lanes.bit_length() - 1)):
        following = list(lines)
        for i in range(lanes):
            if i & distance:
                continue
            low = [j if not j & distance else lanes + j - distance for j in range(lanes)]
            high = [j + distance if not j & distance else lanes + j for j in range(lanes)]
            for target, order in ((i, low), (i + distance, high)):
                following[target] = w.put(
                    f"shufflevector {kind} {lines[i]}, {kind} {lines[i + distance]}, "
                    f"{vector_type(lanes, 'i32')} {vector_of('i32', order)}"
                )
        lines = following
    return lines
