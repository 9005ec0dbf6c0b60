"""Writes the sum along a row of numbers in LLVM assembly.

The order of the additions depends on the row's length alone: four sums of vectors take turns, and are added
up in pairs at the end. `reduce` and regions of rows sum by this, so that fusing changes no bit.
"""

from __future__ import annotations

from dataflow.kernels.jit.llvm_builder import Writer, vector_of, vector_type

#: Sums that take turns: one would wait for each addition to end before the next begins.
_PARTS = 4


def write_row_sum(w: Writer, element: str, lanes: int, align: int, row: str, length: str) -> str:
    """Writes the sum of ``length`` numbers from ``row`` on; returns the name of the scalar."""
    kind = vector_type(lanes, element)

    def add(a: str, b: str) -> str:
        return w.put(f"fadd {kind} {a}, {b}")

    together = lanes * _PARTS
    whole = w.op("and", length, -together)
    head, inside, end, before = *map(w.name, ("head", "inside", "end")), w.block
    w.enter(head)
    i = w.phi("i64", 0, before)
    parts = [w.phi(kind, "zeroinitializer", before) for _ in range(_PARTS)]
    w.branch(w.compare("slt", i, whole), inside, end)
    w.begin(inside)
    places = [w.element(element, row, w.op("add", i, j * lanes)) for j in range(_PARTS)]
    sums = [
        add(part, w.load(kind, place, align)) for part, place in zip(parts, places, strict=True)
    ]
    w.arrive(i, w.op("add", i, together))
    for part, total in zip(parts, sums, strict=True):
        w.arrive(part, total)
    w.jump(head)
    w.begin(end)

    # The rest, vector by vector; the last with a mask for its elements.
    head, inside, done, before = *map(w.name, ("head", "inside", "end")), w.block
    w.enter(head)
    i = w.phi("i64", whole, before)
    rest = w.phi(kind, "zeroinitializer", before)
    w.branch(w.compare("slt", i, length), inside, done)
    w.begin(inside)
    left = w.spread(lanes, "i64", w.op("sub", length, i))
    every = vector_of("i64", range(lanes))
    mask = w.put(f"icmp slt {vector_type(lanes, 'i64')} {every}, {left}")
    total = add(rest, w.load(kind, w.element(element, row, i), align, mask))
    w.arrive(i, w.op("add", i, lanes))
    w.arrive(rest, total)
    w.jump(head)
    w.begin(done)
    total = add(add(add(parts[0], parts[1]), add(parts[2], parts[3])), rest)

    while lanes > 1:
        lanes //= 2
        kind, before_kind = vector_type(lanes, element), kind
        halves = [
            w.put(
                f"shufflevector {before_kind} {total}, {before_kind} poison, "
                f"{vector_type(lanes, 'i32')} {vector_of('i32', range(start, start + lanes))}"
            )
            for start in (0, lanes)
        ]
        total = w.put(f"fadd {kind} {halves[0]}, {halves[1]}")
    return w.put(f"extractelement {kind} {total}, i64 0")
