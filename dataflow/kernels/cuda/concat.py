"""Arrays joined on a GPU by one kernel, which has their addresses among its arguments.

CuPy's own function copies a table of addresses and strides from the host first, which takes longer
than the joining of small arrays, and cannot be captured in a CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Module
from dataflow.kernels.cuda.compiler import can_compile
from dataflow.kernels.cuda.source import (
    UNITS,
    element_kernel,
    index_type,
    kept,
    launch_elements,
    number_type,
)
from dataflow.kernels.xp import address_of

#: The most arrays of one launch; more are joined by several.
_MOST_PARTS = 64


@kept
def concat_source(unit: int, parts: int, index: str) -> str:
    """The CUDA C that writes the rows of so many arrays, in units of so many bytes, side by side."""
    parameters = ", ".join(f"const T* x{k}" for k in range(parts))
    ends = ", ".join(f"I end{k}" for k in range(parts))
    choices = "\n".join(
        f"    if (column >= end{k - 1}) {{ x = x{k}; begin = end{k - 1}; end = end{k}; }}"
        for k in range(1, parts)
    )
    body = f"""    I row = i / end{parts - 1}, column = i % end{parts - 1}, begin = 0, end = end0;
    const T* x = x0;
{choices}
    out[row * pitch + first + column] = x[row * (end - begin) + column - begin];"""
    return f"typedef {UNITS[unit]} T;\ntypedef {index} I;\n" + element_kernel(
        "concat", f"{parameters}, T* out, {ends}, I pitch, I first", body
    )


def concatenate(xp: Any, values: Sequence[Any], axis: int) -> Any:
    """``xp.concatenate(values, axis)``; all are of one dtype."""
    if xp is np:
        return np.concatenate(values, axis)
    same = all(v.dtype == values[0].dtype for v in values)
    if not same or not can_compile(xp) or not _fit(values, axis):
        return xp.concatenate(values, axis)
    first = values[0]
    at = axis % first.ndim
    shape = list(first.shape)
    shape[at] = sum(v.shape[at] for v in values)
    out = xp.empty(tuple(shape), first.dtype)
    parts = [xp.ascontiguousarray(v) for v in values if v.size]
    if len(parts) == 1:
        out[...] = parts[0].reshape(out.shape)
    elif parts:
        _join(xp, parts, out, at)
    return out


def stack(xp: Any, values: Sequence[Any], axis: int = 0) -> Any:
    """``xp.stack(values, axis)``; all are of one dtype."""
    at = axis % (values[0].ndim + 1)
    if xp is np or any(v.shape != values[0].shape for v in values):
        return xp.stack(values, axis)
    shape = values[0].shape
    longer = (*shape[:at], 1, *shape[at:])
    return concatenate(xp, [v.reshape(longer) for v in values], at)


def _fit(values: Sequence[Any], axis: int) -> bool:
    """Whether the shapes are those of one array but for the axis."""
    ndim = values[0].ndim
    if not -ndim <= axis < ndim:
        return False
    at = axis % ndim
    around = {(v.shape[:at], v.shape[at + 1 :]) for v in values}
    return len(around) == 1 and all(v.ndim == ndim for v in values)


def _join(xp: Module, parts: list[Any], out: Any, axis: int) -> None:
    """Writes the arrays, none of which is empty, into a contiguous one."""
    widths = [math.prod(p.shape[axis:]) * p.itemsize for p in parts]
    unit = math.gcd(16, *widths, *(address_of(a) for a in (*parts, out)))
    widths = [width // unit for width in widths]
    rows, pitch, first = math.prod(out.shape[:axis]), sum(widths), 0
    index = index_type(rows * pitch)
    number = number_type(index)
    for k in range(0, len(parts), _MOST_PARTS):
        group = parts[k : k + _MOST_PARTS]
        ends = np.cumsum(widths[k : k + _MOST_PARTS])
        source = concat_source(unit, len(group), index)
        numbers = [number(n) for n in (*ends, pitch, first)]
        arguments = (*group, out, *numbers)
        launch_elements(xp, source, "concat", arguments, rows * int(ends[-1]), index)
        first += int(ends[-1])
