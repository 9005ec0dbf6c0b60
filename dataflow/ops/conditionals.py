"""`cond`, `case` and `switch_case`: computing one of several branches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.nest import assert_same_structure, flatten, pack_like
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import control_flow
from dataflow.ops.composites import expand
from dataflow.ops.control_flow_context import CondContext, entered
from dataflow.ops.effects import done_in
from dataflow.ops.identity import identity
from dataflow.ops.indexed_slices import IndexedSlices

#: Slices whose indices have both in the branches of a conditional get the wider one.
_INDEX_TYPES = {dtypes.int32, dtypes.int64}


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The result of ``true_fn()`` if ``pred`` (a scalar bool tensor) is true, else ``false_fn()``.

    Both functions run once, now, to build their branches; when the graph runs, only nodes made
    inside the function of the branch that is taken are computed. Nodes made before, outside both
    functions, are computed either way.

    Both must return the same structure with the same dtypes; a list or tuple of one is unpacked
    unless ``strict``. ``fn1`` and ``fn2`` are old names of the functions.

    Raises `TypeError` when ``pred`` is a Python bool or a function cannot be called, `ValueError`
    when the branches do not fit each other.
    """
    if fn1 is not None:
        if true_fn is not None:
            raise TypeError("cond(): true_fn and fn1 may not be set simultaneously.")
        true_fn = fn1
    elif true_fn is None:
        raise TypeError("cond(): true_fn argument required")
    if fn2 is not None:
        if false_fn is not None:
            raise TypeError("cond(): false_fn and fn2 may not be set simultaneously.")
        false_fn = fn2
    elif false_fn is None:
        raise TypeError("cond(): false_fn argument required")
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    if default_graph().executes_eagerly:
        with default_graph().name_scope("cond" if name is None else name):
            result = true_fn() if pred else false_fn()
        return result if strict else _unpack_single(result)
    if isinstance(pred, bool):
        raise TypeError(
            "pred must not be a Python bool: the choice would be made now, not when the graph "
            "runs. Use Python's if, or tf.constant(...)."
        )
    graph = default_graph()
    if isinstance(pred, Tensor) and not graph.building_function:  # which takes in what is outside
        graph = pred.graph
    with graph.as_default(), graph.name_scope("cond" if name is None else name):
        pred = convert_to_tensor(pred, dtypes.bool_)
        return _build_cond(graph, pred, true_fn, false_fn, strict)


def _build_cond(graph: Graph, pred: Tensor, true_fn: Any, false_fn: Any, strict: bool) -> Any:
    from dataflow.ops.array import identity

    on_false, on_true = control_flow.switch(pred, pred)
    pivot_true = identity(on_true, name="switch_t")
    pivot_false = identity(on_false, name="switch_f")
    pred_id = identity(pred, name="pred_id")
    for tensor in (on_true, pivot_true, pivot_false, pred_id):
        graph.prevent_fetching(tensor.op)
    context_true = CondContext(graph, pred_id, pivot_true, 1)
    context_false = CondContext(graph, pred_id, pivot_false, 0)
    context_true.sibling, context_false.sibling = context_false, context_true
    for context in (context_true, context_false):
        context.name = graph.unique_name("cond_text")
        if context.outer is None:  # nested ones are written with it
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context)
    true_original, true_leaves = _build_branch(graph, context_true, true_fn, strict, "true_fn")
    false_original, false_leaves = _build_branch(graph, context_false, false_fn, strict, "false_fn")
    _check_alike(graph, true_original, false_original, strict)
    leaves = zip(true_leaves, false_leaves, flatten(true_original), strict=True)
    results = [_merged(on_true, on_false, value) for on_true, on_false, value in leaves]
    packed = pack_like(true_original, results)
    return packed if strict else _unpack_single(packed)


