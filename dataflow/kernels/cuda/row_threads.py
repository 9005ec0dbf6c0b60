"""How threads share rows on a GPU: what kernels that reduce along the last axis have in common.

A row is worked on by a few threads side by side, several rows by a block. Each thread keeps its numbers
of the row in registers; rows too long for that are read again from the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.cuda.source import THREADS

#: Numbers of a row that each of its threads takes, where the row is short; and at most.
_ITEMS, _MOST_ITEMS = 4, 16
#: The most numbers that a thread keeps of all arrays together, in registers of 32 bits.
_REGISTERS = 32
_MAX_BLOCKS = 1 << 16


class RowForm(NamedTuple):
    """Threads of a row (a power of two), of a block, and numbers that each thread keeps; 0 for none."""

    width: int
    threads: int
    items: int

    @property
    def bounds(self) -> str:
        """What the compiler has to know: threads of a block, and how many blocks share a processor.

        Registers for at least 1,024 threads at once, so that some compute while others wait for memory.
        """
        return f"__launch_bounds__({self.threads}, {max(1, 1024 // self.threads)})"

    @property
    def constants(self) -> dict[str, int]:
        """As macros of a source."""
        return {"THREADS": self.threads, "WIDTH": self.width, "ITEMS": self.items}

    def launch_shape(self, rows: int) -> tuple[tuple[int], tuple[int, int]]:
        """Grid and block for so many rows."""
        height = self.threads // self.width
        return (min(_MAX_BLOCKS, -(-rows // height)),), (self.width, height)


def row_form(length: int, dtype: Any, num_arrays: int = 1) -> RowForm:
    """How rows of so many numbers are worked on where ``num_arrays`` are kept."""
    words = np.dtype(dtype).itemsize // 4 or 1
    most_items = min(_MOST_ITEMS, max(1, _REGISTERS // (words * max(1, num_arrays))))
    wide = 1 << max(0, (length - 1) // _ITEMS).bit_length()
    if wide <= THREADS:
        items = -(-length // wide)
        return RowForm(wide, THREADS, items if items <= most_items else 0)
    most = 512 if words > 1 or num_arrays > 1 else 1024  # registers for all of them
    width = THREADS
    while width < most and length > width * most_items:
        width *= 2
    items = -(-length // width)
    return RowForm(width, width, items if items <= most_items else 0)


def fold_sums(names: Sequence[str]) -> str:
    """Adds up each variable over the row's threads, in ``part[k]`` of shared memory."""
    return fold(names, [f"{name} += {{}};" for name in names])


def fold(names: Sequence[str], steps: Sequence[str]) -> str:
    """As `fold_sums` where ``steps`` join a variable with another thread's, ``{}``.

    Thirty-two threads join what the others of their row have, and then each thread what these have:
    three barriers, whatever the width. The order is always the same.
    """
    stores = " ".join(f"part[{k}][at] = {name};" for k, name in enumerate(names))
    far = " ".join(s.format(f"part[{k}][at + other]") for k, s in enumerate(steps))
    begin = " ".join(f"{name} = part[{k}][at - threadIdx.x];" for k, name in enumerate(names))
    near = " ".join(s.format(f"part[{k}][at - threadIdx.x + other]") for k, s in enumerate(steps))
    return f"""    {stores}
    __syncthreads();
#if WIDTH > 32
    if (threadIdx.x < 32) {{
      for (int other = 32; other < WIDTH; other += 32) {{ {far} }}
      {stores}
    }}
    __syncthreads();
#endif
    {begin}
    #pragma unroll
    for (int other = 1; other < (WIDTH < 32 ? WIDTH : 32); ++other) {{ {near} }}
    __syncthreads();
"""
