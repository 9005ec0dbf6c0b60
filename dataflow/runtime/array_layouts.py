"""Layouts of arrays, and arrays of given layouts: what the lists of calls are written for and tried with."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.compiler import address_of, reach

#: Arrays of more elements are worth a call of their own.
MOST_ELEMENTS = 1 << 16


def contiguous_strides(shape: tuple[int, ...], dtype: Any) -> tuple[int, ...]:
    """The strides of an array whose elements lie one after the other."""
    strides, size = [], np.dtype(dtype).itemsize
    for n in reversed(shape):
        strides.append(size)
        size *= n
    return tuple(reversed(strides))


class Layout(NamedTuple):
    """What an array's calls depend on; ``is_scalar``: the kernel gave a NumPy scalar."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    is_scalar: bool

    @classmethod
    def of(cls, x: Any, may_be_empty: bool = False, any_size: bool = False) -> Layout | None:
        """The layout of a value; ``None`` unless it is a small array of numbers, or one of ``any_size``."""
        if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "biuf":
            return None
        if not (x.size or may_be_empty) or not x.dtype.isnative:
            return None
        if x.size > MOST_ELEMENTS and not any_size:
            return None
        usual = contiguous_strides(x.shape, x.dtype)
        strides = [s if n > 1 else u for n, s, u in zip(x.shape, x.strides, usual, strict=True)]
        return cls(x.shape, tuple(strides), x.dtype, isinstance(x, np.generic))


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays are equal to the bit; one NaN is as good as another."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    bits = f"u{a.itemsize}"
    same = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    return bool((same | (np.isnan(a) & np.isnan(b))).all())


#: What kernels treat in their own ways.
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-30, 100.0, -100.0)
#: How many random numbers there are; a prime, so that repetitions fall on other places of a row.
_POOL = 65_521


#: Rows that are so many times their length apart share memory with others.
_LEAST_GAPS = 4
#: One number in so many is special: in small arrays every other one, so that few arrays show them all.
_ONE_IN, _ONE_IN_SMALL, _SMALL = 8, 2, 8


@functools.cache
def _pool(one_in: int, dtype: Any) -> Array:
    """Normally distributed numbers. They have full precision: shorter ones would have the same sum in any order.

    With ``one_in`` they are ten times as large, and one in so many is drawn from `_SPECIAL`.
    """
    random = np.random.Generator(np.random.PCG64(1))
    numbers = random.normal(size=_POOL)
    if one_in:
        places = random.integers(0, _POOL, _POOL // one_in)
        numbers *= 10.0
        numbers[places] = random.choice(_SPECIAL, len(places))
    return numbers.astype(dtype)


def random_array(layout: Layout, x: Array, number: int, special: bool) -> Array:
    """An array of random numbers in this layout, which ``number`` seeds; integers are those of ``x``."""
    row = _row_of(layout) if layout.dtype.kind == "f" else None
    found, memory = _memory_of(layout, np.empty) if row is None else _among_others(layout, *row)
    if layout.dtype.kind == "f":
        to = memory
        start = number * 7919 % _POOL
        often = _ONE_IN_SMALL if to.size < _SMALL else _ONE_IN
        numbers = _pool(often if special else 0, layout.dtype)
        filled = 0
        while filled < to.size:  # from the beginning again after the last
            piece = numbers[start : start + to.size - filled]
            to[filled : filled + piece.size] = piece
            filled, start = filled + piece.size, 0
        if row is not None:
            found[...] = to.reshape(layout.shape)
    elif layout.dtype.kind == "b":
        memory[...] = np.arange(number, number + memory.size) % 3 == 0
    else:
        found[...] = x
    return found


def _row_of(layout: Layout) -> tuple[int, int] | None:
    """The bytes of a row, and from one to the next, of an array whose rows lie far apart, as those of a step among all
    steps; ``None`` for others."""
    length = layout.dtype.itemsize
    axis = len(layout.shape)
    while axis and layout.strides[axis - 1] == length:
        axis -= 1
        length *= layout.shape[axis]
    apart = min(layout.strides[:axis], default=0)
    if apart < _LEAST_GAPS * length or any(s % apart for s in layout.strides[:axis]):
        return None
    return length, apart


#: Where there is room between rows: the layout, the memory, the offset of the next array.
_rooms = threading.local()


def _among_others(layout: Layout, length: int, apart: int) -> tuple[Array, Array]:
    """An array of a layout, whose rows lie between those of others, and contiguous memory for its elements: rows of
    their own would be as much memory as all steps for each step."""
    key = layout.shape, layout.strides, layout.dtype
    last, where, at = getattr(_rooms, "last", (None, lambda: None, 0))
    block: Any = where() if last == key and at + length <= apart else None
    if block is None:
        _, high = reach(layout.shape, layout.strides)
        block, at = np.empty(high + apart, np.uint8), 0
    _rooms.last = key, weakref.ref(block), at + length
    found: Array = np.ndarray(layout.shape, layout.dtype, block, at, layout.strides)
    return found, np.empty(found.size, layout.dtype)


def example_of(layout: Layout) -> Array:
    """An array of a layout, of zeros."""
    return _memory_of(layout, np.zeros)[0]


def _memory_of(layout: Layout, make: Callable[..., Array]) -> tuple[Array, Array]:
    """An array of a layout, and the memory in which it lies."""
    low, high = reach(layout.shape, layout.strides)
    memory = make((high - low) // layout.dtype.itemsize + 1, layout.dtype)
    return np.ndarray(layout.shape, layout.dtype, memory, -low, layout.strides), memory


class _Interface:
    """Memory at an address, as NumPy reads it."""

    def __init__(self, address: int, layout: Layout, kept: Array) -> None:
        self._kept = kept
        self.__array_interface__ = {
            "data": (address, False),
            "shape": layout.shape,
            "strides": layout.strides,
            "typestr": layout.dtype.str,
            "version": 3,
        }


def array_at(x: Array, offset: int, layout: Layout) -> Array:
    """An array of a layout, some bytes after the first element of another."""
    return np.asarray(_Interface(address_of(x) + offset, layout, x))
