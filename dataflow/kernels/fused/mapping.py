"""Loops in machine code over NumPy arrays of any layout: `native`'s loops, found and called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.fused.native import OPS, Function, Lazy, Loop, address_of, lazy
from dataflow.kernels.parallel import run_pieces

#: Below this NumPy's calls cost no more than finding and calling a loop.
SMALL_ELEMENTS = 8192
#: With more bytes than this to move, another thread takes a share; waking it takes about 0.1 ms.
_SHARED_BYTES = 8 << 20
_PIECE_BYTES = 2 << 20
_MAX_RANK = 3

Steps = tuple[tuple[str, tuple[Any, ...]], ...]


class Mapping:
    """Steps (as those of a `Loop`) over arrays that are broadcast to one shape."""

    def __init__(
        self, dtype: Any, steps: Steps, results: tuple[int, ...], adds: bool = False
    ) -> None:
        self.adds = adds
        self.dtype = np.dtype(dtype)
        self._char = self.dtype.char
        self.steps = steps
        self.results = results
        self._loops: dict[tuple[str, int], Lazy[Function]] = {}

    @classmethod
    def of(
        cls, dtype: Any, steps: Steps, results: tuple[int, ...], adds: bool = False
    ) -> Mapping | None:
        """The mapping; ``None`` where machine code has no such op or type.

        With ``adds`` results are added to the outputs, which then may be broadcast, too: all that
        falls on one element is added up, by one thread.
        """
        if np.dtype(dtype).char not in "fd" or any(op not in OPS for op, _ in steps):
            return None
        return cls(dtype, steps, results, adds)

    def run(self, shape: tuple[int, ...], inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Fills ``outputs``, of ``shape``; ``False`` where that is not possible (yet)."""
        arrays = [*inputs, *outputs]
        if not self.adds:
            flat = self._run_flat(shape, arrays, len(inputs))
            if flat is not None:
                return flat
        letters: list[str] = []
        strides: list[tuple[int, ...]] = []
        for x in arrays:
            if x.size == 1 and x.dtype == self.dtype and len(letters) < len(inputs):
                letters.append("n")
                continue
            if x.dtype != self.dtype and x.dtype.char != "?":
                return False
            letters.append("v" if x.dtype == self.dtype else "b")
            strides.append(x.strides if x.shape == shape else np.broadcast_to(x, shape).strides)
        axes = _merged_axes(shape, strides)
        if not axes or len(axes) - 1 > _MAX_RANK:
            return False
        innermost = iter(axes[-1][1])
        for i, letter in enumerate(letters):
            if letter == "n":
                continue
            step = next(innermost)
            if step == 0 and letter == "v" and i < len(inputs):
                letters[i] = "u"
            elif step != arrays[i].itemsize:
                return False
        function = self._loop("".join(letters), len(inputs), len(axes) - 1).get()
        if function is None:
            return False
        values = [
            x.reshape(-1)[0] if letter == "n" else address_of(x)
            for x, letter in zip(arrays, letters, strict=True)
        ]
        if self.adds:
            lengths = [length for length, _ in axes]
            function(*lengths, *values, *_outer_strides(axes))
        else:
            _call(function, axes, values, self.dtype.itemsize)
        return True

    def _run_flat(self, shape: tuple[int, ...], arrays: list[Any], num_inputs: int) -> bool | None:
        """`run` for contiguous arrays of one shape, the usual case; ``None`` for any other."""
        letters = ""
        for x in arrays:
            if x.shape != shape or not x.flags.c_contiguous:
                return None
            char = x.dtype.char
            if char != self._char and char != "?":
                return None
            letters += "b" if char == "?" else "v"
        size = arrays[-1].size
        if not size or letters[-1] == "b":
            return None
        function = self._loop(letters, num_inputs, 0).get()
        if function is None:
            return False
        addresses = [address_of(x) for x in arrays]
        if size * self.dtype.itemsize * len(arrays) < _SHARED_BYTES:
            function(size, *addresses)
        else:
            strides = tuple(x.itemsize for x in arrays)
            _call(function, [(size, strides)], addresses, self.dtype.itemsize)
        return True

    def _loop(self, letters: str, num_inputs: int, rank: int) -> Lazy[Function]:
        found = self._loops.get((letters, rank))
        if found is None:
            stored = "+" * len(self.results) if self.adds else letters[num_inputs:]
            results = tuple(zip(self.results, stored, strict=True))
            loop = Loop(self.dtype.name, letters[:num_inputs], self.steps, results, rank)
            found = self._loops[letters, rank] = lazy(loop)
        return found


#: Length of an axis, and its stride in each array.
_Axis = tuple[int, tuple[int, ...]]


