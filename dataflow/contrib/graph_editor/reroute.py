"""Edges moved from one tensor to another."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.graph_editor.elements import (
    as_tensor,
    check_graphs,
    get_consuming_ops,
    get_generating_ops,
    make_list_of_op,
)
from dataflow.contrib.graph_editor.subgraph import make_view


def _tensors(ts: Any) -> list[Any]:
    items = ts if hasattr(ts, "__iter__") and not hasattr(ts, "op") else [ts]
    return [as_tensor(t) for t in items]


def _pairs(ts0: Any, ts1: Any) -> list[tuple[Any, Any]]:
    first, second = _tensors(ts0), _tensors(ts1)
    if len(first) != len(second):
        raise ValueError(f"ts0 and ts1 have different numbers: {len(first)} != {len(second)}")
    for a, b in zip(first, second, strict=True):
        if a.dtype.base_dtype != b.dtype.base_dtype:
            raise ValueError(f"Dtypes {a.dtype} and {b.dtype} are not compatible.")
        if not a.get_shape().is_compatible_with(b.get_shape()):
            raise ValueError(f"Shapes {a.get_shape()} and {b.get_shape()} are not compatible.")
    return list(zip(first, second, strict=True))


def _ends(tensor: Any, can_modify: Any, cannot_modify: Any) -> list[tuple[Any, int]]:
    users = dict.fromkeys(tensor.consumers())
    if can_modify is not None:
        allowed = set(make_list_of_op(can_modify))
        users = {op: None for op in users if op in allowed}
    if cannot_modify is not None:
        refused = set(make_list_of_op(cannot_modify))
        users = {op: None for op in users if op not in refused}
    return [(op, i) for op in users for i, t in enumerate(op.inputs) if t is tensor]


def _moved(ts0: Any, ts1: Any, can_modify: Any, cannot_modify: Any, both_ways: bool) -> int:
    """How many inputs changed. All ends are found before the first of them moves."""
    moves = []
    for a, b in _pairs(ts0, ts1):
        moves.append((_ends(b, can_modify, cannot_modify), a))
        if both_ways:
            moves.append((_ends(a, can_modify, cannot_modify), b))
    for ends, new in moves:
        for op, index in ends:
            op._update_input(index, new)
    return sum(len(ends) for ends, _ in moves)


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Lets what takes a tensor of ``ts1`` take that of ``ts0`` instead; returns how many inputs changed.

    With ``can_modify`` only these operations change, with ``cannot_modify`` all but these. Raises
    `ValueError` for tensors whose dtypes or shapes do not fit.
    """
    return _moved(ts0, ts1, can_modify, cannot_modify, both_ways=False)


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Exchanges what takes the tensors of ``ts0`` and ``ts1``; returns how many inputs changed."""
    return _moved(ts0, ts1, can_modify, cannot_modify, both_ways=True)


def _of_views(
    sgv0: Any, sgv1: Any, inputs: bool, outputs: bool, both_ways: bool
) -> tuple[Any, Any]:
    """Moves the edges of two views; returns the views, whose inputs are then the other's."""
    first, second = make_view(sgv0), make_view(sgv1)
    check_graphs(first, second)
    passing = [*first.passthroughs, *second.passthroughs]
    inside = [*first.ops, *second.ops]
    if inputs:
        _moved(
            first.inputs,
            second.inputs,
            [*inside, *get_consuming_ops(passing)],
            None,
            both_ways,
        )
        mine, theirs = list(first.inputs), list(second.inputs)
        second.reads(mine)
        if both_ways:
            first.reads(theirs)
    if outputs:
        makers = get_generating_ops(passing)
        _moved(first.outputs, second.outputs, None, [*inside, *makers], both_ways)
    return first, second


def swap_inputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Exchanges what two views (or lists of tensors) read; returns both views."""
    return _of_views(sgv0, sgv1, True, False, both_ways=True)


def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Lets the second view read what the first one reads; returns both views."""
    return _of_views(sgv0, sgv1, True, False, both_ways=False)


def swap_outputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Exchanges what the operations outside read of two views; returns both views."""
    return _of_views(sgv0, sgv1, False, True, both_ways=True)


def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Lets the operations outside read the first view's outputs in place of the second's."""
    return _of_views(sgv0, sgv1, False, True, both_ways=False)


def swap_ios(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """`swap_inputs` and `swap_outputs`."""
    return _of_views(sgv0, sgv1, True, True, both_ways=True)


def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """`reroute_inputs` and `reroute_outputs`."""
    return _of_views(sgv0, sgv1, True, True, both_ways=False)


def add_control_inputs(op: Any, cops: Any) -> None:
    """Lets ``op`` wait for ``cops``, operations; raises `ValueError` where it waits for one already."""
    for other in make_list_of_op(cops):
        if other in op.control_inputs:
            raise ValueError(f"{other.name} is already a control_input of {op.name}")
        op._add_control_inputs([other])


def remove_control_inputs(op: Any, cops: Any) -> None:
    """Lets ``op`` no longer wait for ``cops``; raises `ValueError` where it does not wait for one."""
    for other in make_list_of_op(cops):
        if other not in op.control_inputs:
            raise ValueError(f"{other.name} is not a control_input of {op.name}")
        op.remove_control_edge(other)
    op.graph.mutated()
