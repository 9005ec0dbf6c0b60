"""Matrix products in single precision, on processors with AVX-512, AVX2 or NEON.

The right matrix is packed, one panel of as many columns as a tile has and `MOST_STEPS` rows at a
time, into a buffer that stays in the L1 cache; then all tiles of rows of the left matrix are
multiplied by it (`gemm_codegen`, `microkernel`). The left matrix is read in place, with any strides. One
function serves all shapes, and a plain right matrix as well as a transposed one.

Measured with AVX-512 on one core beside OpenBLAS (microseconds): 128 x 784 x 256 201 (218); times a transposed
matrix, 128 x 512 x 156, 86 (113); 50 x 3136 x 1024 1480 (2170), the gradient of its weights 1210
(1660); 1024 x 1024 x 1024 8250 (8310), 99 % of the core's peak.
"""

from __future__ import annotations

import functools
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.compiler import JitEntry, address_of
from dataflow.kernels.jit.gemm_codegen import (
    ADDRESSES,
    FIELDS,
    IN_PASSING,
    LEFT_BYTES,
    MOST_STEPS,
    ROWS_TOGETHER,
    THERE,
    TO_STAY,
    source,
    widths_of,
)
from dataflow.kernels.jit.isa import (
    ALIGNMENT,
    BLOCK,
    MOST_COLUMNS,
    NEON,
    NUMBER_BYTES,
    needed_isa,
)
from dataflow.kernels.jit.shared_functions import compile_with, need
from dataflow.kernels.jit.thread_pool import run_calls

#: With fewer multiplications, packing and the call cost more than they save.
SMALL_PRODUCT = 1 << 20
#: The fewest rows and columns: a packed panel (48 KB) must be reused, and not be mostly padding.
LEAST_ROWS, LEAST_COLUMNS = 4, BLOCK
#: From how many bytes on the steps of a left matrix (a transposed one) are far apart. Their lines fall on the
#: same few sets of the L1 cache, and none stays for the next tile: rows and steps that are multiplied by a
#: panel are copied first (``packs_left``), in strips as high as a tile. With AVX2 on one core, 512 x 2048 x 128
#: takes 2.85 ms (3.12 where steps are copied whole, which a tile takes a third of a line from).
FAR = 1024
#: The most rows of a product that uses a packed matrix.
MOST_ROWS = 512
#: The fewest multiplications for which the steps of the sum are divided among threads, and the number
#: of shares: the same on all machines, as it determines how the sums round.
_LEAST_DIVIDED, _STEP_SHARES = 3 << 20, 4
#: The length of a table.
NUM_FIELDS = len(FIELDS)
#: Panels are shared by several blocks of rows as long as they take no more than this together.
_MOST_KEPT_BYTES = 4 << 20
PANEL_BYTES = MOST_COLUMNS * NUMBER_BYTES * MOST_STEPS
_pack_addresses = struct.Struct("q" * len(ADDRESSES)).pack
_fields = struct.Struct("q" * (len(FIELDS) - len(ADDRESSES)))
_pack_fields, unpack_fields = _fields.pack, _fields.unpack
_local = threading.local()


def compile_gemm() -> int:
    """Compiles now and returns the address. Raises `ImportError` where `isa.host` is ``None``."""
    isa = needed_isa()
    if isa is NEON and sys.platform == "darwin":
        raise ImportError("Apple's BLAS has a matrix unit of its own")
    return compile_with(isa, source(isa), "loop")[0]


#: The machine code.
compiled_loop: JitEntry[int] = JitEntry(compile_gemm, at_once=True)


def multiply(a: Array, b: Array, out: Any, parts: int = 1) -> bool:
    """``out = a @ b``, for matrices; ``False`` where it is left to BLAS.

    That is: until the code is compiled, for small products, types other than float32, and layouts in
    which neither rows nor columns of ``b``, or not the rows of ``out``, are contiguous.

    The pool's threads share ``parts`` of it: ranges of columns, of rows where there are more of
    these, or of steps of the sum.
    """
    layout = layout_of(a, b, out, parts)
    if layout is None:
        return False
    others = [np.empty(out.shape, np.float32) for _ in range(layout.num_outs - 1)]
    layout.run(a, b, (out, *others))
    for other in others:
        out += other
    return True


