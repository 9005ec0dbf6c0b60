"""Writes the sum or the maximum along a row of numbers in LLVM assembly.

The order of the additions depends on the row's length alone: four sums of vectors take turns, and are added
up in pairs at the end. `reduce` and regions of rows sum by this, so that fusing changes no bit. A maximum may pass
NaN over, which saves two instructions of three: sums of what depends on all numbers of the row show it.
"""

from __future__ import annotations

import math

from dataflow.kernels.jit.llvm_builder import Writer, number, vector_of, vector_type

#: Vectors that take turns: one would wait for each operation to end before the next begins.
_PARTS = 4


def write_row_reduction(
    w: Writer, element: str, lanes: int, align: int, maximum: bool, row: str, length: str
) -> str:
    """Writes the sum (or the maximum) of ``length`` numbers from ``row`` on; returns the name of the scalar."""
    kind = vector_type(lanes, element)
    neutral = vector_of(element, [number(-math.inf if maximum else 0.0)] * lanes)

    def combine(a: str, b: str) -> str:
        if not maximum:
            return w.put(f"fadd {kind} {a}, {b}")
        larger = w.put(f"fcmp ogt {kind} {a}, {b}")
        return w.put(f"select {vector_type(lanes, 'i1')} {larger}, {kind} {a}, {kind} {b}")

    together = lanes * _PARTS
    whole = w.op("and", length, -together)

    def several(i: str, parts: list[str]) -> tuple[int, list[str]]:
        places = [w.element(element, row, w.op("add", i, j * lanes)) for j in range(_PARTS)]
        loaded = [(part, w.load(kind, x, align)) for part, x in zip(parts, places, strict=True)]
        return together, [combine(part, here) for part, here in loaded]

    def single(i: str, rest: list[str]) -> tuple[int, list[str]]:
        """One of the last vectors; the very last with a mask for its elements."""
        left = w.spread(lanes, "i64", w.op("sub", length, i))
        every = vector_of("i64", range(lanes))
        mask = w.put(f"icmp slt {vector_type(lanes, 'i64')} {every}, {left}")
        here = w.load(kind, w.element(element, row, i), align, mask)
        if maximum:
            truths = vector_type(lanes, "i1")
            here = w.put(f"select {truths} {mask}, {kind} {here}, {kind} {neutral}")
        return lanes, [combine(rest[0], here)]

    parts = w.carry(whole, [(kind, neutral)] * _PARTS, several)
    (rest,) = w.carry(length, [(kind, neutral)], single, start=whole)
    pairs = [combine(*parts[:2]), combine(*parts[2:])]
    total = combine(combine(*pairs), rest)
    while lanes > 1:
        lanes //= 2
        before_kind, kind = kind, vector_type(lanes, element)
        total = combine(*_halves(w, before_kind, total, lanes))
    return w.put(f"extractelement {kind} {total}, i64 0")


def _halves(w: Writer, kind: str, vector: str, lanes: int) -> list[str]:
    """The first and the last ``lanes`` numbers of a vector of twice as many."""
    return [
        w.put(
            f"shufflevector {kind} {vector}, {kind} poison, "
            f"{vector_type(lanes, 'i32')} {vector_of('i32', range(start, start + lanes))}"
        )
        for start in (0, lanes)
    ]
