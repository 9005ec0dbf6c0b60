"""Gradients of the ops of loops and conditionals: Enter, Exit, Switch, Merge, NextIteration.

`prepare` is called by `gradients._Walker`, and so are `start`, `is_ready`, `complete`, `context` and
`zeros` of what it returns, a `loop_gradients.LoopGradients`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.branch_guards import merge_branches
from dataflow.ops.casts import cast
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
from dataflow.ops.seeds import count_left_out, counted_as


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
    here = op.graph.control_flow_context
    pred = op.inputs[1] if here is None else here.add_value(op.inputs[1])
    is_alone = not isinstance(op.control_flow_context, CondContext)
    if not any(isinstance(g, IndexedSlices) for g in grads):
        return [_merge(pred, grads, is_alone), None]
    data = op.inputs[0]
    slices = [
        g if isinstance(g, IndexedSlices) else _all_rows(data, g, pred, i)
        for i, g in enumerate(grads)
    ]
    indices = [g.indices for g in slices]
    if len({i.dtype.base_dtype for i in indices}) > 1:
        indices = [cast(i, dtypes.int64) for i in indices]
    values = _merge(pred, [g.values for g in slices], is_alone)
    whole = convert_to_tensor(shape_where_built(data), dtypes.int32)
    count_left_out(3)
    return [IndexedSlices(values, _merge(pred, indices, is_alone), whole), None]


def _merge(pred: Tensor, grads: Sequence[Tensor], is_alone: bool) -> Tensor:
    """The gradient of the branch that ran. ``is_alone``: of a Switch by itself, where a gradient may be
    a constant, which would be there for the other branch, too."""
    if is_alone:
        grads = [control_flow.switch(grad, pred)[i] for i, grad in enumerate(grads)]
    on_false, on_true = grads
    return merge_branches(pred, on_false, on_true, name="cond_grad")


def _all_rows(data: Tensor, grad: Tensor, pred: Tensor, branch: int) -> IndexedSlices:
    """A whole gradient of ``data`` as all its rows, there when ``branch`` is taken."""
    from dataflow.ops.sequences import range_

    rows = range_(shape_where_built(data)[0])
    return IndexedSlices(grad, control_flow.switch(rows, pred)[branch])


control_flow.switch_op.gradient(switch_gradient)
control_flow.ref_switch_op.gradient(switch_gradient)


@takes_slices
def merge_gradient(op: Operation, grad: Any, _index: Any = None) -> list[Any]:
    from dataflow.ops.comparison import equal

    loop = _grad_loop(op.graph)
    if any(t.op.type in ("NextIteration", "RefNextIteration") for t in op.inputs):
        if loop is None:
            return [None, None]
        assert loop.pivot is not None
        if isinstance(grad, IndexedSlices):
            grad = _dense(op.graph, grad, op.graph.control_flow_context)
        return list(control_flow.switch(grad, loop.pivot))
    pred = op.graph.attachments.get("merge_predicates", {}).get(op)
    if pred is not None:
        return _switch(grad, pred, "cond_grad")
    context = output_context(op.inputs[0].op)
    own = op.control_flow_context
    while isinstance(context, CondContext) and context.outer is not own:
        context = context.outer  # a value from an inner conditional that was passed on
    if isinstance(context, CondContext):
        return _switch(grad, context.pred, "cond_grad")
    return [_switch(grad, equal(op.outputs[1], i))[1] for i in range(len(op.inputs))]


def _switch(grad: Any, pred: Tensor, name: str | None = None) -> list[Any]:
    """A gradient for each branch of ``pred``, of which one is dead."""
    if not isinstance(grad, IndexedSlices):
        return list(control_flow.switch(grad, pred, name=name))
    values = control_flow.switch(grad.values, pred, name=name)
    indices = control_flow.switch(grad.indices, pred)
    return [IndexedSlices(values[i], indices[i], grad.dense_shape) for i in (0, 1)]


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
        with counted_as(32 if grad.values.dims is None or None in grad.values.dims else 23):
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
    """The sparse gradient of a loop invariant: the rows of all rounds, after one of zeros for row 0.

    That row is TensorFlow's: an optimizer with slots treats it as one that had a gradient.
    """
    from dataflow.ops.array import concat, zeros
    from dataflow.ops.shape import shape_of_value

    graph = op.graph
    source = op.inputs[0]
    with in_context(graph, loop.outer):
        whole = shape_of_value(source)
        row = whole[1:]
        first_row = zeros(concat([[1], row], 0), dtype=grad.dtype.base_dtype, name="b_acc")
        first_index = zeros([1], dtype=grad.indices.dtype.base_dtype, name="b_acc")
    first_row.dims = None if source.dims is None else (None, *source.dims[1:])
    first_index.dims = (None,)
    rows = _growing(loop, first_row, grad.values, concat)
    indices = _growing(loop, first_index, grad.indices, concat)
    return IndexedSlices(rows, indices, whole)


def _growing(loop: WhileContext, start: Tensor, part: Tensor, concat: Any) -> Tensor:
    """A loop variable that gets ``part`` appended in each round."""
    result, _ = loop.add_variable(start, lambda total: concat([total, part], 0), "b_acc")
    return result
