"""Conditionals with a constant predicate: only the branch that is taken is kept.

A ``Switch`` on a constant passes its value to one branch. The other branch is *dead*, and so is
everything that depends on it, up to the ``Merge`` that joins the two. The Switches and Merges, which
other rewrites cannot see through, become identities (which keep the order that control edges ask
for). A dead node that is fetched is kept, with the Switch above it, so that the run raises the same
error as without rewrites.
"""

from __future__ import annotations

import numpy as np

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import make_constant
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Removes nodes that can never run."""
    ops = work.needed()
    known = {op: branch for op in ops if (branch := _known_branch(op)) is not None}
    if not known:
        return
    dead = _dead_tensors(ops, known)
    with use_graph(work.graph):
        for op in ops:
            if op in known:
                _replace_switch(work, journal, op, known[op], dead)
            elif op.op_def.control_flow == "merge" and op.outputs[0] not in dead:
                _replace_merge(work, journal, op, dead)


def _known_branch(op: Operation) -> bool | None:
    """Which output of a Switch gets the value, where its predicate is a constant."""
    if op.op_def.control_flow != "switch":
        return None
    predicate = op.inputs[1].op
    while predicate.type == "Identity" or (
        predicate.type == "Enter" and predicate.attrs["is_constant"]
    ):
        predicate = predicate.inputs[0].op
    if predicate.type != "Const" or predicate.attrs["value"].shape:
        return None
    return bool(predicate.attrs["value"])


def _dead_tensors(ops: list[Operation], known: dict[Operation, bool]) -> set[Tensor]:
    """Outputs that never have a value. A node is dead when any of its inputs is; a Merge when all
    of its inputs are."""
    dead: set[Tensor] = set()
    dead_ops: set[Operation] = set()
    for op in ops:
        if op.op_def.control_flow == "merge":
            lost = all(t in dead for t in op.inputs)
        else:
            lost = any(t in dead for t in op.inputs)
        if lost or any(c in dead_ops for c in op.control_inputs):
            dead_ops.add(op)
            dead.update(op.outputs)
        elif op in known:
            dead.add(op.outputs[0 if known[op] else 1])
    return dead


def _replace_switch(
    work: WorkingGraph, journal: list[Hit], op: Operation, branch: bool, dead: set[Tensor]
) -> None:
    output = op.outputs[1 if branch else 0]
    if output in dead or not _is_read(work, output):
        return
    source, predicate = op.inputs
    waits = bool(op.control_inputs or predicate.op.control_inputs)
    if waits and source.dtype.is_ref:
        return
    work.begin(output)
    new = source
    if waits:
        new = get_op("Identity")(source)
        if predicate.op.control_inputs:  # keep the control inputs of the predicate
            new.op.add_control_edge(predicate.op)
    work.replace(output, new)
    journal.append(
        Hit(
            "switch_on_constant",
            f"switch(x, {str(branch).lower()}) -> x; the other branch never runs",
            output.name,
            new.name,
            (op.name,),
            () if new is source else (new.op.name,),
        )
    )


def _replace_merge(
    work: WorkingGraph, journal: list[Hit], op: Operation, dead: set[Tensor]
) -> None:
    alive = [i for i, t in enumerate(op.inputs) if t not in dead]
    if len(alive) != 1 or any(t.op.op_def.control_flow == "next_iteration" for t in op.inputs):
        return
    taken = op.inputs[alive[0]]
    output, index = op.outputs
    if taken.dtype.is_ref and op.control_inputs:
        return
    work.begin(output)
    # An identity, not the value itself: a variable's value is read here, before it may change.
    new = taken if taken.dtype.is_ref else get_op("Identity")(taken)
    work.replace(output, new)  # first, so that nodes waiting for the Merge wait for its value
    if index.uses or index in work.fetch_tensors():
        work.begin(index)
        number = make_constant(np.array(alive[0], np.int32), index.dtype, None, "branch")
        work.replace(index, number)
    journal.append(
        Hit(
            "merge_of_one_branch",
            "merge(x, never) -> x",
            output.name,
            new.name,
            (op.name,),
            () if new is taken else (new.op.name,),
        )
    )


def _is_read(work: WorkingGraph, tensor: Tensor) -> bool:
    return bool(tensor.uses or tensor.op.control_outputs) or tensor in work.fetch_tensors()
