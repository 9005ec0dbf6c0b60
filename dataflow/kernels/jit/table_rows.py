"""Updates and sums rows of a table by index, in one call of machine code.

Each call first checks that all indices are in range, and changes nothing if one is not; then it
processes them in order, so a row that is indexed again is changed again, and the results are the same
in every run. Indices are int32 or int64 and are read in place.

Measured (128 rows of 64 floats, with the kernel around it): a scattered sum 10.5 us with NumPy's check
of the numbers, 4.9 us here. Gathering rows is left to NumPy's `take`: 5.6 us, 4.7 us in machine code, and no
difference in any training step.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.compiler import JitEntry, loop_made_twice
from dataflow.kernels.jit.step_codegen import Loop

#: LLVM's types of index arrays, by NumPy's character code.
_INDEX_TYPES = {"i": "i32", "l": "i64", "q": "i64"}


class RowFunction:
    """A loop in machine code over the rows given by an index (letters ``r`` of a `Loop`).

    All its arrays have contiguous rows of the same length.
    """

    __slots__ = ("_code", "_pack", "_strides")

    def __init__(self, letters: str, addresses: Sequence[int]) -> None:
        self.use(addresses)
        values = "".join("d" if letter == "n" else "q" for letter in letters)
        self._strides = len(letters) - letters.count("n")
        self._pack = struct.Struct(f"qq{values}{self._strides}qqq").pack

    def use(self, addresses: Sequence[int]) -> None:
        """Runs the code at this one address from now on."""
        self._code = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(addresses[0])

    def __call__(
        self, values: Sequence[Any], numbers: Any, length: int, row_bytes: int, table_rows: int
    ) -> bool:
        """Runs the loop; returns ``False`` and changes nothing where an index is out of range.

        ``values``: the ``id`` of each array, and the numbers among the inputs; ``numbers``: the
        indices, contiguous; a row has ``length`` elements and ``row_bytes`` bytes.
        """
        table = self._pack(
            numbers.size, length, *values, *(row_bytes,) * self._strides, id(numbers), table_rows
        )
        return bool(self._code(table) < 0)


def _compile(loop: Loop) -> RowFunction:
    return loop_made_twice(loop, ("objects",), functools.partial(RowFunction, loop.letters))


class RowLoop:
    """The compiled forms of a loop with rows, one for each type of index."""

    def __init__(self, loop: Loop) -> None:
        self._of = {
            index: JitEntry(functools.partial(_compile, loop._replace(index_type=index)))
            for index in ("i32", "i64")
        }

    def get(self, numbers: Any) -> RowFunction | None:
        """The function for the dtype of this index; ``None`` where there is none (yet)."""
        index = _INDEX_TYPES.get(numbers.dtype.char)
        if index is None or type(numbers) is not np.ndarray or not numbers.flags.c_contiguous:
            return None
        return self._of[index].get()


_CHANGES = {
    (op, np.dtype(dtype).char): RowLoop(Loop(dtype, "rv", ((op, (0, 1)),), ((2, "r"),), rank=1))
    for op in ("Add", "Sub")
    for dtype in ("float32", "float64")
}


def change_rows(op: str, array: Array, numbers: Any, rows: Any) -> bool:
    """``array[numbers[i]] = op(array[numbers[i]], rows[i])``, one after the other, in place.

    ``array`` is contiguous; ``rows`` has the shape of ``numbers`` followed by that of a row. Returns
    ``False`` where that is not possible (yet) or an index is out of range; then nothing has changed.
    """
    loop = _CHANGES.get((op, array.dtype.char))
    if loop is None or rows.dtype != array.dtype or type(rows) is not np.ndarray:
        return False
    if not rows.size or not rows.flags.c_contiguous:
        return False
    function = loop.get(numbers)
    if function is None:
        return False
    where, length = id(array), rows.size // numbers.size
    return function(
        (where, id(rows), where), numbers, length, length * rows.itemsize, array.shape[0]
    )


def add_rows(array: Array, numbers: Any, rows: Any) -> None:
    """``array[numbers[i]] += rows[i]``, one after the other, in place, by NumPy.

    On flat views: `numpy.add.at` has a fast loop for vectors, and none for rows.
    """
    width = rows.size // len(numbers)
    at = numbers.astype(np.intp, copy=False)
    if width > 1:
        at = (at[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(array.reshape(-1), at, rows.reshape(-1))
