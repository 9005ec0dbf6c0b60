"""Row numbers sorted on a GPU: a stable radix sort, eight bits in each pass.

A pass takes two launches. In the first each block counts the digits of its keys; in the second it adds
up the counts of the blocks before it, and places its keys behind theirs. There are few blocks, so that
those sums are short; each warp has keys that are neighbors, 32 in each round, and a key's place among
the 32 comes from votes of the warp. The host waits for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.source import C_TYPES, kept

#: Threads of a block, and values of a digit: each thread has one of both.
_DIGITS = 256
_DIGIT_BITS = 8
#: Blocks beyond which each takes more keys.
_MOST_BLOCKS = 128

#: Keys are numbers of rows; those outside become the number of rows, and sort last. ``FIRST``: the
#: first pass reads what was given, the next ones what the last one wrote. The position of a key that
#: does not exist is not below ``size``.
_SORT = """typedef INDEX L;
#define KEY(i) (FIRST ? given[i] >= 0 && given[i] < (L)rows ? (unsigned)given[i] : rows : keys[i])
#define WARPS 8
#define BEGIN \\
  int t = threadIdx.x, lane = t & 31, warp = t >> 5; \\
  long long from = ((long long)blockIdx.x * WARPS + warp) * rounds * 32 + lane; \\
  __shared__ int found[WARPS][256]; \\
  for (int w = 0; w < WARPS; ++w) found[w][t] = 0; \\
  __syncthreads();
// The lanes of this warp that have the same digit; none where there is no key.
__device__ __forceinline__ unsigned same(int digit, bool is_key) {
  unsigned lanes = __ballot_sync(0xffffffffu, is_key);
  #pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    bool mine = digit >> bit & 1;
    unsigned others = __ballot_sync(0xffffffffu, mine);
    lanes &= mine ? others : ~others;
  }
  return lanes;
}
extern "C" __global__ void radix_count(const L* given, const unsigned* keys, int* counts,
                                       unsigned rows, int shift, int rounds, long long size) {
  BEGIN
  for (int round = 0; round < rounds; ++round) {
    long long i = from + round * 32;
    int digit = i < size ? KEY(i) >> shift & 255 : 0;
    unsigned lanes = same(digit, i < size);
    if (i < size && (lanes & (1u << lane) - 1) == 0) found[warp][digit] += __popc(lanes);
    __syncwarp();
  }
  __syncthreads();
  int sum = 0;
  for (int w = 0; w < WARPS; ++w) sum += found[w][t];
  counts[blockIdx.x * 256 + t] = sum;
}
extern "C" __global__ void radix_place(const L* given, const unsigned* keys, const int* order,
                                       const int* counts, unsigned* next_keys, int* next_order,
                                       unsigned rows, int shift, int rounds, long long size) {
  BEGIN
  __shared__ int lower[256];
  int before = 0, total = 0;
  #pragma unroll 8
  for (int b = 0; b < (int)gridDim.x; ++b) {
    int count = counts[b * 256 + t];
    before += b < (int)blockIdx.x ? count : 0;
    total += count;
  }
  lower[t] = total;
  __syncthreads();
  for (int far = 1; far < 256; far *= 2) {
    int other = t >= far ? lower[t - far] : 0;
    __syncthreads();
    lower[t] += other;
    __syncthreads();
  }
  before += lower[t] - total;
  for (int round = 0; round < rounds; ++round) {
    long long i = from + round * 32;
    int digit = i < size ? KEY(i) >> shift & 255 : 0;
    unsigned lanes = same(digit, i < size);
    if (i < size && (lanes & (1u << lane) - 1) == 0) found[warp][digit] += __popc(lanes);
    __syncwarp();
  }
  __syncthreads();
  for (int w = 0; w < WARPS; ++w) {
    int mine = found[w][t];
    found[w][t] = before;
    before += mine;
  }
  __syncthreads();
  for (int round = 0; round < rounds; ++round) {
    long long i = from + round * 32;
    unsigned key = i < size ? KEY(i) : 0;
    int digit = key >> shift & 255, place = 0;
    unsigned lanes = same(digit, i < size), lower_lanes = lanes & (1u << lane) - 1;
    if (i < size) {
      place = found[warp][digit] + __popc(lower_lanes);
      next_keys[place] = key;
      next_order[place] = FIRST ? (int)i : order[i];
    }
    __syncwarp();
    if (i < size && lower_lanes == 0) found[warp][digit] += __popc(lanes);
    __syncwarp();
  }
}
"""


@kept
def sort_source(indices: str, first: bool) -> str:
    """The CUDA C of ``radix_count`` and ``radix_place`` for one pass."""
    return _SORT.replace("INDEX", C_TYPES[indices]).replace("FIRST", str(int(first)))


def in_order(xp: Module, numbers: Any, rows: int) -> tuple[Any, Any]:
    """The numbers sorted, and the position that each of them had; equal ones keep their order.

    Both are int32. Negative numbers, and those that are not below ``rows``, become ``rows``.
    """
    numbers = xp.ascontiguousarray(numbers).reshape(-1)
    size = numbers.size
    rounds = max(1, -(-size // (_DIGITS * _MOST_BLOCKS)))
    grid, block = (-(-size // (_DIGITS * rounds)),), (_DIGITS,)
    counts = xp.empty(grid[0] * _DIGITS, np.int32)
    keys = order = xp.empty(0, np.int32)
    for shift in range(0, max(1, rows.bit_length()), _DIGIT_BITS):
        source = sort_source(numbers.dtype.name, shift == 0)
        rest = np.uint32(rows), np.int32(shift), np.int32(rounds), np.int64(size)
        compile_kernel(xp, source, "radix_count")(grid, block, (numbers, keys, counts, *rest))
        placed = xp.empty(size, np.int32), xp.empty(size, np.int32)
        arguments = (numbers, keys, order, counts, *placed, *rest)
        compile_kernel(xp, source, "radix_place")(grid, block, arguments)
        keys, order = placed
    return keys, order
