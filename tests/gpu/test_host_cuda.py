"""The stand-in for a GPU itself: barriers hold, and threads that miss one are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.xp import pretend_module


def test_a_barrier_holds_back_every_thread(cuda_on_host: Any) -> None:
    source = """extern "C" __global__ void turned(int* x) {
  __shared__ int part[8];
  part[threadIdx.x] = x[blockIdx.x * 8 + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * 8 + threadIdx.x] = part[7 - threadIdx.x];
}"""
    xp = pretend_module(0)
    x = xp.array(np.arange(16, dtype=np.int32))
    compile_kernel(xp, source, "turned")((2,), (8,), (x,))
    assert x.get().tolist() == [*range(7, -1, -1), *range(15, 7, -1)]


def test_a_barrier_that_some_threads_miss_is_an_error(cuda_on_host: Any) -> None:
    source = """extern "C" __global__ void parted(int* x) {
  if (threadIdx.x < 2) __syncthreads();
}"""
    xp = pretend_module(0)
    with pytest.raises(AssertionError, match="parted: some threads of a block end"):
        compile_kernel(xp, source, "parted")((1,), (4,), (xp.zeros(1, np.int32),))
