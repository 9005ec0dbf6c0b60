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
    reads a variable. A conditional or loop counts as one node: it begins after what was before it, and what
    comes after it waits for its end; what is inside was put in order when it was built.
    """
    first = len(graph.operations)
    outer = graph.control_flow_context
    waited = {op for controls in graph.control_stack for op in controls.ops}

    def effects() -> list[Operation]:
        last: Operation | None = None
        found = _asked_for(graph.operations[first:], waited)
        inside: dict[Any, _Inside] = {}
        for op in graph.operations[first:]:
            around = _around(op, outer)
            if around is not None:
                unit = inside.setdefault(around, _Inside())
                unit.add(op, around, outer)
                if unit.uses:
                    unit.begin_after(last)
                continue
            if _place(op) is not outer:
                continue  # made outside of the function, as initial values are
            unit_ended = _ended_by(op, inside, outer)
            if unit_ended is not None and unit_ended.acts:
                found.append(op)  # what it did is done when its results are there
                last = op
            if op.op_def.is_variable or op.op_def.control_flow:
                continue
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


class _Inside:
    """A conditional or loop: where it begins, whether it uses variables or the world outside, and changes them."""

    def __init__(self) -> None:
        self._begins: list[Operation] = []
        self._before: Operation | None = None
        self.uses = False
        self.acts = False

    def add(self, op: Operation, around: Any, outer: Any) -> None:
        """Notes a node that is inside."""
        traits = op.op_def
        if not self._begins and isinstance(around, Operation):  # the Switch that decides
            self._begins.append(around)
        if traits.control_flow:
            if traits.control_flow in ("enter", "switch") and _place(op.inputs[0].op) is outer:
                self._begins.append(op)
            return
        acts = traits.stateful or any(a.is_ref for a in traits.inputs)
        self.acts = self.acts or acts
        self.uses = self.uses or acts or any(t.dtype.is_ref for t in op.inputs)

    def begin_after(self, last: Operation | None) -> None:
        """It begins after ``last``, or what it was already told to begin after."""
        self._before = before = self._before or last
        if before is None:
            return
        for op in self._begins:
            if before not in op.control_inputs:
                op._add_control_inputs([before])
        self._begins.clear()


def _around(op: Operation, outer: Any) -> Any:
    """The loop, or the Switch of the conditional, in ``outer`` that a node is in; None for a node not in any."""
    context = _place(op)
    if context is outer:
        return None
    while context is not None and context.outer is not outer:
        context = context.outer
    if context is None:
        return None
    return context if context.is_while else context.pivot.op.inputs[0].op


def _ended_by(op: Operation, inside: dict[Any, _Inside], outer: Any) -> _Inside | None:
    """The conditional or loop that a Merge or an Exit ends."""
    if op.op_def.control_flow == "exit":
        return inside.get(op.control_flow_context)
    if op.op_def.control_flow == "merge":
        for tensor in op.inputs:
            found = inside.get(_around(tensor.op, outer))
            if found is not None:
                return found
    return None


@contextlib.contextmanager
def done_in(graph: Any) -> Iterator[Callable[[], list[Operation]]]:
    """For what a branch or a round of a loop returns: gives a function that lists what that has to wait for.

    That is all that was done in the block where a function is being built; elsewhere nothing.
    """
    if graph.building_function:  # the whole of it is put in order when it is there
        first, context = len(graph.operations), graph.control_flow_context
        yield lambda: acting(graph, first, context)
    elif graph.num_tracing:
        with in_order(graph) as effects:
            yield effects
    else:
        yield list


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
