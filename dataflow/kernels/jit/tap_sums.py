"""Sums of what the taps of a window gave, in machine code: see `direct_few_outputs`."""

from __future__ import annotations

from dataflow.kernels.jit.isa import NUMBER_BYTES
from dataflow.kernels.jit.llvm_builder import Writer

#: Places whose sums run beside each other.
_PLACES = 4
#: The arguments: addresses, the places and the bytes from one to the next (read, written), the outputs of a
#: place, and the distances of the taps' numbers.
_ARGUMENTS = (
    *("i64 %from", "i64 %to", "i64 %places", "i64 %left_by", "i64 %out_by"),
    *("i64 %outputs", "i64 %distances", "i64 %taps"),
)


def sum_taps(name: str) -> Writer:
    """At each place and for each output, the sum of the numbers that lie ``distances`` after the first one."""
    w = Writer(f"internal void @{name}({', '.join(_ARGUMENTS)}) noinline")
    distances, last = w.pointer("%distances"), w.op("sub", "%places", 1)

    def block(first: str) -> int:
        # After the last place that one is computed again.
        places = [w.least(w.op("add", first, i), last) for i in range(_PLACES)]

        def output(j: str) -> int:
            starts = [w.at("%from", (i, "%left_by"), (j, NUMBER_BYTES)) for i in places]

            def add(tap: str, totals: list[str]) -> tuple[int, list[str]]:
                distance = w.load("i64", w.element("i64", distances, tap))
                values = [w.load("float", w.pointer(w.op("add", x, distance))) for x in starts]
                return 1, [
                    w.put(f"fadd float {total}, {value}")
                    for total, value in zip(totals, values, strict=True)
                ]

            totals = w.carry("%taps", [("float", "0.0")] * len(places), add)
            for i, total in zip(places, totals, strict=True):
                to = w.at("%to", (i, "%out_by"), (j, NUMBER_BYTES))
                w.store("float", total, w.pointer(to))
            return 1

        w.loop("%outputs", output)
        return _PLACES

    w.loop("%places", block)
    w.leave()
    return w
