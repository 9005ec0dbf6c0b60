"""Products of matrices as calls of `gemm`'s machine code, for lists of calls (`call_list`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.gemm import (
    FAR,
    LEAST_ROWS,
    MOST_ROWS,
    PANEL_BYTES,
    aligned,
    compiled_loop,
    lay_out_columns,
    layout_of,
    unpack_fields,
)
from dataflow.kernels.jit.gemm_codegen import LEFT_BYTES, THERE
from dataflow.kernels.jit.isa import BLOCK, NUMBER_BYTES

#: An array, and the offset of an address in it.
Place = tuple[Array, int]


def with_panels(
    a: Array, b: Array, panels: Array, out: Array, parts: int
) -> list[tuple[int, list[Place | int]]] | None:
    """The calls of ``out = a @ b`` with the panels of ``b``: functions, and their tables with places for addresses.

    They have the bits of `PackedMatrix.multiply`, and are ``None`` where that refuses such matrices.
    """
    (rows, steps), columns = a.shape, b.shape[1]
    if not LEAST_ROWS <= rows <= MOST_ROWS or a.strides[1] >= FAR:
        return None
    function = compiled_loop.get()
    if function is None or out.strides[1] != NUMBER_BYTES:
        return None
    sizes, padded = (rows, steps, columns), -(-steps // BLOCK) * BLOCK
    strides = a.strides, b.strides, out.strides[0]
    return [
        (
            function,
            [(a, 0), (b, at), (out, out_at), (panels, out_at * padded), *unpack_fields(fields)],
        )
        for at, out_at, fields in lay_out_columns(function, sizes, *strides, parts, THERE)
    ]


def of_product(
    a: Array, b: Array, outs: Callable[[int], list[Array]], parts: int
) -> list[tuple[int, list[Place | int]]] | None:
    """As `with_panels`, with the bits of `multiply`; ``outs(n)`` gives the result, and n - 1 arrays
    that are then to be added to it. Only one thread at a time may make them: all use the same memory for panels."""
    layout = layout_of(a, b, outs(1)[0], parts)
    if layout is None:
        return None
    to = outs(layout.num_outs)
    return [
        (
            layout.function,
            [
                *((a, left_at), (b, right_at), (to[number], at)),
                _panel_of_lists(i, kept_bytes.bit_length()),
                *unpack_fields(fields),
            ],
        )
        for i, (left_at, right_at, at, number, kept_bytes, fields) in enumerate(layout.parts)
    ]


@functools.cache
def _panel_of_lists(number: int, bits: int) -> int:
    """As `panel_address`, for panels of fewer than ``1 << bits`` bytes: the same for all."""
    start, buffer = aligned(LEFT_BYTES + max(PANEL_BYTES, 1 << bits))
    _kept_panels.append(buffer)
    return start + LEFT_BYTES


_kept_panels: list[Any] = []
