"""Philox4x64-10 on a GPU: the same words as the CPU's stream, each block of four by one thread.

Uniform numbers are made of the words as they are drawn, normal ones of the uniform ones in a second
launch: the same numbers as on the CPU (normal ones up to the rounding of logarithm and sine).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.source import (
    MAX_BLOCKS,
    THREADS,
    element_kernel,
    header,
    kept,
    launch_elements,
)

#: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; constants as in Random123.
_PHILOX = r"""
typedef unsigned long long W;
extern "C" __global__ void philox(T* out, W key0, W key1, FIRST_TYPE first, long long count) {
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long b = (long long)blockIdx.x * blockDim.x + threadIdx.x; b * NUMBERS < count;
       b += step) {
    W c[4] = {FIRST + b, 0, 0, 0}, k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      W low0 = 0xD2E7470EE14C6C93ULL * c[0], high0 = __umul64hi(0xD2E7470EE14C6C93ULL, c[0]);
      W low1 = 0xCA5A826395121157ULL * c[2], high1 = __umul64hi(0xCA5A826395121157ULL, c[2]);
      c[0] = high1 ^ c[1] ^ k0;
      c[1] = low1;
      c[2] = high0 ^ c[3] ^ k1;
      c[3] = low0;
      k0 += 0x9E3779B97F4A7C15ULL;
      k1 += 0xBB67AE8584CAA73BULL;
    }
    for (int k = 0; k < NUMBERS; ++k)
      if (b * NUMBERS + k < count) out[b * NUMBERS + k] = NUMBER;
  }
}
"""
#: How many numbers a block of words gives, and the k-th of them. Of single and half precision each
#: word gives two: its lower half, and then its upper one.
_HALF_WORD = "(unsigned)(c[k / 2] >> k % 2 * 32)"
_NUMBERS = {
    "uint64": (4, "c[k]"),
    "float64": (4, f"(T)(c[k] >> 11) * (T){2.0**-53!r}"),
    "float32": (8, f"(T)({_HALF_WORD} >> 8) * (T){2.0**-24!r}"),
    "float16": (8, f"(T)((float)({_HALF_WORD} >> 21) * (float){2.0**-11!r})"),
}

#: Box and Muller (1958), in place: from two uniform numbers two normal ones, ``size`` apart.
_NORMAL = """    T radius = sqrt((T)-2 * log((T)1 - u[i])), angle = u[size + i] * (T)6.283185307179586;
    u[i] = radius * cos(angle);
    u[size + i] = radius * sin(angle);"""


@kept
def philox_source(dtype: str, captured: bool = False) -> str:
    """The CUDA C that draws words (``uint64``), or uniform numbers in [0, 1).

    ``captured``: the first block's number is read from the GPU's memory.
    """
    numbers, number = _NUMBERS[dtype]
    types = "typedef unsigned long long T;\n" if dtype == "uint64" else header(dtype, "long long")
    first, kind = ("*first", "const W*") if captured else ("first", "W")
    types += f"#define FIRST {first}\n#define FIRST_TYPE {kind}\n"
    return types + _PHILOX.replace("NUMBERS", str(numbers)).replace("NUMBER", number)


@kept
def normal_source(dtype: str) -> str:
    """The CUDA C that makes normal numbers of uniform ones."""
    return header(dtype, "long long") + element_kernel("normal", "T* u", _NORMAL)


def blocks_of(dtype: str, count: int) -> int:
    """Blocks of words that ``count`` numbers take."""
    return -(-count // _NUMBERS[dtype][0])


def draw(xp: Module, key: Any, first: Any, count: int, dtype: str) -> Any:
    """``count`` words or uniform numbers of the blocks ``first``, ... (counted from 1).

    ``first``: a number, or, for a launch that is captured, an array of the device that has one.
    """
    out = xp.empty(count, dtype)
    if count:
        captured = not isinstance(first, int)
        launch = compile_kernel(xp, philox_source(dtype, captured), "philox")
        grid = (min(MAX_BLOCKS, -(-blocks_of(dtype, count) // THREADS)),)
        keys = np.uint64(key[0]), np.uint64(key[1])
        where = first if captured else np.uint64(first)
        launch(grid, (THREADS,), (out, *keys, where, np.int64(count)))
    return out


def make_normal(xp: Module, u: Any) -> None:
    """Uniform numbers, an even count of them, become normal ones: of each half one of a pair."""
    launch_elements(xp, normal_source(u.dtype.name), "normal", (u,), u.size // 2, "long long")
