"""Packing of panels for matrix products, in machine code.

A panel is the right matrix as `microkernel` reads it: row by row, as many vectors wide as a tile.
"""

from __future__ import annotations

import functools

from dataflow.kernels.jit.isa import BLOCK, NUMBER_BYTES, Isa
from dataflow.kernels.jit.llvm_builder import Writer, mask_of, vector_of, vector_type

#: Lines of a left matrix that are read together: they may all lie in one set of the L1 cache, which has eight places
#: or more. The next ones are prefetched meanwhile: the hardware does not foresee where they begin.
_LINES_TOGETHER = 8
CACHE_LINE, RATE_BITS = 64, 20


def _function(name: str) -> Writer:
    """``last``: columns in the last of ``vectors``, ``mask``: its bits; ``stride``: in bytes."""
    numbers = ", ".join(f"i64 %{x}" for x in ("from", "to", "steps", "vectors", "last", "mask"))
    return Writer(f"internal void @{name}({numbers}, i64 %stride) noinline")


def _prefetch(w: Writer, address: str) -> None:
    """Prefetches a cache line into L2; it may lie beyond the array."""
    how = (("i32", 0), ("i32", 2), ("i32", 1))
    w.call("@llvm.prefetch.p0", ("ptr", w.pointer(address)), *how)


def prefetch_part(name: str) -> Writer:
    """Prefetches a part of a matrix: some of its ``lines``, which are ``stride`` apart.

    ``rate``: how many lines belong to a number, times 2 to the `RATE_BITS`; those of the numbers from ``first`` to
    ``last`` are prefetched.
    """
    names = ("from", "lines", "bytes", "stride", "rate", "first", "last")
    w = Writer(f"internal void @{name}({', '.join(f'i64 %{x}' for x in names)}) noinline")
    first, last = (
        w.least(w.op("lshr", w.op("mul", "%rate", x), RATE_BITS), "%lines")
        for x in ("%first", "%last")
    )

    def line(number: str) -> int:
        start = w.at("%from", (w.op("add", first, number), "%stride"))

        def piece(at: str) -> int:
            _prefetch(w, w.op("add", start, at))
            return CACHE_LINE

        w.loop("%bytes", piece)
        return 1

    w.loop(w.op("sub", last, first), line)
    w.leave()
    return w


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


def pack_strips(isa: Isa, name: str) -> Writer:
    """Copies a part of a transposed left matrix, in strips: the rows of a tile, which lie step after step.

    ``steps`` lines of ``rows`` numbers are read, ``stride`` bytes apart. Strips have at most ``most`` rows, and
    are about equally high, as tiles are; after each is room for `BLOCK` steps more.
    """
    numbers = ", ".join(f"i64 %{x}" for x in ("from", "to", "steps", "rows", "stride", "most"))
    w, lanes = Writer(f"internal void @{name}({numbers}) noinline"), isa.lanes
    strips = w.quotient_up("%rows", "%most")
    least, higher = w.op("udiv", "%rows", strips), w.op("urem", "%rows", strips)
    number = w.room("i64")

    def lines(first: str) -> int:
        """Some lines, which stay in the L1 cache while all strips take their part of them."""
        count = w.least(w.op("sub", "%steps", first), _LINES_TOGETHER)
        w.store("i64", 0, number)

        def strip(row: str) -> str:
            i = w.load("i64", number)
            w.store("i64", w.op("add", i, 1), number)
            here = w.op("add", least, w.put(f"zext i1 {w.compare('ult', i, higher)} to i64"))
            before_last = w.op("and", w.op("sub", here, 1), -lanes)
            unused = w.op("sub", lanes, w.op("sub", here, before_last))
            mask = mask_of(w, lanes, w.op("lshr", isa.all_lanes, unused))
            step_bytes = w.op("mul", here, NUMBER_BYTES)
            place = w.op("mul", row, w.op("add", "%steps", BLOCK))
            start = w.at("%from", (first, "%stride"), (row, NUMBER_BYTES))
            target = w.at("%to", (place, NUMBER_BYTES), (first, step_bytes))

            def line(step: str) -> int:
                there, to = w.at(start, (step, "%stride")), w.at(target, (step, step_bytes))
                _prefetch(w, w.at(there, ("%stride", _LINES_TOGETHER)))

                def copy(at: str, chosen: str = "") -> int:
                    numbers, place = (w.pointer(w.at(x, (at, NUMBER_BYTES))) for x in (there, to))
                    vector = w.load(isa.vector, numbers, NUMBER_BYTES, chosen)
                    # What is written too much is written over by the next step.
                    w.store(isa.vector, vector, place, NUMBER_BYTES)
                    return lanes

                w.loop(before_last, copy)
                copy(before_last, mask)
                return 1

            w.loop(count, line)
            return here

        w.loop("%rows", strip)
        return _LINES_TOGETHER

    w.loop("%steps", lines)
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
    """The transpose of as many vectors as each has numbers: swaps single numbers, then groups of 2, 4, ...

    Each is a block: within one, LLVM tries to join each swap with those before it, which took 8 ms for 16 numbers.
    """
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
        w.enter(w.name("swapped"))
    return lines
