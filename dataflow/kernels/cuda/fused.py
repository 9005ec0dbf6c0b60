"""Fused element-wise chains as one CUDA kernel: the same programs as on the CPU, in CUDA C.

Every thread computes a few elements, a block's width apart, so that neighbours read neighbouring
memory and several loads are under way at once. Broadcast inputs are read through strides. A sum or
mean at the end is added up in double precision: in each block, and then over the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.instructions import TRUTHS, expression
from dataflow.kernels.cuda.source import C_TYPES, THREADS, index_type, kept, number_type
from dataflow.kernels.fused.program import Program

_ITEMS = 4  # elements of a thread
_MAX_BLOCKS_OF_SUM = 1024


@kept
def fused_source(program: Program, patterns: str, rank: int, index: str = "int") -> str:
    """The CUDA C of a program.

    ``patterns`` has a letter for each input: ``f`` as large as the result, ``s`` one number, ``b``
    broadcast, read through ``rank`` strides. Inputs that are truth values are ``bool``. ``index``:
    the C type of positions, ``int`` where the result is small enough for it.
    """
    n = program.num_inputs
    element = C_TYPES[program.dtype]
    truths = _truth_inputs(program)
    parameters = [f"const {'bool' if i in truths else element}* x{i}" for i in range(n)]
    is_bool = not program.reduction and program.steps[-1][0] in TRUTHS
    result = "double" if program.reduction else "bool" if is_bool else element
    parameters.append(f"{result}* out")
    parameters.append("I size")
    parameters += [f"I d{axis}" for axis in range(1, rank)]
    for i, pattern in enumerate(patterns):
        if pattern == "b":
            parameters += [f"I s{i}_{axis}" for axis in range(rank)]
    body: list[str] = []
    if "b" in patterns:
        body.append("I rest = i;")
        for axis in range(rank - 1, 0, -1):
            body.append(f"I i{axis} = rest % d{axis}; rest /= d{axis};")
        body.append("I i0 = rest;")
    for i, pattern in enumerate(patterns):
        kind = "bool" if i in truths else "T"
        where = {"f": "i", "s": "0"}.get(pattern) or " + ".join(
            f"i{axis} * s{i}_{axis}" for axis in range(rank)
        )
        body.append(f"{kind} v{i} = x{i}[{where}];")
    for number, (op_type, operands) in enumerate(program.steps):
        kind = "bool" if op_type in TRUTHS else "T"
        body.append(f"{kind} v{n + number} = {expression(op_type, operands)};")
    last = f"v{n + len(program.steps) - 1}"
    if program.reduction:
        body.append(f"sum += (double){last};")
    else:
        body.append(f"out[i] = {last};")
    loop = "\n".join(f"      {line}" for line in body)
    head = f"""typedef {element} T;
typedef {index} I;
extern "C" __global__ void fused({", ".join(parameters)}) {{
"""
    walk = f"""  I step = (I)gridDim.x * blockDim.x * {_ITEMS};
  I start = (I)blockIdx.x * blockDim.x * {_ITEMS} + threadIdx.x;
  for (; start < size; start += step) {{
    #pragma unroll
    for (int item = 0; item < {_ITEMS}; ++item) {{
      I i = start + item * blockDim.x;
      if (i >= size) break;
{loop}
    }}
  }}
"""
    if not program.reduction:
        return head + walk + "}\n"
    return (
        head
        + f"  __shared__ double sums[{THREADS}];\n  double sum = 0;\n"
        + walk
        + f"""  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = {THREADS // 2}; half > 0; half /= 2) {{
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }}
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}}
"""
    )


def _truth_inputs(program: Program) -> frozenset[int]:
    """The inputs that are truth values: operands of logical ops."""
    return frozenset(
        operand
        for op_type, operands in program.steps
        if op_type.startswith("Logical")
        for operand in operands
        if operand < program.num_inputs
    )


def bind_fused(xp: Any, program: Program) -> Callable[[list[Any]], Any]:
    """The program as a function of its inputs, arrays of the device of ``xp``."""
    dtype = np.dtype(program.dtype)
    is_bool = program.steps[-1][0] in TRUTHS

    def run(inputs: list[Any]) -> Any:
        shapes = [x.shape for x in inputs]
        shape = np.broadcast_shapes(*shapes)
        size = int(np.prod(shape))
        patterns = "".join(
            "f" if s == shape and _is_dense(x) else "s" if x.size == 1 else "b"
            for x, s in zip(inputs, shapes, strict=True)
        )
        rank = max(1, len(shape)) if "b" in patterns else 1
        c_type = index_type(size)
        number = number_type(c_type)
        launch = compile_kernel(xp, fused_source(program, patterns, rank, c_type), "fused")
        sizes: list[Any] = [size, *(shape[1:] if rank > 1 else ())]
        for x, pattern in zip(inputs, patterns, strict=True):
            if pattern == "b":
                sizes += _strides(x, shape)
        sizes = [number(s) for s in sizes]
        blocks = max(1, -(-size // (THREADS * _ITEMS)))
        if not program.reduction:
            out = xp.empty(shape, bool if is_bool else dtype)
            if size:
                launch((min(blocks, 1 << 20),), (THREADS,), (*inputs, out, *sizes))
            return out
        blocks = min(blocks, _MAX_BLOCKS_OF_SUM)
        partial = xp.zeros(blocks, np.float64)
        launch((blocks,), (THREADS,), (*inputs, partial, *sizes))
        total = partial.sum()
        if program.reduction == "Mean":
            total = total / size
        return total.astype(dtype)

    return run


def _is_dense(x: Any) -> bool:
    return bool(x.flags.c_contiguous)


def _strides(x: Any, shape: Sequence[int]) -> list[int]:
    """Strides in elements over the result's axes; 0 where the input is repeated."""
    missing = len(shape) - x.ndim
    strides = [0] * missing
    for d, s in zip(x.shape, x.strides, strict=True):
        strides.append(0 if d == 1 else s // x.itemsize)
    return strides or [0]
