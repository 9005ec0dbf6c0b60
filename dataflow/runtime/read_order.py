"""Reads of a variable that keep the value from before an assignment in the same run.

The read of a reference variable is evaluated where it is used, so that `v + 1` after an assignment sees
the new value, as in TensorFlow, where the read and the variable share a buffer. An Assign with
``validate_shape=False`` gets a buffer of its own there where the shape changes: a read that came before it
still has the old one.

The read of a resource variable keeps the value of its own time. Most uses of it come before every change, so
that they may read late, too: then no local holds the array, and the change is made in place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import changers, reads_by_handle, variable_behind


def reads_before_reshaping(ops: Sequence[Operation], fed: Collection[Tensor]) -> set[Operation]:
    """Identities of a reference that an Assign of any shape to the same variable waits for.

    Such are those among its inputs' and control inputs' ancestors, and those outside of the branch or
    loop that it is in. ``ops`` are in topological order.
    """
    found: set[Operation] = set()
    for op in ops:
        if op.type != "Assign" or op.attrs["validate_shape"]:
            continue
        variable = variable_behind(op)
        reads = [
            r
            for r in ops
            if r.op_def.is_alias
            and r.inputs[0].dtype.is_ref
            and not r.outputs[0].dtype.is_ref
            and variable_behind(r) is variable
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


def reads_before_changes(
    ops: Sequence[Operation], fetches: Collection[Tensor], in_line: bool
) -> set[Operation]:
    """Reads of resource variables with a use that may come after a change of the variable.

    ``in_line`` says that the nodes run in this order; loops and branches do not.
    """
    reads = [op for op in ops if reads_by_handle(op)]
    changed_by = changers(ops) if reads else {}
    if not changed_by:
        return set()
    place = {op: i for i, op in enumerate(ops)}
    before: dict[Operation, set[Operation]] = {}
    found: set[Operation] = set()
    for read in reads:
        value = read.outputs[0]
        uses = {op for op in value.uses if op in place}
        for change in changed_by.get(variable_behind(read), ()):
            if in_line:
                if place[change] < place[read]:
                    continue
                late = any(place[use] > place[change] for use in uses)
            else:
                for op in (change, read):
                    if op not in before:
                        before[op] = _ancestors(op)
                if change in before[read] and read not in before[change]:
                    continue
                late = not uses <= before[change] | {change}
            if late or value in fetches:
                found.add(read)
                break
    return found


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
