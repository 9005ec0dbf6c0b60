"""Shapes are read as early as possible, so that an array need not live until somebody asks for its shape.

The gradient of a `Reshape` or of a broadcast sum reads the shape of its input, an array that may be needed for
nothing else: in a transformer's layer, each product before its bias is added. If the shapes were read where the
gradient is computed, all of them would live through the whole step, and no sum could be written over its product.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.graph.operation import Operation


def shapes_first(ops: Sequence[Operation]) -> list[Operation]:
    """The nodes with those that look at shapes only right after what they look at.

    Nodes that wait for others stay where they are, and so does what reads a variable, whose shape may change
    meanwhile. Plans with loops or branches are left alone.
    """
    ops = list(ops)
    places = {op: i for i, op in enumerate(ops)}
    if any(op.op_def.control_flow for op in ops):
        return ops
    following: dict[Operation, list[Operation]] = {}
    for op in ops:
        if not op.op_def.shape_only or op.control_inputs:
            continue
        sources = [t.op for t in op.inputs]
        if all(s in places and not s.op_def.is_alias and not s.op_def.is_variable for s in sources):
            following.setdefault(max(sources, key=places.__getitem__), []).append(op)
    moved = {op for some in following.values() for op in some}
    found: list[Operation] = []

    def add(op: Operation) -> None:
        found.append(op)
        for shape in following.get(op, ()):
            add(shape)

    for op in ops:
        if op not in moved:
            add(op)
    return found
