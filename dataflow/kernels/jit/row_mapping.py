"""Loops in machine code with sums and maxima along the last axis: `native_ufunc`'s mappings, by rows."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.expression import ROW_MAX, ROW_REDUCTIONS, ROW_SUM
from dataflow.kernels.jit.loop_codegen import MOST_SUMMED
from dataflow.kernels.jit.native_ufunc import (
    MAX_RANK,
    SMALL_ELEMENTS,
    Layout,
    Mapping,
    Steps,
    merged_axes,
)
from dataflow.kernels.jit.step_codegen import can_write

#: The shortest row for which this pays off.
LEAST_SUMMED = 16


def are_summed(shape: tuple[int, ...]) -> bool:
    """Whether rows of an array of this shape are summed by machine code, where there is some."""
    return (
        len(shape) > 1
        and LEAST_SUMMED <= shape[-1] <= MOST_SUMMED
        and math.prod(shape) >= SMALL_ELEMENTS
    )


class RowMapping(Mapping):
    """A `Mapping` whose steps may be sums and maxima along the last axis (`expression.ROW_REDUCTIONS`).

    Arrays have the shape [..., length] or one that is broadcast to it; an output with a last axis of
    size 1 takes one number for each row.
    """

    @classmethod
    def of_rows(
        cls, dtype: Any, steps: Steps, results: tuple[int, ...], at_once: bool = False
    ) -> RowMapping | None:
        """The mapping; ``None`` where machine code has no such op or type."""
        known = all(op in ROW_REDUCTIONS or can_write(op, dtype) for op, _ in steps)
        if np.dtype(dtype).char not in "fd" or not known:
            return None
        return cls(dtype, steps, results, at_once=at_once)

    def layout(
        self,
        shape: tuple[int, ...],
        arrays: list[Any],
        num_inputs: int,
        numbers: Container[int] | None = None,
    ) -> Layout | None:
        """As `Mapping.layout`. ``None`` also for inputs that NumPy would sum in another order."""
        if not are_summed(shape):
            return None
        letters: list[str] = []
        strides: list[tuple[int, ...]] = []
        for x in arrays:
            is_input = len(letters) < num_inputs
            if x.dtype != self.dtype:
                return None
            named = is_input and (numbers is None or len(letters) in numbers)
            if x.size == 1 and named:
                letters.append("n")
                continue
            wide = x.shape[-1] != 1
            if wide and x.strides[-1] != x.itemsize:
                return None
            letters.append("v" if wide else "u" if is_input else "s")
            strides.append(np.broadcast_to(x, shape).strides)
        outer = merged_axes(shape[:-1], [s[:-1] for s in strides]) if shape[:-1] else []
        if len(outer) > MAX_RANK or (not outer and math.prod(shape[:-1]) != 1):
            return None
        axes = [*outer, (shape[-1], tuple(s[-1] for s in strides))]
        return Layout(
            self._loop("".join(letters), num_inputs, len(outer)),
            axes,
            tuple(letter == "n" for letter in letters) if "n" in letters else None,
            self.num_pieces(shape, len(arrays)) if outer else 1,
        )


_SUMS = {char: RowMapping.of_rows(char, ((ROW_SUM, (0,)),), (1,), at_once=True) for char in "fd"}


def summed_rows(x: Array) -> Any:
    """The sum along the last axis, which stays with size 1; ``None`` where machine code does not do it."""
    mapping = _SUMS.get(x.dtype.char)
    if mapping is None or not are_summed(x.shape) or x.strides[-1] != x.itemsize:
        return None
    total = np.empty((*x.shape[:-1], 1), x.dtype)
    return total if mapping.run(x.shape, [x], [total]) else None


#: For x: its maximum, the exponentials of what is less, their sum, and their shares of it.
_SOFTMAX = (
    (ROW_MAX, (0,)),
    ("Sub", (0, 1)),
    ("Exp", (2,)),
    (ROW_SUM, (3,)),
    ("RealDiv", (3, 4)),
)
_SHARES = {char: RowMapping.of_rows(char, _SOFTMAX, (5,)) for char in "fd"}
#: Steps and results of `softmax_parts`.
SOFTMAX_PARTS = _SOFTMAX, (1, 4, 5)
_SOFTMAX_PARTS = {char: RowMapping.of_rows(char, *SOFTMAX_PARTS, at_once=True) for char in "fd"}
#: For logits and labels: the sum of the exponentials, softmax less labels, the sum of the labels, and that of the
#: labels times what the logits are less than their maximum.
CROSS_ENTROPY: tuple[Steps, tuple[int, ...]] = (
    (
        (ROW_MAX, (0,)),
        ("Sub", (0, 2)),
        ("Exp", (3,)),
        (ROW_SUM, (4,)),
        ("RealDiv", (4, 5)),
        ("Sub", (6, 1)),
        (ROW_SUM, (1,)),
        ("Mul", (3, 1)),
        (ROW_SUM, (9,)),
    ),
    (5, 7, 8, 10),
)
_CROSS_ENTROPY = {char: RowMapping.of_rows(char, *CROSS_ENTROPY, at_once=True) for char in "fd"}


def _run(mapping: RowMapping | None, by_row: Sequence[bool], *inputs: Array) -> Any:
    """The results of a mapping, in arrays of the inputs' shape or with one number for each row; or ``None``."""
    shape, dtype = inputs[0].shape, inputs[0].dtype
    if mapping is None or not are_summed(shape):
        return None
    results = [np.empty((*shape[:-1], 1) if one else shape, dtype) for one in by_row]
    return results if mapping.run(shape, inputs, results) else None


def softmax(x: Array) -> Any:
    """The softmax along the last axis; ``None`` where machine code does not do it (yet)."""
    found = _run(_SHARES.get(x.dtype.char), (False,), x)
    return found and found[0]


def softmax_parts(x: Array) -> Any:
    """(Maxima, sums of the exponentials of what is less, softmax) along the last axis; or ``None``."""
    return _run(_SOFTMAX_PARTS.get(x.dtype.char), (True, True, False), x)


def cross_entropy(logits: Array, labels: Array) -> Any:
    """(Losses, softmax less labels), for matrices of the same shape; or ``None``."""
    mapping = _CROSS_ENTROPY.get(logits.dtype.char)
    found = _run(mapping, (True, False, True, True), logits, labels)
    if found is None:
        return None
    total, gradient, labeled, chosen = found
    return (np.log(total) * labeled - chosen)[:, 0], gradient
