"""Regions with sums along the last axis: one kernel in CUDA C or machine code, else one call after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.cuda.compiler import can_compile
from dataflow.kernels.cuda.row_regions import run_rows
from dataflow.kernels.jit.expression import ROW_SUMS, Region, elementary_steps
from dataflow.kernels.jit.native_ufunc import Layout
from dataflow.kernels.jit.regions import EQUAL_SHAPES, MOST_LAYOUTS, small
from dataflow.kernels.jit.row_mapping import RowMapping
from dataflow.kernels.registry import kernel

#: Few rows of many numbers want several blocks for each, which a kernel for rows does not give them.
_FEW_ROWS, _LONG_ROW = 64, 1 << 16


def full_shape(region: Region, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape of the rows; ``None`` where a result has another shape, or a step would fail."""
    found = list(shapes)
    try:
        full = np.broadcast_shapes(*shapes)
        for op_type, operands in region.steps:
            items = [found[o] for o in operands]
            if op_type in ROW_SUMS:
                if items[0] != full:
                    return None
                found.append((*full[:-1], 1))
            elif op_type in EQUAL_SHAPES and len(set(items)) > 1:
                return None
            else:
                found.append(np.broadcast_shapes(*items))
    except ValueError:  # the step itself raises it, for its own node
        return None
    ends = {full, (*full[:-1], 1)}
    return full if all(found[r] in ends for r in region.results) else None


@kernel("_FusedRows", factory=True)
def fused_rows_kernel(
    xp: Any, *, region: Region, by_row: Sequence[bool], without_axis: Sequence[bool]
) -> Callable[..., Any]:
    on_gpu = xp is not np
    run = _on_gpu(xp, region, by_row) if on_gpu else _in_machine_code(region, by_row)
    if not any(without_axis):
        return run

    def without(inputs: list[Any]) -> Sequence[Any]:
        return [
            x.reshape(x.shape[:-1]) if gone else x
            for x, gone in zip(run(inputs), without_axis, strict=True)
        ]

    return without


def _one_by_one(region: Region, xp: Any) -> Callable[[list[Any]], Sequence[Any]]:
    steps = small(region, xp)

    def run(inputs: list[Any]) -> Sequence[Any]:
        with np.errstate(all="ignore"):  # the mean of no numbers
            return steps(*inputs)

    return run


def _on_gpu(xp: Any, region: Region, by_row: Sequence[bool]) -> Callable[..., Sequence[Any]]:
    one_by_one, dtype = _one_by_one(region, xp), np.dtype(region.dtype)
    if not can_compile(xp):
        return one_by_one

    def run(inputs: list[Any]) -> Sequence[Any]:
        full = full_shape(region, [x.shape for x in inputs])
        rows = 0 if full is None else math.prod(full[:-1])
        if not full or not rows * full[-1] or (rows < _FEW_ROWS and full[-1] > _LONG_ROW):
            return one_by_one(inputs)
        row_shape = (*full[:-1], 1)
        results = [xp.empty(row_shape if one else full, dtype) for one in by_row]
        run_rows(xp, region, full, inputs, results)
        return results

    return run


def _in_machine_code(region: Region, by_row: Sequence[bool]) -> Callable[..., Sequence[Any]]:
    one_by_one = _one_by_one(region, np)
    mapping = RowMapping.of_rows(region.dtype, *elementary_steps(region))
    if mapping is None:
        return one_by_one
    loops, dtype = mapping, mapping.dtype
    layouts: dict[tuple[Any, ...], tuple[list[tuple[int, ...]], Layout | None]] = {}

    def lay_out(inputs: list[Any]) -> tuple[list[tuple[int, ...]], Layout | None]:
        full = full_shape(region, [x.shape for x in inputs])
        if full is None:
            return [], None
        shapes = [(*full[:-1], 1) if one else full for one in by_row]
        outputs = [np.empty(shape, dtype) for shape in shapes]
        return shapes, loops.layout(full, [*inputs, *outputs], len(inputs))

    def run(inputs: list[Any]) -> Sequence[Any]:
        key = tuple([(x.shape, x.strides) for x in inputs])
        try:
            shapes, layout = layouts[key]
        except KeyError:
            if len(layouts) >= MOST_LAYOUTS:
                layouts.clear()
            shapes, layout = layouts[key] = lay_out(inputs)
        function = None if layout is None else layout.loop.get()
        if layout is None or function is None:
            return one_by_one(inputs)
        results = [np.empty(shape, dtype) for shape in shapes]
        layout.call(function, inputs + results)
        return results

    return run
