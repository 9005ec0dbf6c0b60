"""Which operations and tensors: by name, and by walks along the edges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from dataflow.contrib.graph_editor.elements import (
    get_consuming_ops,
    get_generating_ops,
    make_list_of_op,
    make_list_of_t,
    unique,
)
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


def can_be_regex(obj: Any) -> bool:
    """Whether this is a regular expression, or text for one."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> re.Pattern[str]:
    """The regular expression of a text. Raises `ValueError` for anything else."""
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def _get_input_ts(ops: Any) -> list[Any]:
    return unique(t for op in make_list_of_op(ops) for t in op.inputs)


def _get_output_ts(ops: Any) -> list[Any]:
    return [t for op in make_list_of_op(ops) for t in op.outputs]


def check_cios(
    control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[bool, Any]:
    """(control_inputs, control_outputs) of the arguments; ``control_ios`` stands for both."""
    if control_ios is None:
        return control_inputs, control_outputs
    if control_inputs or control_outputs is not None:
        raise ValueError(
            "control_ios stands for control_inputs and control_outputs: give one of them."
        )
    return True, control_ios


def get_ops_ios(
    ops: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> list[Any]:
    """The operations that these are connected with: by tensors, and by the control edges asked for."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    found: list[Any] = []
    for op in make_list_of_op(ops):
        found += [t.op for t in op.inputs]
        found += op.control_inputs if control_inputs else []
        found += [user for t in op.outputs for user in t.consumers()]
        found += control_outputs.get(op) if control_outputs is not None else []
    return unique(found)


def compute_boundary_ts(ops: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """(the tensors that enter the operations, that leave them, that stay among them).

    A tensor that an operation outside takes, or nobody, leaves; one that some inside take stays, too.
    """
    ops = make_list_of_op(ops)
    inside = set(ops)
    entering = unique(t for op in ops for t in op.inputs if t.op not in inside)
    made = [(t, t.consumers()) for op in ops for t in op.outputs]
    leaving = [t for t, users in made if not users or any(user not in inside for user in users)]
    staying = [t for t, users in made if any(user in inside for user in users)]
    return entering, leaving, staying


def filter_ops(ops: Any, positive_filter: Callable[[Any], bool] | bool | None = None) -> list[Any]:
    """The operations for which the function is true."""
    found = make_list_of_op(ops)
    return [op for op in found if positive_filter(op)] if callable(positive_filter) else found


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Any]:
    """The operations whose name the expression is found in."""
    pattern = re.compile(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name) is not None)


def filter_ts(ops: Any, positive_filter: Callable[[Any], bool] | bool | None = None) -> list[Any]:
    """The inputs and outputs of the operations for which the function is true."""
    found = unique(t for op in make_list_of_op(ops) for t in (*op.inputs, *op.outputs))
    return [t for t in found if positive_filter(t)] if callable(positive_filter) else found


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Any]:
    """The inputs and outputs whose name the expression is found in."""
    pattern = re.compile(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name) is not None)


def select_ops(*args: Any, **kwargs: Any) -> list[Any]:
    """Operations, and those of ``graph=`` whose name matches one of the regular expressions."""
    return _select(args, kwargs.get("graph"), make_list_of_op, filter_ops_from_regex)


def select_ts(*args: Any, **kwargs: Any) -> list[Any]:
    """Tensors, and those of ``graph=`` whose name matches one of the regular expressions."""
    return _select(args, kwargs.get("graph"), make_list_of_t, filter_ts_from_regex)


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Any], list[Any]]:
    """(operations, tensors) of those given; an expression is for tensors where it begins with ``(?#ts)``."""

    def for_tensors(item: Any) -> bool:
        if isinstance(item, Tensor):
            return True
        return can_be_regex(item) and make_regex(item).pattern.startswith("(?#ts)")

    ts = [item for item in args if for_tensors(item)]
    return (
        select_ops(*(item for item in args if not for_tensors(item)), **kwargs),
        select_ts(*ts, **kwargs),
    )


def _select(
    items: Any, graph: Any, listed: Callable[[Any], Any], matching: Callable[[Any, Any], Any]
) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not isinstance(item, (str, re.Pattern)):
            found += listed(item)
        elif graph is None:
            raise ValueError("Use the keyword argument 'graph' to use regex.")
        else:
            found += matching(graph, item)
    return unique(found)


def get_name_scope_ops(ops: Any, scope: str) -> list[Any]:
    """The operations of the name scope."""
    scope = scope.rstrip("/")
    return filter_ops(ops, lambda op: op.name == scope or op.name.startswith(scope + "/"))


def _seeds(seeds: Any, of_tensors: Callable[[Any], list[Any]]) -> list[Any]:
    items = (
        list(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, Tensor) else [seeds]
    )
    if items and not isinstance(items[0], Operation):
        return of_tensors(items)
    return make_list_of_op(items)


def _walk(
    seeds: list[Any],
    neighbors: Callable[[Any], Iterable[Any]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
) -> list[Any]:
    allowed = None if within_ops is None else set(make_list_of_op(within_ops))

    def inside(op: Operation) -> bool:
        return (allowed is None or op in allowed) and (within_ops_fn is None or within_ops_fn(op))

    seeds = [op for op in seeds if inside(op)]
    found = dict.fromkeys(seeds)
    wave = seeds
    while wave:
        wave = unique(o for op in wave for o in neighbors(op) if o not in found and inside(o))
        found.update(dict.fromkeys(wave))
    start = set(seeds)
    return [op for op in found if inclusive or op not in start]


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Any]:
    """All operations that depend on the seeds: operations, or tensors whose consumers they are."""
    stops = set(make_list_of_t(stop_at_ts))
    if control_outputs is True:
        control_outputs = None

    def neighbors(op: Operation) -> Iterable[Any]:
        for t in op.outputs:
            if t not in stops:
                yield from t.consumers()
        if control_outputs is not None:
            yield from control_outputs.get(op)

    seeds = _seeds(seed_ops, get_consuming_ops)
    return _walk(seeds, neighbors, inclusive, within_ops, within_ops_fn)


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Any]:
    """All operations that the seeds depend on: operations, or tensors whose makers they are."""
    stops = set(make_list_of_t(stop_at_ts))

    def neighbors(op: Operation) -> Iterable[Any]:
        yield from (t.op for t in op.inputs if t not in stops)
        if control_inputs:
            yield from op.control_inputs

    seeds = _seeds(seed_ops, get_generating_ops)
    return _walk(seeds, neighbors, inclusive, within_ops, within_ops_fn)


def _both_walks(
    forward: tuple[Any, bool],
    backward: tuple[Any, bool],
    within: tuple[Any, Any],
    control_inputs: bool,
    control_outputs: Any,
    control_ios: Any,
) -> tuple[list[Any], list[Any]]:
    """The walk forward from some seeds and the one backward from others, each (seeds, inclusive)."""
    if control_ios is not None:
        control_inputs, control_outputs = True, control_ios
    return (
        get_forward_walk_ops(*forward, *within, control_outputs=control_outputs),
        get_backward_walk_ops(*backward, *within, control_inputs=control_inputs),
    )


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """The operations on the ways from the first seeds to the second."""
    ahead, back = _both_walks(
        (forward_seed_ops, forward_inclusive),
        (backward_seed_ops, backward_inclusive),
        (within_ops, within_ops_fn),
        control_inputs,
        control_outputs,
        control_ios,
    )
    behind = set(back)
    return [op for op in ahead if op in behind]


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """The operations of both walks."""
    ahead, back = _both_walks(
        (forward_seed_ops, forward_inclusive),
        (backward_seed_ops, backward_inclusive),
        (within_ops, within_ops_fn),
        control_inputs,
        control_outputs,
        control_ios,
    )
    return unique([*ahead, *back])


def get_within_boundary_ops(
    ops: Any,
    seed_ops: Any,
    boundary_ops: Any = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """The operations of ``ops`` that the seeds reach, either way, without crossing the boundary."""
    boundary = set(make_list_of_op(boundary_ops))
    if control_ios is not None:
        control_inputs, control_outputs = True, control_ios

    def neighbors(op: Operation) -> Iterable[Any]:
        if op in boundary:
            return
        yield from (t.op for t in op.inputs)
        for t in op.outputs:
            yield from t.consumers()
        if control_inputs:
            yield from op.control_inputs
        if control_outputs:
            yield from op.control_outputs

    found = _walk(make_list_of_op(seed_ops), neighbors, True, ops, None)
    return [op for op in found if inclusive or op not in boundary]
