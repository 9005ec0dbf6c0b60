"""Fused element-wise ops as one CUDA kernel: the same programs and regions as on the CPU, in CUDA C.

Every thread computes a few elements, a block's width apart, so that neighbors read neighboring
memory and several loads are under way at once. Broadcast inputs are read through strides. Results
that are parts of longer rows are written there. A sum at the end is added up in double precision: in
each block, and then over the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.instructions import statements, truths_of
from dataflow.kernels.cuda.source import C_TYPES, THREADS, index_type, kept, number_type
from dataflow.kernels.jit.expression import Program, Region, elementary_steps

_ITEMS = 4  # elements of a thread
_MAX_BLOCKS_OF_SUM = 1024


#: The sums of a block's threads become one, which the block writes.
_SUM_OF_BLOCK = f"""  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = {THREADS // 2}; half > 0; half /= 2) {{
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }}
  if (threadIdx.x == 0) out0[blockIdx.x] = sums[0];
"""


@kept
def fused_source(
    region: Region,
    patterns: str,
    rank: int,
    index: str = "int",
    sums: bool = False,
    places: str = "",
) -> str:
    """The CUDA C of a region.

    ``patterns`` has a letter for each input: ``f`` as large as the results, ``s`` one number, ``b``
    broadcast, read through ``rank`` strides. Inputs that are truth values are ``bool``. ``index``:
    the C type of positions, ``int`` where the results are small enough for it. ``sums``: the one
    result is added up, and each block gives its part. ``places`` has a letter for each result: ``d``
    dense, ``p`` a part of longer rows; ``""``: all are dense.
    """
    n = region.num_inputs
    steps, results = elementary_steps(region)
    element = C_TYPES[region.dtype]
    truths = truths_of(n, steps)
    places = places or "d" * len(results)
    types = ["bool" if i in truths else "T" for i in range(n)]
    parameters = [f"const {types[i]}* x{i}" for i in range(n)]
    for i, value in enumerate(results):
        kind = "double" if sums else "bool" if value in truths else "T"
        parameters.append(f"{kind}* out{i}")
    parameters += _sizes_and_strides(patterns, rank, places)
    scalars = [f"{types[i]} v{i} = x{i}[0];" for i in range(n) if patterns[i] == "s"]
    loads = _loads(patterns, rank)
    arrays = [i for i in range(n) if patterns[i] != "s"]
    body = [f"{types[i]} v{i} = loaded{i}[item];" for i in arrays]
    body += statements(n, steps)
    if sums:
        body.append(f"sum += (double)v{results[0]};")
    else:
        for i, (value, place) in enumerate(zip(results, places, strict=True)):
            where = "i" if place == "d" else f"i / columns * pitch{i} + i % columns"
            body.append(f"out{i}[{where}] = v{value};")
    kept_of_items = " ".join(f"{types[i]} loaded{i}[{_ITEMS}];" for i in arrays)
    head = f"""typedef {element} T;
