"""Batches of matrix products in single precision: `gemm`'s machine code, once for each pair of matrices.

NumPy calls BLAS for each pair, in one thread. Here one call makes the products of a whole part of the batch,
and the threads share the parts. The matrices of a batch lie along at most two axes (of attention: examples
and heads), with any strides.

Measured on one core, 128 pairs of 64 x 32 and 32 x 64, as shares of NumPy's time: with AVX2 0.85, and 0.85 times
transposed matrices; with AVX-512 1.2 and 0.7. Where none of them is in a cache, as in a network, each pair's
numbers are fetched while the pair before it is multiplied: 0.73 to 0.85 of the time without that.
"""

from __future__ import annotations

import functools
import math
import struct
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit import gemm, gemm_codegen
from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source
from dataflow.kernels.jit.isa import NUMBER_BYTES, needed_isa
from dataflow.kernels.jit.llvm_builder import Writer, module
from dataflow.kernels.jit.native_ufunc import merged_axes
from dataflow.kernels.jit.thread_pool import run_calls

_AXES = 2
#: The fewest multiplications of a pair of matrices; and the fewest rows by which a transposed one is
#: multiplied, as it is turned round first.
_LEAST_PAIR, _LEAST_ROWS_OF_TRANSPOSED = 1 << 12, 16
_MATRICES = ("left", "right", "out")
#: The code for one pair, the lengths of the axes, the strides along each, and then the table for the
#: first pair, which begins with the addresses of the matrices.
_FIELDS = (
    *("function", "length0", "length1"),
    *(f"{name}{axis}" for axis in range(_AXES) for name in _MATRICES),
)
_pack_fields = struct.Struct("q" * (len(_FIELDS) + len(_MATRICES) + 1)).pack


def multiply(a: Array, b: Array, out: Any, parts: int) -> bool:
    """``out = a @ b`` for [..., m, k] and [..., k, n], broadcast; ``False`` where it is left to NumPy.

    That is for other types and layouts as with `gemm.multiply`, for small products, and for batches that lie along
    more axes. The pool's threads share ``parts`` of the batch.
    """
    layout = _layout_of(a.shape, a.strides, b.shape, b.strides, out.shape, out.strides, parts)
    if layout is None or not a.dtype.char == b.dtype.char == out.dtype.char == "f":
        return False
    function, each = gemm.compiled_loop.get(), _compiled_batch.get()
    if function is None or each is None:
        return False
    left, right, to = address_of(a), address_of(b), address_of(out)
    run_calls(
        [
            (
                each,
                _pack_fields(
                    *(function, *numbers),
                    *(left + left_at, right + right_at, to + out_at, gemm.panel_address(i)),
                )
                + fields,
            )
            for i, (numbers, left_at, right_at, out_at, fields) in enumerate(layout)
        ]
    )
    return True


_Part = tuple[tuple[int, ...], int, int, int, bytes]


