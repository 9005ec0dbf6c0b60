"""The tile of `microkernel` in LLVM's own instructions, for any processor with vectors.

It serves NEON, whose registers are as many as the tile needs: the compiled loop keeps all results in
them (`tests/kernels/jit/test_microkernel.py` looks for spills). Where only part of the last vector is
in use, a second loop reads and writes under a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dataflow.kernels.jit.isa import NUMBER_BYTES, TILE_FIELDS, Isa
from dataflow.kernels.jit.llvm_builder import Writer, mask_of


def write(w: Writer, isa: Isa, rows: int, vectors: int) -> None:
    """Writes the body of a tile's function."""
    field = w.fields("%table", TILE_FIELDS)
    mask = mask_of(w, isa.lanes, field["mask"])
    w.branch(w.compare("eq", field["mask"], isa.all_lanes), "whole", "partial")
    w.begin("whole")
    _Body(w, isa, rows, vectors, field, "").write()
    w.begin("partial")
    _Body(w, isa, rows, vectors, field, mask).write()


class _Body:
    """The loops over segments and steps, and the stores."""

    def __init__(
        self, w: Writer, isa: Isa, rows: int, vectors: int, field: dict[str, str], mask: str
    ) -> None:
        self.w, self.isa, self.rows, self.vectors = w, isa, rows, vectors
        self.field, self.mask = field, mask

    def _mask_of(self, v: int) -> str:
        return self.mask if v == self.vectors - 1 else ""

    def _place(self, address: str, v: int) -> str:
        return self.w.pointer(self.w.op("add", address, v * self.isa.vector_bytes))

    def _load(self, address: str, v: int) -> str:
        place = self._place(address, v)
        return self.w.load(self.isa.vector, place, NUMBER_BYTES, self._mask_of(v))

    def _store(self, value: str, address: str, v: int) -> None:
        place = self._place(address, v)
        self.w.store(self.isa.vector, value, place, NUMBER_BYTES, self._mask_of(v))

    def write(self) -> None:
        w, field = self.w, self.field
        kinds = ["i64", "i64", "i64", *[self.isa.vector] * (self.rows * self.vectors)]
        zeros = ["zeroinitializer"] * (self.rows * self.vectors)

        def repeat(
            limit: str, first: list[str], body: Callable[[list[str]], list[str]]
        ) -> list[str]:
            """The values after ``limit`` times, at least once; the first of them counts."""
            head, end, before = w.name("head"), w.name("end"), w.block
            w.enter(head)
            values = [w.phi(k, x, before) for k, x in zip(kinds, ["0", *first], strict=True)]
            following = body(values)
            count = w.op("add", values[0], 1)
            for phi, x in zip(values, [count, *following], strict=True):
                w.arrive(phi, x)
            w.branch(w.compare("slt", count, limit), head, end)
            w.begin(end)
            return following

        def segment(outer: list[str]) -> list[str]:
            left, right, *sums = repeat(field["count"], outer[1:], self._step)
            distances = w.pointer(w.at(field["segments"], (outer[0], 16)))
            left = w.op("add", left, w.load("i64", distances))
            right = w.op("add", right, w.load("i64", w.element("i64", distances, 1)))
            return [left, right, *sums]

        _, _, *sums = repeat(field["num_segments"], ["%left", "%right", *zeros], segment)
        added, stored = w.name("added"), w.name("stored")
        w.branch(w.compare("ne", field["adds"], 0), added, stored)
        w.begin(added)
        for i, v, row in self._places():
            both = f"{sums[i]}, {self._load(row, v)}"
            self._store(w.put(f"fadd {self.isa.vector} {both}"), row, v)
        w.leave()
        w.begin(stored)
        for i, v, row in self._places():
            self._store(sums[i], row, v)
        w.leave()

    def _places(self) -> Iterator[tuple[int, int, str]]:
        """(number of a result, its vector, the address of its row) for all results."""
        row = "%out"
        for i in range(self.rows):
            for v in range(self.vectors):
                yield i * self.vectors + v, v, row
            row = self.w.op("add", row, self.field["out_row"])

    def _step(self, values: list[str]) -> list[str]:
        w, isa = self.w, self.isa
        _, left, right, *sums = values
        vectors = [self._load(right, v) for v in range(self.vectors)]
        row, found = left, []
        for i in range(self.rows):
            number = w.spread(isa.lanes, "float", w.load("float", w.pointer(row)))
            for v, x in enumerate(vectors):
                found.append(w.intrinsic("fma", isa.vector, x, number, sums[i * self.vectors + v]))
            row = w.op("add", row, self.field["row"])
        left, right = (
            w.op("add", left, self.field["step"]),
            w.op("add", right, self.field["right_step"]),
        )
        return [left, right, *found]
