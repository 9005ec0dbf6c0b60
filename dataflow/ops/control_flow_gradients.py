"""Gradients of the ops of loops and conditionals: Enter, Exit, Switch, Merge, NextIteration.

`prepare` is called by `gradients._Walker`, and so are `start`, `is_ready`, `complete`, `context` and
`zeros` of what it returns, a `loop_gradients.LoopGradients`.
"""

from __future__ import annotations

from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.branch_guards import merge_branches
from dataflow.ops.control_flow_context import (
    CondContext,
    WhileContext,
    in_context,
    is_loop_switch,
    output_context,
)
from dataflow.ops.indexed_slices import IndexedSlices, takes_slices
from dataflow.ops.loop_frames import restore_loops
from dataflow.ops.loop_gradients import EXITS, LoopGradients, shape_where_built


def prepare(between: Any, pending: Any, ys: Any, xs: Any) -> Any:
    """The state of a backward pass through control flow; ``None`` when there is none to cross."""
    crosses = False
    exits = []
    imported = [op for op in between if op.type in EXITS and op.control_flow_context is None]
    if imported:
        restore_loops(imported[0].graph)
    for op in between:
        kind = op.type
        if kind in EXITS:
            if any(t.op in between for t in op.inputs):
                exits.append(op)
        elif kind in ("Switch", "RefSwitch"):
            crosses = True
    if not exits and not crosses:
        return None
    state = LoopGradients()
    exits.sort(key=lambda op: (_depth(op), op.index))
    for op in exits:
        state.add(op, between, pending)
    return state


def _depth(op: Operation) -> int:
    depth, context = 0, op.control_flow_context
    while context is not None:
        depth += 1
        context = context.outer
    return depth


def _grad_loop(graph: Graph) -> WhileContext | None:
    """The gradient's loop that nodes are being made in."""
    context = graph.control_flow_context
    loop = None if context is None else context.while_context
    return loop if loop is not None and loop.grad_state is not None else None


@control_flow.exit_op.gradient
@takes_slices
def exit_gradient(op: Operation, grad: Any) -> list[Any]:
    loop = _grad_loop(op.graph)
    if loop is None or not loop.back_prop:
        return [None]
    if isinstance(grad, IndexedSlices):
        grad = _dense(op.graph, grad, loop.outer)
    enter = loop.enter(grad, name="b_exit")
    loop.loop_enters.append(enter)
    return [enter]


def _dense(graph: Graph, grad: IndexedSlices, context: Any) -> Tensor:
    from dataflow.graph.conversion import convert_to_tensor

    with in_context(graph, context):
        return convert_to_tensor(grad)


@takes_slices
def switch_gradient(op: Operation, *grads: Any) -> list[Any]:
    if is_loop_switch(op):
        loop = _grad_loop(op.graph)
        if loop is None:
            return [None, None]
        heads = loop.grad_state.heads
        head = heads.get(op)
        on_exit, on_body = grads
        if head is not None:
            if on_body is not None:
                if isinstance(on_body, IndexedSlices):
                    on_body = _dense(op.graph, on_body, loop)
                head.op._update_input(1, control_flow.next_iteration_op(on_body))
            return [None, None]
        if on_exit is None:
            return [None, None]
        heads[op] = control_flow.merge([on_exit, on_exit], name="b_switch")
        heads[op].dims = op.inputs[0].dims
        return [heads[op], None]
    if any(g is None for g in grads):
        return [None, None]
    grads = tuple(
        _dense(op.graph, g, op.graph.control_flow_context) if isinstance(g, IndexedSlices) else g
        for g in grads
    )
    here = op.graph.control_flow_context
    pred = op.inputs[1] if here is None else here.add_value(op.inputs[1])
    if not isinstance(op.control_flow_context, CondContext):
        # Of a Switch by itself: a gradient may be a constant, which would be there for the other branch, too.
        grads = tuple(control_flow.switch(grad, pred)[i] for i, grad in enumerate(grads))
    return [merge_branches(pred, *grads, name="cond_grad"), None]  # type: ignore[misc]


control_flow.switch_op.gradient(switch_gradient)
control_flow.ref_switch_op.gradient(switch_gradient)