typedef {index} I;
extern "C" __global__ void fused({", ".join(parameters)}) {{
"""
    # All loads come before the first store, which might be of the same memory for all that the
    # compiler knows: it would wait for one element after the other.
    walk = f"""  I step = (I)gridDim.x * blockDim.x * {_ITEMS};
  I start = (I)blockIdx.x * blockDim.x * {_ITEMS} + threadIdx.x;
  {" ".join(scalars)}
  for (; start < size; start += step) {{
    {kept_of_items}
    #pragma unroll
    for (int item = 0; item < {_ITEMS}; ++item) {{
      I i = start + item * blockDim.x;
      if (i < size) {{
{_lines(loads, 8)}
      }}
    }}
    #pragma unroll
    for (int item = 0; item < {_ITEMS}; ++item) {{
      I i = start + item * blockDim.x;
      if (i < size) {{
{_lines(body, 8)}
      }}
    }}
  }}
"""
    if not sums:
        return head + walk + "}\n"
    return (
        f"{head}  __shared__ double sums[{THREADS}];\n  double sum = 0;\n{walk}{_SUM_OF_BLOCK}}}\n"
    )


def _sizes_and_strides(patterns: str, rank: int, places: str) -> list[str]:
    """The parameters after the arrays: sizes, strides of broadcast inputs, the pitch of parts of rows."""
    parameters = ["I size", *(f"I d{axis}" for axis in range(1, rank))]
    for i, pattern in enumerate(patterns):
        if pattern == "b":
            parameters += [f"I s{i}_{axis}" for axis in range(rank)]
    if "p" in places:
        parameters.append("I columns")
        parameters += [f"I pitch{i}" for i, place in enumerate(places) if place == "p"]
    return parameters


def _loads(patterns: str, rank: int) -> list[str]:
    """The statements that read an element of each array, broadcast ones by its place along the axes."""
    loads: list[str] = []
    if "b" in patterns:
        loads.append("I rest = i;")
        for axis in range(rank - 1, 0, -1):
            loads.append(f"I i{axis} = rest % d{axis}; rest /= d{axis};")
        loads.append("I i0 = rest;")
    for i, pattern in enumerate(patterns):
        if pattern != "s":
            strided = " + ".join(f"i{axis} * s{i}_{axis}" for axis in range(rank))
            loads.append(f"loaded{i}[item] = x{i}[{'i' if pattern == 'f' else strided}];")
    return loads


def _lines(statements: Sequence[str], indent: int) -> str:
    return "\n".join(" " * indent + one for one in statements)


def _launch(
    xp: Module,
    region: Region,
    shape: tuple[int, ...],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    blocks: int,
    sums: bool = False,
) -> None:
    """Runs a region over inputs that are broadcast to ``shape``, which has elements."""
    size = math.prod(shape)
    patterns = "".join(
        "f" if x.shape == shape and x.flags.c_contiguous else "s" if x.size == 1 else "b"
        for x in inputs
    )
    rank = max(1, len(shape)) if "b" in patterns else 1
    places = "" if sums else "".join("d" if x.flags.c_contiguous else "p" for x in outputs)
    pitches = [_pitch(x, shape) for x, place in zip(outputs, places, strict=False) if place == "p"]
    c_type = index_type(max([size, *[size // shape[-1] * pitch for pitch in pitches]]))
    number = number_type(c_type)
    sizes: list[Any] = [size, *(shape[1:] if rank > 1 else ())]
    for x, pattern in zip(inputs, patterns, strict=True):
        if pattern == "b":
            sizes += _strides(x, shape)
    if pitches:
        sizes += [shape[-1], *pitches]
    source = fused_source(region, patterns, rank, c_type, sums, places)
    arguments = (*inputs, *outputs, *[number(s) for s in sizes])
    compile_kernel(xp, source, "fused")((blocks,), (THREADS,), arguments)


def _blocks(size: int) -> int:
    return max(1, -(-size // (THREADS * _ITEMS)))


def bind_region(
    xp: Module, region: Region
) -> Callable[[tuple[int, ...], Sequence[Any], Sequence[Any]], None]:
    """The region as a function of a shape, its inputs, and the arrays that its results go to.

    All are arrays of the device of ``xp``. Results have the shape; each is contiguous, or a part of
    longer rows.
    """

    def run(shape: tuple[int, ...], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        size = math.prod(shape)
        if size:
            _launch(xp, region, shape, inputs, outputs, min(_blocks(size), 1 << 20))

    return run


def bind_fused(xp: Module, program: Program) -> Callable[[list[Any]], Any]:
    """The program as a function of its inputs, arrays of the device of ``xp``."""
    dtype, region = np.dtype(program.dtype), program.chain
    is_bool = region.results[0] in truths_of(region.num_inputs, region.steps)
    launch = bind_region(xp, region)

    def run(inputs: list[Any]) -> Any:
        shape = np.broadcast_shapes(*[x.shape for x in inputs])
        if not program.reduction:
            out = xp.empty(shape, bool if is_bool else dtype)
            launch(shape, inputs, [out])
            return out
        size = math.prod(shape)
        blocks = min(_blocks(size), _MAX_BLOCKS_OF_SUM)
        partial = xp.zeros(blocks, np.float64)
        if size:
            _launch(xp, region, shape, inputs, [partial], blocks, sums=True)
        total = partial.sum()
        if program.reduction == "Mean":
            total = total / size
        return total.astype(dtype)

    return run


def _strides(x: Array, shape: Sequence[int]) -> list[int]:
    """Strides in elements over the result's axes; 0 where the input is repeated."""
    missing = len(shape) - x.ndim
    strides = [0] * missing
    for d, s in zip(x.shape, x.strides, strict=True):
        strides.append(0 if d == 1 else s // x.itemsize)
    return strides or [0]


def _pitch(x: Array, shape: tuple[int, ...]) -> int:
    """How many elements lie between rows of the last axis, where ``x`` is a part of longer ones."""
    rows = [s // x.itemsize for s, d in zip(x.strides[:-1], shape[:-1], strict=True) if d > 1]
    return rows[-1] if rows else shape[-1]
