"""Batch normalization and its gradient by machine code (`channel_norm_codegen`), shared by the pool's threads.

Measured on one core, microseconds, by passes of NumPy's ops in machine code and here, forward and backward:
[32, 32, 32, 16] 231 and 255, 112 and 136; [32, 8, 8, 64] 92 and 103, 35 and 43; [2, 14, 14, 1024] 157 and 196, 109 and 170.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.channel_columns import AREAS, block_columns, struct_format
from dataflow.kernels.jit.channel_norm_codegen import (
    FORWARD_FIELDS,
    FUNCTIONS,
    GRADIENT_FIELDS,
    source,
)
from dataflow.kernels.jit.compiler import JitEntry, made_twice
from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS
from dataflow.kernels.jit.thread_pool import call_table, run_calls
from dataflow.kernels.large_arrays import empty
from dataflow.kernels.parallel import num_workers

#: The most shares of rows with statistics of their own, and the fewest numbers in one: whatever the threads, the
#: result has the same bits.
_MOST_SHARES, _LEAST_SHARE = 8, 1 << 16
_TYPES = {"f": "float", "d": "double"}


class _Code:
    """The addresses of the functions by name, and what packs their tables."""

    def __init__(self, addresses: Sequence[int]) -> None:
        self.pack_forward: Callable[..., bytes] = struct.Struct(struct_format(FORWARD_FIELDS)).pack
        self.pack_gradient: Callable[..., bytes] = struct.Struct(
            struct_format(GRADIENT_FIELDS)
        ).pack
        self.use(addresses)

    def use(self, addresses: Sequence[int]) -> None:
        """Calls the functions at these addresses from now on."""
        self.functions = dict(zip(FUNCTIONS, addresses, strict=True))


def _compile(char: str) -> _Code:
    return made_twice(source(_TYPES[char]), FUNCTIONS, _Code)


_compiled = {char: JitEntry(functools.partial(_compile, char), at_once=True) for char in _TYPES}


class _Shares(NamedTuple):
    number: int
    rows: int
    #: The numbers in an area of scratch memory, and of all.
    area: int
    scratch: int


@functools.lru_cache(maxsize=256)
def _shares_of(rows: int, channels: int, itemsize: int) -> _Shares:
    wanted = min(_MOST_SHARES, max(1, rows * channels // _LEAST_SHARE))
    each = -(-rows // wanted)
    number = -(-rows // each)
    columns = block_columns(itemsize)
    area = -(-channels // columns) * columns + columns
    return _Shares(number, each, area, (number + 1) * AREAS * area)


def _is_plain(dtype: Any, *arrays: Array) -> bool:
    return all(x.dtype == dtype and x.flags.c_contiguous for x in arrays)


def _code_for(matrices: Sequence[Array], vectors: Sequence[Array]) -> _Code | None:
    rows = matrices[0]
    if rows.size < SMALL_ELEMENTS or rows.dtype.char not in _compiled:
        return None
    if not _is_plain(rows.dtype, *matrices, *vectors):
        return None
    if any(x.size != rows.shape[1] for x in vectors):
        return None
    return _compiled[rows.dtype.char].get()


def _run(
    code: _Code, whole: str, steps: Sequence[str], pack: Callable[[int, int], bytes], shares: int
) -> None:
    """Runs ``whole`` by one thread, or its ``steps``, of which those of shares are shared by the threads."""
    functions = code.functions
    if shares == 1 or num_workers() == 1:
        call_table(functions[whole], pack(0, shares))
        return
    tables = [pack(i, i + 1) for i in range(shares)]
    for step in steps:
        if step in _ONCE:
            call_table(functions[step], tables[0])
        else:
            run_calls([(functions[step], table) for table in tables])


_ONCE = frozenset({"settle", "factors", "settle_gradient"})
_TRAIN = ("moments", "settle", "factors", "normalize")
_INFER = ("factors", "normalize")
_GRADIENT = ("gradient_sums", "settle_gradient", "slopes")


_Pair = tuple[Any, Any]


def train(
    x: Array, scale: Array, offset: Array, old: tuple[Array, Array], average: float, epsilon: float
) -> tuple[Any, _Pair, _Pair] | None:
    """Rows [n, channels] normalized by their own statistics, the new averages of mean and variance, and
    those of the rows; ``None`` where machine code does not do it.

    ``old`` are the averages so far, which are not read where ``average``, the share of the new ones, is 1.
    """
    blends = average != 1.0
    vectors = (scale, offset, *old) if blends else (scale, offset)
    code = _code_for((x,), vectors)
    if code is None:
        return None
    n, channels = x.shape
    shares = _shares_of(n, channels, x.itemsize)
    y = empty(x.shape, x.dtype)
    outs = [np.empty(channels, x.dtype) for _ in range(4)]
    new_mean, new_variance, mean, variance = outs
    scratch = np.empty(shares.scratch, x.dtype)
    head = (n, channels, shares.number, shares.rows)
    arrays = map(id, (scratch, x, y, scale, mean, variance, offset, *old, new_mean, new_variance))
    tail = (shares.area, epsilon, *arrays, n / max(1, n - 1), average, blends)
    _run(code, "train", _TRAIN, lambda a, b: code.pack_forward(*head, a, b, *tail), shares.number)
    return y, (new_mean, new_variance), (mean, variance)


def infer(
    x: Array, scale: Array, offset: Array, mean: Array, variance: Array, epsilon: float
) -> Any:
    """Rows [n, channels] normalized by given statistics; ``None`` where machine code does not do it."""
    code = _code_for((x,), (scale, offset, mean, variance))
    if code is None:
        return None
    n, channels = x.shape
    shares = _shares_of(n, channels, x.itemsize)
    y = empty(x.shape, x.dtype)
    scratch = np.empty(shares.scratch, x.dtype)
    head = (n, channels, shares.number, shares.rows)
    arrays = map(id, (scratch, x, y, scale, mean, variance, offset, mean, variance, mean, variance))
    tail = (shares.area, epsilon, *arrays, 1.0, 1.0, 0)
    _run(code, "infer", _INFER, lambda a, b: code.pack_forward(*head, a, b, *tail), shares.number)
    return y


def gradient(
    grad: Array, x: Array, scale: Array, mean: Array, variance: Array, epsilon: float
) -> tuple[Any, Any, Any] | None:
    """The gradients of `train` to x, scale and offset; ``None`` where machine code does not do it."""
    code = _code_for((grad, x), (scale, mean, variance))
    if code is None or grad.shape != x.shape:
        return None
    n, channels = x.shape
    shares = _shares_of(n, channels, x.itemsize)
    y = empty(x.shape, x.dtype)
    scale_grad, offset_grad = np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    scratch = np.empty(shares.scratch, x.dtype)
    head = (n, channels, shares.number, shares.rows)
    arrays = map(id, (scratch, x, y, scale, mean, variance, grad, scale_grad, offset_grad))
    tail = (shares.area, epsilon, *arrays)
    _run(
        code,
        "gradient",
        _GRADIENT,
        lambda a, b: code.pack_gradient(*head, a, b, *tail),
        shares.number,
    )
    return y, scale_grad, offset_grad
