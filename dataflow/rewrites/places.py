"""Where nodes stand in control flow: in which loop, and in which branches.

Nodes of one place run together or not at all, so they may become one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.effects import CONTROL_FLOW


class Place(NamedTuple):
    """The names of the loops around a node, outermost first, and the (predicate, branch) pairs
    that must hold for it to run in an iteration."""

    loops: tuple[str, ...] = ()
    branches: frozenset[tuple[Tensor, bool]] = frozenset()

    @property
    def is_dead(self) -> bool:
        """True where two branches of one predicate would have to be taken."""
        return any((predicate, not branch) in self.branches for predicate, branch in self.branches)


OUTSIDE = Place()


def places(ops: Sequence[Operation], fed: Iterable[Tensor]) -> dict[Operation, Place]:
    """The place of each of ``ops``, which stand in an order that ignores loops' back edges.

    Empty where there is no control flow: then everything is `OUTSIDE`. (How the code is written
    follows from the same rules: `runtime.control_structure`.)
    """
    found: dict[Operation, Place] = {}
    if not any(op.type in CONTROL_FLOW for op in ops):
        return found
    given = set(fed)
    for op in ops:
        coming = [
            _with_branch(t, found)
            for t in op._inputs
            if t not in given and t.op.type not in ("NextIteration", "RefNextIteration")
        ]
        before = [_after(control, found) for control in op._control_inputs]
        loops = max((p.loops for p in (*coming, *before)), key=len, default=())
        if op.type in ("Enter", "RefEnter"):
            loops = (*loops, op.attrs["frame_name"])
        if op.type in ("Merge", "RefMerge"):  # whichever branch ran
            alive = [p.branches for p in coming if not p.is_dead]
            branches = frozenset.intersection(*alive) if alive else frozenset()
        else:
            branches = frozenset().union(*(p.branches for p in coming))
        for place in before:
            branches |= place.branches
        found[op] = Place(loops, branches)
    return found


def _with_branch(t: Tensor, found: dict[Operation, Place]) -> Place:
    """The place of whoever uses a value."""
    place = _after(t.op, found)
    if t.op.type in ("Switch", "RefSwitch") and t.op in found:
        predicate = t.op._inputs[1]
        if predicate.op.type != "LoopCond":
            branch = (_original(predicate), t.value_index == 1)
            return place._replace(branches=place.branches | {branch})
    return place


def _after(source: Operation, found: dict[Operation, Place]) -> Place:
    """The place of a value that a node hands on."""
    place = found.get(source, OUTSIDE)
    if source.type in ("Exit", "RefExit"):
        return place._replace(loops=place.loops[:-1])
    return place


def _original(predicate: Tensor) -> Tensor:
    """What a predicate is a copy of."""
    while predicate.op.type == "Identity" and not predicate.op._inputs[0].dtype.is_ref:
        predicate = predicate.op._inputs[0]
    return predicate
