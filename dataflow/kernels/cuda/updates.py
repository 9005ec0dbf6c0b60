"""Optimizers' updates as one CUDA kernel each: the rule that was traced for the CPU, in CUDA C.

A rule reads a variable, its slots and a gradient once and writes what it changes once, where CuPy's
functions would be launched one after the other, each with a pass over memory of its own. Learning
rates and the like are read from the device, so that the host need not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.cuda.instructions import expression
from dataflow.kernels.cuda.source import can_run, element_kernel, header, kept, launch_elements
from dataflow.kernels.fused.step_text import Loop
from dataflow.kernels.fused.tracing import trace_call

#: Positions are counted in this C type.
_INDEX = "long long"


@kept
def update_source(loop: Loop, changed: tuple[int, ...], scalars: str, index: str = "int") -> str:
    """The CUDA C of a traced rule, which changes the arrays ``changed``.

    Its arguments: the arrays, the gradient, the scalars (a letter each in ``scalars``: ``p`` on the
    device, ``n`` a number), with rows their numbers (of the C type ``index``) and their length, and
    the gradient's size.
    """
    num_arrays = len(loop.inputs) - loop.inputs.count("n") - 1
    by_rows = "r" in loop.inputs
    parameters = [f"T* a{i}" for i in range(num_arrays)] + ["const T* grad"]
    parameters += [f"{'const T*' if s == 'p' else 'T'} s{i}" for i, s in enumerate(scalars)]
    if by_rows:
        parameters += [f"const {index}* rows", "long long length"]
    where = "here" if by_rows else "i"
    body = ["long long here = (long long)rows[i / length] * length + i % length;"] * by_rows
    body += [f"T v{i} = a{i}[{where}];" for i in range(num_arrays)]
    body.append(f"T v{num_arrays} = grad[i];")
    body += [
        f"T v{num_arrays + 1 + i} = {f'*s{i}' if s == 'p' else f's{i}'};"
        for i, s in enumerate(scalars)
    ]
    for number, (op, operands) in enumerate(loop.steps):
        body.append(f"T v{len(loop.inputs) + number} = {expression(op, operands)};")
    for i, (value, _) in zip(changed, loop.results, strict=True):
        body.append(f"a{i}[{where}] = v{value};")
    lines = "\n".join(f"    {line}" for line in body)
    return header(loop.dtype, _INDEX) + element_kernel("update", ", ".join(parameters), lines)


def update_on_gpu(
    xp: Any,
    arrays: list[Any],
    grad: Any,
    indices: Any,
    rule: Callable[..., None],
    scalars: tuple[Any, ...],
) -> bool:
    """The whole update as one launch; ``False`` where the rule has branches, or no CUDA is here.

    ``indices``: the rows of the arrays that the rows of ``grad`` belong to, each at most once.
    """
    dtype = arrays[0].dtype
    if grad.dtype != dtype or not can_run(xp, grad, of=("float32", "float64")):
        return False
    traced, numbers = trace_call(rule, arrays, scalars, indices is not None)
    if traced is None:
        return False
    on_device = [isinstance(s, xp.ndarray) for s in numbers]
    values = [
        s.astype(dtype, copy=False) if there else dtype.type(s)
        for s, there in zip(numbers, on_device, strict=True)
    ]
    letters = "".join("p" if there else "n" for there in on_device)
    rows: list[Any] = []
    index = "int"
    if indices is not None:
        if indices.dtype == np.int64:
            index = "long long"
        length = grad.size // max(1, indices.size)
        rows = [xp.ascontiguousarray(indices), np.int64(length)]
    source = update_source(traced.spec, traced.changed, letters, index)
    arguments = (*arrays, xp.ascontiguousarray(grad), *values, *rows)
    launch_elements(xp, source, "update", arguments, grad.size, _INDEX)
    return True