def _check_alike(graph: Graph, true_original: Any, false_original: Any, strict: bool) -> None:
    """Raises where the branches return nothing, or not the same structure."""
    if true_original is None and false_original is None:
        raise ValueError("true_fn and false_fn must have a return value: both returned None.")
    if true_original is None:
        raise ValueError("true_fn must have a return value.")
    if false_original is None:
        raise ValueError("false_fn must have a return value.")
    try:
        assert_same_structure(true_original, false_original, False)
        if strict and type(true_original) is not type(false_original):
            kinds = [type(v).__name__ for v in (true_original, false_original)]
            if any(isinstance(v, (list, tuple, Mapping)) for v in (true_original, false_original)):
                raise TypeError(f"true_fn returns a {kinds[0]}, false_fn a {kinds[1]}.")
    except ValueError as e:
        raise ValueError(
            f"Incompatible return types of true_fn and false_fn in {graph.get_name_scope()!r}: {e}"
        ) from e


def _merged(leaf_true: Any, leaf_false: Any, value: Any) -> Any:
    """What both branches give at one place, by Merge nodes; ``value`` is what true_fn gave there."""
    from dataflow.ops.casts import cast

    tensors_true, rebuild = leaf_true
    tensors_false, _ = leaf_false
    if len(tensors_true) != len(tensors_false):
        raise TypeError(
            "Incompatible return types of true_fn and false_fn: one returns a composite "
            f"tensor of {len(tensors_true)} parts where the other has {len(tensors_false)}."
        )
    merged = []
    for a, b in zip(tensors_true, tensors_false, strict=True):
        if isinstance(value, IndexedSlices) and {a.dtype, b.dtype} == _INDEX_TYPES:
            a, b = cast(a, dtypes.int64), cast(b, dtypes.int64)
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type(s). "
                f"Received {a.dtype.name} from true_fn and {b.dtype.name} from false_fn: "
                f"{a.name!r} and {b.name!r}. Convert one with tf.cast."
            )
        merged.append(control_flow.merge([b, a]))
    return rebuild(merged)


