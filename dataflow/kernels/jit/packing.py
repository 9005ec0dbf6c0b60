"""Packing of panels for matrix products, in machine code.

A panel is the right matrix as `avx512_microkernel` reads it: row by row, up to three vectors wide.
"""

from __future__ import annotations

import functools

from dataflow.kernels.jit.avx512_microkernel import LANES, MOST_ROWS, NUMBER_BYTES, VECTOR_BYTES
from dataflow.kernels.jit.llvm_builder import Writer, vector_of, vector_type

ALL_LANES = (1 << LANES) - 1
_VECTOR = vector_type(LANES, "float")
_TRUTHS = vector_type(LANES, "i1")


def _function(name: str) -> Writer:
    """``last``: columns in the last of ``vectors``, ``mask``: its bits; ``stride``: in bytes."""
    numbers = ", ".join(f"i64 %{x}" for x in ("from", "to", "steps", "vectors", "last", "mask"))
    return Writer(f"internal void @{name}({numbers}, i64 %stride) noinline")


def _mask(w: Writer, bits: str) -> str:
    """A mask with an element for each of the lowest bits."""
    return w.put(f"bitcast i{LANES} {w.put(f'trunc i64 {bits} to i{LANES}')} to {_TRUTHS}")


def _prefetch(w: Writer, address: str) -> None:
    """Prefetches a cache line into L2; it may lie beyond the array."""
    how = (("i32", 0), ("i32", 2), ("i32", 1))
    w.call("@llvm.prefetch.p0", ("ptr", w.pointer(address)), *how)


def pack_rows(name: str) -> Writer:
    """Copies rows of the right matrix, padded with zeros after the last column."""
    w = _function(name)
    mask = _mask(w, "%mask")
    every = vector_of("i1", ["true"] * LANES)

    def copy(vectors: int) -> None:
        def row(step: str) -> int:
            start = w.at("%from", (step, "%stride"))
            target = w.at("%to", (step, VECTOR_BYTES * vectors))
            for v in range(vectors):
                here = w.op("add", start, VECTOR_BYTES * v)
                _prefetch(w, w.op("add", here, VECTOR_BYTES * vectors))
                chosen = mask if v == vectors - 1 else every
                vector = w.load(_VECTOR, w.pointer(here), NUMBER_BYTES, chosen)
                to = w.pointer(w.op("add", target, VECTOR_BYTES * v))
                w.store(_VECTOR, vector, to, VECTOR_BYTES)
            return 1

        w.loop("%steps", row)

    w.switch("%vectors", {v: functools.partial(copy, v) for v in MOST_ROWS})
    w.leave()
    return w


def pack_transposed(name: str) -> Writer:
    """Packs a transposed matrix: transposes blocks of 16 x 16 numbers.

    The last column is repeated as padding, and up to 15 rows may be written after the last one.
    """
    w = _function(name)
    row_bytes = w.op("mul", "%vectors", VECTOR_BYTES)
    columns = w.op("add", w.op("mul", w.op("sub", "%vectors", 1), LANES), "%last")

    def block(step: str) -> int:
        here = w.least(w.op("sub", "%steps", step), LANES)
        mask = _mask(w, w.op("lshr", ALL_LANES, w.op("sub", LANES, here)))
        start = w.at("%from", (step, NUMBER_BYTES))
        target = w.at("%to", (step, row_bytes))

        def vector(v: str) -> int:
            first = w.op("mul", v, LANES)
            last = w.op("sub", w.op("sub", columns, first), 1)
            corner = w.at(start, (first, "%stride"))
            starts = [w.at(corner, (w.least(str(i), last), "%stride")) for i in range(LANES)]
            lines = [w.load(_VECTOR, w.pointer(at), NUMBER_BYTES, mask) for at in starts]
            for at in starts:  # each on a page of its own, beyond the hardware prefetcher
                _prefetch(w, w.op("add", at, 2 * VECTOR_BYTES))
            to = w.at(target, (v, VECTOR_BYTES))
            for i, line in enumerate(_transposed(w, lines)):
                w.store(_VECTOR, line, w.pointer(w.at(to, (str(i), row_bytes))), VECTOR_BYTES)
            return 1

        w.loop("%vectors", vector)
        return LANES

    w.loop("%steps", block)
    w.leave()
    return w


def _transposed(w: Writer, lines: list[str]) -> list[str]:
    """The transpose of 16 vectors: swaps single numbers, then groups of 2, 4 and 8."""
    for distance in (1, 2, 4, 8):
        following = list(lines)
        for i in range(LANES):
            if i & distance:
                continue
            low = [j if not j & distance else LANES + j - distance for j in range(LANES)]
            high = [j + distance if not j & distance else LANES + j for j in range(LANES)]
            for target, order in ((i, low), (i + distance, high)):
                following[target] = w.put(
                    f"shufflevector {_VECTOR} {lines[i]}, {_VECTOR} {lines[i + distance]}, "
                    f"{vector_type(LANES, 'i32')} {vector_of('i32', order)}"
                )
        lines = following
    return lines
