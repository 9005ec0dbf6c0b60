"""The stand-in for a GPU itself: barriers hold, and threads that miss one are found."""

from __future__ import annotations

import mmap
from pathlib import Path
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


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (("array", np.int64(2)), None),
        (("array", np.int32(2)), 1),
        (("array", np.float64(2)), 1),
        (("array", "array"), 1),
        ((np.int64(2), np.int64(2)), 0),
        (("array",), 1),
        (("array", np.int64(2), np.int64(3)), 3),
    ],
)
def test_arguments_of_other_types_than_the_parameters_are_an_error(
    cuda_on_host: Any, arguments: tuple[Any, ...], number: int | None
) -> None:
    source = """extern "C" __global__ void filled(float* x, long long value) {
  x[threadIdx.x] = value;
}"""
    xp = pretend_module(0)
    x = xp.zeros(2, np.float32)
    given = tuple(x if a == "array" else a for a in arguments)
    launch = compile_kernel(xp, source, "filled")
    if number is None:
        launch((1,), (2,), given)
        assert x.get().tolist() == [2, 2]
    else:
        with pytest.raises(AssertionError, match=f"filled: its parameters .* {number}$"):
            launch((1,), (2,), given)


@pytest.mark.parametrize(
    ("grid", "block"), [((0,), (4,)), ((1, 65_536), (4,)), ((1,), (0,)), ((1,), (32, 64))]
)
def test_sizes_that_no_gpu_takes_are_an_error(cuda_on_host: Any, grid: Any, block: Any) -> None:
    xp = pretend_module(0)
    launch = compile_kernel(xp, 'extern "C" __global__ void idle(int* x) {}', "idle")
    with pytest.raises(AssertionError, match="idle: no GPU takes"):
        launch(grid, block, (xp.zeros(1, np.int32),))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is asked of Linux")
def test_the_stacks_of_threads_go_after_the_kernel(cuda_on_host: Any) -> None:
    """Each compiled kernel kept 64 MB to the end of the process, and a worker of the suite 6 GB."""
    xp = pretend_module(0)

    def address_space() -> int:
        return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE

    grown = []
    for number in range(3):  # other threads of this process may ask for memory meanwhile
        source = f"""extern "C" __global__ void counted{number}(int* x) {{
  __syncthreads();
  x[threadIdx.x] += 1;
}}"""
        x = xp.zeros(1024, np.int32)
        launch = compile_kernel(xp, source, f"counted{number}")
        launch((1,), (32,), (x,))
        before = address_space()
        launch((2,), (1024,), (x,))
        grown.append(address_space() - before)
        assert x.get().tolist() == [3] * 32 + [2] * 992
    assert min(grown) < 16 << 20
