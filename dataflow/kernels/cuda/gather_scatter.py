"""Rows by number on a GPU: gathered by one kernel, added up in a fixed order by a few.

Sums that repeat a row are not left to atomics, whose order is another one in every run: the numbers
are sorted, stably, by a radix sort of eight bits at a time, and then one thread for each column of
a row adds up what belongs there, in the order in which it was given. The host waits for nothing, so
that a CUDA graph can hold all of it: numbers of no row are not refused as on the CPU, but give zeros
(gathered) or are left out (added), as with TensorFlow's GPU kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.source import (
    C_TYPES,
    can_run,
    element_kernel,
    header,
    index_type,
    kept,
    launch_elements,
    number_type,
)
from dataflow.kernels.xp import address_of

#: What may be added up.
_DTYPES = ("float16", "float32", "float64", "int32", "int64")
_INDICES = ("int32", "int64")
#: Keys of a block, and values of a digit: each thread has one of both.
_DIGITS = 256
_DIGIT_BITS = 8

#: What a thread of `gather` moves: as many bytes as the rows' alignment allows.
_UNITS = {16: "int4", 8: "int2", 4: "int", 2: "short", 1: "char"}

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
    return f"""typedef {_UNITS[unit]} T;
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


#: Keys are numbers of rows; those outside become the number of rows, and sort last. ``FIRST``: the
#: first pass reads what was given, the next ones what the last one wrote.
_SORT = """typedef INDEX L;
#define KEY(i) (FIRST ? given[i] >= 0 && given[i] < (L)rows ? (unsigned)given[i] : rows : keys[i])
#define DIGIT(key) ((key) >> shift & 255)
#define READ_KEYS \\
  __shared__ int digits[256]; \\
  long long i = (long long)blockIdx.x * 256 + threadIdx.x; \\
  unsigned key = i < size ? KEY(i) : 0; \\
  digits[threadIdx.x] = i < size ? (int)DIGIT(key) : 256; \\
  __syncthreads();
extern "C" __global__ void radix_count(const L* given, const unsigned* keys, int* counts,
                                       unsigned rows, int shift, long long size) {
  READ_KEYS
  int found = 0;
  for (int k = 0; k < 256; ++k) found += digits[k] == (int)threadIdx.x;
  counts[(long long)threadIdx.x * (gridDim.x + 1) + blockIdx.x] = found;
}
extern "C" __global__ void radix_place(const L* given, const unsigned* keys, const int* order,
                                       const int* starts, unsigned* next_keys, int* next_order,
                                       unsigned rows, int shift, long long size) {
  READ_KEYS
  __shared__ int lower[256];
  int t = threadIdx.x, total = starts[(long long)t * (gridDim.x + 1) + gridDim.x];
  lower[t] = total;
  __syncthreads();
  for (int far = 1; far < 256; far *= 2) {
    int other = t >= far ? lower[t - far] : 0;
    __syncthreads();
    lower[t] += other;
    __syncthreads();
  }
  lower[t] -= total;
  __syncthreads();
  if (i < size) {
    int mine = digits[threadIdx.x], before = 0;
    for (int k = 0; k < (int)threadIdx.x; ++k) before += digits[k] == mine;
    int to = lower[mine] + starts[(long long)mine * (gridDim.x + 1) + blockIdx.x] + before;
    next_keys[to] = key;
    next_order[to] = FIRST ? (int)i : order[i];
  }
}
"""

#: Counts [digits, blocks] -> how many keys of the same digit the blocks before have, and, in the place
#: behind, how many all have. One block for each digit; its threads take blocks side by side.
RADIX_SCAN = """extern "C" __global__ void radix_scan(int* counts, int blocks) {
  __shared__ int sums[256];
  int t = threadIdx.x, before = 0;
  int* count = counts + (long long)blockIdx.x * (blocks + 1);
  for (int first = 0; first < blocks; first += 256) {
    int b = first + t, mine = b < blocks ? count[b] : 0;
    sums[t] = mine;
    __syncthreads();
    for (int far = 1; far < 256; far *= 2) {
      int other = t >= far ? sums[t - far] : 0;
      __syncthreads();
      sums[t] += other;
      __syncthreads();
    }
    if (b < blocks) count[b] = before + sums[t] - mine;
    before += sums[255];
    __syncthreads();
  }
  if (t == 0) count[blocks] = before;
}
"""

#: One thread for a column of each sorted row; the first of its number works for all of them.
_CHANGE = """    I c = i % LENGTH, k = i / LENGTH;
    unsigned key = keys[k];
    if (key >= rows || (k > 0 && keys[k - 1] == key)) continue;
    A sum = 0;
    T last;
    for (; k < count && keys[k] == key; ++k) {
      last = updates[(I)order[k] * LENGTH + c];
      sum += (A)last;
    }
    T* to = x + (I)key * LENGTH + c;
    *to = RESULT;"""

_RESULTS = {"Add": "(T)((A)*to + sum)", "Sub": "(T)((A)*to - sum)", "Update": "last"}


