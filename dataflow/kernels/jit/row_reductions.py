"""Softmax, and reductions of arrays and of element-wise chains along the last axis, by row programs.

Every function gives ``None`` where there is no machine code (yet), and the caller goes on with
NumPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.jit import row_programs
from dataflow.kernels.jit.native_ufunc import merged_axes
from dataflow.kernels.jit.row_programs import RowKernel, RowProgram, Stage, Steps


@functools.cache
def reduction(kind: str, dtype: str) -> RowKernel:
    """[rows, columns] -> [rows]."""
    return RowKernel(RowProgram(dtype, "v", (Stage((), (kind, 0)),), (1,)))


@functools.cache
def softmax() -> RowKernel:
    """Of each row, in single precision."""
    stages = (
        Stage((), ("largest", 0)),
        Stage((("Sub", (0, 1)), ("Exp", (2,))), ("sum", 3), 3),
        Stage((("Reciprocal", (4,)), ("Stored", ()), ("Mul", (6, 5))), None, 7),
    )
    return RowKernel(RowProgram("float32", "v", stages))


@functools.cache
def log_softmax() -> RowKernel:
    """The logarithm of `softmax`."""
    stages = (
        Stage((), ("largest", 0)),
        Stage((("Sub", (0, 1)), ("Exp", (2,))), ("sum", 3)),
        Stage((("Log", (4,)), ("Sub", (0, 1)), ("Sub", (6, 5))), None, 7),
    )
    return RowKernel(RowProgram("float32", "v", stages))


@functools.cache
def softmax_and_logarithm() -> RowKernel:
    """`softmax`, and of each row its largest element and the logarithm of the sum of what all are
    below that, as exponentials."""
    stages = (
        Stage((), ("largest", 0)),
        Stage((("Sub", (0, 1)), ("Exp", (2,))), ("sum", 3), 3),
        Stage((("Reciprocal", (4,)), ("Stored", ()), ("Mul", (6, 5))), None, 7),
        Stage((("Log", (4,)),)),
    )
    return RowKernel(RowProgram("float32", "v", stages, (1, 8)))


@functools.cache
def cross_entropy() -> RowKernel:
    """Of logits and labels: the gradient, softmax less labels, and the loss of each row."""
    stages = (
        Stage((), ("largest", 0)),
        Stage((("Sub", (0, 2)), ("Exp", (3,))), ("sum", 4), 4),
        Stage((("Log", (5,)), ("Reciprocal", (5,)))),
        Stage((("Sub", (0, 2)), ("Sub", (6, 8)), ("Mul", (9, 1))), ("sum", 10)),
        Stage((("Stored", ()), ("Mul", (12, 7)), ("Sub", (13, 1))), None, 14),
    )
    return RowKernel(RowProgram("float32", "vv", stages, (11,)))


def softmax_rows(x: Any) -> tuple[Any, Any, Any] | None:
    """`softmax_and_logarithm` of a matrix; ``None`` where that is not possible (yet)."""
    return _with_numbers(softmax_and_logarithm, [x])  # type: ignore[no-any-return]


def cross_entropy_rows(logits: Any, labels: Any) -> tuple[Any, Any] | None:
    """(losses [rows], gradient) of matrices; ``None`` where that is not possible (yet)."""
    found = _with_numbers(cross_entropy, [logits, labels])
    return None if found is None else found[::-1]


def _with_numbers(kernel: Callable[[], RowKernel], matrices: list[Any]) -> Any:
    """What a program with a result for each element, and others for each row, makes of matrices."""
    rows, columns = matrices[0].shape
    if rows * columns < row_programs.SMALL_ELEMENTS:
        return None
    if any(m.dtype.char != "f" or not m.flags.c_contiguous for m in matrices):
        return None
    by_rows = kernel()
    numbers = [np.empty(rows, np.float32) for _ in by_rows.program.results]
    out = (np.empty((rows, columns), np.float32), *numbers)
    strides = [(0, 4 * columns)] * len(matrices)
    return out if by_rows.run((1, rows), columns, matrices, strides, out) else None


def reduced(kind: str, x: Any) -> Any:
    """A reduction along the last axis, [...]; ``None`` where that is not possible (yet)."""
    if x.dtype.char not in "fd" or x.size < row_programs.SMALL_ELEMENTS or not x.flags.c_contiguous:
        return None
    out = np.empty(x.shape[:-1], x.dtype)
    return out if _along_rows(reduction(kind, x.dtype.name), x, out) else None


def mapped_rows(kernel: Callable[[], RowKernel], x: Any) -> Any:
    """A result of the shape of x, by its rows; ``None`` where that is not possible (yet)."""
    if x.dtype.char != "f" or x.size < row_programs.SMALL_ELEMENTS or not x.flags.c_contiguous:
        return None
    out = np.empty_like(x)
    return out if _along_rows(kernel(), x, out) else None


def _along_rows(kernel: RowKernel, x: Any, out: Any) -> bool:
    columns = x.shape[-1]
    return kernel.run((1, x.size // columns), columns, [x], [(0, columns * x.itemsize)], [out])


#: Shapes and strides that are remembered for a chain.
_MOST_LAYOUTS = 64


class ReducedChain:
    """Steps over arrays that are broadcast to one shape, and the sum of the last along its rows."""

    def __init__(self, dtype: str, num_inputs: int, steps: Steps) -> None:
        self.dtype, self.num_inputs, self.steps = np.dtype(dtype), num_inputs, steps
        self._kernels: dict[str, RowKernel] = {}
        self._layouts: dict[Any, Any] = {}

    @classmethod
    def of(cls, dtype: str, num_inputs: int, steps: Steps) -> ReducedChain | None:
        """The chain; ``None`` where machine code has no such op or type."""
        if not all(row_programs.can_write(op, dtype) for op, _ in steps):
            return None
        return cls(dtype, num_inputs, steps)

    def __call__(self, inputs: Sequence[Any]) -> Any:
        """(sums, elements in a row); ``None`` where that is not possible (yet)."""
        key = tuple([(x.shape, x.strides, x.dtype) for x in inputs])
        try:
            layout = self._layouts[key]
        except KeyError:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self._layout(inputs)
        if layout is None:
            return None
        kernel, outer, shape, strides = layout
        out = np.empty(shape[:-1], self.dtype)
        done = kernel.run(outer, shape[-1], inputs, strides, [out])
        return (out, shape[-1]) if done else None

    def _layout(self, inputs: Sequence[Any]) -> Any:
        """(kernel, lengths of the rows' axes, shape, strides); ``None`` for other arrays."""
        try:
            shape = np.broadcast_shapes(*[x.shape for x in inputs])
        except ValueError:  # the step itself says so, with its own node
            return None
        if not shape or math.prod(shape) < row_programs.SMALL_ELEMENTS:
            return None
        letters, outer = "", []
        for x in inputs:
            if x.dtype != self.dtype:
                return None
            if x.size == 1:
                letters += "n"
                continue
            *along, last = np.broadcast_to(x, shape).strides
            if last not in (0, x.itemsize) or (shape[-1] == 1 and last):
                return None
            letters += "v" if last else "u"
            outer.append(tuple(along))
        axes = merged_axes(shape[:-1], outer)
        if len(axes) > 2 or "v" not in letters:
            return None
        axes = [(1, (0,) * len(outer))] * (2 - len(axes)) + axes
        pairs = iter(list(zip(axes[0][1], axes[1][1], strict=True)))
        strides = [(0, 0) if letter == "n" else next(pairs) for letter in letters]
        return self._kernel(letters), (axes[0][0], axes[1][0]), shape, strides

    def _kernel(self, letters: str) -> RowKernel:
        found = self._kernels.get(letters)
        if found is None:
            last = self.num_inputs + len(self.steps) - 1
            stage = Stage(self.steps, ("sum", last))
            program = RowProgram(self.dtype.name, letters, (stage,), (last + 1,))
            found = self._kernels[letters] = RowKernel(program)
        return found
