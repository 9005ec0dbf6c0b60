"""Regions with sums along the last axis: one kernel on a GPU, elsewhere one call after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.cuda.compiler import can_compile
from dataflow.kernels.cuda.row_regions import run_rows
from dataflow.kernels.jit.expression import ROW_SUMS, Region
from dataflow.kernels.jit.regions import EQUAL_SHAPES, small
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
    one_by_one = small(region, xp)
    compiled = xp is not np and can_compile(xp)
    dtype = np.dtype(region.dtype)

    def run(inputs: list[Any]) -> Sequence[Any]:
        full = full_shape(region, [x.shape for x in inputs]) if compiled else None
        rows = 0 if full is None else math.prod(full[:-1])
        if not full or not rows * full[-1] or (rows < _FEW_ROWS and full[-1] > _LONG_ROW):
            with np.errstate(all="ignore"):  # the mean of no numbers
                results = list(one_by_one(*inputs))
        else:
            row_shape = (*full[:-1], 1)
            results = [xp.empty(row_shape if one else full, dtype) for one in by_row]
            run_rows(xp, region, full, inputs, results)
        for i, gone in enumerate(without_axis):
            if gone:
                results[i] = results[i].reshape(results[i].shape[:-1])
        return results

    return run
