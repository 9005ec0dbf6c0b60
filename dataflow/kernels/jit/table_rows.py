"""Rows of a table that an index names: taken, changed, added up, in one call of machine code.

Each call first looks whether all numbers lie in the table, and changes nothing when one does not;
then it goes through them in order, so a row that is named again is changed again, and the results
are the same in every run. The numbers are int32 or int64 and are read as they are.

Measured (128 rows of 64 floats, with the kernel around it): a gather 5.6 us with NumPy's checks and
`take`, 4.7 us here; a scattered sum 10.5 us with NumPy's check of the numbers, 4.9 us here.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.kernels.jit.compiler import JitEntry, compile_source, text_of
from dataflow.kernels.jit.step_codegen import Loop

#: Those that machine code reads.
_INDEX_TYPES = {"i": "i32", "l": "i64", "q": "i64"}
#: Loops that move bits, by the size of an element.
_MOVED = {4: "float32", 8: "float64"}


class RowFunction:
    """A loop over the rows that an index names, in machine code (letters ``r`` of a `Loop`).

    All its arrays have rows of one length that lie one after the other.
    """

    __slots__ = ("_code", "_pack", "_strides")

    def __init__(self, letters: str, address: int) -> None:
        self._code = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(address)
        values = "".join("d" if letter == "n" else "q" for letter in letters)
        self._strides = len(letters) - letters.count("n")
        self._pack = struct.Struct(f"qq{values}{self._strides}qqq").pack

    def __call__(
        self, values: Sequence[Any], numbers: Any, length: int, row_bytes: int, table_rows: int
    ) -> bool:
        """Runs it; ``False``, and nothing is changed, where a number names no row.

        ``values``: the ``id`` of each array, and the numbers among the inputs; ``numbers`` has the
        index, contiguous; a row has ``length`` elements and ``row_bytes`` bytes.
        """
        table = self._pack(
            numbers.size, length, *values, *(row_bytes,) * self._strides, id(numbers), table_rows
        )
        return bool(self._code(table) < 0)


def _compile(loop: Loop) -> RowFunction:
    return RowFunction(loop.letters, compile_source(text_of(loop), "objects")[0])


class RowLoop:
    """The compiled forms of a loop with rows, one for each type of index."""

    def __init__(self, loop: Loop) -> None:
        self._of = {
            index: JitEntry(functools.partial(_compile, loop._replace(index_type=index)))
            for index in ("i32", "i64")
        }

    def get(self, numbers: Any) -> RowFunction | None:
        """The function for this index; ``None`` where there is none (yet)."""
        index = _INDEX_TYPES.get(numbers.dtype.char)
        if index is None or type(numbers) is not np.ndarray or not numbers.flags.c_contiguous:
            return None
        return self._of[index].get()


_CHANGES = {
    (op, np.dtype(dtype).char): RowLoop(Loop(dtype, "rv", ((op, (0, 1)),), ((2, "r"),), rank=1))
    for op in ("Add", "Sub")
    for dtype in ("float32", "float64")
}
_TAKES = {
    size: RowLoop(Loop(dtype, "r", (), ((0, "v"),), rank=1)) for size, dtype in _MOVED.items()
}


def change_rows(op: str, array: Any, numbers: Any, rows: Any) -> bool:
    """``array[numbers[i]] = op(array[numbers[i]], rows[i])``, one after the other, in place.

    ``array`` is contiguous; ``rows`` has the shape of ``numbers`` and then that of a row. ``False``
    where that is not possible (yet), or a number names no row: then nothing has changed.
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


def add_rows(array: Any, numbers: Any, rows: Any) -> None:
    """``array[numbers[i]] += rows[i]``, one after the other, in place, by NumPy.

    As a vector: `numpy.add.at` has a quick loop for that, and none for rows.
    """
    width = rows.size // len(numbers)
    at = numbers.astype(np.intp, copy=False)
    if width > 1:
        at = (at[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(array.reshape(-1), at, rows.reshape(-1))


def take_rows(array: Any, numbers: Any, out: Any = None) -> Any:
    """``array[numbers]`` along the first axis; ``None`` where that is not possible (yet), or a
    number names no row.

    It is written to ``out``, contiguous, where that has its shape and type.
    """
    loop = _TAKES.get(array.itemsize)
    if loop is None or type(array) is not np.ndarray or array.dtype.kind not in "fiuc":
        return None
    if not array.size or not numbers.size or not array.flags.c_contiguous:
        return None
    function = loop.get(numbers)
    if function is None:
        return None
    shape = numbers.shape + array.shape[1:]
    if out is None or out.shape != shape or out.dtype != array.dtype:
        out = np.empty(shape, array.dtype)
    length = out.size // numbers.size
    done = function((id(array), id(out)), numbers, length, length * array.itemsize, array.shape[0])
    return out if done else None