@takes_slices
def merge_gradient(op: Operation, grad: Any, _index: Any = None) -> list[Any]:
    from dataflow.ops.comparison import equal

    loop = _grad_loop(op.graph)
    if isinstance(grad, IndexedSlices):
        grad = _dense(op.graph, grad, op.graph.control_flow_context)
    if any(t.op.type in ("NextIteration", "RefNextIteration") for t in op.inputs):
        if loop is None:
            return [None, None]
        assert loop.pivot is not None
        return list(control_flow.switch(grad, loop.pivot))
    pred = op.graph.attachments.get("merge_predicates", {}).get(op)
    if pred is not None:
        return list(control_flow.switch(grad, pred, name="cond_grad"))
    context = output_context(op.inputs[0].op)
    own = op.control_flow_context
    while isinstance(context, CondContext) and context.outer is not own:
        context = context.outer  # a value from an inner conditional that was passed on
    if isinstance(context, CondContext):
        return list(control_flow.switch(grad, context.pred, name="cond_grad"))
    return [control_flow.switch(grad, equal(op.outputs[1], i))[1] for i in range(len(op.inputs))]


control_flow.merge_op.gradient(merge_gradient)
control_flow.ref_merge_op.gradient(merge_gradient)


@takes_slices
def _pass(op: Operation, grad: Tensor) -> list[Any]:
    return [grad]


control_flow.next_iteration_op.gradient(_pass)
control_flow.ref_next_iteration_op.gradient(_pass)
control_flow.ref_exit_op.gradient(exit_gradient)


@takes_slices
def enter_gradient(op: Operation, grad: Any) -> list[Any]:
    loop = _grad_loop(op.graph)
    if loop is None or not loop.back_prop:
        return [grad]
    if loop.grad_state.forward_context is not op.control_flow_context:
        return [grad]
    if not op.attrs["is_constant"]:
        if isinstance(grad, IndexedSlices):
            grad = _dense(op.graph, grad, loop)
        return [loop.exit(grad, name="Exit")]
    if isinstance(grad, IndexedSlices):
        return [_sum_slices(op, grad, loop)]
    return [_sum_rounds(op, grad, loop)]


control_flow.enter_op.gradient(enter_gradient)
control_flow.ref_enter_op.gradient(enter_gradient)


def _sum_rounds(op: Operation, grad: Tensor, loop: WhileContext) -> Tensor:
    """The gradient of a loop invariant: the sum over all rounds."""
    from dataflow.ops.arithmetic import add
    from dataflow.ops.array import zeros

    graph = op.graph
    dims = grad.dims if grad.dims is not None and None not in grad.dims else None
    with in_context(graph, loop.outer):
        shape = list(dims) if dims is not None else shape_where_built(op.inputs[0])
        start = zeros(shape, dtype=grad.dtype.base_dtype, name="b_acc")
    if start.dims != op.inputs[0].dims:
        start.set_shape(op.inputs[0].dims)
    return loop.add_variable(start, lambda total: add(total, grad), "b_acc")[0]


def _sum_slices(op: Operation, grad: IndexedSlices, loop: WhileContext) -> IndexedSlices:
    """The sparse gradient of a loop invariant: the rows of all rounds."""
    from dataflow.ops.array import concat, zeros
    from dataflow.ops.shape import shape_of_value

    graph = op.graph
    source = op.inputs[0]
    with in_context(graph, loop.outer):
        whole = shape_of_value(source)
        row = whole[1:]
        no_rows = zeros(concat([[0], row], 0), dtype=grad.dtype.base_dtype, name="b_acc")
        no_indices = zeros([0], dtype=grad.indices.dtype.base_dtype, name="b_acc")
    no_rows.dims = None if source.dims is None else (None, *source.dims[1:])
    no_indices.dims = (None,)
    rows = _growing(loop, no_rows, grad.values, concat)
    indices = _growing(loop, no_indices, grad.indices, concat)
    return IndexedSlices(rows, indices, whole)


def _growing(loop: WhileContext, start: Tensor, part: Tensor, concat: Any) -> Tensor:
    """A loop variable that gets ``part`` appended in each round."""
    result, _ = loop.add_variable(start, lambda total: concat([total, part], 0), "b_acc")
    return result
