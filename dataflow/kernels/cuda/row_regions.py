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
    return _RowsSource(region, patterns, form).text()


class _RowsSource:
    """The text of one kernel: sums along rows level by level, each from what the one before gave.

    Attributes:
        steps: op and operands of what is computed; its value ``num_inputs + i`` is C's ``v{num_inputs + i}``.
        held: inputs whose row the threads keep in registers.
        by_level: the sums that can be added up in one pass over the row.
    """

    def __init__(self, region: Region, patterns: str, form: RowForm) -> None:
        self.dtype, self.num_inputs = region.dtype, region.num_inputs
        self.patterns, self.form = patterns, form
        self.steps, self.results = elementary_steps(region)
        self.values = _values(self.num_inputs, self.steps, patterns)
        truths = truths_of(self.num_inputs, self.steps)
        self.kinds = ["bool" if i in truths else "T" for i in range(len(self.values))]
        full = [i for i, pattern in enumerate(patterns) if pattern == FULL]
        self.held = full if form.items else []
        sums = [self.num_inputs + i for i, (op, _) in enumerate(self.steps) if op in ROW_SUMS]
        self.sums = frozenset(sums)
        self.by_level = [
            [s for s in sums if self.values[s].level == level]
            for level in range(1, 1 + max((self.values[s].level for s in sums), default=0))
        ]

    def text(self) -> str:
        parameters = [f"const {self.kinds[i]}* x{i}" for i in range(self.num_inputs)]
        parameters += [f"{self.kinds[value]}* out{i}" for i, value in enumerate(self.results)]
        return (
            header(self.dtype, "long long", self.form.constants)
            + f'extern "C" __global__ void {self.form.bounds} fused_rows({", ".join(parameters)}, I rows, int length) {{\n'
            + self._begin()
            + self._row_values(0)
            + "".join(self._level(level, sums) for level, sums in enumerate(self.by_level, 1))
            + self._stores()
            + "  }\n}\n"
        )

    def _begin(self) -> str:
        """Where the sums meet, the loop over rows, and what is loaded once for each."""
        text = ""
        most = max((len(sums) for sums in self.by_level), default=0)
        if most:
            text += f"  __shared__ T part[{most}][THREADS];\n"
            text += "  int at = threadIdx.y * WIDTH + threadIdx.x;\n"
        text += """  for (I first = (I)blockIdx.x * blockDim.y; first < rows; first += (I)gridDim.x * blockDim.y) {
    I row = first + threadIdx.y;
    bool there = row < rows;
    if (!there) row = rows - 1;
    I start = row * length;
"""
        for i, pattern in enumerate(self.patterns):
            if pattern in (ROW, SCALAR):
                text += f"    {self.kinds[i]} v{i} = x{i}[{'row' if pattern == ROW else '0'}];\n"
        for i in self.held:
            text += f"    {self.kinds[i]} held{i}[ITEMS];\n"
        if self.held:
            loads = " ".join(f"held{i}[k] = x{i}[start + c];" for i in self.held)
            text += f"""    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
      int c = threadIdx.x + k * WIDTH;
      if (c < length) {{ {loads} }}
    }}
"""
        return text

    def _statement(self, value: int) -> str:
        op, operands = self.steps[value - self.num_inputs]
        return f"{self.kinds[value]} v{value} = {expression(op, operands)};"

    def _row_values(self, level: int) -> str:
        """What is the same along the row and known once the sums of this level are."""
        return "".join(
            f"    {self._statement(value)}\n"
            for value in range(self.num_inputs, len(self.values))
            if self.values[value] == (level, True) and value not in self.sums
        )

    def _level(self, level: int, sums: list[int]) -> str:
        """The sums of one level, and what follows of them."""
        taken = {s: self.steps[s - self.num_inputs] for s in sums}
        text = "".join(f"    T v{s} = 0;\n" for s in sums)
        adds = [f"v{s} += v{operands[0]};" for s, (_, operands) in taken.items()]
        text += self._loop([operands[0] for _, operands in taken.values()], adds)
        text += fold_sums([f"v{s}" for s in sums])
        means = [s for s, (op, _) in taken.items() if op == ROW_MEAN]
        text += "".join(f"    v{s} = v{s} / (T)length;\n" for s in means)
        return text + self._row_values(level)

    def _stores(self) -> str:
        by_row = [i for i, value in enumerate(self.results) if self.values[value].by_row]
        whole = [i for i in range(len(self.results)) if i not in by_row]
        text = ""
        if by_row:
            numbers = " ".join(f"out{i}[row] = v{self.results[i]};" for i in by_row)
            text += f"    if (there && threadIdx.x == 0) {{ {numbers} }}\n"
        if whole:
            stores = [f"out{i}[start + c] = v{self.results[i]};" for i in whole]
            text += self._loop([self.results[i] for i in whole], stores, "there && ")
        return text

    def _loop(self, wanted: Sequence[int], work: list[str], there: str = "") -> str:
        """``work`` for each element, after the steps that ``wanted`` need."""
        lines = [self._element(value) for value in sorted(self._needed(wanted))]
        body = "\n        ".join([*lines, *work])
        if not self.form.items:
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

    def _needed(self, wanted: Sequence[int]) -> set[int]:
        """The values of an element that ``wanted`` are made of, themselves among them."""
        needed: set[int] = set()
        todo = list(wanted)
        while todo:
            value = todo.pop()
            if value in needed or self.values[value].by_row:
                continue
            needed.add(value)
            if value >= self.num_inputs:
                op, operands = self.steps[value - self.num_inputs]
                todo += operands if op != "Const" else ()
        return needed

    def _element(self, value: int) -> str:
        if value >= self.num_inputs:
            return self._statement(value)
        place = "c" if self.patterns[value] == COLUMN else "start + c"
        kept_in = f"held{value}[k]" if value in self.held else f"x{value}[{place}]"
        return f"{self.kinds[value]} v{value} = {kept_in};"


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
