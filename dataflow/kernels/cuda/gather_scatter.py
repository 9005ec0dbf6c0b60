"""Rows by number on a GPU: gathered by one kernel, added up in a fixed order by a few.

Sums that repeat a row are not left to atomics, whose order is another one in every run: the numbers
are sorted, and then one thread for each few columns of a row adds up what belongs there, in the order
in which it was given. A number that is repeated often (the padding of sentences, a position) is added
up in chunks by many threads, and then the chunks, again in order. The host waits for nothing, so
that a CUDA graph can hold all of it: numbers of no row are not refused as on the CPU, but give zeros
(gathered) or are left out (added), as with TensorFlow's GPU kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.radix_sort import in_order
from dataflow.kernels.cuda.source import (
    C_TYPES,
    UNITS,
    can_run,
    element_kernel,
    index_type,
    kept,
    launch_elements,
    number_type,
    sum_type,
    vector_header,
    vector_length,
)
from dataflow.kernels.xp import address_of

#: What may be added up.
_DTYPES = ("float16", "float32", "float64", "int32", "int64")
_INDICES = ("int32", "int64")

_GATHER = """    I rest = i;
    I c = rest % LENGTH; rest /= LENGTH;
    I k = rest % count; rest /= count;
    I row = (I)indices[k];
    T value = {};
    if (row >= 0 && row < rows) value = x[(rest * rows + row) * LENGTH + c];
    out[i] = value;"""


def can_gather(xp: Module, indices: Array) -> bool:
    """Whether `gather` can take these numbers."""
    return can_run(xp, indices, of=_INDICES)


def can_change(xp: Module, x: Array, numbers: Any) -> bool:
    """Whether `change_rows` can change ``x`` at these numbers."""
    small = x.ndim > 0 and max(x.shape[0], numbers.size) < 1 << 31
    return small and can_gather(xp, numbers) and can_run(xp, x, of=_DTYPES)


def can_sum_repeated(xp: Module, values: Any, numbers: Any, rows: int) -> bool:
    """Whether `sum_repeated` can add up these rows, of which there are numbers below ``rows``."""
    small = max(rows, numbers.size) < 1 << 31
    return small and can_gather(xp, numbers) and can_run(xp, values, of=_DTYPES)


@kept
def gather_source(unit: int, length: int, indices: str, index: str) -> str:
    """The CUDA C of `gather` for rows of ``length`` units of so many bytes."""
    return f"""typedef {UNITS[unit]} T;
