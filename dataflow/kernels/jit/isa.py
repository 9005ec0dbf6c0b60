"""Instruction sets: what machine code for sums of products must know of a processor.

Code for all of them adds a result's products in the same order, with the same fused operation: the
results have the same bits on every processor.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from dataflow.kernels.jit.llvm_builder import vector_type

NUMBER_BYTES = 4
#: Buffers begin at multiples of this, and packed rows and steps are counted in multiples of `BLOCK`: of
#: every processor's vectors.
ALIGNMENT, BLOCK = 64, 16
#: No tile has more columns.
MOST_COLUMNS = 48
#: The table of a tile, fields of 64 bits: the strides in bytes (left from row to row and from step to
#: step, right from step to step, output from row to row); a bit for each column of the last vector
#: that is read and stored; 1 where the sums are added to the output, else 0; the steps of a segment;
#: the address of the distances, two for each segment (left, right), which are added to the addresses
#: after it; the number of segments (at least 1); what the sums end with (`PLAIN`, `BIAS`, `RELU`); and
#: the distance of the biases, a number for each column, from the right address after the last segment.
TILE_FIELDS = (
    *("row", "step", "right_step", "out_row", "mask", "adds"),
    *("count", "segments", "num_segments", "ends", "bias_at"),
)
#: How sums end: as they are, with a bias added, with the rectifier of that. Not in NEON's code.
PLAIN, BIAS, RELU = range(3)


class Isa(NamedTuple):
    """An instruction set with vectors of float32."""

    name: str
    #: Numbers in a vector.
    lanes: int
    #: Vector registers.
    registers: int
    #: The most rows of a tile of one vector, of two, ...: results leave registers for the factors.
    most_rows: tuple[int, ...]
    #: Features that LLVM must report for the processor.
    features: tuple[str, ...]
    #: Matrix products of this many multiplications are left to BLAS. On x86 none is: OpenBLAS packs the left matrix
    #: again for each part that a thread gets (with AVX2 on two cores, 1024 x 1024 x 1024 takes 11.2 ms here, 14.1 in
    #: eight parts of OpenBLAS, 11.3 by its own threads, which then spin beside ours).
    blas_from: int

    @property
    def vector_bytes(self) -> int:
        return self.lanes * NUMBER_BYTES

    @property
    def vector(self) -> str:
        """LLVM's type of a vector."""
        return vector_type(self.lanes, "float")

    @property
    def most_vectors(self) -> int:
        """The most vectors of a tile."""
        return len(self.most_rows)

    @property
    def all_lanes(self) -> int:
        """The mask of a whole vector."""
        return (1 << self.lanes) - 1

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(rows, vectors) of all tiles."""
        return [
            (rows, vectors)
            for vectors, most in enumerate(self.most_rows, 1)
            for rows in range(1, most + 1)
        ]


AVX512 = Isa("avx512", 16, 32, (12, 12, 8), ("avx512f",), 1 << 62)
AVX2 = Isa("avx2", 8, 16, (12, 6), ("avx2", "fma"), 1 << 62)
NEON = Isa("neon", 4, 32, (12, 12, 8), ("neon",), 1 << 29)
#: The best first.
ISAS = (AVX512, AVX2, NEON)


@functools.cache
def host() -> Isa | None:
    """This processor's, if llvmlite is installed."""
    from dataflow.kernels.jit.target import target

    try:
        found = target().features
    except ImportError:
        return None
    for isa in ISAS:
        if all(found.get(feature) for feature in isa.features):
            return isa
    return None


def needed_isa() -> Isa:
    """`host`. Raises `ImportError` where there is none."""
    isa = host()
    if isa is None:
        names = ", ".join(x.name for x in ISAS)
        raise ImportError(f"llvmlite is not installed, or the processor has none of {names}")
    return isa
