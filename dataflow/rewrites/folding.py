"""Constant folding: nodes that depend only on constants are computed once, when the plan is made.

A constant that waits for something (in a loop or a branch each waits for its *pivot*) folds, too: the
result waits for the same, so that it is dead where the constant was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.bfloat16 import bind_node
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.subnormals import Computing
from dataflow.ops.sources import make_constant
from dataflow.rewrites.effects import can_merge, has_effects_behind
from dataflow.rewrites.options import MAX_FOLDED_BYTES
from dataflow.shapes import num_elements

#: A result may be larger than its inputs only up to this size.
_MAX_GROWTH_BYTES = 64 * 1024


def foldable(op: Operation) -> bool:
    """True when all inputs are constants and the node has no effect of its own."""
    return (
        len(op.outputs) == 1
        and bool(op.inputs)
        and can_merge(op)
        and all(t.op.type == "Const" for t in op.inputs)
        and op.outputs[0].dtype.is_numpy_compatible
    )


def may_fold(tensor: Tensor) -> bool:
    """A cheap test that rules out most nodes."""
    op = tensor.op
    return op.op_def.shape_only or (bool(op.inputs) and op.inputs[0].op.type == "Const")


def fold(tensor: Tensor, max_bytes: int = MAX_FOLDED_BYTES) -> Tensor | None:
    """f(constants) -> a constant

    Not when it would be larger than ``max_bytes``, or much larger than its inputs.
    """
    op = tensor.op
    value = _static_answer(tensor)
    if value is not None:
        constant = make_constant(value, tensor.dtype.base_dtype, None, "folded")
        source = op.inputs[0].op
        if has_effects_behind(source):  # they must happen although the value is not used
            constant.op.add_control_edge(source)
        return constant
    if not foldable(op):
        return None
    size = num_elements(tensor.dims)
    input_bytes = sum(t.op.attrs["value"].nbytes for t in op.inputs)
    most_bytes = min(max_bytes, max(input_bytes, _MAX_GROWTH_BYTES))
    if size is not None and size * tensor.dtype.size > most_bytes:
        return None
    value = compute(op)
    if value is None or value.nbytes > most_bytes:
        return None
    constant = make_constant(value, tensor.dtype.base_dtype, None, "folded")
    # What the constants wait for puts them into a loop or a branch; those of ``op`` are inherited.
    for control in dict.fromkeys(c for t in op.inputs for c in t.op.control_inputs):
        constant.op.add_control_edge(control)
    return constant


def _static_answer(tensor: Tensor) -> Any:
    if not tensor.op.op_def.shape_only or tensor.op.control_inputs:
        return None
    source = tensor.op.inputs[tensor.value_index]
    dims = source.dims
    if source.op.control_inputs or (source.op.op_def.outputs and source.dtype.is_ref):
        return None  # its control inputs, or its assignment, must still run
    if dims is None or (tensor.op.type != "Rank" and None in dims):
        return None
    dtype = tensor.dtype.as_numpy_dtype
    if tensor.op.type in ("Shape", "ShapeN"):
        return np.array(dims, dtype)
    if tensor.op.type == "Rank":
        return np.array(len(dims), dtype)
    return np.array(num_elements(dims), dtype)


def compute(op: Operation) -> Any:
    """The node's value from its constant inputs; ``None`` when its kernel fails."""
    found = get_kernel(op.type, "cpu", op.op_def.family)
    if found is None or found.stateful:
        return None
    arguments: list[Any] = []
    values = iter(
        v if v.shape or v.dtype == object else v[()]
        for v in (t.op.attrs["value"] for t in op.inputs)
    )
    for arg in op.op_def.inputs:
        if arg.is_list:
            count = (
                op.attrs[arg.number_attr] if arg.number_attr else len(op.attrs[arg.type_list_attr])  # type: ignore[index]
            )
            arguments.append([next(values) for _ in range(count)])
        else:
            arguments.append(next(values))
    try:
        with Computing():
            answer = bind_node(found, np, op)(*arguments)
            # `tf.split(x, 1)` gives a list, of one.
            return np.asarray(answer if op.op_def.single_output else answer[0])
    except Exception:  # raised again in the run, where the error names the node
        return None
