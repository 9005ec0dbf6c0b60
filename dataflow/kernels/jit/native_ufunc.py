"""Loops in machine code over NumPy arrays of any layout: `compiler`'s loops, found and called."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.blas import num_threads
from dataflow.kernels.jit.compiler import Function, JitEntry, address_of, jit_entry
from dataflow.kernels.jit.step_codegen import Loop, can_write
from dataflow.kernels.jit.thread_pool import run_calls
from dataflow.kernels.jit.tracer import region_of
from dataflow.kernels.large_arrays import empty

#: With fewer elements, NumPy's calls cost no more than finding and calling a loop.
SMALL_ELEMENTS = 4096
#: With more bytes than this to move, the pool's threads share the work.
_SHARED_BYTES = 1 << 20
#: What computing an exponential, a logarithm and the like takes, as bytes that are moved meanwhile: in the L2 cache
#: 85 bytes take a nanosecond, an element of `Exp` 0.36 ns, of `Log` and `Tanh` 0.47.
_BYTES_OF_FUNCTION = 32
_FUNCTIONS = frozenset({"Exp", "Log", "Tanh", "Sigmoid", "Log1p", "Expm1", "Rsqrt", "Erf"})
_PIECE_BYTES = 2 << 20
MAX_RANK = 3
#: How many layouts are cached; beyond that, all are dropped.
_MOST_LAYOUTS = 64

Steps = tuple[tuple[str, tuple[Any, ...]], ...]


class Mapping:
    """Steps (as those of a `Loop`) over arrays that are broadcast to one shape.

    ``at_once``: the first call compiles, as NumPy would give other bits.
    """

    def __init__(
        self,
        dtype: Any,
        steps: Steps,
        results: tuple[int, ...],
        adds: bool = False,
        at_once: bool = False,
    ) -> None:
        self.adds, self.at_once = adds, at_once
        self.dtype = np.dtype(dtype)
        self.steps = steps
        self.results = results
        self._loops: dict[tuple[str, int], JitEntry[Function]] = {}
        self._layouts: dict[tuple[Any, ...], Layout | None] = {}
        #: The broadcast shape and its number of elements, by the inputs' shapes.
        self.shapes: dict[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], int]] = {}

    @classmethod
    def of(
        cls,
        dtype: Any,
        steps: Steps,
        results: tuple[int, ...],
        adds: bool = False,
        at_once: bool = False,
    ) -> Mapping | None:
        """The mapping; ``None`` where machine code has no such op or type.

        With ``adds`` results are added to the outputs, which may then be broadcast, too: everything that
        falls on one element is summed, by one thread.
        """
        if np.dtype(dtype).char not in "fd" or not all(can_write(op, dtype) for op, _ in steps):
            return None
        return cls(dtype, steps, results, adds, at_once)

    @classmethod
    def of_function(
        cls,
        dtype: Any,
        function: Callable[..., Any],
        num_inputs: int,
        adds: bool = False,
        at_once: bool = False,
    ) -> Mapping | None:
        """As `of`, for ``function(xp, *inputs)``, which returns one array or a tuple of arrays."""
        region = region_of(function, num_inputs, "float64")
        return cls.of(dtype, region.steps, region.results, adds, at_once)

    def run(self, shape: tuple[int, ...], inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Computes ``outputs``, of ``shape``; ``False`` where there is no machine code (yet)."""
        arrays = [*inputs, *outputs]
        key = (shape, *[(x.shape, x.strides, x.dtype) for x in arrays])
        try:
            layout = self._layouts[key]
        except KeyError:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self.layout(shape, arrays, len(inputs))
        if layout is None:
            return False
        function = layout.loop.get()
        if function is None:
            return False
        layout.call(function, arrays)
        return True

    def layout(
        self,
        shape: tuple[int, ...],
        arrays: list[Any],
        num_inputs: int,
        numbers: Container[int] | None = None,
    ) -> Layout | None:
        """How arrays of these shapes and strides are passed; ``None`` where they cannot be.

        An input of one element is passed as a number; where it is not among ``numbers``, by its address.
        """
        letters: list[str] = []
        strides: list[tuple[int, ...]] = []
        for x in arrays:
            i = len(letters)
            named = i < num_inputs and (numbers is None or i in numbers)
            if named and x.size == 1 and x.dtype == self.dtype:
                letters.append("n")
                continue
            letter = self._letter(x)
            if not letter:
                return None
            letters.append(letter)
            strides.append(x.strides if x.shape == shape else np.broadcast_to(x, shape).strides)
        axes = merged_axes(shape, strides)
        if not axes and math.prod(shape) == 1:  # a single element counts as contiguous
            axes = [
                (1, tuple(x.itemsize for x, a in zip(arrays, letters, strict=True) if a != "n"))
            ]
        if not axes or len(axes) - 1 > MAX_RANK or "b" in letters[num_inputs:]:
            return None
        innermost = iter(axes[-1][1])
        for i, letter in enumerate(letters):
            if letter == "n":
                continue
            step = next(innermost)
            if step == 0 and i < num_inputs:
                if letter == "w":
                    return None
                letters[i] = "u" if letter == "v" else "t"
            elif step != arrays[i].itemsize:
                return None
        # Sums along the first axis are computed by one thread.
        apart = len(axes) > 1 and all(axes[0][1][num_inputs - letters.count("n") :])
        return Layout(
            self._loop("".join(letters), num_inputs, len(axes) - 1),
            axes,
            tuple(letter == "n" for letter in letters) if "n" in letters else None,
            1 if self.adds and not apart else self.num_pieces(shape, len(arrays)),
        )

    def num_pieces(self, shape: tuple[int, ...], num_arrays: int) -> int:
        """As the function `num_pieces`, by what the steps take as well."""
        functions = sum(op in _FUNCTIONS for op, _ in self.steps)
        return num_pieces(shape, self.dtype, num_arrays, _BYTES_OF_FUNCTION * functions)

    def _letter(self, x: Array) -> str:
        """How an array of this dtype is passed: a letter of `Loop.inputs`; none where it cannot be."""
        return "v" if x.dtype == self.dtype else "b" if x.dtype.char == "?" else ""

    def _loop(self, letters: str, num_inputs: int, rank: int) -> JitEntry[Function]:
        found = self._loops.get((letters, rank))
        if found is None:
            stored = "+" * len(self.results) if self.adds else letters[num_inputs:]
            results = tuple(zip(self.results, stored, strict=True))
            loop = Loop(self.dtype.name, letters[:num_inputs], self.steps, results, rank)
            found = self._loops[letters, rank] = jit_entry(loop, self.at_once)
        return found


