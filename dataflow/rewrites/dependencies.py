"""Removes control edges from nodes whose outputs are unused, so that these need not run.

Gradients of an op are gated: each waits until all are computed, including unused ones such as the
gradient of a fed image. A node without effects and without consumers need not run for the sake of
order; nodes that waited for it wait for its inputs instead. In a loop or a branch the edges are kept:
one of them may be what places a node there.
"""

from __future__ import annotations

from dataflow.graph.operation import Operation
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import can_merge
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Removes such edges, from the last node to the first, so that whole chains disappear."""
    ops = work.needed()
    where = positions(ops, work.feed_tensors)
    needed = set(ops)
    fetched = {t.op for t in work.fetch_tensors()} | work.fetch_operation_set()
    for op in reversed(ops):
        if op in fetched or not op.control_outputs or not can_merge(op):
            continue
        if where.get(op, OUTSIDE) != OUTSIDE:
            continue
        if any(c in needed for t in op.outputs for c in t.uses):
            continue
        waiting = [w for w in op.control_outputs if w in needed]
        if not waiting:
            continue
        before = list(dict.fromkeys([*[t.op for t in op.inputs], *op.control_inputs]))
        for waiter in waiting:
            wait_instead(waiter, op, before)
        work.changed()
        needed.discard(op)
        journal.append(
            Hit(
                "control_edge_onto_unread_value",
                "y after f(x), f(x) unread -> y after x",
                op.outputs[0].name,
                "",
                (op.name,),
            )
        )


def wait_instead(waiter: Operation, op: Operation, before: list[Operation]) -> None:
    """Makes ``waiter`` wait for the nodes ``before`` ``op`` instead of for ``op``."""
    waiter.remove_control_edge(op)
    sources = {t.op for t in waiter.inputs}
    for earlier in before:
        if earlier not in waiter.control_inputs and earlier not in sources:
            waiter.add_control_edge(earlier)
