"""`while_loop`: repeating a part of the graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from dataflow import shapes
from dataflow.errors import DTypeError, InvalidArgumentError
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import assert_same_structure, flatten, is_nested, map_structure
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.composites import Leaves, expand, parts_of
from dataflow.ops.control_flow_context import WhileContext, entered
from dataflow.ops.effects import done_in
from dataflow.ops.identity import identity
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.tensor_array import TensorArray
from dataflow.shapes import TensorShape


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats ``body(*loop_vars)`` while ``cond(*loop_vars)`` is true; returns the last values.

    ``cond`` returns a scalar bool tensor, ``body`` new loop variables of the same structure and
    dtypes. Both are called once, now, to build the loop. ``loop_vars`` may be nested and hold
    tensors, `TensorArray`, `SparseTensor` and `IndexedSlices`; Python values are converted.

    The static shape of each variable must hold in every round; ``shape_invariants`` (alike in
    structure) says looser ones. ``maximum_iterations`` bounds the number of rounds.
    ``back_prop=False`` cuts the gradient. ``parallel_iterations`` and ``swap_memory`` are accepted
    and change nothing here. A single tensor is returned alone unless ``return_same_structure``.

    Raises `TypeError` for what cannot be called, `ValueError` for empty loop variables, a structure
    that changes, or a shape that changes from round to round.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if not loop_vars and not isinstance(loop_vars, Tensor):
        raise ValueError("'loop_vars' must be provided.")
    if default_graph().executes_eagerly:
        return _run_eagerly(cond, body, loop_vars, maximum_iterations, return_same_structure)
    graph = _graph_of(loop_vars)
    with graph.as_default(), graph.name_scope(name or "while"):
        try_to_pack = (
            len(loop_vars) == 1 if isinstance(loop_vars, (list, tuple)) else True
        ) and not return_same_structure
        if maximum_iterations is not None:
            cond, body, loop_vars, shape_invariants, maximum = _bounded(
                cond, body, loop_vars, shape_invariants, maximum_iterations, try_to_pack
            )
            try_to_pack = False
        else:
            maximum = None
        context = WhileContext(
            graph,
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=maximum,
        )
        if context.outer is None:  # nested ones are written with it
            graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = _build(graph, context, cond, body, loop_vars, shape_invariants)
        if maximum is not None:
            return result[1]
        if try_to_pack and isinstance(loop_vars, (list, tuple)) and _num_tensors(result) > 1:
            return result  # a list of one structure stays one
        return result[0] if try_to_pack else result


def _num_tensors(loop_vars: Any) -> int:
    return sum(len(expand(leaf)[0]) for leaf in flatten(loop_vars))


def _run_eagerly(
    cond: Any, body: Any, loop_vars: Any, maximum_iterations: Any, return_same_structure: bool
) -> Any:
    """The loop as Python runs it, with eager execution."""
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars]
    single = len(loop_vars) == 1 and not return_same_structure
    packed = False
    rounds = itertools.count() if maximum_iterations is None else range(int(maximum_iterations))
    for _ in rounds:
        if not cond(*loop_vars):
            break
        result = body(*loop_vars)
        if single and not isinstance(result, (list, tuple)):
            packed, result = True, (result,)
        assert_same_structure(list(loop_vars), list(result))
        loop_vars = result
    loop_vars = map_structure(_as_value, loop_vars)
    return loop_vars[0] if packed else loop_vars


def _as_value(leaf: Any) -> Any:
    is_composite = isinstance(leaf, TensorArray) or parts_of(leaf) is not None
    return leaf if is_composite else convert_to_tensor(leaf)


def _graph_of(loop_vars: Any) -> Any:
    for leaf in flatten(loop_vars):
        if isinstance(leaf, Tensor):
            return leaf.graph
    return default_graph()


def _bounded(
    cond: Any, body: Any, loop_vars: Any, invariants: Any, maximum_iterations: Any, single: bool
) -> Any:
    """The loop with a counter in front of its variables."""
    from dataflow.ops.comparison import less, logical_and
    from dataflow.ops.sources import constant

    maximum = convert_to_tensor(maximum_iterations, name="maximum_iterations")
    if maximum.dims not in ((), None):
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {maximum.shape}")
    counter = constant(0, dtype=maximum.dtype, name="iteration_counter")
    if single and isinstance(loop_vars, (list, tuple)):
        loop_vars = (counter, loop_vars[0])
        if invariants is not None:
            invariants = (TensorShape([]), invariants[0])
        return (
            lambda i, v: logical_and(less(i, maximum), cond(v)),
            lambda i, v: (i + 1, _single(body(v))),
            loop_vars,
            invariants,
            maximum,
        )
    loop_vars = (counter, loop_vars)
    if invariants is not None:
        invariants = (TensorShape([]), invariants)
    return (
        lambda i, v: logical_and(less(i, maximum), _call(cond, v)),
        lambda i, v: (i + 1, _like(v, _call(body, v))),
        loop_vars,
        invariants,
        maximum,
    )


def _single(value: Any) -> Any:
    return value[0] if type(value) in (list, tuple) and len(value) == 1 else value


def _like(variables: Any, result: Any) -> Any:
    if isinstance(variables, list) and isinstance(result, tuple) and not hasattr(result, "_fields"):
        return list(result)
    if isinstance(variables, tuple) and isinstance(result, list):
        return tuple(result)
    return result


def _call(function: Callable[..., Any], variables: Any) -> Any:
    if isinstance(variables, (list, tuple)):
        return function(*variables)
    return function(variables)


def _less_or_equal(specific: shapes.Dims, general: shapes.Dims) -> bool:
    """True when every shape that fits ``specific`` fits ``general``."""
    if general is None:
        return True
    if specific is None or len(specific) != len(general):
        return False
    return all(g is None or g == s for s, g in zip(specific, general, strict=True))


def _invariant_dims(leaves: Leaves, invariants: Any) -> list[shapes.Dims]:
    """The dims that ``shape_invariants`` give to each tensor of the loop variables."""
    given = _flatten_shapes(leaves.structure, invariants)
    if len(given) != len(leaves.leaves):
        raise ValueError(
            f"shape_invariants has {len(given)} shapes for {len(leaves.leaves)} loop variables."
        )
    result: list[shapes.Dims] = []
    for leaf, count, shape in zip(leaves.leaves, leaves.counts, given, strict=True):
        dims = shapes.as_dims(shape)
        if count == 1:
            result.append(dims)
        elif isinstance(leaf, IndexedSlices):
            result.append(dims)
            result.append(None if dims is None else dims[:1])
            if count == 3:
                result.append((None if dims is None else len(dims),))
        else:  # a SparseTensor: the invariant is its dense shape
            result.extend(_sparse_dims(None if dims is None else len(dims)))
    return result


def _sparse_dims(rank: int | None) -> list[shapes.Dims]:
    return [(None, rank), (None,), (rank,)]


def _growing_dims(leaves: Leaves) -> list[shapes.Dims]:
    """The dims without ``shape_invariants``: a sparse tensor may get more values, and another shape."""
    result: list[shapes.Dims] = []
    start = 0
    for leaf, count in zip(leaves.leaves, leaves.counts, strict=True):
        parts = leaves.tensors[start : start + count]
        start += count
        if isinstance(leaf, SparseTensor):
            rank = parts[2].dims
            result.extend(_sparse_dims(rank[0] if rank else None))
        else:
            result.extend(part.dims for part in parts)
    return result


def _flatten_shapes(structure: Any, invariants: Any) -> list[Any]:
    if not is_nested(structure):
        return [invariants]
    from dataflow.graph.nest import ordered_keys  # the same order as the leaves

    if isinstance(structure, dict):
        return [
            s for k in ordered_keys(structure) for s in _flatten_shapes(structure[k], invariants[k])
        ]
    if len(structure) != len(invariants):
        raise ValueError(
            f"shape_invariants has {len(invariants)} entries where loop_vars has {len(structure)}."
        )
    return [
        s
        for part, inv in zip(structure, invariants, strict=True)
        for s in _flatten_shapes(part, inv)
    ]


def _build(
    graph: Any, context: WhileContext, cond: Any, body: Any, loop_vars: Any, invariants: Any
) -> Any:
    leaves = Leaves(loop_vars)
    outer = context.outer
    starts = [t if outer is None else outer.add_value(t) for t in leaves.tensors]
    enters = []
    dims = _growing_dims(leaves) if invariants is None else _invariant_dims(leaves, invariants)
    for i, start in enumerate(starts):
        enter = context.enter(start)
        if dims[i] != start.dims:
            if not _less_or_equal(start.dims, dims[i]):
                raise ValueError(
                    f"The shape invariant specified for {start.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{start.shape}, but the specified shape invariant is "
                    f"{shapes.format_dims(dims[i])}."
                )
            enter.dims = dims[i]
        enters.append(enter)
    context.loop_enters.extend(enters)
    with entered(graph, context):
        saved, graph.control_stack = graph.control_stack, []
        heads = [control_flow.merge([e, e]) for e in enters]
        graph.control_stack = saved
        context.pivot_for_pred = heads[0]
        with done_in(graph) as effects:
            go_on = convert_to_tensor(_call(cond, leaves.rebuild(list(heads))))
            done = effects()
        if done:
            with graph.control_dependencies(done):
                go_on = identity(go_on)
        if go_on.dims not in ((), None):
            raise ValueError(
                f"The loop condition must be a scalar, got {go_on.name!r} of shape {go_on.shape}."
            )
        context.pivot = control_flow.loop_cond_op(go_on, name="LoopCond")
        switches = [control_flow.switch_beside(h, context.pivot) for h in heads]
        inside = [identity(s[1]) if not s[1].dtype.is_ref else s[1] for s in switches]
        context.pivot_for_body = inside[0]
        body_result = _body_result(graph, body, leaves.rebuild(inside))
        structure = loop_vars
        if not is_nested(body_result):
            body_result = [body_result]
        expected = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else loop_vars
        if not is_nested(expected):
            expected = [expected]
        actual = list(body_result) if isinstance(body_result, (list, tuple)) else body_result
        assert_same_structure(expected, actual)
        del structure
        result_leaves = Leaves(body_result)
        if result_leaves.counts != leaves.counts:
            raise ValueError(
                "The loop body must return the same kinds of values as loop_vars: "
                f"got {result_leaves.leaves} for {leaves.leaves}."
            )
        for head, value in zip(heads, result_leaves.tensors, strict=True):
            _close(head, value)
        exits = [context.exit(s[0]) for s in switches]
    return result_leaves.rebuild(exits)


def _body_result(graph: Any, body: Any, variables: Any) -> Any:
    """What the body returns; in a function its tensors wait for what the body does besides (`ops.effects.done_in`)."""
    with done_in(graph) as effects:
        result = _call(body, variables)
        done = effects()
    if not done:
        return result
    parts = Leaves(result)
    with graph.control_dependencies(done):
        return parts.rebuild([identity(t) for t in parts.tensors])


def _close(head: Tensor, value: Tensor) -> None:
    """Adds the back edge of a loop variable, checking dtype and shape."""
    if value.dtype.base_dtype is not head.dtype.base_dtype:
        raise DTypeError(
            None,
            None,
            f"The loop variable {head.op.inputs[0].op.inputs[0].name!r} enters the loop as "
            f"{head.dtype.name}, but the body returns {value.dtype.name} ({value.name!r}).\n"
            f"  Convert it with tf.cast(t, tf.{head.dtype.base_dtype.name})."
            f"\n  {value.name!r} built at {value.op.built_at}",
        )
    is_reference = control_flow.by_reference(head)
    if is_reference and not control_flow.by_reference(value):
        raise InvalidArgumentError(
            None,
            None,
            f"Input 1 of node {head.op.name} was passed {value.dtype.name} from {value.name} "
            f"incompatible with expected {head.dtype.name}: the loop variable is a reference to "
            f"{head.op.inputs[0].op.inputs[0].name!r}, but the body returns a value.\n"
            "  Return what tf.assign gives, or begin with tf.identity(v).",
        )
    op = control_flow.ref_next_iteration_op if is_reference else control_flow.next_iteration_op
    back = op(value)
    if not _less_or_equal(back.dims, head.dims):
        start = head.op.inputs[0].op.inputs[0]
        raise ValueError(
            f"Input tensor {start.name!r} enters the loop with shape {head.shape}, but has shape "
            f"{back.shape} after one iteration. To allow the shape to vary across iterations, use "
            "the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )
    head.op._update_input(1, back)