def num_pieces(shape: tuple[int, ...], dtype: Any, num_arrays: int, more: int = 0) -> int:
    """Into how many pieces the work on this many arrays of a shape is divided for the pool's threads; ``more``: what
    an element takes besides moving it, in bytes."""
    size_bytes: int = math.prod(shape) * (np.dtype(dtype).itemsize * num_arrays + more)
    if size_bytes < _SHARED_BYTES:
        return 1
    each = max(2, num_threads())  # as many pieces for each thread
    return -(-max(2, size_bytes // _PIECE_BYTES) // each) * each


#: Length of an axis, and its stride in each array.
_Axis = tuple[int, tuple[int, ...]]


def merged_axes(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> list[_Axis]:
    """The axes, merged where they are contiguous in all arrays; none where there are no elements."""
    axes: list[_Axis] = []
    for length, *steps in zip(shape, *strides, strict=True):
        if length == 0:
            return []
        if length == 1:
            continue
        if axes and all(outer == s * length for outer, s in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = (axes[-1][0] * length, tuple(steps))
        else:
            axes.append((length, tuple(steps)))
    return axes


class Layout:
    """How arrays of certain shapes and strides are passed to their loop.

    ``numbers`` says which are passed as numbers (``None``: none); ``strides`` are those of the
    outer axes. A ``shared`` layout is split along its first axis, whose strides are
    ``first_strides``, into ``pieces`` of ``step``, which its first call lays out.
    """

    __slots__ = (
        *("first_strides", "lengths", "loop", "numbers", "packed_strides", "pieces", "shared"),
        *("step", "strides"),
    )

    def __init__(
        self,
        loop: JitEntry[Function],
        axes: list[_Axis],
        numbers: tuple[bool, ...] | None,
        pieces: int,
    ) -> None:
        self.loop = loop
        self.lengths = tuple(length for length, _ in axes)
        # Grouped by array.
        outer = [steps for _, steps in axes[:-1]]
        self.strides = tuple(s for steps in zip(*outer, strict=True) for s in steps)
        self.packed_strides = struct.pack(f"{len(self.strides)}q", *self.strides)
        self.pieces: list[tuple[bytes, tuple[int, ...]]] | None = None
        self.numbers = numbers
        self.first_strides = axes[0][1]
        self.shared = pieces > 1
        self.step = max(1, -(-self.lengths[0] // pieces))

    def call(self, function: Function, arrays: list[Any]) -> None:
        """Runs the loop over arrays of this layout."""
        if self.shared:
            _call_shared(function, self, arrays)
            return
        function.prepared(self.lengths, self.strides)(
            [id(x) for x in arrays]
            if self.numbers is None
            else [
                x.item() if number else id(x)
                for x, number in zip(arrays, self.numbers, strict=True)
            ]
        )


def _call_shared(function: Function, layout: Layout, arrays: list[Any]) -> None:
    """Makes one call for each piece of the first axis, on all threads."""
    values = [
        x.item() if letter == "n" else address_of(x)
        for x, letter in zip(arrays, function.letters, strict=True)
    ]
    if layout.pieces is None:
        layout.pieces = [
            (struct.pack(f"{len(lengths)}q", *lengths), offsets)
            for lengths, offsets in pieces(layout, function.letters)
        ]
    pack, strides = function.pack_values, layout.packed_strides
    calls = []
    for lengths, offsets in layout.pieces:
        # Nothing is added to a number: it may be -0.0.
        here = [v + by if by else v for v, by in zip(values, offsets, strict=True)]
        calls.append((function.address, lengths + pack(*here) + strides))
    run_calls(calls)


def pieces(layout: Layout, letters: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each piece: its lengths, and the offset of each array in bytes, 0 for a number."""
    first, *lengths = layout.lengths
    found = []
    for start in range(0, first, layout.step):
        steps = iter(layout.first_strides)
        offsets = tuple(0 if letter == "n" else start * next(steps) for letter in letters)
        found.append(((min(layout.step, first - start), *lengths), offsets))
    return found


def mapped(
    mapping: Mapping,
    inputs: list[Any],
    otherwise: Callable[[list[Any]], Any],
    reused: int | None = None,
    out: Any = None,
) -> Any:
    """The result of a mapping with one result, or of ``otherwise(inputs)`` where it cannot run.

    It is written to ``out``, or over input ``reused``, if that has its shape and type; that input must
    not be used elsewhere.
    """
    shapes = tuple([x.shape for x in inputs])
    try:
        shape, size = mapping.shapes[shapes]
    except KeyError:
        shape = np.broadcast_shapes(*shapes)
        size = math.prod(shape)
        if len(mapping.shapes) >= _MOST_LAYOUTS:
            mapping.shapes.clear()
        mapping.shapes[shapes] = (shape, size)
    if size >= SMALL_ELEMENTS:
        if reused is not None:
            out = inputs[reused]
        if out is None or out.shape != shape or out.dtype != mapping.dtype:
            out = empty(shape, mapping.dtype)
        if mapping.run(shape, inputs, (out,)):
            return out
    return otherwise(inputs)


class NativeUfunc:
    """An element-wise function that is written once, ``f(xp, *arrays)``.

    Large float32 and float64 arrays are computed by machine code where there is some; other types,
    few elements and CuPy's arrays by the function itself, with the same bits. ``ufunc`` is NumPy's
    own if the function is one; then ``out`` is always written to.
    """

    def __init__(self, function: Callable[..., Any], ufunc: np.ufunc | None = None) -> None:
        self.function, self.ufunc = function, ufunc
        num_inputs = function.__code__.co_argcount - 1
        found = {char: Mapping.of_function(char, function, num_inputs) for char in "fd"}
        self._mappings = {char: mapping for char, mapping in found.items() if mapping is not None}

    def __call__(
        self, xp: Any, *inputs: Any, dtype: Any = None, reused: int | None = None, out: Any = None
    ) -> Any:
        """As `mapped`; ``dtype`` is the result's, that of the first input by default."""
        if xp is not np:
            return self.function(xp, *inputs)
        mapping = self._mappings.get((inputs[0].dtype if dtype is None else dtype).char)
        by_numpy: Callable[[Sequence[Any]], Any] = self._by_numpy
        if out is not None and (ufunc := self.ufunc) is not None:
            by_numpy = lambda operands: ufunc(*operands, out=out)
        if mapping is None:
            return by_numpy(inputs)
        return mapped(mapping, list(inputs), by_numpy, reused, out)

    def _by_numpy(self, inputs: Sequence[Any]) -> Any:
        return self.function(np, *inputs)


#: For sums over its rows, a matrix is read in rows of at least this many numbers.
_WIDE_ROW = 256
#: The most shares of rows that are summed separately, and the fewest numbers in one.
_MOST_SHARES, _LEAST_SHARE = 8, 1 << 16


def rows_joined(rows: int, columns: int) -> int:
    """How many rows of a contiguous matrix are treated as one, so that the inner loop is long and an addition does
    not depend on the one before."""
    joined = 1
    while joined * columns < _WIDE_ROW and rows % (2 * joined) == 0:
        joined *= 2
    return joined


def shares_of_rows(rows: int, columns: int) -> int:
    """How many shares of the rows of a contiguous matrix have sums of their own, so that threads can compute them."""
    joined, shares = rows_joined(rows, columns), 1
    while shares < _MOST_SHARES and rows * columns // shares >= _LEAST_SHARE:
        if rows // joined % (2 * shares):
            break
        shares *= 2
    return shares


def add_inner(x: Array, total: Any) -> None:
    """Adds ``x`` to ``total``, summing over the axes in which ``total`` has length 1, in order.

    The last axis is not one of these, so NumPy adds whole rows, in order.
    """
    axes = tuple(i for i, size in enumerate(total.shape) if size == 1 and x.shape[i] > 1)
    total += np.add.reduce(x, axis=axes, keepdims=True) if axes else x


class ColumnSums:
    """Sums over the rows of ``f(xp, *matrices, *vectors)``, which maps matrices [rows, columns] and
    vectors [columns] to one array or a tuple of arrays.

    Rows are added one after the other, by NumPy in the same order as by machine code.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        num_inputs = function.__code__.co_argcount - 1
        self._mappings = {
            char: Mapping.of_function(char, function, num_inputs, adds=True) for char in "fd"
        }

    def __call__(self, matrices: list[Any], vectors: Sequence[Any] = ()) -> list[Any] | None:
        """One vector for each result; ``None`` for small matrices and other types."""
        rows, columns = matrices[0].shape
        mapping = self._mappings.get(matrices[0].dtype.char)
        if mapping is None or rows * columns < SMALL_ELEMENTS:
            return None
        joined, shares = rows_joined(rows, columns), shares_of_rows(rows, columns)
        shape = (shares, rows // joined // shares, joined * columns)
        wide = [m.reshape(shape) for m in matrices]
        operands = [*wide, *(np.tile(v, joined) for v in vectors)]
        sums = [np.zeros((shares, 1, shape[2]), mapping.dtype) for _ in mapping.results]
        if not mapping.run(shape, operands, sums):
            made = self.function(np, *operands)
            for total, x in zip(sums, made if isinstance(made, tuple) else (made,), strict=True):
                add_inner(x, total)
        return [
            s.reshape(-1, columns).sum(0) if shares * joined > 1 else s.reshape(-1) for s in sums
        ]
