"""What the nodes made in a block do besides computing: assign, print, assert, draw."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.variables import Variable


@contextlib.contextmanager
def in_order(graph: Any) -> Iterator[Callable[[], list[Operation]]]:
    """Nodes with effects made in the block run one after the other; gives a function that lists them.

    A node is bound to the last one before it that changed something, if it has an effect itself or
    reads a variable. Those inside of a conditional or loop are ordered by it.
    """
    first = len(graph.operations)
    outer = graph.control_flow_context
    waited = {op for controls in graph.control_stack for op in controls.ops}

    def effects() -> list[Operation]:
        last: Operation | None = None
        found = _asked_for(graph.operations[first:], waited)
        inner = False
        for op in graph.operations[first:]:
            if _place(op) is not outer:
                inner = inner or op.op_def.stateful or any(a.is_ref for a in op.op_def.inputs)
                continue
            if inner and op.op_def.control_flow in ("merge", "exit"):
                found.append(
                    op
                )  # what a conditional or loop did is done when its results are there
            if op.op_def.is_variable or op.op_def.control_flow == "enter":
                continue  # what brings a variable into a loop stands before all of its rounds
            references = [t for t in op.inputs if t.dtype.is_ref]
            initializes = any(
                op is v.initializer for t in references for v in _variables_of(graph, t)
            )
            if initializes or not (references or op.op_def.stateful):
                continue
            reads = not op.op_def.stateful and not any(a.is_ref for a in op.op_def.inputs)
            if last is not None and last not in op.control_inputs:
                op._add_control_inputs([last])
            if not reads:
                last = op
                found.append(op)
        return found

    yield effects


def _asked_for(made: list[Operation], waited: set[Operation]) -> list[Operation]:
    """What was there before a function and changes something, and what one of its nodes waits for: initializers, say.

    ``waited``: what all nodes wait for, made inside of `tf.control_dependencies`.
    """
    own = {*made, *waited}
    before = dict.fromkeys(c for op in made for c in op.control_inputs if c not in own)
    return [c for c in before if not c.outputs or c.op_def.stateful or _has_reference(c)]


def _has_reference(op: Operation) -> bool:
    return any(a.is_ref for a in op.op_def.inputs)


def acting(graph: Any, first: int = 0, context: Any = None) -> list[Operation]:
    """The nodes of a function's graph that a call runs though nobody uses what they give.

    They change a variable, wait at a queue, call Python, print or check. What happens inside of a
    conditional or loop is done when its ends are. ``first``, ``context``: of the nodes since then,
    those in this branch or loop.
    """
    found: list[Operation] = []
    inner = False
    for op in graph.operations[first:]:
        acts = _acts(graph, op)
        if _place(op) is not context:
            inner = inner or acts
        elif acts or (inner and op.op_def.control_flow in ("merge", "exit")):
            found.append(op)
    return found


def _place(op: Operation) -> Any:
    """The branch or loop that a node is in; what leaves a loop is in what is around that."""
    context = op.control_flow_context
    return context.outer if op.op_def.control_flow == "exit" and context is not None else context


def _acts(graph: Any, op: Operation) -> bool:
    traits = op.op_def
    if any(a.is_ref for a in traits.inputs):
        return not any(op is v.initializer for t in op.inputs for v in _variables_of(graph, t))
    return traits.stateful and bool(
        traits.has_side_effect or traits.blocks or (not op.outputs and not traits.is_variable)
    )


def _variables_of(graph: Any, tensor: Tensor) -> list[Variable]:
    every = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    return [v for v in every if isinstance(v, Variable) and v._ref() is tensor]


def done_inside(made: list[Operation], outer: Any) -> list[Operation]:
    """Of the nodes ``made``, the asserts, and the ends of branches and loops that assign or assert.

    ``outer`` is the control flow context that the nodes not in those branches have.
    """
    found: list[Operation] = []
    inner = False
    for op in made:
        if _place(op) is not outer:
            changes = op.op_def.stateful and not op.outputs
            inner = inner or changes or any(a.is_ref for a in op.op_def.inputs)
        elif op.type == "Assert" or (inner and op.op_def.control_flow in ("merge", "exit")):
            found.append(op)
    return found
