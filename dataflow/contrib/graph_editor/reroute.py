"""Edges moved from one tensor to another."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.graph_editor.elements import as_tensor, make_list_of_op


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


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Lets what takes a tensor of ``ts1`` take that of ``ts0`` instead; returns how many inputs changed.

    With ``can_modify`` only these operations change, with ``cannot_modify`` all but these. Raises
    `ValueError` for tensors whose dtypes or shapes do not fit.
    """
    changed = 0
    for new, old in _pairs(ts0, ts1):
        for op, index in _ends(old, can_modify, cannot_modify):
            op._update_input(index, new)
            changed += 1
    return changed


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Exchanges what takes the tensors of ``ts0`` and ``ts1``; returns how many inputs changed."""
    changed = 0
    for a, b in _pairs(ts0, ts1):
        of_a, of_b = (_ends(t, can_modify, cannot_modify) for t in (a, b))
        for ends, new in ((of_a, b), (of_b, a)):
            for op, index in ends:
                op._update_input(index, new)
                changed += 1
    return changed


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