@kept
def sort_source(indices: str, first: bool) -> str:
    """The CUDA C of ``radix_count`` and ``radix_place`` for one pass."""
    return _SORT.replace("INDEX", C_TYPES[indices]).replace("FIRST", str(int(first)))


@kept
def change_source(op: str, dtype: Any, length: int, index: str) -> str:
    """The CUDA C that adds, subtracts or puts rows of ``length`` numbers."""
    parameters = (
        "T* x, const T* updates, const unsigned* keys, const int* order, unsigned rows, I count"
    )
    body = _CHANGE.replace("RESULT", _RESULTS[op])
    return header(dtype, index, {"LENGTH": length}) + element_kernel(
        "change_rows", parameters, body
    )


def in_order(xp: Module, numbers: Any, rows: int) -> tuple[Any, Any]:
    """The numbers in order, and where each of them stood; equal ones stay in their order.

    Both have 32 bits. Numbers that are not below ``rows`` become ``rows``, without a sign.
    """
    numbers = xp.ascontiguousarray(numbers).reshape(-1)
    size = numbers.size
    blocks = -(-size // _DIGITS)
    counts = xp.empty((blocks + 1) * _DIGITS, np.int32)
    keys = order = xp.empty(0, np.int32)
    for shift in range(0, max(1, rows.bit_length()), _DIGIT_BITS):
        source = sort_source(numbers.dtype.name, shift == 0)
        rest = np.uint32(rows), np.int32(shift), np.int64(size)
        grid, block = (blocks,), (_DIGITS,)
        compile_kernel(xp, source, "radix_count")(grid, block, (numbers, keys, counts, *rest))
        compile_kernel(xp, RADIX_SCAN, "radix_scan")((_DIGITS,), block, (counts, np.int32(blocks)))
        placed = xp.empty(size, np.int32), xp.empty(size, np.int32)
        arguments = (numbers, keys, order, counts, *placed, *rest)
        compile_kernel(xp, source, "radix_place")(grid, block, arguments)
        keys, order = placed
    return keys, order


#: One thread for a column of each number in order: the first of equal ones adds up for all of them.
_SUM = """    I c = i % LENGTH, k = i / LENGTH;
    unsigned key = keys[k];
    bool first = key < rows && (k == 0 || keys[k - 1] != key);
    if (c == 0) which[k] = first ? (L)key : (L)-1;
    A sum = 0;
    if (first)
      for (I j = k; j < count && keys[j] == key; ++j) sum += (A)values[(I)order[j] * LENGTH + c];
    sums[i] = (T)sum;"""


@kept
def sum_source(dtype: Any, length: int, indices: str, index: str) -> str:
    """The CUDA C of `sum_repeated` for rows of ``length`` numbers."""
    parameters = (
        "const T* values, const unsigned* keys, const int* order, T* sums, L* which, "
        "unsigned rows, I count"
    )
    types = f"typedef {C_TYPES[indices]} L;\n"
    body = element_kernel("sum_repeated", parameters, _SUM)
    return header(dtype, index, {"LENGTH": length}) + types + body


def sum_repeated(xp: Module, values: Any, numbers: Any, rows: int) -> tuple[Any, Any]:
    """(sums, which): the rows of ``values`` that have the same number, added up in their order.

    As many rows as there were: of equal numbers, all but one have zeros in ``sums`` and -1, the
    number of no row, in ``which``; so have those that are not below ``rows``. How many numbers are
    different does not have to be known.
    """
    sums, which = xp.empty(values.shape, values.dtype), xp.empty(numbers.shape, numbers.dtype)
    if not values.size:
        which[...] = -1
        return sums, which
    keys, order = in_order(xp, numbers, rows)
    length = values.size // numbers.size
    index = index_type(values.size)
    number = number_type(index)
    source = sum_source(values.dtype, length, numbers.dtype.name, index)
    arguments = (xp.ascontiguousarray(values), keys, order, sums, which)
    counts = np.uint32(rows), number(numbers.size)
    launch_elements(xp, source, "sum_repeated", (*arguments, *counts), values.size, index)
    return sums, which


def change_rows(xp: Module, op: str, x: Array, numbers: Any, updates: Any) -> None:
    """``x[numbers] += updates``, in place, where numbers may be repeated; also "Sub", "Update".

    ``x`` is contiguous, and ``updates`` has a row for each number. Of rows that are put ("Update")
    the last one stays.
    """
    if not updates.size or not x.size:
        return
    rows = x.shape[0]
    length = x.size // rows
    keys, order = in_order(xp, numbers, rows)
    index = index_type(max(x.size, updates.size))
    number = number_type(index)
    source = change_source(op, x.dtype, length, index)
    updates = xp.ascontiguousarray(updates)
    arguments = (x, updates, keys, order, np.uint32(rows), number(numbers.size))
    launch_elements(xp, source, "change_rows", arguments, updates.size, index)
