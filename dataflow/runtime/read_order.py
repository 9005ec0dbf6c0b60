"""Reads of a variable that keep the value from before an assignment of another shape in the same run.

A read is evaluated where it is used, so that `v + 1` after an assignment sees the new value, as in
TensorFlow, where the read and the variable share a buffer. An Assign with ``validate_shape=False`` gets a
buffer of its own there where the shape changes: a read that came before it still has the old one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions


def reads_before_reshaping(ops: Sequence[Operation], fed: Collection[Tensor]) -> set[Operation]:
    """Identities of a reference that an Assign of any shape to the same variable waits for.

    Such are those among its inputs' and control inputs' ancestors, and those outside of the branch or
    loop that it is in. ``ops`` are in topological order.
    """
    found: set[Operation] = set()
    for op in ops:
        if op.type != "Assign" or op.attrs.get("validate_shape", True):
            continue
        variable = _variable_of(op)
        reads = [
            r
            for r in ops
            if r.op_def.is_alias
            and r.inputs[0].dtype.is_ref
            and not r.outputs[0].dtype.is_ref
            and _variable_of(r) is variable
        ]
        if not reads:
            continue
        before = _ancestors(op)
        where = positions(ops, fed)
        place = where.get(op, OUTSIDE)
        found |= {
            r for r in reads if r in before or (place != OUTSIDE and where.get(r, OUTSIDE) != place)
        }
    return found


def _variable_of(op: Operation) -> Operation:
    source = op.inputs[0].op
    while not source.op_def.is_variable and source.inputs:
        source = source.inputs[0].op
    return source


def _ancestors(op: Operation) -> set[Operation]:
    found: set[Operation] = set()
    stack = [op]
    while stack:
        node = stack.pop()
        for source in (*(t.op for t in node.inputs), *node.control_inputs):
            if source not in found:
                found.add(source)
                stack.append(source)
    return found
