"""Kernels on bfloat16: float32 inside each op, rounded to the nearest (ties to even) at its end.

That is what TensorFlow's CPU kernels do. Large arrays are computed by `jit.narrow_mapping`, as those of half
precision. It is done here once, where a kernel is bound to its node,
so that a kernel need not know of the type; ``any_dtype`` in `registry.kernel` leaves out those that
only move elements or look at their bytes, and kernels that change variables or keep values
(stateful ones, and those that take a reference or a resource) get the arrays as they are: NumPy
computes with them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.dtypes import DType, bfloat16, float16, float32
from dataflow.kernels.jit import narrow_mapping
from dataflow.kernels.registry import Kernel, bind


def bind_node(found: Kernel, first: Any, op: Any) -> Callable[..., Any]:
    """The kernel of a node as a function of its inputs; ``first`` is ``xp`` or the context."""
    call = None
    for tensor in (*op.inputs, *op.outputs):
        dtype = tensor.dtype.base_dtype
        if dtype is bfloat16:
            call = _bind_in_float32(found, first, op)
            break
        if dtype is float16:
            call = call or bind(found, first, op.attrs)
    if call is None:
        return bind(found, first, op.attrs)
    return narrow_mapping.in_machine_code(op, call) if first is np else call


def _bind_in_float32(found: Kernel, first: Any, op: Any) -> Callable[..., Any]:
    if found.stateful or found.any_dtype or _changes_or_keeps(op):
        return bind(found, first, op.attrs)
    attrs = {name: _widened(value) for name, value in op.attrs.items()}
    call = bind(found, first, attrs)
    narrow, wide = bfloat16.numpy, np.dtype(np.float32)

    def widen(value: Any) -> Any:
        if type(value) is list:
            return [widen(item) for item in value]
        return value.astype(wide) if getattr(value, "dtype", None) == narrow else value

    def rounded(value: Any) -> Any:
        return np.asarray(value, wide).astype(narrow)[()]

    to_round = [t.dtype.base_dtype is bfloat16 for t in op.outputs]
    if not any(to_round):
        return lambda *inputs: call(*map(widen, inputs))
    if op.op_def.single_output:
        return lambda *inputs: rounded(call(*map(widen, inputs)))
    return lambda *inputs: tuple(
        rounded(value) if rounds else value
        for value, rounds in zip(call(*map(widen, inputs)), to_round, strict=True)
    )


def _changes_or_keeps(op: Any) -> bool:
    return any(t.dtype.is_ref or t.dtype.kind == "x" for t in (*op.inputs, *op.outputs))


def _widened(value: Any) -> Any:
    if isinstance(value, DType):
        return float32 if value is bfloat16 else value
    return [_widened(item) for item in value] if type(value) is list else value
