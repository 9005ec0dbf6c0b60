"""Philox4x64-10 on a GPU: the same words as the CPU's stream, each block of four by one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.cuda.compiler import compile_kernel

_THREADS = 256

#: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; constants as in Random123.
PHILOX_SOURCE = r"""
typedef unsigned long long W;
extern "C" __global__ void philox(W* out, W key0, W key1, W first, long long blocks) {
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long b = (long long)blockIdx.x * blockDim.x + threadIdx.x; b < blocks; b += step) {
    W c0 = first + b, c1 = 0, c2 = 0, c3 = 0, k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      W low0 = 0xD2E7470EE14C6C93ULL * c0, high0 = __umul64hi(0xD2E7470EE14C6C93ULL, c0);
      W low1 = 0xCA5A826395121157ULL * c2, high1 = __umul64hi(0xCA5A826395121157ULL, c2);
      c0 = high1 ^ c1 ^ k0;
      c1 = low1;
      c2 = high0 ^ c3 ^ k1;
      c3 = low0;
      k0 += 0x9E3779B97F4A7C15ULL;
      k1 += 0xBB67AE8584CAA73BULL;
    }
    out[4 * b] = c0;
    out[4 * b + 1] = c1;
    out[4 * b + 2] = c2;
    out[4 * b + 3] = c3;
  }
}
"""


def philox_words(xp: Any, key: Any, first: int, blocks: int) -> Any:
    """Words of the blocks ``first``, ``first + 1``, ... (counted from 1), uint64 on the device."""
    out = xp.empty(4 * blocks, np.uint64)
    if blocks:
        launch = compile_kernel(xp, PHILOX_SOURCE, "philox")
        grid = (min(1 << 16, -(-blocks // _THREADS)),)
        launch(
            grid,
            (_THREADS,),
            (out, np.uint64(key[0]), np.uint64(key[1]), np.uint64(first), np.int64(blocks)),
        )
    return out
