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
from dataflow.rewrites.common_subexpressions import can_merge
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


def has_effects_behind(op: Operation) -> bool:
    """True when ``op``, or any node that it depends on, does more than compute a value."""
    known: dict[Operation, bool] = op.graph.attachments.setdefault("effects behind", {})
    stack = [(op, False)]
    while stack:
        op, leaving = stack.pop()
        before = [*[t.op for t in op.inputs], *op.control_inputs]
        if leaving:
            known[op] = known[op] or any(known[b] for b in before)
        elif op not in known:
            known[op] = not (can_merge(op) or _goes_unnoticed(op))
            stack.append((op, True))
            stack.extend((b, False) for b in before if b not in known)
    return known[op]


def _goes_unnoticed(op: Operation) -> bool:
    """True for a node that cannot be merged, but may be left out without a visible difference."""
    op_def = op.op_def
    passes_on = op_def.control_flow or op_def.is_alias or op_def.is_variable or op_def.is_handle
    return (
        bool(passes_on)
        or op_def.only_looks
        or op.type in ("Placeholder", "NoOp")
        or _only_reads(op)
    )


def _only_reads(op: Operation) -> bool:
    """True for a node that looks at a variable, as a lookup of embeddings does, and cannot change it."""
    op_def = op.op_def
    if op_def.stateful or op_def.has_side_effect or not op.outputs:
        return False
    return not any(arg.is_ref for arg in (*op_def.inputs, *op_def.outputs))


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