def _merged_axes(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> list[_Axis]:
    """The axes, those joined that are one axis in all arrays; none where there is no element."""
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


def _outer_strides(axes: list[_Axis]) -> list[int]:
    """All of one array together."""
    return [s for steps in zip(*(a[1] for a in axes[:-1]), strict=True) for s in steps]


def _call(function: Function, axes: list[_Axis], values: list[Any], item_bytes: int) -> None:
    """One call, or one for each piece of the first axis, shared by the threads."""
    lengths = [length for length, _ in axes]
    strides = _outer_strides(axes)
    size_bytes = int(np.prod(lengths)) * item_bytes * len(values)
    if size_bytes < _SHARED_BYTES:
        function(*lengths, *values, *strides)
        return
    step = max(1, _PIECE_BYTES * lengths[0] // size_bytes)

    def work(start: int) -> None:
        steps = iter(axes[0][1])
        here = [
            v if letter == "n" else v + start * next(steps)
            for v, letter in zip(values, function.letters, strict=True)
        ]
        function(min(step, lengths[0] - start), *lengths[1:], *here, *strides)

    run_pieces(range(0, lengths[0], step), lambda: work)


def mapped(
    mapping: Mapping,
    inputs: list[Any],
    otherwise: Callable[[list[Any]], Any],
    reused: int | None = None,
) -> Any:
    """The result of a mapping with one result, or of ``otherwise(inputs)`` where it cannot run.

    It is written over input number ``reused`` where that has its shape and type; nobody else may
    look at that input.
    """
    shape: tuple[int, ...] = np.shape(inputs[0])
    for x in inputs[1:]:
        if np.shape(x) != shape:
            shape = np.broadcast_shapes(*[np.shape(x) for x in inputs])
            break
    size = 1
    for length in shape:
        size *= length
    if size >= SMALL_ELEMENTS:
        out = None if reused is None else inputs[reused]
        if out is None or out.shape != shape or out.dtype != mapping.dtype:
            out = np.empty(shape, mapping.dtype)
        if mapping.run(shape, inputs, (out,)):
            return out
    return otherwise(inputs)


class MappedOp:
    """One op as a mapping, for whatever type its operands have."""

    def __init__(self, num_inputs: int, *steps: tuple[str, tuple[Any, ...]]) -> None:
        results = (num_inputs + len(steps) - 1,)
        self._mappings = {char: Mapping(np.dtype(char), steps, results) for char in "fd"}

    def __call__(
        self,
        dtype: Any,
        inputs: list[Any],
        otherwise: Callable[[list[Any]], Any],
        reused: int | None = None,
    ) -> Any:
        """As `mapped`; ``dtype`` is the result's."""
        mapping = self._mappings.get(dtype.char)
        return otherwise(inputs) if mapping is None else mapped(mapping, inputs, otherwise, reused)


#: A matrix is read in rows of at least so many numbers, for sums over its rows.
_WIDE_ROW = 512


class ColumnSums:
    """Sums over the rows of what steps make of matrices [rows, columns] and vectors [columns]."""

    def __init__(self, steps: Steps, results: tuple[int, ...]) -> None:
        self.results = results
        self._mappings = {char: Mapping.of(char, steps, results, adds=True) for char in "fd"}

    def __call__(self, matrices: list[Any], vectors: Sequence[Any] = ()) -> list[Any] | None:
        """One vector for each result; ``None`` where that is not possible (yet)."""
        rows, columns = matrices[0].shape
        mapping = self._mappings.get(matrices[0].dtype.char)
        if mapping is None or rows * columns < SMALL_ELEMENTS:
            return None
        # Several rows as one: otherwise each addition waits for the one before.
        joined = 1
        while joined * columns < _WIDE_ROW and rows % (2 * joined) == 0:
            joined *= 2
        shape = (rows // joined, joined * columns)
        wide = [m.reshape(shape) for m in matrices]
        sums = [np.zeros(shape[1], mapping.dtype) for _ in self.results]
        if not mapping.run(shape, [*wide, *(np.tile(v, joined) for v in vectors)], sums):
            return None
        return [s.reshape(joined, columns).sum(0) if joined > 1 else s for s in sums]


_ROW_LOOPS = {
    (op, np.dtype(dtype).char): lazy(Loop(dtype, "rv", ((op, (0, 1)),), ((2, "r"),), rank=1))
    for op in ("Add", "Sub")
    for dtype in ("float32", "float64")
}


def change_rows(op: str, array: Any, numbers: Any, rows: Any) -> bool:
    """``array[numbers[i]] = op(array[numbers[i]], rows[i])``, one after the other, in place.

    ``numbers`` lie in the array, which is contiguous. ``False`` where that is not possible (yet).
    """
    loop = _ROW_LOOPS.get((op, array.dtype.char))
    function = None if loop is None or rows.dtype != array.dtype else loop.get()
    if function is None:
        return False
    rows, numbers = np.ascontiguousarray(rows), np.ascontiguousarray(numbers, np.int64)
    row_bytes = rows.nbytes // max(numbers.size, 1)
    if row_bytes:
        where = address_of(array)
        addresses = (where, address_of(rows), where)
        strides = (row_bytes, row_bytes, row_bytes)
        function(
            numbers.size, row_bytes // rows.itemsize, *addresses, *strides, address_of(numbers)
        )
    return True
