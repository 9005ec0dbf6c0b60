"""CUDA C run on the CPU: a C++ compiler and a few definitions in place of a GPU.

Blocks run one after the other, and so do the threads of a block, each up to the next barrier, so
that what a kernel computes (indices, sums over a block, rounding apart) can be checked where no GPU is.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

#: What CUDA allows: blocks along each axis, and threads in a block.
MOST_BLOCKS = (2**31 - 1, 65_535, 65_535)
MOST_THREADS = 1024

_SHIM = r"""
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
using namespace std;
struct int2 { int x, y; } __attribute__((aligned(8)));
struct int4 { int x, y, z, w; } __attribute__((aligned(16)));
struct Position { unsigned x, y, z; };
static thread_local Position threadIdx, blockIdx;
static Position blockDim, gridDim;
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static
static float rsqrt(float x) { return 1 / sqrt(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t)a * b >> 32; }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned __int128)a * b >> 64;
}
"""
#: In place of CUDA's own header of this name.
_CUDA_FP16 = r"""
struct __half {
  _Float16 value;
  __half() = default;
  __half(float x) : value(x) {}
  operator float() const { return value; }
};
"""
#: Threads that wait for each other take turns: each runs up to the next barrier.
_WITH_BARRIER = r"""
#include <sys/mman.h>
#include <ucontext.h>
#include <functional>
#include <new>
#include <vector>
static int diverged = 0;
static unsigned running;
static ucontext_t scheduler;
static vector<ucontext_t> waiting;
static vector<bool> done;
static function<void(unsigned)> body;
static void __syncthreads() {
  Position mine = threadIdx;
  swapcontext(&waiting[running], &scheduler);
  threadIdx = mine;
}
// What a warp votes on: each thread leaves its own, and reads what the others left.
static int votes[1024];
static unsigned __ballot_sync(unsigned, int mine) {
  unsigned at = running;
  votes[at] = mine;
  __syncthreads();
  unsigned lanes = 0;
  for (unsigned k = 0; k < 32 && at / 32 * 32 + k < waiting.size(); ++k)
    lanes |= (votes[at / 32 * 32 + k] != 0u) << k;
  __syncthreads();
  return lanes;
}
static void __syncwarp() { __syncthreads(); }
static void enter() {
  body(running);
  done[running] = true;
}
// The threads' stacks, while a kernel runs: 64 MB for a block of 1024, of which few pages are touched.
static const size_t STACK = 1 << 16;
static char* stacks = nullptr;
static size_t stack_bytes = 0;
static void free_stacks() {
  if (stacks) munmap(stacks, stack_bytes);
  stacks = nullptr;
}
static void make_stacks(size_t bytes) {
  if (stacks) return;
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw bad_alloc();
  stacks = (char*)made;
  stack_bytes = bytes;
}
template <typename F> static void run_block(unsigned threads, F run) {
  make_stacks(threads * STACK);
  waiting.resize(threads);
  done.assign(threads, false);
  body = run;
  for (unsigned t = 0; t < threads; ++t) {
    getcontext(&waiting[t]);
    waiting[t].uc_stack.ss_sp = &stacks[t * STACK];
    waiting[t].uc_stack.ss_size = STACK;
    waiting[t].uc_link = &scheduler;
    makecontext(&waiting[t], enter, 0);
  }
  for (unsigned ended = 0; ended == 0;) {
    for (running = 0; running < threads; ++running) {
      swapcontext(&scheduler, &waiting[running]);
      ended += done[running];
    }
    if (ended != 0 && ended != threads) diverged = 1;
  }
}
"""
_WITHOUT_BARRIER = r"""
static int diverged = 0;
static void free_stacks() {}
template <typename F> static void run_block(unsigned threads, F run) {
  for (unsigned t = 0; t < threads; ++t) run(t);
}
"""
_LAUNCH = r"""
template <typename... A, size_t... K>
static void call(void (*kernel)(A...), void** a, index_sequence<K...>) { kernel(*(A*)a[K]...); }
// An argument as its type says: 0 for an array, else twice its bytes, and one more for a float.
template <typename A> constexpr int kind_of() {
  return is_pointer_v<A> ? 0 : 2 * sizeof(A) + !is_integral_v<A>;
}
template <typename... A>
static int mismatch(void (*)(A...), const int* kinds, int count) {
  const int wanted[] = {kind_of<A>()..., 0};
  if (count != sizeof...(A)) return 1 + count;
  for (int i = 0; i < count; ++i) if (kinds[i] != wanted[i]) return 1 + i;
  return 0;
}
template <typename... A>
static void launch(void (*kernel)(A...), unsigned* grid, unsigned* block, void** a) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (unsigned b = 0; b < grid[0] * grid[1] * grid[2]; ++b) {
    Position here = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
    run_block(block[0] * block[1] * block[2], [&](unsigned t) {
      blockIdx = here;
      threadIdx = {t % block[0], t / block[0] % block[1], t / block[0] / block[1]};
      call(kernel, a, index_sequence_for<A...>{});
    });
  }
}
extern "C" int wrong(const int* kinds, int count) { return mismatch(NAME, kinds, count); }
extern "C" int go(unsigned* grid, unsigned* block, void** a) {
  diverged = 0;
  launch(NAME, grid, block, a);
  free_stacks();
  return diverged;
}
"""


def compiler() -> str | None:
    """The C++ compiler of this machine."""
    return shutil.which("g++")


class HostCompiler:
    """Compiles CUDA C into a folder; called as ``compiler(source, name)``. ``launches`` counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launches: list[str] = []
        (folder / "cuda_fp16.h").write_text(_CUDA_FP16)

    def _compile(self, *arguments: str) -> None:
        command = ["g++", "-std=c++20", "-O0", "-w", "-fPIC", "-I", str(self.folder), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def _header(self, name: str, text: str) -> Path:
        """A header that is compiled once: C++'s own headers take longer than a kernel."""
        header = self.folder / name
        if not header.exists():
            header.write_text(text)
            self._compile("-x", "c++-header", str(header), "-o", f"{header}.gch")
        return header

    def __call__(self, source: str, name: str) -> Any:
        if "__syncthreads" in source:
            header = self._header("barrier.h", _SHIM + _WITH_BARRIER)
        else:
            header = self._header("no_barrier.h", _SHIM + _WITHOUT_BARRIER)
        text = f'#include "{header.name}"\n' + source + _LAUNCH.replace("NAME", name)
        stem = self.folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        library = stem.with_suffix(".so")
        if not library.exists():
            stem.with_suffix(".cpp").write_text(text)
            self._compile("-shared", "-o", str(library), str(stem.with_suffix(".cpp")))
        loaded = ctypes.CDLL(str(library))
        go, wrong = loaded.go, loaded.wrong

        def launch(grid: Any, block: Any, arguments: Any) -> None:
            self.launches.append(name)
            kept, kinds = [], []
            for value in arguments:
                if isinstance(value, np.generic):
                    kept.append(np.asarray(value))
                    kinds.append(2 * value.itemsize + (value.dtype.kind not in "iub"))
                else:  # the address of the array's memory
                    kept.append(np.asarray(value.host_array.ctypes.data, np.uint64))
                    kinds.append(0)
            # What a GPU refuses, or reads as something else.
            if number := wrong((ctypes.c_int * len(kinds))(*kinds), len(kinds)):
                raise AssertionError(f"{name}: its parameters are others, from number {number - 1}")
            sizes = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
            if not (
                all(0 < n <= most for n, most in zip(sizes[0], MOST_BLOCKS, strict=True))
                and all(n > 0 for n in sizes[1])
                and math.prod(sizes[1]) <= MOST_THREADS
            ):
                raise AssertionError(
                    f"{name}: no GPU takes {sizes[0]} blocks of {sizes[1]} threads"
                )
            pointers = (ctypes.c_void_p * len(kept))(*[a.ctypes.data for a in kept])
            three = [(ctypes.c_uint * 3)(*size) for size in sizes]
            if go(three[0], three[1], pointers):
                raise AssertionError(f"{name}: some threads of a block end while others wait")

        return launch
