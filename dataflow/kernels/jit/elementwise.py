"""The generator of fused element-wise kernels.

A large result is computed in blocks that fit in the processor's cache: every op of the chain runs
over one block, with intermediate values in a few scratch buffers, before the next block is started.
Memory is read and written once, however long the chain is. A small result is computed by plain
calls, as blocks would save nothing.

Measured on two cores, 4 million floats, eight ops (milliseconds): NumPy op by op 11.1, these blocks
6.0 (3.4 when two threads share them), numba 8.4 (34 with its parallel target), numexpr with two
threads 23. So the back end is NumPy itself, until a chain has run often: then it becomes machine
code that gives the same bits, where llvmlite is installed (`native_ufunc`) and all its ops can be written so
(`step_codegen.can_write`). NaN and infinity behave as in the unfused ops.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import can_compile
from dataflow.kernels.cuda.elementwise import bind_fused
from dataflow.kernels.jit.expression import Program
from dataflow.kernels.jit.native_ufunc import Mapping, mapped
from dataflow.kernels.jit.op_table import INSTRUCTIONS, names_of
from dataflow.kernels.large_arrays import empty
from dataflow.kernels.parallel import run_pieces
from dataflow.kernels.registry import kernel

#: With half of it, two threads spend their time passing the interpreter lock to each other.
BLOCK_ELEMENTS = 65_536
#: From this size on, another thread takes a share of the blocks; waking it takes about 0.1 ms.
SHARED_ELEMENTS = 1 << 20
_SMALL_ELEMENTS = BLOCK_ELEMENTS


class Compiled(NamedTuple):
    """The generated functions and their source."""

    small: Callable[..., Any]
    block: Callable[..., None]
    num_scratch: int
    num_flags: int
    source: str


_cache: dict[tuple[Program, str], Compiled] = {}
_local = threading.local()


def compile_program(program: Program, xp: Module = np) -> Compiled:
    """Generates (once for each program) the function for small arrays and that for a block."""
    key = (program, repr(xp))  # the functions hold their array module
    found = _cache.get(key)
    if found is None:
        found = _cache[key] = _generate(program, xp)
    return found


def _generate(program: Program, xp: Module) -> Compiled:
    n = program.num_inputs
    names = [f"x{i}" for i in range(n)]
    last_use: dict[int, int] = {}
    for i, (_, operands) in enumerate(program.steps):
        for operand in operands:
            last_use[operand] = i
    small = [f"def small({', '.join(names)}):"]
    block = [f"def block({', '.join(names)}, out, scratch, flags):"]
    values = list(names)
    slots: dict[int, str] = {}
    free: dict[bool, list[str]] = {False: [], True: []}
    counts = {False: 0, True: 0}
    for i, (op_type, operands) in enumerate(program.steps):
        instruction = INSTRUCTIONS[op_type]
        is_last = i == len(program.steps) - 1
        dying = [o for o in operands if o >= n and last_use[o] == i]
        if instruction.in_place:
            for o in dict.fromkeys(dying):
                _release(slots, free, o, program, n)
        if is_last and not program.reduction:
            target = "out"
        else:
            kind = instruction.is_bool
            if free[kind]:
                target = free[kind].pop()
            else:
                target = f"{'flags' if kind else 'scratch'}[{counts[kind]}]"
                counts[kind] += 1
        operand_texts = [values[o] for o in operands]
        for statement in instruction.statements:
            block.append("    " + statement.format(*operand_texts, o=target))
        small += small_step(op_type, [f"x{o}" if o < n else f"t{o - n}" for o in operands], f"t{i}")
        values.append(target)
        slots[n + i] = target
        if not instruction.in_place:
            for o in dict.fromkeys(dying):
                _release(slots, free, o, program, n)
    result = f"t{len(program.steps) - 1}"
    if program.reduction:
        block.append(f"    return xp.add.reduce({values[-1]}, axis=None)")
        function = "add.reduce" if program.reduction == "Sum" else "mean"
        where = f"axis=-1, keepdims={program.keep_dims}" if program.over_rows else "axis=None"
        small.append(f"    return xp.{function}({result}, {where})")
    else:
        small.append(f"    return {result}")
    source = "\n".join(small) + "\n\n" + "\n".join(block) + "\n"
    element = np.dtype(program.dtype)
    scope: dict[str, Any] = {
        "xp": xp,
        "dtype": element,
        **names_of(element),
    }
    exec(compile(source, "<fused kernel>", "exec"), scope)
    return Compiled(scope["small"], scope["block"], counts[False], counts[True], source)


def small_step(op_type: str, operands: list[str], value: str) -> list[str]:
    """The lines that compute one step into a new array, by one call or a few."""
    instruction = INSTRUCTIONS[op_type]
    if instruction.in_place and "[...]" not in instruction.statements[0]:
        call = instruction.statements[0].format(*operands, o="@").replace(", out=@", "")
        return [f"    {value} = {call}"]
    dtype = "bool" if instruction.is_bool else "dtype"
    shapes = ", ".join(f"xp.shape({o})" for o in operands)
    return [
        f"    {value} = xp.empty(xp.broadcast_shapes({shapes}), {dtype})",
        *["    " + statement.format(*operands, o=value) for statement in instruction.statements],
    ]


def _release(
    slots: dict[int, str], free: dict[bool, list[str]], value: int, program: Program, n: int
) -> None:
    slot = slots.get(value)
    if slot is not None and slot != "out":
        free[INSTRUCTIONS[program.steps[value - n][0]].is_bool].append(slot)


def _scratch(count: int, flags: int, dtype: Any) -> tuple[list[Any], list[Any]]:
    """Scratch buffers of one block, kept for each thread."""
    pools = _local.__dict__.setdefault("pools", {})
    buffers = pools.setdefault(dtype, [])
    while len(buffers) < count:
        buffers.append(np.empty(BLOCK_ELEMENTS, dtype))
    truths = pools.setdefault("flags", [])
    while len(truths) < flags:
        truths.append(np.empty(BLOCK_ELEMENTS, np.bool_))
    return buffers[:count], truths[:flags]


def _in_rows(
    inputs: list[Any], shape: tuple[int, ...]
) -> tuple[list[Any], list[bool], int, tuple[int, ...]]:
    """The inputs as they are cut into blocks, which of them are, the number of rows, and their shape."""
    if all((np.shape(x) == shape and x.flags.c_contiguous) or np.size(x) == 1 for x in inputs):
        parts = [x.reshape(-1) if np.size(x) > 1 else _scalar(x) for x in inputs]
        return parts, [np.size(x) > 1 for x in inputs], math.prod(shape), ()
    rows = shape[0]
    sliced = [np.ndim(x) == len(shape) and np.shape(x)[0] == rows and rows > 1 for x in inputs]
    return list(inputs), sliced, rows, shape[1:]


def run_blocks(
    program: Program, compiled: Compiled, inputs: list[Any], reused: int | None = None
) -> Any:
    """Computes a large result block by block, in the buffer of input ``reused`` if that fits."""
    shape = np.broadcast_shapes(*[np.shape(x) for x in inputs])
    size = int(np.prod(shape))
    dtype = np.dtype(program.dtype)
    out_dtype = np.bool_ if INSTRUCTIONS[program.steps[-1][0]].is_bool else dtype
    parts, sliced, rows, row_shape = _in_rows(inputs, shape)
    row_size = int(np.prod(row_shape))
    step = max(1, BLOCK_ELEMENTS // max(row_size, 1))
    if row_size > BLOCK_ELEMENTS:
        return compiled.small(*inputs)
    starts = range(0, rows, step)
    partial: list[Any] = [None] * len(starts)
    out = None
    if not program.reduction:
        taken = None if reused is None else inputs[reused]
        if taken is not None and taken.shape == shape and taken.flags.c_contiguous:
            out = taken.reshape(rows, *row_shape)
        else:
            out = empty((rows, *row_shape), out_dtype)

    def make_worker() -> Callable[[int], None]:
        scratch, flags = _scratch(compiled.num_scratch, compiled.num_flags, dtype)
        full_scratch = [s[: step * row_size].reshape(step, *row_shape) for s in scratch]
        full_flags = [s[: step * row_size].reshape(step, *row_shape) for s in flags]

        def work(start: int) -> None:
            stop = min(start + step, rows)
            length = stop - start
            here = [p[start:stop] if cut else p for p, cut in zip(parts, sliced, strict=True)]
            if length == step:
                temporary, truths = full_scratch, full_flags
            else:
                temporary = [s[:length] for s in full_scratch]
                truths = [s[:length] for s in full_flags]
            target = None if out is None else out[start:stop]
            result = compiled.block(*here, target, temporary, truths)
            if program.reduction:
                partial[start // step] = result

        return work

    if size >= SHARED_ELEMENTS:
        run_pieces(starts, make_worker)
    else:
        work = make_worker()
        for start in starts:
            work(start)
    if out is not None:
        return out.reshape(shape)
    total = np.add.reduce(np.asarray(partial, np.float64))
    return dtype.type(total / size if program.reduction == "Mean" else total)


def _scalar(x: Array) -> Any:
    return x.reshape(-1)[0] if isinstance(x, np.ndarray) else x


@kernel("_Fused", factory=True)
def fused_kernel(xp: Module, *, program: Any) -> Callable[..., Any]:
    if xp is not np:
        return _bind_on_gpu(xp, program)
    compiled = compile_program(program)
    small = compiled.small
    if program.over_rows:
        return lambda inputs: small(*inputs)
    mapping = None
    if not program.reduction and not INSTRUCTIONS[program.steps[-1][0]].is_bool:
        result = program.num_inputs + len(program.steps) - 1
        mapping = Mapping.of(program.dtype, program.steps, (result,))

    def blocks(inputs: list[Any], reused: int | None = None) -> Any:
        for x in inputs:
            if x.size > _SMALL_ELEMENTS:
                return run_blocks(program, compiled, inputs, reused)
        return small(*inputs)

    if mapping is None:
        return blocks
    loops = mapping

    def run(inputs: list[Any], reused: int | None = None) -> Any:
        return mapped(loops, inputs, lambda operands: blocks(operands, reused), reused)

    return run


def _bind_on_gpu(xp: Module, program: Program) -> Callable[..., Any]:
    if program.over_rows and can_compile(xp):
        chain = bind_fused(xp, program._replace(reduction="", over_rows=False, keep_dims=False))
        total = xp.sum if program.reduction == "Sum" else xp.mean
        return lambda inputs: total(chain(inputs), axis=-1, keepdims=program.keep_dims)
    if can_compile(xp):
        return bind_fused(xp, program)
    small = compile_program(program, xp).small  # a fake GPU without a compiler: op by op
    return lambda inputs: small(*inputs)