def _unpack_single(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and len(value) == 1:
        return value[0]
    return value


def _build_branch(
    graph: Graph, context: CondContext, function: Callable[..., Any], strict: bool, what: str
) -> tuple[Any, list[Any]]:
    """Runs a branch function in its context; returns its structure and the tensors per leaf.

    In a function the leaves wait for what the branch does besides (`ops.effects.done_in`).
    """
    with entered(graph, context), done_in(graph) as effects:
        original = function()
        if original is None:
            return None, []
        if not strict:
            original = _unpack_single(original)
        leaves = []
        done = effects()

        def output(value: Any) -> Tensor:
            tensor: Tensor = context.build_output(value)
            if not done:
                return tensor
            with graph.control_dependencies(done):
                return identity(tensor)

        for leaf in flatten(original):
            if leaf is None:
                raise ValueError(f"{what} returned None among its results: {original!r}")
            if isinstance(leaf, Operation):
                leaves.append(([output(leaf)], lambda p: p[0]))
                continue
            parts, rebuild = expand(leaf)
            leaves.append(([output(p) for p in parts], rebuild))
    return original, leaves


def _pairs(pred_fn_pairs: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(pred_fn_pairs, Mapping):
        items = list(pred_fn_pairs.items())
    elif isinstance(pred_fn_pairs, (list, tuple)):
        items = list(pred_fn_pairs)
    else:
        raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict.")
    predicates, actions = [], []
    for item in items:
        if not isinstance(item, tuple) or len(item) != 2:
            raise TypeError("Each entry in 'pred_fn_pairs' must be a 2-tuple.")
        pred, action = item
        pred = getattr(pred, "_dense_var_to_tensor", lambda pred=pred: pred)()
        if not isinstance(pred, Tensor):
            raise TypeError("pred must be Tensor, got " + type(pred).__name__)
        if pred.dtype.base_dtype is not dtypes.bool_:
            raise TypeError(f"pred must be of type bool: {pred!r}")
        if not callable(action):
            raise TypeError(f"fn for pred {pred.name} must be callable.")
        predicates.append(pred)
        actions.append(action)
    return predicates, actions


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the first function whose predicate is true.

    ``pred_fn_pairs``: a list of (scalar bool tensor, function), or a dict. ``default``: called
    when none is true; without it, that is an `InvalidArgumentError`. With ``exclusive`` more than
    one true predicate is an error too.
    """
    predicates, actions = _pairs(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    graph = predicates[0].graph if predicates else default_graph()
    with graph.as_default(), graph.name_scope("case" if name is None else name):
        if default is None:
            if not predicates:
                raise ValueError("Must provide at least one pred_fn_pair or a default.")
            default, predicates, actions = _default_from_last(graph, predicates, actions)
        function: Any = default
        waits = []
        if exclusive:
            waits = [_assert_at_most(predicates, 1, "Input error: exclusive=True")]
        with graph.control_dependencies(waits):
            for pred, action in reversed(list(zip(predicates, actions, strict=True))):
                function = functools.partial(
                    cond, pred, true_fn=action, false_fn=function, strict=strict
                )
            return function()


def _default_from_last(graph: Graph, predicates: list[Any], actions: list[Any]) -> Any:
    """The last action as default, checked: its predicate must be true when it is reached."""
    from dataflow.ops.logging_ops import Assert

    predicate, action = predicates[-1], actions[-1]

    def checked() -> Any:
        message = "None of the conditions evaluated as True, and tf.case has no default:"
        with graph.control_dependencies([Assert(predicate, data=[message, predicate])]):
            return action()

    return checked, predicates[:-1], actions[:-1]


def _assert_at_most(predicates: list[Any], n: int, message: str) -> Any:
    from dataflow.ops.array import stack
    from dataflow.ops.casts import cast
    from dataflow.ops.comparison import less_equal
    from dataflow.ops.logging_ops import Assert
    from dataflow.ops.reduce import reduce_sum

    packed = stack(predicates, name="preds_c")
    count = reduce_sum(cast(packed, dtypes.int32), name="num_true_conds")
    condition = less_equal(count, convert_to_tensor(n, name="n_true_conds"))
    names = ", ".join(p.name for p in predicates)
    text = f"{message}: more than {n} conditions ({names}) evaluated as True:"
    return Assert(condition, data=[text, packed], summarize=len(predicates))


def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """The result of ``branch_fns[branch_index]()``; ``branch_index`` is a scalar int32 tensor.

    An index out of range takes ``default``, or the last branch where there is none.
    """
    from dataflow.ops.comparison import equal

    if not branch_fns:
        raise ValueError(f"branch_fns must have a function for each index, got {branch_fns!r}.")
    if isinstance(branch_fns, Mapping):
        items = sorted(branch_fns.items())
    else:
        items = [f if isinstance(f, tuple) else (i, f) for i, f in enumerate(branch_fns)]
    if (
        isinstance(branch_index, (int, float))
        or getattr(branch_index, "dtype", dtypes.int32) != dtypes.int32
    ):
        raise TypeError(
            f"branch_index must be a Tensor of int32, got {branch_index!r}. Call the function itself "
            "where the number is known, or write tf.constant(number)."
        )
    for key, function in items:
        if not isinstance(key, int) or not callable(function):
            raise TypeError("branch_fns must map ints to callables, or be a list of callables.")
    if sorted(key for key, _ in items) != list(range(len(items))):
        raise ValueError(
            f"branch indices must be 0, 1, ... without a gap, each once; got {[k for k, _ in items]}"
        )
    graph = default_graph()
    with graph.name_scope(name or "switch_case"):
        index = convert_to_tensor(branch_index, name="branch_index")
        result: Any = default if default is not None else items[-1][1]
        pairs = items if default is not None else items[:-1]
        for key, function in reversed(pairs):
            result = functools.partial(cond, equal(index, key), true_fn=function, false_fn=result)
        return result()