@functools.lru_cache(maxsize=256)
def _layout_of(
    a_shape: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_shape: tuple[int, ...],
    b_strides: tuple[int, ...],
    out_shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    parts: int,
) -> list[_Part] | None:
    """For each part: lengths and strides, where its matrices begin, and the fields of the table of a pair."""
    *batch, rows, columns = out_shape
    steps = a_shape[-1]
    pair = rows * columns * steps
    transposed = b_strides[-1] != NUMBER_BYTES
    if (
        pair < _LEAST_PAIR
        or pair * math.prod(batch) < gemm.SMALL_PRODUCT
        or rows < (_LEAST_ROWS_OF_TRANSPOSED if transposed else gemm.LEAST_ROWS)
        or columns < gemm.LEAST_COLUMNS
        or (transposed and b_strides[-2] != NUMBER_BYTES)
        or out_strides[-1] != NUMBER_BYTES
    ):
        return None
    strides = [
        _broadcast(a_shape[:-2], a_strides[:-2], batch),
        _broadcast(b_shape[:-2], b_strides[:-2], batch),
        out_strides[:-2],
    ]
    axes = merged_axes(tuple(batch), strides)
    if not 0 < len(axes) <= _AXES:
        return None
    function = gemm.compiled_loop.get()
    if function is None or pair >= needed_isa().blas_from:
        return None
    sizes, matrix_strides = (rows, steps, columns), (a_strides[-2:], b_strides[-2:])
    packing = gemm_codegen.IN_PASSING if transposed else gemm_codegen.IN_PLACE
    one = gemm.lay_out(function, sizes, *matrix_strides, out_strides[-2], 1, False, packing)
    while len(axes) < _AXES:
        axes.insert(0, (1, (0,) * len(_MATRICES)))
    along = max(range(_AXES), key=lambda i: min(axes[i][0], parts))
    found: list[_Part] = []
    length, steps_along = axes[along]
    size = -(-length // parts)
    for start in range(0, length, size):
        lengths = [n for n, _ in axes]
        lengths[along] = min(size, length - start)
        numbers = (*lengths, *(s for _, strides_of in axes for s in strides_of))
        found.append((numbers, *(start * s for s in steps_along), one.parts[0][-1]))  # type: ignore[arg-type]
    return found


def _broadcast(
    shape: tuple[int, ...], strides: tuple[int, ...], batch: list[int]
) -> tuple[int, ...]:
    """The strides of a batch that is repeated along new axes, and along those of length 1."""
    missing = len(batch) - len(shape)
    repeated = [0 if n == 1 else s for n, s in zip(shape, strides, strict=True)]
    return (*(0,) * missing, *repeated)


def empty_like_right(b: Array, shape: tuple[int, ...]) -> Any:
    """Memory for the products, whose axes before the last lie as those of the right matrices.

    Where the heads of attention are a transposed view, their results are one, too, and turning them back copies
    nothing.
    """
    rank = len(shape)
    if b.ndim != rank or b.strides[-1] != b.itemsize or b.shape[:-2] != shape[:-2]:
        return np.empty(shape, b.dtype)
    order = sorted(range(rank - 1), key=lambda axis: -b.strides[axis])
    if order == list(range(rank - 1)):
        return np.empty(shape, b.dtype)
    places = [order.index(axis) for axis in range(rank - 1)]
    memory = np.empty([*(shape[axis] for axis in order), shape[-1]], b.dtype)
    return memory.transpose([*places, rank - 1])


def source() -> str:
    """The function in LLVM's assembly language; its one argument is the table of `_FIELDS`."""
    w = Writer("void @batch(ptr %table)")
    field = w.fields("%table", _FIELDS)
    function = w.pointer(field["function"])
    size = gemm.NUM_FIELDS
    table = w.room(f"[{size} x i64]")
    places = [w.element("i64", "%table", len(_FIELDS) + i) for i in range(size)]
    first = [w.load("i64", place) for place in places]
    for i, number in enumerate(first):
        w.store("i64", number, w.element("i64", table, i))

    def set_places(i: str, j: str, start: str = "") -> None:
        """Where the matrices of a pair lie: the one that is multiplied, or the next one."""
        for at, name in enumerate(_MATRICES):
            here = w.at(first[at], (i, field[f"{name}0"]), (j, field[f"{name}1"]))
            place = gemm_codegen.FIELDS.index(start + name)
            w.store("i64", here, w.element("i64", table, place))

    def outer(i: str) -> int:
        def inner(j: str) -> int:
            set_places(i, j)
            beside = w.op("add", j, 1)
            ends = w.compare("eq", beside, field["length1"])
            below = w.op("add", i, w.put(f"zext i1 {ends} to i64"))
            set_places(below, w.select(ends, 0, beside), "next_")
            w.call(function, ("ptr", table))
            return 1

        w.loop(field["length1"], inner)
        return 1

    w.loop(field["length0"], outer)
    w.leave()
    return module(w)


def _compile() -> int:
    needed_isa()
    return compile_source(source(), "batch")[0]


_compiled_batch = JitEntry(_compile, at_once=True)
