"""Pruning: which nodes a run needs, in an order in which they can run."""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType

from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


def needed_operations(
    fetch_tensors: Iterable[Tensor],
    fetch_operations: Iterable[Operation],
    fed: Iterable[Tensor],
    done: Container[Operation] = (),
) -> list[Operation]:
    """Every node that the fetches depend on, walking back and stopping at fed tensors.

    Nothing waits for nodes that are ``done``; those whose values are needed and not fed run again.

    Sorted by creation, which is an execution order except for edges that were changed afterwards
    (`topological_order` handles those).
    """
    fed_set = set(fed)
    seen: set[Operation] = set(fetch_operations)
    stack = list(seen)
    for tensor in fetch_tensors:
        if tensor not in fed_set and tensor.op not in seen:
            seen.add(tensor.op)
            stack.append(tensor.op)
    while stack:
        op = stack.pop()
        for tensor in op.inputs:
            source = tensor.op
            if source not in seen and tensor not in fed_set:
                seen.add(source)
                stack.append(source)
        for source in op.control_inputs:
            if source not in seen and source not in done:
                seen.add(source)
                stack.append(source)
    return topological_order(seen, fed_set)


def topological_order(
    ops: set[Operation],
    fed: Container[Tensor],
    also: Mapping[Operation, list[Operation]] = MappingProxyType({}),
) -> list[Operation]:
    """``ops`` in topological order, ignoring the back edges of loops.

    ``also``: what nodes wait for besides their inputs.
    """
    ordered = sorted(ops, key=_index_of)
    if _is_in_order(ordered, fed, also):
        return ordered
    result: list[Operation] = []
    done: set[Operation] = set()
    for root in ordered:
        if root in done:
            continue
        if not also and _comes_next(root, done, ops):  # as most do, and the walk below would find
            done.add(root)
            result.append(root)
            continue
        stack: list[tuple[Operation, bool]] = [(root, False)]
        active: set[Operation] = set()
        while stack:
            op, leaving = stack.pop()
            if leaving:
                active.discard(op)
                if op not in done:
                    done.add(op)
                    result.append(op)
                continue
            if op in done or op in active:
                continue
            active.add(op)
            stack.append((op, True))
            before = [
                t.op
                for t in op.inputs
                if t not in fed
                and not (
                    op.op_def.control_flow == "merge"
                    and t.op.op_def.control_flow == "next_iteration"
                )
            ]
            for source in reversed([*op.control_inputs, *also.get(op, ()), *before]):
                if source in ops and source not in done:
                    if source in active:
                        raise InvalidArgumentError(
                            None,
                            op,
                            f"The graph has a cycle through {source.name!r} and {op.name!r}, which no "
                            "loop (NextIteration) closes; it cannot be run.",
                        )
                    stack.append((source, False))
    return result


_index_of = operator.attrgetter("index")


def _is_in_order(
    ordered: list[Operation],
    fed: Container[Tensor],
    also: Mapping[Operation, list[Operation]],
) -> bool:
    """Whether every node stands behind what it waits for, as it does unless edges were changed."""
    # No generators: plans are put in order again and again while they are rewritten.
    for op in ordered:
        index = op.index
        for tensor in op.inputs:
            source = tensor.op
            if (
                source.index >= index
                and tensor not in fed
                and source.op_def.control_flow != "next_iteration"
            ):
                return False
        for control in op.control_inputs:
            if control.index >= index:
                return False
        for other in also.get(op, ()) if also else ():
            if other.index >= index:
                return False
    return True


def _comes_next(op: Operation, done: set[Operation], ops: set[Operation]) -> bool:
    """Whether all that a node waits for, of ``ops``, is done."""
    for tensor in op.inputs:
        source = tensor.op
        if source not in done and source in ops:
            return False
    controls = op.control_inputs
    return not controls or all(c in done or c not in ops for c in controls)
