"""Sums gradients of rows that are indexed more than once, on a GPU without waiting for the host.

Before most optimizers update rows they add up the gradients for each row: `Unique` gives the distinct
indices, and there is one sum for each. Their number depends on values, so the host would have to wait
for the GPU, and the step could not be captured in a CUDA graph. Here the result has as many rows as
there are indices, and surplus rows have the index -1, which the GPU's kernels skip.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import sum_repeated_rows_op
from dataflow.rewrites.control_flow_positions import (
    OUTSIDE,
    Position,
    positions,
    sources,
    with_whole_loops,
)
from dataflow.rewrites.effects import variable_behind
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

#: The names of the inputs that have a row for each index.
_ROWS = ("grad", "updates")


def run(work: WorkingGraph, journal: list[Hit], gpu_nodes: Collection[Operation]) -> None:
    """Replaces such sums; ``gpu_nodes`` are the user's nodes whose kernels run on a GPU."""
    ops = work.needed()
    uniques = [op for op in ops if op.type == "Unique"]
    if not uniques:
        return
    needed = set(ops)
    fetched = work.fetched_values()
    where = positions(ops, work.feed_tensors)
    for unique in uniques:
        sums = _sums(unique, needed)
        changes = _changes(unique, sums, ops, needed, fetched)
        nodes = [unique, *sums, *changes]
        if not changes or any(where.get(op, OUTSIDE) != OUTSIDE for op in nodes):
            continue
        if not all(work.origin[op] in gpu_nodes for op in (*sums, *changes)):
            continue
        if _wait_for(sums, changes, ops, work, where):
            continue
        _sum_on_gpu(work, journal, unique, sums, changes)


def _wait_for(
    sums: list[Operation],
    changes: list[Operation],
    ops: list[Operation],
    work: WorkingGraph,
    where: Mapping[Operation, Position],
) -> bool:
    """Whether a sum comes after one of the updates, whose rows would come after the sum."""
    ops, waits = with_whole_loops(ops, set(work.feed_tensors), where)
    after = set(changes)
    for op in ops:
        if not after.isdisjoint(sources(op, waits)):
            after.add(op)
    return not after.isdisjoint(sums)


def _users(tensor: Tensor, needed: set[Operation]) -> list[Operation]:
    return [c for c in dict.fromkeys(tensor.uses) if c in needed]


def _sums(unique: Operation, needed: set[Operation]) -> list[Operation]:
    """The sums over the rows of each distinct index; none where something else uses the positions."""
    indices, which = unique.outputs
    found = _users(which, needed)
    for op in found:
        if op.type != "UnsortedSegmentSum" or op.inputs[1] is not which:
            return []
        if op.control_inputs or not is_length(op.inputs[2], indices):
            return []
        values = op.inputs[0]
        if values.dims is None or not values.dims or values is which:
            return []
    return found


def is_length(count: Tensor, vector: Tensor) -> bool:
    """Whether ``count`` is the number of elements of a vector, and nothing happens before it is known."""
    op = count.op
    if op.control_inputs:
        return False
    if op.type == "Size":
        return op.inputs[0] is vector
    if op.type == "StridedSlice" and count.dims == ():
        shape = op.inputs[0].op
        return shape.type == "Shape" and shape.inputs[0] is vector and not shape.control_inputs
    return False


def _changes(
    unique: Operation,
    sums: list[Operation],
    ops: list[Operation],
    needed: set[Operation],
    fetched: set[Tensor],
) -> list[Operation]:
    """The updates of variables by the sums; none where a sum is also used elsewhere."""
    indices = unique.outputs[0]
    rows = {op.outputs[0] for op in sums}
    made, found = set(sums), []
    for op in ops:  # in topological order
        if op.op_def.gathers and op.inputs[1] is indices and _goes_along_rows(op):
            pass
        elif _makes_rows_of_rows(op) and not rows.isdisjoint(op.inputs):
            if not all(t in rows or t.dims == () for t in op.inputs):
                return []
        elif op.op_def.skips_negative_rows and _takes(op, indices, rows):
            found.append(op)
            continue
        else:
            continue
        rows.add(op.outputs[0])
        made.add(op)
    users = {c for t in (indices, *rows) for c in _users(t, needed)}
    others = users - made - set(found)
    if any(not _only_for_length(op, sums, needed, fetched) for op in others):
        return []
    if not fetched.isdisjoint({*rows, *unique.outputs}) or unique.control_outputs:
        return []
    return found


def _makes_rows_of_rows(op: Operation) -> bool:
    """Whether each row of the result depends on the same row of the operands, or on scalars."""
    return op.op_def.elementwise or (op.op_def.is_alias and not op.op_def.control_flow)


def _takes(op: Operation, indices: Tensor, rows: set[Tensor]) -> bool:
    """Whether an update uses these indices and the rows that belong to them."""
    named = dict(zip([arg.name for arg in op.op_def.inputs], op.inputs, strict=True))
    by = [named[name] for name in _ROWS if name in named]
    others = [t for name, t in named.items() if name not in (*_ROWS, "indices")]
    return named["indices"] is indices and rows.issuperset(by) and rows.isdisjoint(others)


def _only_for_length(
    op: Operation, sums: list[Operation], needed: set[Operation], fetched: set[Tensor]
) -> bool:
    """Whether a node uses the indices only to give the sums their number."""
    if op.type not in ("Shape", "Size"):
        return False
    waiting = [op]
    while waiting:
        length = waiting.pop().outputs[0]
        if length in fetched:
            return False
        for user in _users(length, needed):
            if user.type == "StridedSlice":
                waiting.append(user)
            elif user not in sums:
                return False
    return True


def _goes_along_rows(op: Operation) -> bool:
    """Whether a gather takes rows, that is along the first axis (before which there are no batches)."""
    if op.type != "GatherV2":
        return True
    axis = op.inputs[2].op
    return axis.type == "Const" and int(axis.attrs["value"]) == 0


def _sum_on_gpu(
    work: WorkingGraph,
    journal: list[Hit],
    unique: Operation,
    sums: list[Operation],
    changes: list[Operation],
) -> None:
    variable = variable_behind(changes[0].inputs[0].op)
    dims = variable.outputs[0].dims
    with use_graph(work.graph):
        for op in sums:
            work.begin(op.outputs[0])
            summed, which = sum_repeated_rows_op(
                op.inputs[0],
                unique.inputs[0],
                num_rows=(dims[0] if dims else None) or 0,
                name="summed",
            )
            # On the variable's device: only GPU kernels skip the index -1.
            summed.op._set_attr("_class", [f"loc:@{variable.name}"])
            work.replace(op.outputs[0], summed)
            journal.append(
                Hit(
                    "repeated_rows",
                    "unique(i), and the rows of each summed -> as many rows as i has",
                    op.outputs[0].name,
                    summed.name,
                    (unique.name, op.name),
                    (summed.op.name,),
                )
            )
        work.replace(unique.outputs[0], which)