typedef {index} I;
#define LENGTH {length}
""" + element_kernel(
        "gather", f"const T* x, const {C_TYPES[indices]}* indices, T* out, I rows, I count", _GATHER
    )


def gather(xp: Any, x: Any, indices: Any, axis: int) -> Any:
    """``x.take(indices, axis)``, with zeros for numbers outside of the axis."""
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    out = xp.empty(shape, x.dtype)
    if not out.size:
        return out
    x, indices = xp.ascontiguousarray(x), xp.ascontiguousarray(indices)
    row_bytes = math.prod(x.shape[axis + 1 :]) * x.itemsize
    unit = math.gcd(16, row_bytes, address_of(x))
    index = index_type(max(x.nbytes, out.nbytes) // unit)
    source = gather_source(unit, row_bytes // unit, indices.dtype.name, index)
    number = number_type(index)
    numbers = number(x.shape[axis]), number(indices.size)
    arguments = (x, indices, out, *numbers)
    launch_elements(xp, source, "gather", arguments, out.nbytes // unit, index)
    return out


#: Sorted positions of which one thread adds up a column; longer runs of a number are joined after.
CHUNK = 128

#: A thread has ``N`` columns of a sorted position. The first position of a number adds up all of its
#: rows that are in the chunk; where they go on into the next chunk the sum is kept as the chunk's tail,
#: and what a chunk has of a number that began before it as its head.
_ADD = """    I c = i % UNITS, k = i / UNITS;
    unsigned key = keys[k];
    bool first = k == 0 || keys[k - 1] != key;
    BEGIN
    if (key >= rows || !(first || k % CHUNK == 0)) continue;
    I limit = k - k % CHUNK + CHUNK, end = k + 1;
    if (limit > count) limit = count;
    while (end < limit && keys[end] == key) ++end;
    Sums sums = {};
    #pragma unroll 8
    for (I j = k; j < end; ++j) {
      Row row = values[(I)order[j] * UNITS + c];
      EACH(n) sums.v[n] += (A)row.v[n];
    }
    if (!first) {
      heads[k / CHUNK * UNITS + c] = sums;
    } else if (end == limit && end < count && keys[end] == key) {
      tails[k / CHUNK * UNITS + c] = sums;
    } else {
      END
    }"""

#: A thread has ``N`` columns of a chunk: those whose tail goes on add up the heads behind it.
_JOIN = """    I c = i % UNITS, j = i / UNITS, next = (j + 1) * CHUNK, k = next - 1;
    if (next >= count) continue;
    unsigned key = keys[k];
    if (key >= rows || keys[next] != key || (j > 0 && keys[j * CHUNK - 1] == key)) continue;
    while (k > j * CHUNK && keys[k - 1] == key) --k;
    // How many chunks begin with this number: they lie side by side.
    I last = j + 1, beyond = (count + CHUNK - 1) / CHUNK;
    while (beyond - last > 1) {
      I middle = last + (beyond - last) / 2;
      if (keys[middle * CHUNK] == key) last = middle; else beyond = middle;
    }
    Sums sums = tails[i];
    #pragma unroll 8
    for (I m = j + 1; m <= last; ++m) {
      Sums more = heads[m * UNITS + c];
      EACH(n) sums.v[n] += more.v[n];
    }
    END"""

#: What is done with the sums of a row, here ``k`` is the first position of its number.
_ENDS = {
    "Add": "(T)((A)old.v[n] + sums.v[n])",
    "Sub": "(T)((A)old.v[n] - sums.v[n])",
    "Sum": "(T)sums.v[n]",
}

#: One thread for ``N`` columns of each sorted row; the last one of its number is put.
_UPDATE = """    I c = i % UNITS, k = i / UNITS;
    unsigned key = keys[k];
    if (key < rows && (k + 1 == count || keys[k + 1] != key))
      x[(I)key * UNITS + c] = values[(I)order[k] * UNITS + c];"""


@kept
def change_source(op: str, dtype: Any, length: int, vector: int, indices: str, index: str) -> str:
    """The CUDA C that adds, subtracts or puts rows of ``length`` numbers, or only adds them up."""
    constants = {"UNITS": length // vector, "CHUNK": CHUNK}
    head = vector_header(dtype, index, vector, constants) + f"typedef {C_TYPES[indices]} L;\n"
    begin, target = "", "x[(I)key * UNITS + c]"
    if op == "Sum":
        # Of equal numbers, all but the first have zeros, and the number of no row.
        begin = """bool none = key >= rows || !first;
    if (c == 0) which[k] = none ? (L)-1 : (L)key;
    if (none) x[i] = Row{};"""
        target = "x[k * UNITS + c]"
    arrays = "Row* x, const unsigned* keys"
    if op == "Update":
        arrays += ", const Row* values, const int* order, unsigned rows, I count"
        return head + element_kernel("change_rows", arrays, _UPDATE)
    old = f"Row old = {target}; " if op != "Sum" else "Row old; "
    end = f"{old}EACH(n) old.v[n] = {_ENDS[op]}; {target} = old;"
    add = _ADD.replace("BEGIN", begin).replace("END", end)
    more = "const Row* values, const int* order, L* which"
    rest = "Sums* heads, Sums* tails, unsigned rows, I count"
    return (
        head
        + element_kernel("change_rows", f"{arrays}, {more}, {rest}", add)
        + element_kernel("join_rows", f"{arrays}, {rest}", _JOIN.replace("END", end))
    )


def sum_repeated(xp: Module, values: Any, numbers: Any, rows: int) -> tuple[Any, Any]:
    """(sums, which): the rows of ``values`` that have the same number, added up in a fixed order.

    As many rows as there were: of equal numbers, all but one have zeros in ``sums`` and -1, the
    number of no row, in ``which``; so have those that are not below ``rows``. How many numbers are
    different does not have to be known.
    """
    sums, which = xp.empty(values.shape, values.dtype), xp.empty(numbers.shape, numbers.dtype)
    if not values.size:
        which[...] = -1
        return sums, which
    _change(xp, "Sum", sums, numbers, values, rows, which)
    return sums, which


def change_rows(xp: Module, op: str, x: Array, numbers: Any, updates: Any) -> None:
    """``x[numbers] += updates``, in place, where numbers may be repeated; also "Sub", "Update".

    ``x`` is contiguous, and ``updates`` has a row for each number. Of rows that are put ("Update")
    the last one stays.
    """
    if updates.size and x.size:
        _change(xp, op, x, numbers, updates, x.shape[0], numbers)


def _change(xp: Any, op: str, x: Any, numbers: Any, values: Any, rows: int, which: Any) -> None:
    """Sorts the numbers, and changes ``x`` by the rows that each of them has."""
    keys, order = in_order(xp, numbers, rows)
    values, count = xp.ascontiguousarray(values), numbers.size
    length = values.size // count
    vector = vector_length(x.dtype, length, x, values)
    units = length // vector
    index = index_type(max(x.size, values.size))
    number = number_type(index)
    source = change_source(op, x.dtype, length, vector, numbers.dtype.name, index)
    counts = np.uint32(rows), number(count)
    if op == "Update":
        put = (x, keys, values, order, *counts)
        launch_elements(xp, source, "change_rows", put, count * units, index)
        return
    chunks = -(-count // CHUNK)
    kind = sum_type(x.dtype)
    rest = (xp.empty(chunks * length, kind), xp.empty(chunks * length, kind), *counts)
    arguments = (x, keys, values, order, which, *rest)
    launch_elements(xp, source, "change_rows", arguments, count * units, index)
    if chunks > 1:
        launch_elements(xp, source, "join_rows", (x, keys, *rest), chunks * units, index)
