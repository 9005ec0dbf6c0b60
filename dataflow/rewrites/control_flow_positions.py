"""Where nodes stand in control flow: in which loop, and in which branches.

Nodes at the same position run equally often or not at all, so they may become one node.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.prune import topological_order


class Position(NamedTuple):
    """The names of the loops around a node, outermost first, and the (predicate, branch) pairs
    that must hold for it to run in an iteration."""

    loops: tuple[str, ...] = ()
    branches: frozenset[tuple[Tensor, bool]] = frozenset()

    @property
    def is_dead(self) -> bool:
        """True where both branches of one predicate would have to be taken."""
        return any((predicate, not branch) in self.branches for predicate, branch in self.branches)


OUTSIDE = Position()


def positions(ops: Sequence[Operation], fed: Iterable[Tensor]) -> dict[Operation, Position]:
    """The position of each of ``ops``, which are in topological order but for loops' back edges.

    Empty where there is no control flow: then everything is `OUTSIDE`. (`runtime.control_structure`
    generates code by the same rules.)
    """
    found: dict[Operation, Position] = {}
    if not any(op.op_def.control_flow for op in ops):
        return found
    given = set(fed)
    for op in ops:
        coming = [
            _with_branch(t, found)
            for t in op.inputs
            if t not in given and t.op.op_def.control_flow != "next_iteration"
        ]
        before = [position_after(control, found) for control in op.control_inputs]
        loops = max((p.loops for p in (*coming, *before)), key=len, default=())
        if op.op_def.control_flow == "enter":
            loops = (*loops, op.attrs["frame_name"])
        if op.op_def.control_flow == "merge":  # whichever branch ran
            alive = [p.branches for p in coming if not p.is_dead]
            branches = frozenset.intersection(*alive) if alive else frozenset()
        else:
            branches = frozenset().union(*(p.branches for p in coming))
        for place in before:
            branches |= place.branches
        found[op] = Position(loops, branches)
    return found


def with_whole_loops(
    ops: list[Operation], fed: Container[Tensor], where: Mapping[Operation, Position]
) -> tuple[list[Operation], dict[Operation, list[Operation]]]:
    """``ops`` in an order in which each loop can run as a whole, and what an Exit waits for besides its
    inputs (see `sources`): every Enter of its loop.

    A pass that joins nodes needs both, or a node before a loop and one after it may become one.
    """
    enters: dict[tuple[str, ...], list[Operation]] = {}
    exits = []
    for op in ops:
        if op.op_def.control_flow == "enter":
            enters.setdefault(where[op].loops, []).append(op)
        elif op.op_def.control_flow == "exit":
            exits.append(op)
    waits = {op: enters.get(where[op].loops, []) for op in exits}
    return (topological_order(set(ops), fed, waits) if waits else ops), waits


def sources(op: Operation, waits: Mapping[Operation, list[Operation]]) -> list[Operation]:
    """All that a node waits for, as the second result of `with_whole_loops` says."""
    return [*(t.op for t in op.inputs), *op.control_inputs, *waits.get(op, ())]


def _with_branch(t: Tensor, found: dict[Operation, Position]) -> Position:
    """The position of a consumer of a value."""
    place = position_after(t.op, found)
    if t.op.op_def.control_flow == "switch" and t.op in found:
        predicate = t.op.inputs[1]
        if predicate.op.op_def.control_flow != "loop_cond":
            branch = (original(predicate), t.value_index == 1)
            return place._replace(branches=place.branches | {branch})
    return place


def position_after(source: Operation, found: dict[Operation, Position]) -> Position:
    """The position of a consumer of an output of ``source``."""
    place = found.get(source, OUTSIDE)
    if source.op_def.control_flow == "exit":
        return place._replace(loops=place.loops[:-1])
    return place


def original(predicate: Tensor) -> Tensor:
    """The tensor that a predicate is a copy of, behind identities."""
    while predicate.op.type == "Identity" and not predicate.op.inputs[0].dtype.is_ref:
        predicate = predicate.op.inputs[0]
    return predicate