class PackedMatrix:
    """A right matrix that many products share: it is packed once, by the first of them.

    Measured (microseconds, two threads): 50 x 256 times 256 x 512 52 unpacked and 36 packed, 8 x
    256 times a transposed matrix 31 and 12.
    """

    def __init__(self, b: Array) -> None:
        self.matrix = b
        #: By number of parts: where the packed columns of each begin, and the buffer, kept alive.
        self._packed: dict[int, tuple[list[int], Any]] = {}
        self._panels: dict[int, Array] = {}

    def multiply(self, a: Array, out: Any, parts: int) -> bool:
        """``out = a @ b``; ``False`` as `multiply`, or where packing does not pay off."""
        b = self.matrix
        (rows, steps), columns = a.shape, b.shape[1]
        if not LEAST_ROWS <= rows <= MOST_ROWS or columns < parts * LEAST_COLUMNS:
            return False
        if not a.dtype.char == b.dtype.char == "f":
            return False
        if a.strides[1] >= FAR:  # panels of other lengths would round otherwise than `multiply`
            return False
        transposed = b.strides[1] != NUMBER_BYTES
        if (transposed and b.strides[0] != NUMBER_BYTES) or out.strides[1] != NUMBER_BYTES:
            return False
        function = compiled_loop.get()
        if function is None:
            return False
        found = self._packed.get(parts)
        kept = TO_STAY if found is None else THERE
        layout = lay_out_columns(
            function, (rows, steps, columns), a.strides, b.strides, out.strides[0], parts, kept
        )
        if found is None:
            found = self._make_room(layout, steps, columns)
        left, right, to = address_of(a), address_of(b), address_of(out)
        run_calls(
            [
                (function, _pack_addresses(left, right + at, to + out_at, panels) + fields)
                for (at, out_at, fields), panels in zip(layout, found[0], strict=True)
            ]
        )
        self._packed[parts] = found
        return True

    def panels(self, parts: int) -> Array:
        """The packed matrix as `multiply` reads it for so many parts; `product_calls.with_panels` is of these.

        Raises `ValueError` where `multiply` does not pack it.
        """
        found = self._panels.get(parts)
        if found is None:
            steps, columns = self.matrix.shape
            if parts not in self._packed:
                few, out = (np.zeros((LEAST_ROWS, n), np.float32) for n in (steps, columns))
                if not self.multiply(few, out, parts):
                    raise ValueError(f"a matrix {self.matrix.shape} is not packed in {parts} parts")
            (start, *_), buffer = self._packed[parts]
            offset = start - address_of(buffer)
            there = buffer[offset : offset + _bytes_of_panels(steps, columns)]
            found = self._panels[parts] = there.view(np.float32)
        return found

    @staticmethod
    def _make_room(layout: Sequence[Any], steps: int, columns: int) -> tuple[list[int], Any]:
        start, buffer = aligned(_bytes_of_panels(steps, columns))
        steps = -(-steps // BLOCK) * BLOCK
        # The columns before a part fill whole vectors.
        return [start + out_at * steps for _, out_at, _ in layout], buffer


def _bytes_of_panels(steps: int, columns: int) -> int:
    """Room for all panels of a right matrix: transposed ones are written in blocks of `BLOCK` rows."""
    return -(-steps // BLOCK) * BLOCK * (columns + BLOCK) * NUMBER_BYTES


def aligned(num_bytes: int) -> tuple[int, Any]:
    """The aligned address of ``num_bytes`` bytes, and the buffer that keeps them alive."""
    buffer = np.empty(num_bytes + ALIGNMENT, np.uint8)
    return -(-address_of(buffer) // ALIGNMENT) * ALIGNMENT, buffer


@functools.lru_cache(maxsize=1024)
def lay_out_columns(
    function: int,
    sizes: tuple[int, int, int],
    left_strides: tuple[int, int],
    right_strides: tuple[int, int],
    out_row: int,
    parts: int,
    kept: int,
) -> tuple[tuple[int, int, bytes], ...]:
    """Parts of the columns: (byte offsets in the right matrix and in the output, fields)."""
    rows, steps, columns = sizes
    blocks = -(-steps // MOST_STEPS)
    most_steps = -(-steps // (blocks * BLOCK)) * BLOCK
    shares = list(_shares(columns, parts))
    for part in shares:
        _need_tiles(part.stop - part.start)
    return tuple(
        (
            part.start * right_strides[1],
            part.start * NUMBER_BYTES,
            _pack_fields(
                *(rows, part.stop - part.start, steps, *left_strides, *right_strides, out_row),
                *(rows, most_steps, kept, False, 0, 0, 0),
            ),
        )
        for part in shares
    )


def _need_tiles(columns: int) -> None:
    """Has the tiles compiled that a product with so many columns uses."""
    isa = needed_isa()
    for vectors in widths_of(isa, columns):
        need(isa, vectors)


class _Layout(NamedTuple):
    """How matrices of certain shapes and strides are multiplied.

    Each part is (byte offsets of its first element in the left, right and output matrix, the index of
    the matrix that it writes, the bytes of the panels that its blocks of rows share, or 0, the fields of its
    table after those of `ADDRESSES`).
    """

    function: int
    num_outs: int
    parts: tuple[tuple[int, int, int, int, int, bytes], ...]

    def run(self, a: Array, b: Array, outs: Sequence[Any]) -> None:
        """Multiplies them; the pool's threads share the parts."""
        left, right, to = address_of(a), address_of(b), [address_of(x) for x in outs]
        calls = []
        for i, (left_at, right_at, at, number, kept_bytes, fields) in enumerate(self.parts):
            panels = panel_address(i, kept_bytes)
            addresses = left + left_at, right + right_at, to[number] + at, panels
            calls.append((self.function, _pack_addresses(*addresses) + fields))
        run_calls(calls)


def layout_of(a: Array, b: Array, out: Any, parts: int, by_steps: bool = True) -> _Layout | None:
    """How a product is computed; ``None`` where it is left to BLAS."""
    (rows, steps), columns = a.shape, b.shape[1]
    if (
        rows * steps * columns < SMALL_PRODUCT
        or rows < LEAST_ROWS
        or columns < LEAST_COLUMNS
        or not a.dtype.char == b.dtype.char == out.dtype.char == "f"
    ):
        return None
    right_row, right_column = b.strides
    transposed = right_column != NUMBER_BYTES
    if (transposed and right_row != NUMBER_BYTES) or out.strides[1] != NUMBER_BYTES:
        return None
    function = compiled_loop.get()
    if function is None or rows * steps * columns >= needed_isa().blas_from:
        return None
    return lay_out(
        function,
        (rows, steps, columns),
        a.strides,
        b.strides,
        out.strides[0],
        parts,
        by_steps,
    )


@functools.lru_cache(maxsize=1024)
def lay_out(
    function: int,
    sizes: tuple[int, int, int],
    left_strides: tuple[int, int],
    right_strides: tuple[int, int],
    out_row: int,
    parts: int,
    by_steps: bool,
    packing: int = IN_PASSING,
) -> _Layout:
    """How a product with these rows, steps and columns is divided into parts, and their calls.

    Strides are in bytes, (to the next row, to the next step or column).
    """
    rows, steps, columns = sizes
    (left_row, left_step), (right_row, right_column) = left_strides, right_strides
    # Of a weight matrix that is larger than the results, each thread gets the rows that it also
    # writes when the weights' gradient is computed and when they are updated: reading from another
    # core's cache takes three times as long.
    by_steps = (
        by_steps
        and rows * steps * columns >= _LEAST_DIVIDED
        and steps >= 2 * rows * (_STEP_SHARES - 1)
        and right_column == NUMBER_BYTES
    )
    if by_steps:
        parts = _STEP_SHARES
    by_columns = columns >= rows
    found = []
    for i, part in enumerate(_shares(steps if by_steps else max(rows, columns), parts)):
        start, length = part.start, part.stop - part.start
        if by_steps:
            here = start * left_step, start * right_row, 0, i
            lengths = rows, columns, length
        elif by_columns:
            here = 0, start * right_column, start * NUMBER_BYTES, 0
            lengths = rows, length, steps
        else:
            here = start * left_row, 0, start * out_row, 0
            lengths = length, columns, steps
        _need_tiles(lengths[1])
        most_rows = -(-lengths[0] // -(-lengths[0] // ROWS_TOGETHER))
        blocks = -(-lengths[2] // MOST_STEPS)
        most_steps = -(-lengths[2] // (blocks * BLOCK)) * BLOCK
        kept, kept_bytes = packing, 0
        if packing == IN_PASSING and lengths[0] > most_rows:
            panels_bytes = _bytes_of_panels(lengths[2], lengths[1])
            if panels_bytes <= _MOST_KEPT_BYTES:
                kept, kept_bytes = TO_STAY, panels_bytes
        fields = _pack_fields(
            *(*lengths, left_row, left_step, right_row, right_column),
            columns * NUMBER_BYTES if here[3] else out_row,
            *(most_rows, most_steps, kept, left_step >= FAR and left_row == NUMBER_BYTES, 0, 0, 0),
        )
        found.append((*here, kept_bytes, fields))
    return _Layout(function, len(found) if by_steps else 1, tuple(found))


def _shares(length: int, parts: int) -> Iterator[slice]:
    """Parts that start at multiples of every processor's vector length."""
    size = -(-length // parts)
    size = -(-size // BLOCK) * BLOCK
    for i in range(0, length, size):
        yield slice(i, min(i + size, length))


def panel_address(number: int, num_bytes: int = 0) -> int:
    """The address of one of this thread's buffers: for a panel, or for panels of ``num_bytes``.

    Before it there is room for rows of the left matrix. Buffers stay: made anew for each product, they would lie
    where larger arrays have been freed, and these would have to go elsewhere the next time.
    """
    panels = _local.__dict__.setdefault("panels", [])
    while len(panels) <= number:
        panels.append((0, 0, None))
    size, address, _ = panels[number]
    needed = max(num_bytes, PANEL_BYTES)
    if size < needed:
        start, buffer = aligned(LEFT_BYTES + needed)
        address = start + LEFT_BYTES
        panels[number] = needed, address, buffer
    return address  # type: ignore[no-any-return]
