"""Pruning: which nodes a run needs, in an order in which they can run."""

from __future__ import annotations

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
    ordered = sorted(ops, key=lambda op: op.index)
    if all(
        t.op.index < op.index or t in fed or t.op.op_def.control_flow == "next_iteration"
        for op in ordered
        for t in op.inputs
    ) and all(
        c.index < op.index for op in ordered for c in (*op.control_inputs, *also.get(op, ()))
    ):
        return ordered
    result: list[Operation] = []
    done: set[Operation] = set()
    for root in ordered:
        if root in done:
            continue
        if (
            not also
            and all(t.op in done or t.op not in ops for t in root.inputs)
            and (all(c in done or c not in ops for c in root.control_inputs))
        ):  # as most are, and the walk below would find
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
