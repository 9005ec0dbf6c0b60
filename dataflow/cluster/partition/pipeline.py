"""Pipelines: which part of a task's work is done and sent before the rest of it.

A batch cut in pieces, or a network unrolled over time, keeps tasks busy at once only if a task
sends its first result on when it has it. Nodes that wait for the same messages are therefore
divided into stages, one for each result that another task goes on computing with. A stage costs a
message, so it must hold work that takes longer than one, and so must what follows it elsewhere: the
gradients that a worker gives to a parameter server still travel together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataflow.graph.operation import Operation
from dataflow.shapes import num_elements

#: A product of smaller matrices takes less time than a message (some 50 microseconds).
_MOST_SMALL = 4096


def is_heavy(op: Operation) -> bool:
    """Whether the node takes longer than a message, as far as its shapes tell."""
    if not op.op_def.calls_blas:
        return False
    sizes = [num_elements(tensor.dims) for tensor in (*op.inputs, *op.outputs)]
    return any(size is None or size >= _MOST_SMALL for size in sizes)


def stages_of(
    ops: Sequence[Operation],
    task_of: dict[Operation, str],
    units: dict[Operation, Sequence[Operation]],
    depends_on: Callable[[Operation], list[Operation]],
) -> dict[Operation, int]:
    """Return the stages of those nodes whose task has several.

    ``units`` are sets of nodes that must run in one go, by member. What depends on a node within
    its task has the same stage or a later one.
    """
    if sum(is_heavy(op) for op in ops) < 2:
        return {}
    sources = {op: depends_on(op) for op in ops}
    ends = _ends(ops, task_of, sources)
    stages: dict[Operation, int] = {}
    for task, results in ends.items():
        found: dict[Operation, int] = {}
        count = 0
        for result in results:
            new = _not_yet(result, task, task_of, units, sources, found)
            if any(is_heavy(op) for op in new):
                found.update(dict.fromkeys(new, count))
                count += 1
            else:
                before = [found[s] for op in new for s in sources[op] if s in found]
                found.update(dict.fromkeys(new, max(before, default=0)))
        if count > 1:
            stages |= {op: found.get(op, count) for op in ops if task_of[op] == task}
    return stages


def _ends(
    ops: Sequence[Operation],
    task_of: dict[Operation, str],
    sources: dict[Operation, list[Operation]],
) -> dict[str, list[Operation]]:
    """By task, the nodes whose results another task goes on computing with, in the graph's order."""
    goes_on: set[Operation] = set()
    crosses: set[Operation] = set()
    for op in reversed(ops):
        if is_heavy(op):
            goes_on.add(op)
        if op in goes_on:
            for source in sources[op]:
                (goes_on if task_of[source] == task_of[op] else crosses).add(source)
    ends: dict[str, list[Operation]] = {}
    for op in ops:
        if op in crosses:
            ends.setdefault(task_of[op], []).append(op)
    return ends


def _not_yet(
    result: Operation,
    task: str,
    task_of: dict[Operation, str],
    units: dict[Operation, Sequence[Operation]],
    sources: dict[Operation, list[Operation]],
    found: dict[Operation, int],
) -> list[Operation]:
    """What ``task`` does for a result and has not done for an earlier one."""
    new: dict[Operation, None] = {}
    stack = [result]
    while stack:
        op = stack.pop()
        if op in new or op in found or task_of[op] != task:
            continue
        for member in units.get(op, (op,)):
            new[member] = None
            stack += sources[member]
    return list(new)
