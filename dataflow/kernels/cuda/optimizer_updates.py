"""Optimizers' updates as one CUDA kernel each: the rule that was traced for the CPU, in CUDA C.

A rule reads a variable, its slots and a gradient once and writes what it changes once, where CuPy's
functions would be launched one after the other, each with a pass over memory of its own. Learning
rates and the like are read from the device, so that the host need not wait for them.

Rows that are named more than once are updated once for each time, in the order given, as on the CPU:
the numbers are sorted first, and one thread for each column of a row does all of its updates.
Numbers of no row are left out. Nothing depends on values, so that a CUDA graph can hold all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.cuda.gather_scatter import can_change
from dataflow.kernels.cuda.instructions import expression
from dataflow.kernels.cuda.radix_sort import in_order
from dataflow.kernels.cuda.source import (
    can_run,
    element_kernel,
    kept,
    launch_elements,
    sum_type,
    working_header,
)
from dataflow.kernels.jit.rule_tracer import trace_call
from dataflow.kernels.jit.step_codegen import Loop

#: Positions are counted in this C type.
_INDEX = "long long"
#: Halves are computed in single precision, and rounded after each step as NumPy rounds them.
_DTYPES = ("float16", "float32", "float64")


@kept
def update_source(loop: Loop, changed: tuple[int, ...], scalars: str) -> str:
    """The CUDA C of a traced rule, which changes the arrays ``changed``.

    Its arguments: the arrays, the gradient, the scalars (a letter each in ``scalars``: ``p`` on the
    device, ``n`` a number), and the gradient's size. With rows, after the scalars: their numbers in
    order, where in the gradient each of them stood, how many rows there are, the length of a row,
    and how many numbers.
    """
    num_arrays = len(loop.inputs) - loop.inputs.count("n") - 1
    by_rows = "r" in loop.inputs
    parameters = [f"S* a{i}" for i in range(num_arrays)] + ["const S* grad"]
    parameters += [f"{'const S*' if s == 'p' else 'T'} s{i}" for i, s in enumerate(scalars)]
    where = "here" if by_rows else "i"
    first = [f"T w{i} = (T)a{i}[{where}];" for i in range(num_arrays)]
    first += [
        f"T v{num_arrays + 1 + i} = (T){f'*s{i}' if s == 'p' else f's{i}'};"
        for i, s in enumerate(scalars)
    ]
    position = "(long long)order[k] * length + i % length" if by_rows else "i"
    each = [f"T v{i} = w{i};" for i in range(num_arrays)]
    each.append(f"T v{num_arrays} = (T)grad[{position}];")
    for number, (op, operands) in enumerate(loop.steps):
        each.append(f"T v{len(loop.inputs) + number} = ROUND({expression(op, operands)});")
    results = list(zip(changed, loop.results, strict=True))
    each += [f"w{i} = v{value};" for i, (value, _) in results]
    last = [f"a{i}[{where}] = (S)w{i};" for i, _ in results]
    if by_rows:
        parameters += ["const unsigned* keys", "const int* order", "unsigned rows"]
        parameters += ["long long length", "long long count"]
        body = [
            "long long k = i / length;",
            "unsigned key = keys[k];",
            "if (key >= rows || (k > 0 && keys[k - 1] == key)) continue;",
            "long long here = (long long)key * length + i % length;",
            *first,
            "for (; k < count && keys[k] == key; ++k) {",
            *[f"  {line}" for line in each],
            "}",
            *last,
        ]
    else:
        body = [*first, *each, *last]
    lines = "\n".join(f"    {line}" for line in body)
    return working_header(loop.dtype, _INDEX) + element_kernel(
        "update", ", ".join(parameters), lines
    )


def update_on_gpu(
    xp: Any,
    arrays: list[Any],
    grad: Any,
    indices: Any,
    rule: Callable[..., None],
    scalars: tuple[Any, ...],
) -> bool:
    """The whole update as one launch; ``False`` where the rule has branches, or no CUDA is here.

    ``indices``: the rows of the arrays that the rows of ``grad`` belong to, in any order, and as
    often as they like; ``None`` where ``grad`` has the arrays' shape. With rows, their numbers are
    sorted first, by a few launches more.
    """
    dtype = arrays[0].dtype
    if grad.dtype != dtype or not can_run(xp, grad, of=_DTYPES):
        return False
    if indices is not None and not can_change(xp, arrays[0], indices):
        return False
    traced, numbers = trace_call(rule, arrays, scalars, indices is not None)
    if traced is None:
        return False
    work = sum_type(dtype)
    on_device = [isinstance(s, xp.ndarray) for s in numbers]
    values = [
        s.astype(dtype, copy=False) if there else work.type(dtype.type(s))
        for s, there in zip(numbers, on_device, strict=True)
    ]
    letters = "".join("p" if there else "n" for there in on_device)
    source = update_source(traced.spec, traced.changed, letters)
    rows: list[Any] = []
    if indices is not None and grad.size:
        length = grad.size // indices.size
        numbers_in_order = in_order(xp, indices, arrays[0].shape[0])
        counts = np.uint32(arrays[0].shape[0]), np.int64(length), np.int64(indices.size)
        rows = [*numbers_in_order, *counts]
    arguments = (*arrays, xp.ascontiguousarray(grad), *values, *rows)
    launch_elements(xp, source, "update", arguments, grad.size, _INDEX)
    return True
