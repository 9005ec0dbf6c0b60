"""Reads and changes of a variable that nothing orders: which come first, and that it stays so.

A plan runs its nodes in the order in which they were built, where no edge says otherwise, and a variable is
read by the node that uses its value. One exception: a read that is ready clearly sooner than a change, by the
longest path to each, comes before the change (`shallow_reads_first`), since TensorFlow starts nodes as they become ready: next to a
training step, the norm of a weight is that from before the step, no matter which was built first.

Rewrites keep what edges order, and may move all else: a fused node
stands where the last of its members stood. So a read and a change that are not ordered get a control edge, on
the private copy, before any rewrite. It is a rare case: what trains depends on what it read.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import changed_by, reads_by_handle, variable_behind
from dataflow.rewrites.known_predicates import without_taken
from dataflow.rewrites.working_graph import WorkingGraph

#: Between nodes whose depths differ by no more, TensorFlow's order varies from run to run.
_ABOUT_AS_DEEP = 2


def shallow_reads_first(ops: list[Operation], fed: Container[Tensor]) -> list[Operation]:
    """``ops`` with each read of a variable before the changes that are clearly deeper in the graph than it.

    ``ops`` are in topological order, and come back as they are where nothing needs to move, where they
    have loops or branches, or where what should come first goes round in a circle.
    """
    waits = _waits_for_reads(ops, fed)
    if not waits:
        return ops
    place = {op: i for i, op in enumerate(ops)}
    followers: list[list[int]] = [[] for _ in ops]
    missing = [0] * len(ops)
    for i, op in enumerate(ops):
        sources = {place[s] for s in _sources(op, fed) if s in place}
        for source in sources | {place[before] for before in waits.get(op, ())}:
            followers[source].append(i)
            missing[i] += 1
    ready = [i for i, count in enumerate(missing) if not count]
    found: list[Operation] = []
    while ready:
        i = heapq.heappop(ready)
        found.append(ops[i])
        for follower in followers[i]:
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, follower)
    return found if len(found) == len(ops) else ops


def _waits_for_reads(
    ops: Sequence[Operation], fed: Container[Tensor]
) -> dict[Operation, list[Operation]]:
    """Reads and changes, each with those that must come before it; empty where the order of ``ops`` will do."""
    if not _reads_after_changes(ops):
        return {}
    changes: dict[Operation, list[Operation]] = {}
    uses: dict[Operation, list[Operation]] = {}
    for op in ops:
        changed = changed_by(op)
        for variable in _used_by(op) - changed:
            uses.setdefault(variable, []).append(op)
        for variable in changed:
            changes.setdefault(variable, []).append(op)
    depths: dict[Operation, int] = {}
    for op in ops:
        before = max((depths.get(s, 0) for s in _sources(op, fed)), default=0)
        depths[op] = before if op.op_def.is_alias else before + 1
    place = {op: i for i, op in enumerate(ops)}
    waits: dict[Operation, list[Operation]] = {}
    moved = False
    for variable, changing in changes.items():
        for earlier, change in pairwise(changing):
            waits.setdefault(change, []).append(earlier)
        for change in changing:
            for use in uses.get(variable, ()):
                as_built = place[use] < place[change]
                if as_built or depths[use] + _ABOUT_AS_DEEP < depths[change]:
                    moved = moved or not as_built
                    waits.setdefault(change, []).append(use)
                else:
                    waits.setdefault(use, []).append(change)
    return waits if moved else {}


def _reads_after_changes(ops: Sequence[Operation]) -> bool:
    """Whether a variable is read after a change of it, in ``ops`` without loops and branches.

    Most plans change variables at their end alone, so what comes before the first change is not asked what it reads.
    """
    changed: set[Operation] = set()
    found = False
    for op in ops:
        if op.op_def.control_flow:
            return False
        changed_now = changed_by(op)
        if changed and not found:
            found = not changed.isdisjoint(_used_by(op) - changed_now)
        changed |= changed_now
    return found


def _used_by(op: Operation) -> set[Operation]:
    """The variables that a node reads, by reference or by handle."""
    return {variable_behind(op)} if reads_by_handle(op) else _read_by(op)


def _sources(op: Operation, fed: Container[Tensor]) -> Iterator[Operation]:
    """The nodes that ``op`` waits for."""
    yield from (t.op for t in op.inputs if t not in fed)
    yield from op.control_inputs


class _Uses:
    """The nodes so far that read or change one variable, and those that change it, as bits."""

    def __init__(self) -> None:
        self.all = self.changes = 0


def keep_order(work: WorkingGraph, known: Mapping[Tensor, bool]) -> None:
    """Adds the control edges: none within loops, or between different branches.

    A branch that runs because a fed predicate is ``known`` is none, as it will be opened.
    """
    ops = work.needed()
    changed = {op: variables for op in ops if (variables := changed_by(op))}
    if not changed:
        return
    uses = {variable: _Uses() for variables in changed.values() for variable in variables}
    where = positions(ops, work.feed_tensors)
    if known:
        where = {op: without_taken(place, known) for op, place in where.items()}
    numbered: list[Operation] = []
    behind: dict[Operation, int] = {}  # the uses that come before each node, and itself
    for op in ops:
        mask = 0
        for source in (*(t.op for t in op.inputs), *op.control_inputs):
            mask |= behind.get(source, 0)
        place = where.get(op, OUTSIDE)
        changing = changed.get(op, ())
        reading = [v for v in _read_by(op) if v in uses]
        if (reading or changing) and not place.loops:
            before = 0
            for variable in changing:
                before |= uses[variable].all
            for variable in reading:
                before |= uses[variable].changes
            for earlier in _numbered(before & ~mask, numbered):
                if where.get(earlier, OUTSIDE) == place:
                    op.add_control_edge(earlier)
                    mask |= behind[earlier]
            bit = 1 << len(numbered)
            numbered.append(op)
            mask |= bit
            for variable in (*reading, *changing):
                uses[variable].all |= bit
            for variable in changing:
                uses[variable].changes |= bit
        behind[op] = mask
    work.changed()


def _numbered(bits: int, ops: list[Operation]) -> list[Operation]:
    """The nodes whose bits are set, the last first: those before it may wait for one another."""
    found = []
    while bits:
        number = bits.bit_length() - 1
        found.append(ops[number])
        bits ^= 1 << number
    return found


def _read_by(op: Operation) -> set[Operation]:
    """The variables whose values a node takes when it runs; who only passes a read on takes none."""
    if op.op_def.control_flow == "switch" or (op.op_def.is_alias and op.inputs[0].dtype.is_ref):
        return set()
    return {variable for t in op.inputs if (variable := _read_late(t)) is not None}


def _read_late(tensor: Tensor) -> Operation | None:
    """The variable whose value stands for this one: the node that uses it reads it."""
    while tensor.op.op_def.control_flow == "switch":
        tensor = tensor.op.inputs[0]
    op = tensor.op
    if not tensor.dtype.is_ref and op.op_def.is_alias and not op.op_def.control_flow:
        tensor = op.inputs[0]
    return variable_behind(tensor.op) if tensor.dtype.is_ref else None
