"""Element-wise ops with sums along the last axis in between, as one CUDA kernel.

The steps are taken in stages: what a stage needs of the sums before it is known to all threads of the
row (`row_threads`). In each stage the values of an element are computed anew from the inputs, which
are in registers: memory is read once, and what one stage leaves to the next never gets there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.instructions import expression, truths_of
from dataflow.kernels.cuda.row_threads import RowForm, fold_sums, row_form
from dataflow.kernels.cuda.source import header, kept
from dataflow.kernels.jit.expression import ROW_MEAN, ROW_SUMS, Region, elementary_steps

#: How an input lies beside rows [rows, length]: an array of them, a number for each row, for each
#: column, or for all.
FULL, ROW, COLUMN, SCALAR = "frcs"


class _Value(NamedTuple):
    """``level``: how many sums lie one behind the other before it. ``by_row``: the same along a row."""

    level: int
    by_row: bool


def _values(
    num_inputs: int, steps: Sequence[tuple[str, tuple[Any, ...]]], patterns: str
) -> list[_Value]:
    found = [_Value(0, pattern in (ROW, SCALAR)) for pattern in patterns]
    assert len(found) == num_inputs
    for op, operands in steps:
        items = [found[o] for o in operands] if op != "Const" else []
        level = max((item.level for item in items), default=0)
        if op in ROW_SUMS:
            found.append(_Value(level + 1, True))
        else:
            found.append(_Value(level, all(item.by_row for item in items)))
    return found


@kept
def rows_source(region: Region, patterns: str, form: RowForm) -> str:
    """The CUDA C of a region whose inputs lie as ``patterns`` says, a letter for each."""
    n = region.num_inputs
    steps, results = elementary_steps(region)
    values = _values(n, steps, patterns)
    truths = truths_of(n, steps)
    kinds = ["bool" if i in truths else "T" for i in range(len(values))]
    held = [i for i, pattern in enumerate(patterns) if pattern == FULL] if form.items else []
    sums = [n + i for i, (op, _) in enumerate(steps) if op in ROW_SUMS]
    by_level = [
        [s for s in sums if values[s].level == level]
        for level in range(1, 1 + max((values[s].level for s in sums), default=0))
    ]

    def statement(value: int) -> str:
        op, operands = steps[value - n]
        return f"{kinds[value]} v{value} = {expression(op, operands)};"

    def row_values(level: int) -> list[str]:
        """What is the same along the row and known once the sums of this level are."""
        return [
            statement(value)
            for value in range(n, len(values))
            if values[value] == (level, True) and value not in sums
        ]

    def loop(wanted: Sequence[int], work: list[str], there: str = "") -> str:
        """``work`` for each element, after the steps that ``wanted`` need."""
        needed, todo = set(), list(wanted)
        while todo:
            value = todo.pop()
            if value in needed or values[value].by_row:
                continue
            needed.add(value)
            if value >= n:
                op, operands = steps[value - n]
                todo += operands if op != "Const" else ()
        lines = []
        for value in sorted(needed):
            if value >= n:
                lines.append(statement(value))
            else:
                place = "c" if patterns[value] == COLUMN else "start + c"
                kept_in = f"held{value}[k]" if value in held else f"x{value}[{place}]"
                lines.append(f"{kinds[value]} v{value} = {kept_in};")
        body = "\n        ".join([*lines, *work])
        if not form.items:
            return f"""    for (int c = threadIdx.x; {there}c < length; c += WIDTH) {{
        {body}
    }}
"""
        return f"""    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
      int c = threadIdx.x + k * WIDTH;
      if ({there}c < length) {{
        {body}
      }}
    }}
"""

    parameters = [f"const {kinds[i]}* x{i}" for i in range(n)]
    parameters += [f"{kinds[value]}* out{i}" for i, value in enumerate(results)]
    text = header(region.dtype, "long long", form.constants)
    text += f'extern "C" __global__ void {form.bounds} fused_rows({", ".join(parameters)}, I rows, int length) {{\n'
    most = max((len(found) for found in by_level), default=0)
    if most:
        text += f"  __shared__ T part[{most}][THREADS];\n"
        text += "  int at = threadIdx.y * WIDTH + threadIdx.x;\n"
    text += """  for (I first = (I)blockIdx.x * blockDim.y; first < rows; first += (I)gridDim.x * blockDim.y) {
    I row = first + threadIdx.y;
    bool there = row < rows;
    if (!there) row = rows - 1;
    I start = row * length;
"""
    for i, pattern in enumerate(patterns):
        if pattern in (ROW, SCALAR):
            text += f"    {kinds[i]} v{i} = x{i}[{'row' if pattern == ROW else '0'}];\n"
    for i in held:
        text += f"    {kinds[i]} held{i}[ITEMS];\n"
    if held:
        loads = " ".join(f"held{i}[k] = x{i}[start + c];" for i in held)
        text += f"""    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
      int c = threadIdx.x + k * WIDTH;
      if (c < length) {{ {loads} }}
    }}
"""
    text += "".join(f"    {line}\n" for line in row_values(0))
    for level, found in enumerate(by_level, 1):
        sources = {s: steps[s - n][1][0] for s in found}
        text += "".join(f"    T v{s} = 0;\n" for s in found)
        adds = [f"v{s} += v{source};" for s, source in sources.items()]
        text += loop(list(sources.values()), adds) + fold_sums([f"v{s}" for s in found])
        means = [s for s in found if steps[s - n][0] == ROW_MEAN]
        text += "".join(f"    v{s} = v{s} / (T)length;\n" for s in means)
        text += "".join(f"    {line}\n" for line in row_values(level))
    by_row = [i for i, value in enumerate(results) if values[value].by_row]
    whole = [i for i in range(len(results)) if i not in by_row]
    if by_row:
        numbers = " ".join(f"out{i}[row] = v{results[i]};" for i in by_row)
        text += f"    if (there && threadIdx.x == 0) {{ {numbers} }}\n"
    if whole:
        stores = [f"out{i}[start + c] = v{results[i]};" for i in whole]
        text += loop([results[i] for i in whole], stores, "there && ")
    return text + "  }\n}\n"


def pattern_of(shape: tuple[int, ...], full: tuple[int, ...]) -> str:
    """How an input of this shape lies; ``""`` for one that is repeated in another way."""
    if shape == full:
        return FULL
    if math.prod(shape) == 1:
        return SCALAR
    if shape == (*full[:-1], 1):
        return ROW
    return COLUMN if shape[-1] == full[-1] == math.prod(shape) else ""


def run_rows(
    xp: Any, region: Region, full: tuple[int, ...], inputs: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Computes the region over arrays that broadcast to ``full``, which has elements.

    ``outputs``: contiguous arrays of that shape, or with a number for each row.
    """
    arrays, patterns = [], ""
    for x in inputs:
        pattern = pattern_of(x.shape, full)
        if not pattern:
            x, pattern = xp.broadcast_to(x, full), FULL
        arrays.append(xp.ascontiguousarray(x))
        patterns += pattern
    length = full[-1]
    form = row_form(length, region.dtype, patterns.count(FULL))
    rows = math.prod(full[:-1])
    grid, block = form.launch_shape(rows)
    launch = compile_kernel(xp, rows_source(region, patterns, form), "fused_rows")
    launch(grid, block, (*arrays, *outputs, np.int64(rows), np.int32(length)))
