"""``tensorflow.python.framework.subscribe``: side effects that run wherever a tensor is used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.control_flow_context import in_context
from dataflow.ops.identity import identity
from dataflow.ops.variables import Variable

__all__ = ["subscribe"]

_Effects = Sequence[Callable[[Tensor], list[Any]]]
#: Where a graph keeps its subscribed tensors: the stand-in of each.
_STAND_INS = "subscriptions"


def subscribe(tensors: Any, side_effects: Any) -> Any:
    """Runs ``side_effects`` whenever one of ``tensors`` is computed and used or fetched.

    ``tensors`` is a tensor, a variable, or lists, tuples and dicts of them; each of ``side_effects`` is a
    function that gets the tensor and returns a list of operations. Everything that took the tensor takes
    what is returned instead, in the structure of ``tensors``; what is subscribed already gets more effects.
    Raises `TypeError` for anything else among ``tensors``.
    """
    effects = list(side_effects) if hasattr(side_effects, "__iter__") else [side_effects]
    return _each(tensors, effects)


def _each(tensors: Any, effects: _Effects) -> Any:
    if isinstance(tensors, Tensor):
        return _subscribed(tensors, effects)
    if isinstance(tensors, Variable):
        return _subscribed(tensors.value(), effects)
    if isinstance(tensors, dict):
        return {key: _each(part, effects) for key, part in tensors.items()}
    if isinstance(tensors, (list, tuple)):
        parts = [_each(part, effects) for part in tensors]
        kind: Any = type(tensors)
        return kind(*parts) if hasattr(tensors, "_fields") else kind(parts)
    raise TypeError(
        f"subscribe: {tensors!r} has invalid type {type(tensors)}. Give tensors, variables, or lists, tuples "
        "and dicts of them."
    )


def _subscribed(tensor: Tensor, effects: _Effects) -> Tensor:
    if tensor.dtype.base_dtype.kind == "x":  # a resource or variant: nothing to look at
        return tensor
    graph = tensor.graph
    stand_ins: dict[Tensor, Tensor] = graph.attachments.setdefault(_STAND_INS, {})
    source = next((t for t, other in stand_ins.items() if other is tensor), tensor)
    with _where(graph, source):
        waits = [_operation(made) for effect in effects for made in effect(source)]
        if source in stand_ins:
            stand_ins[source].op._add_control_inputs(waits)
            return stand_ins[source]
        return _replaced(graph, source, waits, stand_ins)


def _replaced(
    graph: Graph, source: Tensor, waits: list[Any], stand_ins: dict[Tensor, Tensor]
) -> Tensor:
    """A tensor that waits for the effects, in the place of ``source`` everywhere but in them."""
    inside = f"{source.op.name}/subscription"
    users = [
        (op, at)
        for op in source.consumers()
        if not op.name.startswith(inside)
        for at, given in enumerate(op.inputs)
        if given is source
    ]
    later = [op for op in source.op.control_outputs if not op.name.startswith(inside)]
    with graph.control_dependencies(waits):
        found = stand_ins[source] = identity(source)
    for op, at in users:
        op._update_input(at, found)
    for op in later:
        kept = [c for c in op.control_inputs if c is not source.op]
        op._remove_all_control_inputs()
        op._add_control_inputs([*kept, found.op])
    return found


def _operation(made: Any) -> Any:
    return made.op if isinstance(made, Tensor) else made


@contextlib.contextmanager
def _where(graph: Graph, tensor: Tensor) -> Iterator[None]:
    """Where nodes that belong to ``tensor`` are made: its scope, device, loop and branch."""
    with (
        graph.as_default(),
        in_context(graph, tensor.op.control_flow_context),
        graph.device(tensor.op.device),
        graph.name_scope(f"{tensor.op.name}/subscription/"),
    ):
        yield
